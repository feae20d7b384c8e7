"""What a rule says about a part of a program."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from .fix import Fix
from .span import Span


class Severity(StrEnum):
    """As LSP has them, from refused code to a remark."""

    ERROR = "error"
    WARNING = "warning"
    INFORMATION = "information"
    HINT = "hint"


@dataclass(frozen=True, slots=True)
class Related:
    """Another part that takes part in the conflict."""

    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding: the part at fault, what is wrong with it, why, and what to do.

    ``chips`` are the targets that it holds on (all targets for most rules);
    ``specialisation`` names the run of the evaluator that showed it ("generic",
    "defaults", "call …", "example …").
    """

    code: str
    name: str
    severity: Severity
    span: Span
    message: str
    fix: Fix | None = None
    chips: tuple[str, ...] = ()
    related: tuple[Related, ...] = field(default=())
    specialisation: str = "generic"
    tags: tuple[str, ...] = field(default=())
    """How an editor may draw it: "deprecated" is struck through."""
