"""Reads statements that do not parse: what can be kept of code that is being typed."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass

from .scan import Ending, StatementEnd, code_end, logical_line, statement_end, without_gap
from .syntax import ParseFailure

Parser = Callable[[str], tuple[ast.stmt, ...] | ParseFailure]

# Each attempt parses the statement once more; a keystroke has time for a few.
_ATTEMPTS = 5
_CUTS = 8
# A logical line longer than this has lost its closing bracket.
_LONGEST_LOGICAL_LINE = 400
_DEFINITION = re.compile(r"\s*(?:async\s+)?(def|class)\b\s*(\w*)")
_DECORATED = re.compile(r"\s*(?:@|(?:async|def|class)\b)")
_CLOSER = re.compile(r"\s*[)\]}]")
_TRY = re.compile(r"\s*try\s*:")
_ENDS_TRY = re.compile(r"\s*(?:except|finally)\b")


@dataclass(frozen=True, slots=True)
class Repaired:
    """A statement read with some lines replaced.

    ``rows`` is how many rows it covers, ``parsed`` the text that ``tree`` came from, of
    at most as many rows. ``keeps_header`` is False where the line that names the
    statement is among the replaced.
    """

    rows: int
    parsed: str
    tree: tuple[ast.stmt, ...]
    keeps_header: bool


def repair(
    text: str, start: int, end: StatementEnd, suspects: list[int], cursor_row: int | None, parser: Parser
) -> Repaired | None:
    """Replace the logical line at the cursor, or those of ``suspects``, and read the statement again.

    The statement's end is looked for again too, because what is being typed may have
    opened a bracket or string that swallowed the statements below. Rows count from the
    line of ``start``.
    """
    attempt = _Attempt(text, start, end, parser)
    last_row = text.count("\n", start, end.offset)
    cursor = cursor_row if cursor_row is not None and 0 <= cursor_row <= last_row else None
    tried: set[frozenset[int]] = set()
    waiting: list[frozenset[int]] = [frozenset({row}) for row in suspects]
    if cursor is not None:
        waiting.insert(0, frozenset({cursor}))
    while waiting and len(tried) < _ATTEMPTS:
        rows = waiting.pop(0)
        if rows in tried:
            continue
        tried.add(rows)
        outcome = attempt.without(rows)
        if isinstance(outcome, Repaired):
            return outcome
        waiting.append(rows | {outcome})
    return None


def largest_prefix(text: str, failure: ParseFailure | None, parser: Parser) -> tuple[str, tuple[ast.stmt, ...]]:
    """The longest head of ``text``, by whole lines, that was found to parse, and its tree.

    The parser's own complaint says where to cut; blocks left without a body get one.
    """
    lines = text.split("\n")
    row = failure.row if failure is not None else len(lines) - 1
    for _ in range(_CUTS):
        row = min(row, len(lines))
        row, _last = logical_line(text, 0, row)
        lines = lines[:row]
        while lines and not _is_code(lines[-1]):
            lines.pop()
        if not lines:
            break
        closed = "\n".join([*lines, *_closing_blocks(lines)])
        outcome = parser(closed)
        if not isinstance(outcome, ParseFailure):
            return closed, outcome
        row = min(outcome.row, len(lines) - 1)
    return "", ()


class _Attempt:
    """Reads one statement with chosen lines replaced."""

    def __init__(self, text: str, start: int, end: StatementEnd, parser: Parser) -> None:
        self._head = text[:start]
        self._start = start
        self._text = text
        self._lines = text[start:].split("\n")
        self._last_row = text.count("\n", start, max(end.offset - 1, start))
        self._parser = parser

    def without(self, rows: frozenset[int]) -> Repaired | int:
        """The statement without the logical lines that hold ``rows``, or the row of the next complaint."""
        lines = list(self._lines)
        replaced: set[int] = set()
        for wanted in sorted(rows):
            row = self._code_row(wanted)
            first, last = self._region(row)
            replaced.update(range(first, last + 1))
            lines[first] = self._stand_in(first, last)
            lines[first + 1 : last + 1] = [""] * (last - first)
        text = self._head + "\n".join(lines)
        end = statement_end(text, self._start)
        if end.ending is not Ending.CLEAN:
            return text.count("\n", self._start, end.opener or self._start)
        parsed = text[self._start : without_gap(text, self._start, end.offset)]
        outcome = self._parser(parsed)
        if isinstance(outcome, ParseFailure):
            return outcome.row
        covered = parsed.count("\n") + 1
        for row in range(covered, max(replaced) + 1):
            # Rows that were emptied at its end belong to the statement; what stands behind more code does not.
            if _is_code(lines[row]):
                break
            covered = row + 1 if row in replaced else covered
        return Repaired(covered, parsed, outcome, self._header_row() not in replaced)

    def _code_row(self, row: int) -> int:
        row = min(row, len(self._lines) - 1)
        while row > 0 and not _is_code(self._lines[row]):
            row -= 1
        return row

    def _region(self, row: int) -> tuple[int, int]:
        first, last = logical_line(self._text, self._start, row)
        if last - first <= _LONGEST_LOGICAL_LINE and not self._runs_over(first, last):
            return first, last
        # The bracket is not closed: what stands deeper below the line belongs to it, unless it is a block.
        last = row
        if not self._lines[row].rstrip().endswith(":"):
            while last < self._last_row and (
                _CLOSER.match(self._lines[last + 1]) or _indent(self._lines[last + 1]) > _indent(self._lines[row])
            ):
                last += 1
        return row, last

    def _runs_over(self, first: int, last: int) -> bool:
        indent = _indent(self._lines[first])
        return last > self._last_row or any(
            line.strip() and _indent(line) <= indent and not _CLOSER.match(line)
            for line in self._lines[first + 1 : last + 1]
        )

    def _stand_in(self, first: int, last: int) -> str:
        """A line that parses where row ``first`` stands and binds no more than that did."""
        line, below = self._lines[first], self._code_below(last)
        indent = line[: _indent(line)]
        needed, deeper = self._needs_statement(first, last), _indent(below) > len(indent)
        if line.lstrip().startswith("@") and _DECORATED.match(below):
            return f"{indent}@_"
        definition = _DEFINITION.match(line)
        if definition:
            keyword, name = definition.groups()
            parameters = "(*_, **__)" if keyword == "def" else ""
            return f"{indent}{keyword} {name or '_'}{parameters}:" + ("" if deeper else " pass")
        if deeper and (indent or needed) and not (first and _opens_block(self._code_above(first))):
            return f"{indent}if 1:"
        # Code at column 0 would begin another statement, and an empty line changes the fewest things.
        return f"{indent}pass" if needed else ""

    def _needs_statement(self, first: int, last: int) -> bool:
        """Whether something has to stand on row ``first``: it is the statement's own, or all there is of a block."""
        if first == 0:
            return True
        above = self._code_above(first)
        return _opens_block(above) and _indent(self._code_below(last)) <= _indent(above)

    def _code_above(self, first: int) -> str:
        return next((line for line in self._lines[first - 1 :: -1] if _is_code(line)), "")

    def _code_below(self, last: int) -> str:
        """The first line of code below row ``last``; empty behind the last."""
        return next((line for line in self._lines[last + 1 : self._last_row + 1] if _is_code(line)), "")

    def _header_row(self) -> int:
        """The row of the line that names the statement, below its decorators."""
        row = 0
        while row < self._last_row and self._lines[row].startswith("@"):
            row = logical_line(self._text, self._start, row)[1] + 1
        return row


def _opens_block(line: str) -> bool:
    return line[: code_end(line)].rstrip().endswith(":")


def _closing_blocks(lines: list[str]) -> list[str]:
    """Lines to add so that the last block has a body and every ``try`` an end."""
    last = lines[-1]
    added = [" " * (_indent(last) + 1) + "pass"] if _opens_block(last) else []
    depth = _indent(last) + 1 if added else _indent(last)
    open_tries: list[int] = []
    for line in lines:
        if not _is_code(line):
            continue
        indent = _indent(line)
        while open_tries and (indent < open_tries[-1] or (indent == open_tries[-1] and _ENDS_TRY.match(line))):
            open_tries.pop()
        if _TRY.match(line):
            open_tries.append(indent)
    return added + [" " * indent + "finally: pass" for indent in reversed(open_tries) if indent <= depth]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t\f"))


def _is_code(line: str) -> bool:
    stripped = line.strip()
    return bool(stripped) and not stripped.startswith("#")
