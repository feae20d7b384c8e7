"""Findings as a reader sees them: on the lines of a file, with fixes as text edits."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from pallas_lens.model.finding import Finding, Severity
from pallas_lens.model.fix import Applicability
from pallas_lens.model.module_facts import CommentFault
from pallas_lens.source.comments import comment_problems, suppressions
from pallas_lens.source.document import Document
from pallas_lens.source.edits import TextEdit, text_edits
from pallas_lens.source.positions import TextRange

COMMENT_CODE: Final = "PAL000"
COMMENT_NAME: Final = "comment-not-understood"
"""What is said of a ``pallas-lens:`` comment that cannot be read; it is no rule about kernels."""

_LINE_END: Final = re.compile(r"\r\n|\r|\n")


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

    ``fixes`` has the best one first. ``url`` is the page of the rule; ``source`` who says it.
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
    tags: tuple[str, ...] = ()
    """"deprecated" or "unnecessary", which editors strike through or fade."""
    source: str = "pallas-lens"

    @property
    def safe_fix(self) -> DiagnosticFix | None:
        """The fix that may be applied unseen, where there is one."""
        for fix in self.fixes:
            if fix.applicability is Applicability.SAFE:
                return fix
        return None


def diagnostics_of(
    document: Document, findings: list[Finding], faults: tuple[CommentFault, ...] = (), docs: str = ""
) -> tuple[Diagnostic, ...]:
    """The findings that no comment silences, in the order of their places, and comments that cannot be read.

    ``docs`` is the URI of the folder with the rules' pages.
    """
    silent = suppressions(document)
    found = [one for finding in findings if (one := _diagnostic(document, finding, docs)) is not None]
    found += _comment_diagnostics(document, faults)
    kept = {
        (one.range, one.code, one.message): one for one in found if not silent.silences(one.code, one.name, one.range)
    }
    return tuple(sorted(kept.values(), key=lambda one: (one.range, one.code)))


def rule_url(docs: str, name: str) -> str:
    """The page of a rule in the folder ``docs``; "" where there is none."""
    return f"{docs.rstrip('/')}/{name}.md" if docs else ""


def _diagnostic(document: Document, finding: Finding, docs: str) -> Diagnostic | None:
    # What stands in another file is told when that one is checked.
    if finding.span.file is not None or document.start_row(finding.span.anchor) is None:
        return None
    return Diagnostic(
        code=finding.code,
        name=finding.name,
        severity=finding.severity,
        message=finding.message,
        range=document.locate(finding.span),
        fixes=_fixes(document, finding),
        chips=finding.chips,
        related=_related(document, finding),
        specialisation=finding.specialisation,
        url=rule_url(docs, finding.name),
        tags=finding.tags,
    )


def _fixes(document: Document, finding: Finding) -> tuple[DiagnosticFix, ...]:
    if finding.fix is None:
        return ()
    edits = text_edits(document, finding.fix.edits)
    return (DiagnosticFix(finding.fix.title, finding.fix.applicability, edits),) if edits else ()


def _related(document: Document, finding: Finding) -> tuple[RelatedPlace, ...]:
    """Related parts of this file; those of others have no place that is known here."""
    return tuple(
        RelatedPlace(related.message, None, document.locate(related.span))
        for related in finding.related
        if related.span.file is None and document.start_row(related.span.anchor) is not None
    )


def _comment_diagnostics(document: Document, faults: tuple[CommentFault, ...]) -> list[Diagnostic]:
    places = {(problem.range, problem.message) for problem in comment_problems(document)}
    places |= {(TextRange(one.row, one.start_column, one.row, one.end_column), one.message) for one in faults}
    return [
        Diagnostic(COMMENT_CODE, COMMENT_NAME, Severity.WARNING, message, where) for where, message in sorted(places)
    ]


def apply_edits(text: str, edits: tuple[TextEdit, ...]) -> str:
    """``text`` with ``edits`` applied, which must not overlap. New lines end as those of ``text`` do."""
    starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
    ends = [*(match.start() for match in _LINE_END.finditer(text)), len(text)]

    def offset(row: int, column: int) -> int:
        return min(starts[row] + column, ends[row]) if row < len(starts) else len(text)

    line_end = "\r\n" if "\r\n" in text else "\n"
    for edit in sorted(edits, key=lambda one: one.range, reverse=True):
        start = offset(edit.range.start_row, edit.range.start_column)
        end = offset(edit.range.end_row, edit.range.end_column)
        text = text[:start] + edit.content.replace("\n", line_end) + text[end:]
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
