"""Findings for people: the lines at fault with marks under them, the reason, and the way out."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from pallas_lens.features.diagnostics import COMMENT_CODE, Diagnostic, RelatedPlace
from pallas_lens.model.finding import Severity
from pallas_lens.model.fix import Applicability
from pallas_lens.source.positions import TextRange

from .report import FileReport

_COLOURS = {
    Severity.ERROR: "\x1b[1;31m",
    Severity.WARNING: "\x1b[1;33m",
    Severity.INFORMATION: "\x1b[1;36m",
    Severity.HINT: "\x1b[1;32m",
}
_BLUE = "\x1b[1;34m"
_BOLD = "\x1b[1m"
_RESET = "\x1b[0m"
_TAB_WIDTH = 4
_MOST_ROWS = 4


@dataclass(frozen=True, slots=True)
class _Paint:
    enabled: bool

    def __call__(self, text: str, colour: str) -> str:
        return f"{colour}{text}{_RESET}" if self.enabled and text else text


def full(reports: Iterable[FileReport], *, colour: bool) -> str:
    """Each finding with its lines; ``colour`` adds terminal escapes."""
    paint = _Paint(colour)
    return "".join(_finding(one, report, paint) for report in reports for one in report.diagnostics)


def _finding(diagnostic: Diagnostic, report: FileReport, paint: _Paint) -> str:
    colour = _COLOURS[diagnostic.severity]
    cell = report.cell_of(diagnostic.range.start_row)
    first_row = cell.first_row if cell else 0
    here = [one for one in diagnostic.related if one.filename is None]
    gutter = max(_gutter(place, first_row) for place in (diagnostic.range, *(one.range for one in here)))
    blank = " " * gutter
    bar = paint("|", _BLUE)
    head = paint(f"{diagnostic.severity}[{diagnostic.code}]", colour)
    # A run's finding has no rule behind it, and its code says all that its name would.
    name = "" if diagnostic.name == diagnostic.code else f" {paint(diagnostic.name, _BOLD)}:"
    out = [f"{head}{name} {diagnostic.message}"]
    place = report.place(diagnostic.range.start_row, diagnostic.range.start_column)
    out.append(f"{blank}{paint('-->', _BLUE)} {place}")
    out.append(f"{blank} {bar}")
    out += _excerpt(report.lines, diagnostic.range, first_row, "^", colour, paint, gutter)
    for related in here:
        out += _related(related, report, paint, gutter)
    notes = [(one.message, _elsewhere(one)) for one in diagnostic.related if one.filename is not None]
    out.append(f"{blank} {bar}")
    out += [f"{blank} {paint('=', _BLUE)} {paint('note', _BOLD)}: {message}, {where}" for message, where in notes]
    for fix in diagnostic.fixes:
        unsafe = "" if fix.applicability is Applicability.SAFE else " (unsafe: it can change what the code does)"
        out.append(f"{blank} {paint('=', _BLUE)} {paint('fix', _BOLD)}: {fix.message}{unsafe}")
    if diagnostic.code not in (COMMENT_CODE, diagnostic.name):
        out.append(f"{blank} {paint('=', _BLUE)} {paint('more', _BOLD)}: pallas-lens explain {diagnostic.code}")
    return "\n".join(out) + "\n\n"


def _related(related: RelatedPlace, report: FileReport, paint: _Paint, gutter: int) -> list[str]:
    cell = report.cell_of(related.range.start_row)
    place = report.place(related.range.start_row, related.range.start_column)
    return [
        f"{' ' * gutter}{paint('::>', _BLUE)} {place}: {related.message}",
        f"{' ' * gutter} {paint('|', _BLUE)}",
        *_excerpt(report.lines, related.range, cell.first_row if cell else 0, "-", _BLUE, paint, gutter),
    ]


def _elsewhere(related: RelatedPlace) -> str:
    return f"{related.filename}:{related.range.start_row + 1}:{related.range.start_column + 1}"


def _gutter(text_range: TextRange, first_row: int) -> int:
    last = min(text_range.end_row, text_range.start_row + _MOST_ROWS)
    return len(str(last - first_row + 1))


def _excerpt(
    lines: tuple[str, ...],
    text_range: TextRange,
    first_row: int,
    mark: str,
    colour: str,
    paint: _Paint,
    gutter: int,
) -> list[str]:
    out: list[str] = []
    bar = paint("|", _BLUE)
    last = text_range.end_row
    # A range that ends at the start of a line does not take that line.
    if text_range.end_column == 0 and last > text_range.start_row:
        last -= 1
    for row in range(text_range.start_row, min(last + 1, len(lines))):
        if row == text_range.start_row + _MOST_ROWS:
            out.append(f"{' ' * gutter} {bar} ...")
            break
        line = lines[row]
        start = text_range.start_column if row == text_range.start_row else len(line) - len(line.lstrip())
        end = text_range.end_column if row == text_range.end_row else len(line.rstrip())
        number = paint(str(row - first_row + 1).rjust(gutter), _BLUE)
        out.append(f"{number} {bar} {_shown(line)}".rstrip())
        if end > start or row == text_range.start_row:
            before = _width(line[:start])
            marks = mark * max(1, _width(line[:end]) - before)
            out.append(f"{' ' * gutter} {bar} {' ' * before}{paint(marks, colour) if colour else marks}")
    return out


def _shown(line: str) -> str:
    """``line`` as a terminal can show it: tabs as spaces, control characters (which could be escapes) as dots."""
    expanded = line.replace("\t", " " * _TAB_WIDTH)
    return "".join("·" if unicodedata.category(character) == "Cc" else character for character in expanded)


def _width(text: str) -> int:
    """The columns that a terminal takes for ``text``."""
    width = 0
    for character in text:
        if character == "\t":
            width += _TAB_WIDTH
        elif unicodedata.combining(character):
            continue
        else:
            width += 2 if unicodedata.east_asian_width(character) in "WF" else 1
    return width
