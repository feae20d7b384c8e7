"""What can be done about a finding: its fixes, and silence for one line."""

from __future__ import annotations

from dataclasses import dataclass

from pallas_lens.model.fix import Applicability
from pallas_lens.source.document import Document
from pallas_lens.source.edits import TextEdit, disable_for_line
from pallas_lens.source.positions import TextRange

from .diagnostics import COMMENT_CODE, Diagnostic, without_overlaps


@dataclass(frozen=True, slots=True)
class Action:
    """A menu entry with what it does to the text.

    ``diagnostic`` is what it puts right; ``is_preferred``: it may be applied unseen.
    """

    title: str
    edits: tuple[TextEdit, ...]
    diagnostic: Diagnostic | None
    is_preferred: bool = False


def quick_fixes(document: Document, diagnostics: tuple[Diagnostic, ...], place: TextRange) -> tuple[Action, ...]:
    """Fixes of the findings at ``place``, then a way to silence each."""
    here = [one for one in diagnostics if one.range.overlaps(place)]
    fixes = [
        Action(fix.message, fix.edits, one, is_preferred=fix.applicability is Applicability.SAFE)
        for one in here
        for fix in one.fixes
    ]
    return (*fixes, *(action for one in here if (action := _silence(document, one)) is not None))


def fix_all(diagnostics: tuple[Diagnostic, ...]) -> tuple[TextEdit, ...]:
    """The edits of all safe fixes that go together."""
    return without_overlaps([fix for one in diagnostics if (fix := one.safe_fix) is not None])


def _silence(document: Document, diagnostic: Diagnostic) -> Action | None:
    if diagnostic.code == COMMENT_CODE:
        # It stands on a line of its own, behind which no comment fits.
        return None
    edit = disable_for_line(document, diagnostic.range, diagnostic.code)
    return None if edit is None else Action(f"Disable {diagnostic.code} for this line", (edit,), diagnostic)
