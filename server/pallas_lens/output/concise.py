"""One line a finding, as compilers print them: editors and terminals make links of it."""

from __future__ import annotations

from collections.abc import Iterable

from .report import FileReport


def concise(reports: Iterable[FileReport]) -> str:
    """``file:row:column: severity[CODE] message``, one line each."""
    return "".join(
        f"{report.place(one.range.start_row, one.range.start_column)}: "
        f"{one.severity}[{one.code}] {' '.join(one.message.split())}\n"
        for report in reports
        for one in report.diagnostics
    )
