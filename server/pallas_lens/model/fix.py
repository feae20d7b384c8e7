"""A fix as edits of model parts; the source room turns them into text."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from .span import Span


class Applicability(StrEnum):
    """Whether a fix can change what working code does. Only safe ones join fix-all."""

    SAFE = "safe"
    UNSAFE = "unsafe"


@dataclass(frozen=True, slots=True)
class Replace:
    """Put ``text`` in the place of the part at ``span``.

    ``over``: what must stand there, for a rule that knows a value but not how it is
    written; where something else stands there, the fix is not offered.
    """

    span: Span
    text: str
    over: str | None = None


@dataclass(frozen=True, slots=True)
class InsertArgument:
    """Add ``text`` ("name=value") behind the last argument of the call at ``call``."""

    call: Span
    text: str


@dataclass(frozen=True, slots=True)
class RemoveArgument:
    """Take out the argument at ``span`` together with the comma that goes with it."""

    span: Span


Edit = Replace | InsertArgument | RemoveArgument


@dataclass(frozen=True, slots=True)
class Fix:
    """What a quick fix does: ``title`` reads as a menu entry."""

    title: str
    edits: tuple[Edit, ...]
    applicability: Applicability = Applicability.UNSAFE
