"""Findings as JSON, to the contract of ``pallas-lens check``: rows and columns from 1, columns in code points."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from pallas_lens.features.diagnostics import Diagnostic, DiagnosticFix
from pallas_lens.source.positions import TextRange

from .report import FileReport


def findings_json(reports: Iterable[FileReport]) -> str:
    """All findings as one JSON list."""
    found = [finding_to_json(one, report) for report in reports for one in report.diagnostics]
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def finding_to_json(diagnostic: Diagnostic, report: FileReport) -> dict[str, Any]:
    """One finding as an object; a notebook's has its cell's number as ``cell`` besides, and counts rows in it."""
    result: dict[str, Any] = {
        "code": diagnostic.code,
        "name": diagnostic.name,
        "severity": diagnostic.severity.value,
        "message": diagnostic.message,
        "filename": report.filename,
        **_place(report.in_cell(diagnostic.range)),
        "fix": _fix(diagnostic.fixes[0], report) if diagnostic.fixes else None,
        "url": diagnostic.url or None,
        "specialisation": diagnostic.specialisation,
        "chips": list(diagnostic.chips),
        "related": [
            {
                "message": related.message,
                "filename": related.filename or report.filename,
                **_place(report.in_cell(related.range) if related.filename is None else related.range),
            }
            for related in diagnostic.related
        ],
    }
    cell = report.cell_of(diagnostic.range.start_row)
    if cell is not None:
        result["cell"] = cell.number
    return result


def _fix(fix: DiagnosticFix, report: FileReport) -> dict[str, Any]:
    return {
        "message": fix.message,
        "applicability": fix.applicability.value,
        "edits": [{"content": edit.content, **_place(report.in_cell(edit.range))} for edit in fix.edits],
    }


def _place(text_range: TextRange) -> dict[str, dict[str, int]]:
    return {
        "location": {"row": text_range.start_row + 1, "column": text_range.start_column + 1},
        "end_location": {"row": text_range.end_row + 1, "column": text_range.end_column + 1},
    }
