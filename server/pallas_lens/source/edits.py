"""Edits of model parts turned into edits of the text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from pallas_lens.model.fix import Edit, InsertArgument, Replace
from pallas_lens.model.span import Span

from .comments import IGNORE
from .document import Document
from .positions import TextRange
from .scan import code_end, joined_rows, last_argument

_CALLEE_END = re.compile(r"[\w)\]\"']")


@dataclass(frozen=True, slots=True)
class TextEdit:
    """Put ``content`` in the place of ``range``; lines of ``content`` end with a newline character."""

    range: TextRange
    content: str


def text_edits(document: Document, edits: Iterable[Edit]) -> tuple[TextEdit, ...] | None:
    """The edits as edits of the document's text, in the order of the text.

    None where they cannot be made: the part stands in another file, or in a statement that
    does not parse at the moment, or is not written as the edit expects, or two of them touch.
    """
    made: list[TextEdit] = []
    new_arguments: dict[TextRange, list[str]] = {}
    for edit in edits:
        where = _exact(document, edit.call if isinstance(edit, InsertArgument) else edit.span)
        if where is None:
            return None
        if isinstance(edit, Replace):
            if edit.over is not None and document.text_in(where) != edit.over:
                return None
            made.append(TextEdit(where, edit.text))
        elif isinstance(edit, InsertArgument):
            new_arguments.setdefault(where, []).append(edit.text)
        else:
            made += _remove_argument(document, where)
    for where, arguments in new_arguments.items():
        inserted = _insert_arguments(document, where, arguments)
        if inserted is None:
            return None
        made += inserted
    made.sort(key=lambda one: one.range)
    for one, other in pairwise(made):
        if (one.range.end_row, one.range.end_column) > (other.range.start_row, other.range.start_column):
            return None
    return tuple(made)


def disable_for_line(document: Document, where: TextRange, code: str) -> TextEdit | None:
    """The edit that silences ``code`` for a finding at ``where``, with a comment at the end of a line.

    None where a comment that silences everything stands there already.
    """
    row = _row_for_comment(document, where)
    line = document.lines[row]
    end = len(line.rstrip())
    code_stop = code_end(line) if not _begins_inside_string(document, row) else 0
    for match in IGNORE.finditer(line, code_stop):
        if match["kind"] != "ignore":
            continue
        if match["names"] is None:
            return None
        names = [name.strip() for name in match["names"].split(",") if name.strip()]
        if code in names:
            return None
        return TextEdit(TextRange(row, match.start("names"), row, match.end("names")), ", ".join([*names, code]))
    return TextEdit(TextRange(row, end, row, len(line)), f"  # pallas-lens: ignore[{code}]")


def _exact(document: Document, span: Span) -> TextRange | None:
    """Where ``span`` stands, when its statement's text is what the span was taken from."""
    if span.file is not None:
        return None
    statement = document.statement(span.anchor)
    if statement is None or statement.broken:
        return None
    return document.locate(span)


def _row_for_comment(document: Document, where: TextRange) -> int:
    last = where.end_row - 1 if where.end_column == 0 and where.end_row > where.start_row else where.end_row
    runs = _runs(document, where.start_row)
    for row in (where.start_row, last):
        if row + 1 not in runs:
            return row
    # Neither can end in a comment; the end of the run of lines speaks for all of them.
    while last + 1 in runs:
        last += 1
    return last


def _begins_inside_string(document: Document, row: int) -> bool:
    return row in _runs(document, row)


def _runs(document: Document, row: int) -> dict[int, int]:
    found = document.statement_at(row)
    if found is None:
        return {}
    statement, first = found
    return {first + inner: first + start for inner, start in joined_rows(statement.text).items()}


def _insert_arguments(document: Document, call: TextRange, arguments: list[str]) -> list[TextEdit] | None:
    source = document.text_in(call)
    last = last_argument(source)
    if last is None:
        return None
    row, column = _moved(call, source, last.offset)
    here = TextRange(row, column, row, column)
    in_line = ", ".join(arguments)
    if last.is_opening:
        return [TextEdit(here, in_line)]
    rest = source[last.offset : last.closing]
    if "\n" not in rest:
        return [TextEdit(here, f" {in_line}" if last.is_comma else f", {in_line}")]
    # The closing bracket has a line of its own, and so gets each new argument.
    line = document.lines[row]
    indent = line[: len(line) - len(line.lstrip())]
    new_lines = "".join(f"\n{indent}{argument}," for argument in arguments)
    comma = "" if last.is_comma else ","
    line_end = len(line.rstrip())
    if line_end == column:
        return [TextEdit(here, comma + new_lines)]
    behind = TextEdit(TextRange(row, line_end, row, line_end), new_lines)
    return [TextEdit(here, comma), behind] if comma else [behind]


def _remove_argument(document: Document, argument: TextRange) -> list[TextEdit]:
    start = (argument.start_row, argument.start_column)
    end = (argument.end_row, argument.end_column)
    before, after = _previous(document, start), _next(document, end)
    while _is_own_bracket(document, before, after):
        start, end = (before[0], before[1]), (after[0], after[1] + 1)
        before, after = _previous(document, start), _next(document, end)
    if after[2] == ",":
        return [_through(document, start, (after[0], after[1] + 1))]
    if before[2] != ",":
        return [TextEdit(TextRange(*start, *end), "")]
    if before[0] == start[0] or document.lines[start[0]][: start[1]].strip():
        return [TextEdit(TextRange(before[0], before[1], *end), "")]
    # A comment may stand between the comma and the line of the argument.
    comma = TextRange(before[0], before[1], before[0], before[1] + 1)
    line_end = (start[0] - 1, len(document.lines[start[0] - 1]))
    return [TextEdit(comma, ""), TextEdit(TextRange(*line_end, *end), "")]


def _is_own_bracket(document: Document, before: tuple[int, int, str], after: tuple[int, int, str]) -> bool:
    """Whether the brackets around an argument are its own and not those of the call."""
    if (before[2], after[2]) != ("(", ")"):
        return False
    outer = _previous(document, (before[0], before[1]))
    return not (outer[0] == before[0] and _CALLEE_END.match(outer[2]))


def _through(document: Document, start: tuple[int, int], comma_end: tuple[int, int]) -> TextEdit:
    """Remove up to and with a comma, and the lines where nothing else is left."""
    lines = document.lines
    rest = lines[comma_end[0]][comma_end[1] :]
    head = lines[start[0]][: start[1]]
    if not rest.strip() or rest.lstrip().startswith("#"):
        if not head.strip() and comma_end[0] + 1 < len(lines):
            return TextEdit(TextRange(start[0], 0, comma_end[0] + 1, 0), "")
        return TextEdit(TextRange(*start, *comma_end), "")
    blank = len(rest) - len(rest.lstrip())
    return TextEdit(TextRange(*start, comma_end[0], comma_end[1] + blank), "")


def _previous(document: Document, place: tuple[int, int]) -> tuple[int, int, str]:
    """The last character of code before ``place``."""
    row, column = place
    line = document.lines[row][:column]
    while True:
        code = line[: code_end(line)].rstrip()
        if code:
            return row, len(code) - 1, code[-1]
        if row == 0:
            return 0, 0, ""
        row -= 1
        line = document.lines[row]


def _next(document: Document, place: tuple[int, int]) -> tuple[int, int, str]:
    """The first character of code at or behind ``place``."""
    row, column = place
    while row < len(document.lines):
        rest = document.lines[row][column:]
        code = rest.lstrip()
        if code and not code.startswith("#"):
            return row, column + len(rest) - len(code), code[0]
        row, column = row + 1, 0
    return row, 0, ""


def _moved(where: TextRange, source: str, offset: int) -> tuple[int, int]:
    rows = source.count("\n", 0, offset)
    if rows == 0:
        return where.start_row, where.start_column + offset
    return where.start_row + rows, offset - source.rfind("\n", 0, offset) - 1


def overlapping(edits: Iterable[TextEdit]) -> Iterator[tuple[TextEdit, TextEdit]]:
    """Neighbouring pairs of edits that touch each other."""
    ordered = sorted(edits, key=lambda one: one.range)
    for one, other in pairwise(ordered):
        if one.range.overlaps(other.range):
            yield one, other
