"""Text to syntax trees: Python's own parser, with columns in code points and nothing raised."""

from __future__ import annotations

import ast
import re
import sys
import warnings
from dataclasses import dataclass

from .children import children

_TYPE_PARAMETERS = re.compile(
    r"(?m)^(?P<head>[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+\w+)"
    r"(?P<parameters>\[(?:[^\[\]]|\[[^\[\]]*\])*\])(?=[ \t]*[(:])"
)
_TYPE_ALIAS = re.compile(
    r"(?m)^(?P<indent>[ \t]*)(?P<word>type[ \t]+)(?P<name>\w+)(?P<parameters>[ \t]*(?:\[[^\n=]*\])?[ \t]*)(?==[^=])"
)


@dataclass(frozen=True, slots=True)
class ParseFailure:
    """Why a text does not parse, and the row (from 0) that the parser points at."""

    row: int
    message: str


def parse(text: str) -> tuple[ast.stmt, ...] | ParseFailure:
    """Parse ``text``; columns of the nodes are code points, lines count from 1 as in ``ast``."""
    outcome = _parse(text)
    if isinstance(outcome, ParseFailure) and sys.version_info < (3, 12):
        plain = without_type_parameters(text)
        if plain != text:
            return _parse(plain)
    return outcome


def without_type_parameters(text: str) -> str:
    """``text`` as Python 3.11 can read it: the type parameters of 3.12 blanked, in the same rows and columns.

    ``type X = ...`` becomes an assignment whose name moves to the place of the word.
    """
    text = _TYPE_PARAMETERS.sub(lambda match: match["head"] + _blanked(match["parameters"]), text)
    return _TYPE_ALIAS.sub(
        lambda match: match["indent"] + match["name"] + " " * len(match["word"] + match["parameters"]), text
    )


def _blanked(bracket: str) -> str:
    # Outside brackets a line goes on only behind a backslash.
    rows = [" " * len(row) for row in bracket.split("\n")]
    return "\n".join([(row or " ")[:-1] + "\\" for row in rows[:-1]] + rows[-1:])


def _parse(text: str) -> tuple[ast.stmt, ...] | ParseFailure:
    try:
        with warnings.catch_warnings():
            # Invalid escapes in the user's strings are the business of other tools.
            warnings.simplefilter("ignore")
            module = ast.parse(text)
        body = tuple(module.body)
        if not text.isascii():
            _columns_to_code_points(text, body)
    except SyntaxError as error:
        row = text.count("\n", 0, text.index("\0")) if "\0" in text else (error.lineno or 1) - 1
        return ParseFailure(max(row, 0), error.msg or "invalid syntax")
    except (ValueError, RecursionError, MemoryError) as error:
        # Null bytes, and expressions too deep for the parser or for what reads its tree.
        return ParseFailure(0, str(error) or type(error).__name__)
    return body


def _columns_to_code_points(text: str, body: tuple[ast.stmt, ...]) -> None:
    """``ast`` counts UTF-8 bytes; rewrite the columns of the lines where that differs."""
    columns: dict[int, list[int]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.isascii():
            columns[number] = _code_points_by_byte(line)
    rows = sorted(columns)
    pending: list[ast.AST] = list(body)
    while pending:
        node = pending.pop()
        first, last = getattr(node, "lineno", None), getattr(node, "end_lineno", None)
        if first is not None and last is not None:
            # Decorators stand above the line that a definition reports.
            decorated = getattr(node, "decorator_list", None)
            if not decorated and not any(first <= row <= last for row in rows):
                continue
            if first in columns:
                node.col_offset = _look_up(columns[first], node.col_offset)  # type: ignore[attr-defined]
            if last in columns:
                node.end_col_offset = _look_up(columns[last], node.end_col_offset)  # type: ignore[attr-defined]
        pending.extend(children(node))


def _look_up(table: list[int], column: int) -> int:
    # Before Python 3.12 the places of what stands inside an f-string can lie outside its line.
    return table[column] if 0 <= column < len(table) else table[-1]


def _code_points_by_byte(line: str) -> list[int]:
    table: list[int] = []
    for index, character in enumerate(line):
        table.extend([index] * len(character.encode("utf-8", "surrogatepass")))
    table.append(len(line))
    return table
