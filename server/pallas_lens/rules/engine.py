"""Runs the rules over a file's facts and makes findings of what they say.

One call is evaluated several times: once for each specialisation, and in each once
for every way ("world") that conditions of unknown outcome may go. A problem counts
only where all worlds that have the part at fault agree on it; the same problem of
several specialisations is one finding.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import TypeVar

from pallas_lens.model.finding import Finding, Severity
from pallas_lens.model.module_facts import CallSite, ModuleFacts, Specialised
from pallas_lens.model.span import Span

from .context import Context, module_spellings
from .registry import all_rules
from .rule import BodyRule, CallRule, ModuleRule, Problem, Rule
from .wording import listed

_log = logging.getLogger(__name__)
_Subject = TypeVar("_Subject")
_RAISE_VARIABLE = "PALLAS_LENS_RAISE"
_GPU_MODULES = ("jax.experimental.pallas.triton", "jax.experimental.pallas.mosaic_gpu")
_RANKS = {severity: rank for rank, severity in enumerate(Severity)}
_TPU_MODULE = "jax.experimental.pallas.tpu"


def findings(facts: ModuleFacts, context: Context) -> list[Finding]:
    """What the rules say about one file, in no particular order."""
    context = context_of(facts, context)
    rules = rules_for(facts)
    found = module_findings(facts, rules, context)
    for site in facts.sites:
        found += site_findings(site, rules, context)
    return found


def context_of(facts: ModuleFacts, context: Context) -> Context:
    """The context of one file: with how that file writes JAX's modules."""
    return replace(context, modules=module_spellings(facts.api_uses))


def module_findings(facts: ModuleFacts, rules: Iterable[Rule], context: Context) -> list[Finding]:
    """What the rules about files as a whole say."""
    return [
        _finding(rule, problem, context, "generic", "")
        for rule in rules
        if isinstance(rule, ModuleRule)
        for problem in _guarded(rule, rule.check, facts, context)
    ]


def rules_for(facts: ModuleFacts) -> tuple[Rule, ...]:
    """The rules that apply to a file: one that imports GPU backends alone is spared those of the TPU."""
    if _is_for_gpus(facts):
        return tuple(rule for rule in all_rules() if rule.every_backend)
    return all_rules()


def _is_for_gpus(facts: ModuleFacts) -> bool:
    paths = [use.path for use in facts.api_uses]
    return any(path.startswith(_GPU_MODULES) for path in paths) and not any(
        path.startswith(_TPU_MODULE) for path in paths
    )


def site_findings(site: CallSite, rules: Iterable[Rule], context: Context) -> list[Finding]:
    """What ``rules`` say about one call site, over all its specialisations."""
    merged: dict[tuple[str, Span], Finding] = {}
    for specialised in site.specialisations:
        for rule in rules:
            for problem in _agreed_problems(rule, specialised, context):
                finding = _finding(rule, problem, context, specialised.name, specialised.reading)
                key = (rule.code, problem.span)
                # The generic specialisation stands first and says the most, unless another is surer.
                if key not in merged or _RANKS[finding.severity] < _RANKS[merged[key].severity]:
                    merged[key] = finding
    return list(merged.values())


def _agreed_problems(rule: Rule, specialised: Specialised, context: Context) -> Iterator[Problem]:
    """The problems on which all worlds agree that have the part at fault."""
    by_world: list[dict[Span, Problem]] = []
    for number in range(len(specialised.worlds)):
        problems: dict[Span, Problem] = {}
        for problem in _problems(rule, specialised, number, context):
            problems.setdefault(problem.span, problem)
        if not problems and isinstance(rule, CallRule) and rule.about_whole_call:
            return
        by_world.append(problems)
    seen: set[Span] = set()
    for problems in by_world:
        for span, problem in problems.items():
            if span in seen:
                continue
            seen.add(span)
            silent = [number for number, others in enumerate(by_world) if span not in others]
            if not any(_has_part(specialised, number, span) for number in silent):
                yield problem


def _problems(rule: Rule, specialised: Specialised, number: int, context: Context) -> Iterable[Problem]:
    call = specialised.worlds[number]
    if call.wrapper is not None and not isinstance(rule, ModuleRule):
        return ()
    # JAX puts an axis into the grid and a dim into the blocks for a `vmap`: what it checks before that stands.
    if (call.always_interpreted or call.batch_sizes) and not rule.every_backend:
        return ()
    if isinstance(rule, CallRule):
        return _guarded(rule, rule.check, call, context)
    if isinstance(rule, BodyRule):
        body = specialised.bodies[number] if number < len(specialised.bodies) else None
        return () if body is None else _guarded(rule, rule.check, body, context)
    return ()


def _guarded(
    rule: Rule, check: Callable[[_Subject, Context], Iterable[Problem]], subject: _Subject, context: Context
) -> list[Problem]:
    """What a check says. A defect in one silences it alone; under ``PALLAS_LENS_RAISE`` tests see it."""
    try:
        return list(check(subject, context))
    except Exception:
        if os.environ.get(_RAISE_VARIABLE):
            raise
        _log.exception("The rule %s failed.", rule.name)
        return []


def _has_part(specialised: Specialised, number: int, span: Span) -> bool:
    """Whether a world has the part at ``span``: the same stretch of source with whatever value."""
    if _mentions(specialised.worlds[number], span):
        return True
    return number < len(specialised.bodies) and _mentions(specialised.bodies[number], span)


def _mentions(part: object, span: Span) -> bool:
    if isinstance(part, Span):
        return part == span
    if isinstance(part, tuple):
        return any(_mentions(item, span) for item in part)
    if is_dataclass(part) and not isinstance(part, type):
        return any(_mentions(getattr(part, one.name), span) for one in fields(part))
    return False


def _finding(rule: Rule, problem: Problem, context: Context, specialisation: str, reading: str) -> Finding:
    severity = problem.severity or rule.severity
    message = problem.message
    chips = context.target_names
    if problem.chips is not None and set(problem.chips) != set(chips):
        chips = problem.chips
        severity = Severity.WARNING if severity is Severity.ERROR else severity
        reading = f"on {listed(chips)}{', ' if reading else ''}{reading}"
    if reading:
        message = f"{message} ({reading})"
    return Finding(
        code=rule.code,
        name=rule.name,
        severity=severity,
        span=problem.span,
        message=message,
        fix=problem.fix,
        chips=chips,
        related=problem.related,
        specialisation=specialisation,
        tags=problem.tags,
    )
