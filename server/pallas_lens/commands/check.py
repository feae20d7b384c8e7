"""``pallas-lens check``: what the TPU compiler would refuse, file by file."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from pallas_lens.check import Checker
from pallas_lens.features.diagnostics import Diagnostic
from pallas_lens.file_discovery import SourceFile
from pallas_lens.model.finding import Severity
from pallas_lens.output.concise import concise
from pallas_lens.output.findings_json import findings_json
from pallas_lens.output.full import full
from pallas_lens.output.report import FileReport
from pallas_lens.project import Projects
from pallas_lens.source.document import Document

from .common import Inputs, complain, display_name, packages_of, projects_for, refuse_bad_settings
from .fix_files import FixFailed, fix_file

_COUNTED = (Severity.ERROR, Severity.WARNING)


def check(arguments: argparse.Namespace) -> int:
    """Check the files and print what was found. Exit code 1 where something counts or a file could not be read."""
    inputs = Inputs(arguments)
    projects = projects_for(arguments)
    projects.of(Path.cwd() / "anything.py")
    refuse_bad_settings(projects)
    checker = Checker(inputs.roots, _docs(), packages_of(projects))
    checker.index_imports()
    reports: list[FileReport] = []
    fixed = 0
    for source in inputs.sources():
        document = document_of(source, checker)
        found = _diagnostics(checker, projects, document)
        if arguments.fix and any(one.safe_fix for one in found):
            try:
                document, found, count = fix_file(
                    source, document, found, lambda changed: _diagnostics(checker, projects, changed)
                )
                fixed += count
            except FixFailed as error:
                complain(f"{source.path}: not fixed: {error}")
        report = report_of(source.path, document, found)
        for row in report.unparsed_rows:
            complain(f"{report.line(row)}: does not parse here; what stands around it was checked")
        reports.append(report)
    _print(arguments.output_format, reports, fixed)
    counted = any(one.severity in _COUNTED for report in reports for one in report.diagnostics)
    return 1 if counted or not inputs.all_read else 0


def document_of(source: SourceFile, checker: Checker) -> Document:
    """The document of a file on the disk, notebook or not."""
    if source.path.suffix == ".ipynb":
        from pallas_lens.source.notebook import open_notebook

        return open_notebook(source.path, source.text)
    return checker.open(source.path, source.text)


def report_of(path: Path, document: Document, diagnostics: tuple[Diagnostic, ...]) -> FileReport:
    """The report of one file."""
    # Of a notebook whose cells say nothing of Pallas, nothing is checked.
    unparsed = document.unparsed_rows if document.mentions_pallas else ()
    return FileReport(display_name(path), document.lines, diagnostics, document.cells, unparsed)


def _diagnostics(checker: Checker, projects: Projects, document: Document) -> tuple[Diagnostic, ...]:
    project = projects.of(document.path)
    refuse_bad_settings(projects)
    return checker.diagnostics(document, project)


def _print(output_format: str, reports: list[FileReport], fixed: int) -> None:
    if output_format == "json":
        sys.stdout.write(findings_json(reports))
        return
    if output_format == "concise":
        sys.stdout.write(concise(reports))
    else:
        sys.stdout.write(full(reports, colour=_wants_colour()))
    print(_summary(reports, fixed))


def _docs() -> str:
    """The URI of the rules' pages, which a checkout has beside the package and an installed package has not."""
    folder = Path(__file__).parents[3] / "docs" / "rules"
    return folder.as_uri() if folder.is_dir() else ""


def _wants_colour() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def _summary(reports: list[FileReport], fixed: int) -> str:
    found = [one for report in reports for one in report.diagnostics]
    done = f"Fixed {fixed}. " if fixed else ""
    if not found:
        return f"{done}Nothing found in {_counted(len(reports), 'file')} with Pallas.{_unparsed(reports)}"
    counts = [
        _counted(number, word)
        for severity, word in (
            (Severity.ERROR, "error"),
            (Severity.WARNING, "warning"),
            (Severity.INFORMATION, "remark"),
            (Severity.HINT, "hint"),
        )
        if (number := sum(one.severity is severity for one in found))
    ]
    files = sum(bool(report.diagnostics) for report in reports)
    # A notebook is never written to.
    fixable = sum(
        one.safe_fix is not None for report in reports if not report.is_notebook for one in report.diagnostics
    )
    hint = f" {fixable} can be fixed with --fix." if fixable else ""
    told = f"Found {', '.join(counts)} in {_counted(files, 'file')} of {len(reports)} with Pallas."
    return f"{done}{told}{hint}{_unparsed(reports)}"


def _unparsed(reports: list[FileReport]) -> str:
    count = sum(bool(report.unparsed_rows) for report in reports)
    return f" {_counted(count, 'file')} did not parse everywhere." if count else ""


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
