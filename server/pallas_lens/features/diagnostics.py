"""Findings as a reader sees them: on the lines of a file, with fixes as text edits."""

from __future__ import annotations

from dataclasses import dataclass

from pallas_lens.model.finding import Severity
from pallas_lens.model.fix import Applicability
from pallas_lens.source.positions import TextRange


@dataclass(frozen=True, slots=True)
class TextEdit:
    """Put ``content`` in the place of ``range``."""

    range: TextRange
    content: str


@dataclass(frozen=True, slots=True)
class DiagnosticFix:
    """A fix that can be applied to the text as it stands."""

    message: str
    applicability: Applicability
    edits: tuple[TextEdit, ...]


@dataclass(frozen=True, slots=True)
class RelatedPlace:
    """Another place that takes part; ``filename`` None is the same file."""

    message: str
    filename: str | None
    range: TextRange


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding on the lines of one document.

    ``fixes`` has the best one first. ``url`` is the page of the rule.
    """

    code: str
    name: str
    severity: Severity
    message: str
    range: TextRange
    fixes: tuple[DiagnosticFix, ...] = ()
    chips: tuple[str, ...] = ()
    related: tuple[RelatedPlace, ...] = ()
    specialisation: str = "generic"
    url: str = ""

    @property
    def safe_fix(self) -> DiagnosticFix | None:
        """The fix that may be applied unseen, where there is one."""
        for fix in self.fixes:
            if fix.applicability is Applicability.SAFE:
                return fix
        return None


def apply_edits(text: str, edits: tuple[TextEdit, ...]) -> str:
    """``text`` with ``edits`` applied, which must not overlap."""
    lines = text.split("\n")
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line) + 1)

    def offset(row: int, column: int) -> int:
        return offsets[row] + min(column, len(lines[row])) if row < len(lines) else len(text)

    for edit in sorted(edits, key=lambda one: one.range, reverse=True):
        start = offset(edit.range.start_row, edit.range.start_column)
        end = offset(edit.range.end_row, edit.range.end_column)
        text = text[:start] + edit.content + text[end:]
    return text


def without_overlaps(fixes: list[DiagnosticFix]) -> tuple[TextEdit, ...]:
    """The edits of as many ``fixes`` as can be applied together, each whole or not at all."""
    accepted: list[TextEdit] = []
    for fix in fixes:
        new = [edit for edit in fix.edits if edit not in accepted]
        if not any(_collide(edit.range, other.range) for edit in new for other in accepted):
            accepted += new
    return tuple(sorted(accepted, key=lambda edit: edit.range))


def _collide(one: TextRange, other: TextRange) -> bool:
    """Two insertions at one place collide too: their order would be a guess."""
    return one.overlaps(other)
