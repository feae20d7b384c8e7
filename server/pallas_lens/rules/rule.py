"""What a rule is: a declaration, examples that the compiler has judged, and a check.

A rule lives in ``catalog/<name>.py``. The module's docstring is its documentation:
one line of summary, then the headings of ``HEADINGS`` as ``## `` sections. The
sections "Example" and "Use instead" of the page come from the first INVALID and the
first VALID example, so that they cannot disagree with what the tests judge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from pallas_lens.model.finding import Related, Severity
from pallas_lens.model.fix import Fix
from pallas_lens.model.kernel_body import KernelBody
from pallas_lens.model.kernel_call import KernelCall
from pallas_lens.model.module_facts import ModuleFacts
from pallas_lens.model.span import Span

from .context import Context

HEADINGS: Final = ("What it does", "Why it is wrong", "Known limits", "Source")
"""The headings that a rule's docstring must have, in this order."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What a check has found: the part at fault and the words for it.

    ``chips`` None: it holds whatever the chip. A tuple names the targets on which the
    compiler refuses; where that is not all of them the finding becomes a warning.
    ``severity`` None: the rule's own.
    """

    span: Span
    message: str
    fix: Fix | None = None
    related: tuple[Related, ...] = ()
    chips: tuple[str, ...] | None = None
    severity: Severity | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Valid:
    """A source that the compiler accepts on every chip and the rule is silent on.

    ``since`` and ``until`` bound the JAX versions (inclusive) that accept it.
    """

    source: str
    since: str | None = None
    until: str | None = None


@dataclass(frozen=True, slots=True)
class Invalid:
    """A source that the compiler refuses, and the text ``at`` fault in it.

    ``refusal`` is part of what JAX or the compiler says, so that it is refused for this fault and no other; with "|"
    between the parts where chips differ in their words.
    ``at`` is the first place where that text stands, unless ``occurrence`` (from 0)
    says another. ``chips`` empty: refused on every chip. ``since`` and ``until``
    bound the JAX versions (inclusive) that refuse it.
    """

    source: str
    at: str
    refusal: str
    occurrence: int = 0
    chips: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What every rule declares.

    ``confirmed_by`` says who refuses the INVALID examples: "compiler" (JAX's own
    checks, its TPU lowering or libtpu) or "deprecation" (JAX warns when the name is read).
    ``every_backend``: JAX refuses whatever the backend, so that kernels for GPUs are checked too.
    """

    code: str
    name: str
    severity: Severity
    summary: str
    documentation: str
    valid: tuple[Valid, ...]
    invalid: tuple[Invalid, ...]
    confirmed_by: str = "compiler"
    every_backend: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRule(Rule):
    """A rule about a call: grid, specs, operands, parameters.

    ``about_whole_call``: its only problem stands at the call's ``callee_span``. Every
    world has that part, so that one which has no problem settles the matter.
    """

    about_whole_call: bool = False
    check: Callable[[KernelCall, Context], Iterable[Problem]]


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyRule(Rule):
    """A rule about what a kernel does with its refs."""

    check: Callable[[KernelBody, Context], Iterable[Problem]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleRule(Rule):
    """A rule about a file as a whole, such as the names that it takes from JAX."""

    check: Callable[[ModuleFacts, Context], Iterable[Problem]]
