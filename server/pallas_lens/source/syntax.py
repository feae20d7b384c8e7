"""Text to syntax trees: Python's own parser, with columns in code points and nothing raised."""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ParseFailure:
    """Why a text does not parse, and the row (from 0) that the parser points at."""

    row: int
    message: str


def parse(text: str) -> tuple[ast.stmt, ...] | ParseFailure:
    """Parse ``text``; columns of the nodes are code points, lines count from 1 as in ``ast``."""
    try:
        with warnings.catch_warnings():
            # Invalid escapes in the user's strings are the business of other tools.
            warnings.simplefilter("ignore")
            module = ast.parse(text)
        body = tuple(module.body)
        if not text.isascii():
            _columns_to_code_points(text, body)
    except SyntaxError as error:
        return ParseFailure(max((error.lineno or 1) - 1, 0), error.msg or "invalid syntax")
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
        pending.extend(ast.iter_child_nodes(node))


def _look_up(table: list[int], column: int) -> int:
    # Before Python 3.12 the places of what stands inside an f-string can lie outside its line.
    return table[column] if 0 <= column < len(table) else table[-1]


def _code_points_by_byte(line: str) -> list[int]:
    table: list[int] = []
    for index, character in enumerate(line):
        table.extend([index] * len(character.encode("utf-8", "surrogatepass")))
    table.append(len(line))
    return table
