"""Finds where top-level statements begin and end, from the text alone.

A statement begins on a line with code at column 0 outside brackets, strings and
line continuations. Only what can change that state is looked at; a regular
expression skips the rest, so that a file of some thousand lines takes milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

# What stands in brackets is mostly names, numbers and plain strings, whose lines are indented: three levels of it are
# passed over at once. A bracket with anything else in it is looked at token by token.
_IN_BRACKETS = (
    r"""(?:[^()\[\]{}"'\#\n\\]++|\n(?=[ \t\n])"""
    r"""|"[^"\\\n]++"(?!")|""(?!")|'[^'\\\n]++'(?!')|''(?!'))"""
)
_BRACKET = rf"[(\[{{]{_IN_BRACKETS}*+[)\]}}]"
for _ in range(2):
    _BRACKET = rf"[(\[{{](?:{_IN_BRACKETS}|{_BRACKET})*+[)\]}}]"


def _tokens(line: str, bracket: str) -> re.Pattern[str]:
    # Quotes inside the replacement fields of an f-string (Python 3.12) are read as the end
    # and the beginning of strings, which leaves brackets and lines balanced all the same.
    return re.compile(
        rf"""
          (?P<line>{line})
        | \"\"\"[^"\\]*+(?:(?:\\.|"(?!""))[^"\\]*+)*+(?:\"\"\"|(?P<open1>\\?\Z))
        | \'\'\'[^'\\]*+(?:(?:\\.|'(?!''))[^'\\]*+)*+(?:\'\'\'|(?P<open2>\\?\Z))
        | "(?:[^"\\\n]|\\.)*+"
        | '(?:[^'\\\n]|\\.)*+'
        | (?P<cut>["'](?:[^\\\n]|\\.)*+)
        | (?P<comment>\#[^\n]*+)
        | {bracket}
        | (?P<opening>[(\[{{])
        | (?P<closing>[)\]}}])
        | (?P<joined>\\\n)
        """,
        re.VERBOSE | re.DOTALL,
    )


_TOKEN = _tokens(r"\n(?=\f*[^\s\#])", _BRACKET.replace(" ", r"\ "))
_EVERY_LINE = _tokens(r"\n", r"""\([^()\[\]{}"'\#\n\\]*+\)""")
_GAP = re.compile(r"(?:[ \t\f]*+(?:\#[^\n]*+)?(?:\n|\Z))*+")
# Words that no bracketed expression can hold: a line that begins with one begins a statement, whatever
# bracket the lines above left open.
_NEVER_IN_BRACKETS = re.compile(
    r"\f*(?:(?:def|class|import|while|with|try|return|raise|del|global|nonlocal|assert|pass|break|continue)\b"
    r"|from\s+[\w.]+\s+import\b|async\s+(?:def|with)\b|if\s+__name__\b)"
)
_DECORATED = re.compile(r"\f*(?:@|def\b|class\b|async\b)")
_DEFINED = re.compile(r"\n(?:async\s+)?(?:def|class)\b")
_HAS_BRANCHES = re.compile(r"\f*(?:if|for|while|try|async)\b")
_BRANCH = re.compile(r"\f*(?:else|elif|except|finally)\b")
_RESTART = re.compile(
    r"\n(?=(?:@\w|def\s+\w+\s*[(\[]|class\s+\w+\s*[:(\[]|async\s+def\b|import\s+\w|from\s+[\w.]+\s+import\b"
    r"|(?:if|for|while|with)\s[^\n]*:[ \t]*(?:\#[^\n]*)?$|try:|[A-Za-z_][\w.]*\s*(?:=(?!=)|:\s*\w[^\n]*=|\()))",
    re.MULTILINE,
)


class Ending(Enum):
    """How a statement ends, as far as the text tells."""

    CLEAN = "outside brackets and strings"
    FORCED = "inside a bracket, before a word that no bracket can hold"
    OPEN = "at the end of the text, inside a bracket or string"


@dataclass(frozen=True, slots=True)
class StatementEnd:
    """Where a statement ends: ``offset`` is the start of the next one, or the end of the text.

    ``opener`` is the offset of the outermost bracket or string left open, where one is;
    ``cut_string`` says that a line ended inside a string that cannot span lines.
    """

    offset: int
    ending: Ending
    opener: int | None = None
    cut_string: bool = False


def skip_gap(text: str, offset: int) -> int:
    """The offset of the first line with code at or behind ``offset``, which begins a line."""
    match = _GAP.match(text, offset)
    return match.end() if match else offset


def without_gap(text: str, start: int, end: int) -> int:
    """The end of the last line with code in ``text[start:end]``, its newline left out."""
    while True:
        line = text.rfind("\n", start, end) + 1
        code = text[max(line, start) : end].strip(" \t\f")
        if line <= start or (code and not code.startswith("#")):
            return end
        end = line - 1


def statement_end(text: str, start: int) -> StatementEnd:
    """Find the end of the statement that begins at ``start``."""
    depth = 0
    opener = start
    cut_string = False
    decorating = text.startswith("@", start)
    has_branches = _HAS_BRANCHES.match(text, start) is not None
    decorator: int | None = None
    for match in _TOKEN.finditer(text, start):
        kind = match.lastgroup
        if kind is None or kind == "comment":
            continue
        if kind == "opening":
            if depth == 0:
                opener = match.start()
            depth += 1
        elif kind == "closing":
            depth = max(depth - 1, 0)
        elif kind == "line":
            line = match.end()
            if depth == 0:
                if text[line] in ")]}" or (has_branches and _BRANCH.match(text, line)):
                    continue
                if decorating and _DECORATED.match(text, line):
                    decorating = text[line] == "@"
                    continue
                return StatementEnd(line, Ending.CLEAN, None, cut_string)
            if _NEVER_IN_BRACKETS.match(text, line):
                decorated = decorator is not None and _DECORATED.match(text, line)
                return StatementEnd(decorator if decorated and decorator else line, Ending.FORCED, opener, cut_string)
            if text[line] == "@":
                decorator = decorator or line
            elif text[line] not in ")]}":
                decorator = None
        elif kind == "joined":
            if _NEVER_IN_BRACKETS.match(text, match.end()):
                return StatementEnd(match.end(), Ending.FORCED, match.start(), cut_string)
        elif kind == "cut":
            cut_string = True
        else:
            return StatementEnd(len(text), Ending.OPEN, opener if depth else match.start(), cut_string)
    if depth:
        return StatementEnd(len(text), Ending.OPEN, opener, cut_string)
    return StatementEnd(len(text), Ending.CLEAN, None, cut_string)


def begins_statement(text: str, line: int) -> bool:
    """Whether the code line at ``line`` can only begin a statement, whatever whole statement stands above it."""
    return not text[line].isspace() and text[line] not in ")]}" and _BRANCH.match(text, line) is None


def restart_in(text: str, start: int, end: int) -> tuple[int, int] | None:
    """The first line at column 0 inside ``text[start:end]``, but its first, that looks like a new statement.

    Given as the offset of that line and the offset of the bracket or string that holds it.
    """
    definition = _DEFINED.search(text, start, end) if text.startswith("@", start) else None
    restart = _RESTART.search(text, definition.end() if definition else start, end)
    if restart is None:
        return None
    depth = 0
    opener = start
    for match in _TOKEN.finditer(text, start, end):
        if match.end() > restart.end() or match.start() >= restart.start():
            return restart.end(), opener if depth else min(match.start(), restart.start())
        if match.lastgroup == "opening":
            opener = opener if depth else match.start()
            depth += 1
        elif match.lastgroup == "closing":
            depth = max(depth - 1, 0)
    return restart.end(), opener


def logical_line(text: str, start: int, row: int) -> tuple[int, int]:
    """First and last row of the logical line that holds ``row``; rows count from the line of ``start``.

    Where a bracket or string is not closed, the end is the last row of the text.
    """
    first = current = 0
    depth = 0
    offset = start
    for match in _EVERY_LINE.finditer(text, start):
        kind = match.lastgroup
        current += text.count("\n", offset, match.start())
        offset = match.start()
        if kind == "opening":
            depth += 1
        elif kind == "closing":
            depth = max(depth - 1, 0)
        elif kind == "line" and depth == 0:
            if current >= row:
                return first, current
            first = current + 1
    return first, current + text.count("\n", offset)


@dataclass(frozen=True, slots=True)
class ScannedComment:
    """A comment of a text, from its "#" on.

    ``first_row`` is where its line begins, above ``row`` when the line begins inside a
    string or behind a backslash.
    """

    row: int
    first_row: int
    column: int
    text: str


def comments(text: str) -> Iterator[ScannedComment]:
    """The comments of ``text``, in order."""
    row = offset = first = joined_to = 0
    for match in _TOKEN.finditer(text):
        is_comment = match.lastgroup == "comment"
        if not is_comment and (match.lastgroup == "line" or "\n" not in match[0]):
            continue
        start = match.start()
        row += text.count("\n", offset, start)
        offset = match.end()
        if row != joined_to:
            first = row
        if is_comment:
            yield ScannedComment(row, first, start - text.rfind("\n", 0, start) - 1, match[0])
        else:
            row += match[0].count("\n")
        joined_to = row


def joined_rows(text: str) -> dict[int, int]:
    """Rows that begin inside a string or behind a backslash: no comment can stand at the end of the row above.

    Each is given with the row where the run of such rows begins.
    """
    runs: dict[int, int] = {}
    row = offset = 0
    for match in _TOKEN.finditer(text):
        if match.lastgroup == "line" or "\n" not in match[0]:
            continue
        row += text.count("\n", offset, match.start())
        offset = match.end()
        first = runs.get(row, row)
        last = row + match[0].count("\n")
        runs.update(dict.fromkeys(range(row + 1, last + 1), first))
        row = last
    return runs


def code_end(line: str) -> int:
    """Where the comment of a line begins that does not begin inside a string, or the line's end."""
    for match in _TOKEN.finditer(line):
        if match.lastgroup == "comment":
            return match.start()
    return len(line)


@dataclass(frozen=True, slots=True)
class LastArgument:
    """Where another argument of a call can go.

    ``offset`` is behind the last character of code before the closing bracket, which
    ``closing`` is the offset of; that character may be the comma behind the last
    argument, or the opening bracket where there is none.
    """

    offset: int
    closing: int
    is_comma: bool
    is_opening: bool


def last_argument(call: str) -> LastArgument | None:
    """Where the argument list of ``call``, the source of a call expression, ends."""
    closing = len(call) - 1
    if not call.endswith(")"):
        return None
    commented = [match.span() for match in _TOKEN.finditer(call) if match.lastgroup == "comment"]
    last = closing
    while True:
        head = call[:last].rstrip(" \t\f\n\\")
        if commented and commented[-1][1] >= len(head) > commented[-1][0]:
            last = commented.pop()[0]
            continue
        last = len(head)
        break
    if not last:
        return None
    # A string would end with its quote, so that these characters are what they look like.
    return LastArgument(last, closing, call[last - 1] == ",", call[last - 1] == "(")
