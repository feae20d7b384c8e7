"""All that a file says about its kernels, kept up to date from version to version."""

from __future__ import annotations

import ast
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from ..model.kernel_call import BlockSpec, KernelCall, Missing
from ..model.module_facts import CallSite, CommentFault, ModuleFacts, Runnable, Specialised
from ..model.span import Span
from ..model.unknown import Unknown
from ..source.comments import comment_problems, examples_above
from ..source.document import Document
from ..source.example_faults import example_problems
from ..source.statements import Statement
from .api_uses import api_uses
from .callers_elsewhere import CallersElsewhere
from .entries import Entry, Outcome, noted, run_entry, with_new_bodies
from .followed_bodies import FollowedBodies
from .import_index import ImportIndex
from .lexical import EntryFunction, only_defines, outline
from .packages import Packages
from .values import FROM_CALLER
from .workspace import Workspace

Result = TypeVar("Result")

CALLER_LIMIT: Final = 24
ENOUGH_ELSEWHERE: Final = 2
"""Once callers in other files have reached each call site so often, no more of them are followed."""
_MORE_CALLERS: Final = Missing("callers", f"no more than {CALLER_LIMIT} callers are followed")
_RAISE_VARIABLE: Final = "PALLAS_LENS_RAISE"


@dataclass(slots=True, eq=False)
class Analyzer:
    """Evaluates files. Keep one for a session: what an edit did not touch is not evaluated again.

    ``workspace_roots`` are the folders in which absolute imports are looked for besides
    the file's own package. Nothing of the user's is ever imported or run. Callers in the
    project's other files are found by ``imports``, once that is complete.
    """

    workspace_roots: tuple[Path, ...] = ()
    imports: ImportIndex | None = None
    packages_of: Callable[[Path | None], Packages | None] = lambda _: None
    """The environment of a file, where its packages may be read."""
    workspace: Workspace = field(init=False)
    _elsewhere: CallersElsewhere | None = field(init=False)
    _kept: dict[str, dict[tuple[str, str, str, str], Outcome]] = field(default_factory=dict)

    _callers_seen: dict[str, tuple[tuple[str, str, str, str], ...]] = field(default_factory=dict)
    _owed: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.workspace = Workspace(self.workspace_roots)
        self._elsewhere = None if self.imports is None else CallersElsewhere(self.imports, self.workspace)

    def analyse(
        self,
        document: Document,
        *,
        all_bodies: bool = True,
        elsewhere: bool = True,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> ModuleFacts:
        """What ``document`` says about its kernels. Never raises on what the file holds.

        ``all_bodies`` False: a kernel body in which rules would find nothing new is left out.
        ``elsewhere`` False: callers in other files that would have to be followed anew are
        left out, and ``owes`` says so. ``cancelled`` is asked between entries; once it says
        yes, what was found until then is returned.
        """
        if not document.mentions_pallas:
            return ModuleFacts()
        self.workspace.packages = self.packages_of(document.path)
        module = self.workspace.main_module(document)
        kept = self._kept.get(document.uri, {})
        now: dict[tuple[str, str, str, str], Outcome] = {}
        by_span: dict[Span, list[Specialised]] = {}
        queue = _entries(document)
        lacking: set[str] = set()
        bodies = FollowedBodies(leaves_out=not all_bodies)
        for entry in queue:
            if cancelled():
                # What the next call would evaluate again is kept where this one was cut short.
                now = {**kept, **now}
                break
            outcome = self._held(kept.get(entry.key), bodies)
            if outcome is None:
                outcome = _guarded(partial(run_entry, module, entry, bodies), Outcome((), {}))
            now[entry.key] = outcome
            bodies.add(one.body for one in outcome.bodies)
            for span, specialised in outcome.calls:
                _add(by_span.setdefault(span, []), specialised)
                if entry.kind == "generic" and entry.function is not None and _lacks_structure(specialised.worlds[0]):
                    lacking.add(entry.function.node.name)
            if entry is queue[-1] and lacking:
                # What the caller decides is asked of callers whose own arguments are not known either.
                queue += _callers_of(document, lacking, queue)
                lacking = set()
        else:
            self._follow_callers_elsewhere(document, kept, now, by_span, elsewhere, cancelled)
        if sum(1 for entry in queue if entry.kind == "call") >= CALLER_LIMIT:
            for span, (first, *others) in by_span.items():
                by_span[span] = [noted(first, _MORE_CALLERS), *others]
        self._kept[document.uri] = now
        return ModuleFacts(
            _sites(document, by_span),
            _guarded(lambda: api_uses(document), ()),
            _guarded(lambda: _runnables(document), ()),
            _guarded(lambda: _faults(document), ()),
        )

    def _held(self, outcome: Outcome | None, bodies: FollowedBodies) -> Outcome | None:
        """``outcome``, its bodies up to date, where nothing that it read has changed. ``bodies`` stand before it."""
        if outcome is None or not self.workspace.still_holds(outcome.reads):
            return None
        return _guarded(partial(with_new_bodies, outcome, self.workspace.still_holds, bodies), None)

    def _follow_callers_elsewhere(
        self,
        document: Document,
        kept: dict[tuple[str, str, str, str], Outcome],
        now: dict[tuple[str, str, str, str], Outcome],
        by_span: dict[Span, list[Specialised]],
        elsewhere: bool,
        cancelled: Callable[[], bool],
    ) -> None:
        callers = self._callers_elsewhere(document)
        self._callers_seen[document.uri] = tuple(entry.key for entry in callers)
        self._owed.discard(document.uri)
        lacking = Counter({span: ENOUGH_ELSEWHERE for span in by_span})
        for entry in callers:
            if not +lacking:
                break
            outcome = self._held(kept.get(entry.key), FollowedBodies(leaves_out=False))
            if outcome is None:
                if not elsewhere or cancelled():
                    self._owed.add(document.uri)
                    continue
                module = self._elsewhere.module(document, entry) if self._elsewhere is not None else None
                if module is None:
                    continue
                # Their bodies are those of the generic reading, which rules have looked at already.
                outcome = _guarded(partial(run_entry, module, entry, None), Outcome((), {}))
            now[entry.key] = outcome
            for span, specialised in outcome.calls:
                if span in by_span:
                    _add(by_span[span], specialised)
                    lacking[span] -= 1

    def _callers_elsewhere(self, document: Document) -> list[Entry]:
        return [] if self._elsewhere is None else _guarded(partial(self._elsewhere.entries, document), [])

    def owes(self, document: Document) -> bool:
        """Whether callers in other files were left out of the last analysis."""
        return document.uri in self._owed

    def look_again(self) -> None:
        """Other files of the project may have come, changed or gone: read anew those that did."""
        self.workspace.new_round()

    def show(self, document: Document) -> None:
        """An editor shows this text of a file: it counts, whatever the disk has, for the files that import it too."""
        if document.path is not None:
            self.workspace.files.show(document.path, document)

    def is_current(self, document: Document) -> bool:
        """Whether analysing ``document`` once more would find the same: nothing that was read for it has changed."""
        self.workspace.packages = self.packages_of(document.path)
        if document.mentions_pallas:
            callers = tuple(entry.key for entry in self._callers_elsewhere(document))
            if callers != self._callers_seen.get(document.uri, ()):
                return False
        holds = self.workspace.still_holds
        return all(
            holds(outcome.reads) and all(one.body.name is None or holds(one.body.reads) for one in outcome.bodies)
            for outcome in self._kept.get(document.uri, {}).values()
        )

    def close(self, document: Document) -> None:
        """Forget a file that no editor shows any more; the disk counts again for those that import it."""
        self._kept.pop(document.uri, None)
        self._callers_seen.pop(document.uri, None)
        self._owed.discard(document.uri)
        if self._elsewhere is not None:
            self._elsewhere.forget(document.uri)
        self.workspace.forget(document.uri)
        if document.path is not None:
            self.workspace.files.hide(document.path)


def _guarded(function: Callable[[], Result], otherwise: Result) -> Result:
    """A defect of ours must give fewer answers, not none; under ``PALLAS_LENS_RAISE`` tests see it."""
    try:
        return function()
    except Exception:
        if os.environ.get(_RAISE_VARIABLE):
            raise
        return otherwise


def _add(specialisations: list[Specialised], new: Specialised) -> None:
    for index, other in enumerate(specialisations):
        if other.name == new.name:
            if other.name in ("generic", "defaults"):
                # The site was reached from two entries of one kind: more worlds of the same, the best known first.
                bodies = [*zip(other.worlds, other.bodies, strict=True)]
                bodies += [pair for pair in zip(new.worlds, new.bodies, strict=True) if pair[0] not in other.worlds]
                bodies.sort(key=lambda pair: len(_unknown_structure(pair[0])))
                worlds, followed = zip(*bodies, strict=True)
                specialisations[index] = Specialised(other.name, other.reading, worlds, followed)
            return
    specialisations.append(new)


def _entries(document: Document) -> list[Entry]:
    """What to evaluate, generic before the rest."""
    holders: list[tuple[Statement, EntryFunction]] = []
    generic: list[Entry] = []
    special: list[Entry] = []
    examples: list[Entry] = []
    forwarding = {
        function.node.name
        for statement in document.statements
        for function in outline(statement).functions
        if function.forwards
    }
    for statement in document.statements:
        lexical = outline(statement)
        if lexical.loose_site or (forwarding & lexical.names and not lexical.functions):
            generic.append(Entry(statement, None, "generic"))
        for function in lexical.functions:
            if function.holds_site or forwarding & function.names:
                holders.append((statement, function))
                generic.append(Entry(statement, function, "generic"))
                if _has_telling_default(function):
                    special.append(Entry(statement, function, "defaults"))
            examples.extend(
                Entry(statement, function, "example", example) for example in examples_above(statement, function.node)
            )
    with_example = {(entry.statement.anchor, entry.function) for entry in examples}
    callers = [
        entry for entry in _callers(document, holders) if (entry.statement.anchor, entry.function) not in with_example
    ]
    return [*generic, *special, *examples, *callers]


def _callers(document: Document, holders: list[tuple[Statement, EntryFunction]]) -> list[Entry]:
    """Functions and statements of the file that use a function with a call site, nearest first."""
    wanted = {function.node.name for _, function in holders} | {name for _, f in holders for name in f.classes}
    if not wanted:
        return []
    found: list[Entry] = []
    reached: set[str] = set()
    for _ in range(2):
        level: set[str] = set()
        for statement in document.statements:
            lexical = outline(statement)
            if (
                not lexical.functions
                and lexical.names & wanted
                and not lexical.loose_site
                and not only_defines(statement)
            ):
                key = statement.anchor
                if key not in reached:
                    reached.add(key)
                    found.append(Entry(statement, None, "call"))
            for function in lexical.functions:
                key = f"{statement.anchor}:{function.qualified_name}"
                others = wanted - {function.node.name}
                if key not in reached and function.names & others:
                    reached.add(key)
                    level.add(function.node.name)
                    if function.gives_known_arguments(others):
                        found.append(Entry(statement, function, "call"))
        wanted = level
        if not wanted:
            break
    found.sort(key=lambda entry: entry.needs_arguments)
    return found[:CALLER_LIMIT]


def _lacks_structure(call: KernelCall) -> bool:
    """Whether the grid, the operands, or the rank of a block stay unknown because the caller decides them."""
    return not call.is_for_callers and any(FROM_CALLER in part.reason for part in _unknown_structure(call))


def _unknown_structure(call: KernelCall) -> list[Unknown]:
    """What is not known of the grid, the operands and the shapes of blocks."""
    parts: list[object] = [call.grid, call.operands]
    if not isinstance(call.operands, Unknown):
        parts += [operand.spec.block_shape for operand in call.operands if isinstance(operand.spec, BlockSpec)]
    return [part for part in parts if isinstance(part, Unknown)]


def _callers_of(document: Document, wanted: set[str], known: list[Entry]) -> list[Entry]:
    """The functions of the file that use one of ``wanted``, but for those that ``known`` has as callers already."""
    present = {entry.key for entry in known}
    found = [
        entry
        for statement in document.statements
        for function in outline(statement).functions
        if function.names & (wanted - {function.node.name})
        and (entry := Entry(statement, function, "call")).key not in present
    ]
    return found[: max(0, CALLER_LIMIT - sum(1 for entry in known if entry.kind == "call"))]


def _has_telling_default(function: EntryFunction) -> bool:
    """Whether a default may be a number: one that is written, or a name or expression for one."""
    arguments = function.node.args
    defaults = (*arguments.defaults, *arguments.kw_defaults)
    return any(
        default is not None and not (isinstance(default, ast.Constant) and isinstance(default.value, bool | str | None))
        for default in defaults
    )


def _sites(document: Document, by_span: dict[Span, list[Specialised]]) -> tuple[CallSite, ...]:
    def place(span: Span) -> tuple[int, int, int]:
        return (document.start_row(span.anchor) or 0, span.start_row, span.start_column)

    order = {"generic": 0, "defaults": 1}
    return tuple(
        CallSite(span, tuple(sorted(by_span[span], key=lambda one: order.get(one.name, 2))))
        for span in sorted(by_span, key=place)
    )


def _runnables(document: Document) -> tuple[Runnable, ...]:
    made: list[Runnable] = []
    for statement in document.statements:
        for function in outline(statement).functions:
            for example in examples_above(statement, function.node):
                made.append(
                    Runnable(
                        function.qualified_name,
                        _name_span(statement, function),
                        example.name or "",
                        example.text,
                        example.inputs,
                        example.reference,
                    )
                )
    return tuple(made)


def _name_span(statement: Statement, function: EntryFunction) -> Span:
    node = function.node
    start = node.col_offset + len("async def " if isinstance(node, ast.AsyncFunctionDef) else "def ")
    return Span(statement.anchor, node.lineno - 1, start, node.lineno - 1, start + len(node.name))


def _faults(document: Document) -> tuple[CommentFault, ...]:
    return tuple(
        CommentFault(problem.range.start_row, problem.range.start_column, problem.range.end_column, problem.message)
        for problem in (*comment_problems(document), *example_problems(document))
    )
