"""The kernel files of this folder, and what tests ask of documents made from them."""

from __future__ import annotations

import ast
from pathlib import Path

from pallas_lens.source.document import Document, open_document
from pallas_lens.source.statements import Statement

FOLDER = Path(__file__).parent / "kernels"
TEXTS = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.py"))}


def opened(text: str) -> Document:
    return open_document(Path("kernel.py").absolute(), text)


def dump(statement: Statement) -> tuple[str, str, bool, tuple[str, ...]]:
    """All of a statement that others can see, fit to be compared."""
    return (
        statement.anchor,
        statement.text,
        statement.broken,
        tuple(ast.dump(node, include_attributes=True) for node in statement.tree),
    )


def dumps(document: Document) -> list[tuple[str, str, bool, tuple[str, ...]]]:
    return [dump(statement) for statement in document.statements]


def check_consistent(document: Document) -> None:
    """What holds for every document, whatever its text."""
    anchors = [statement.anchor for statement in document.statements]
    assert len(set(anchors)) == len(anchors)
    covered: list[int] = []
    for statement, first in zip(document.statements, document.first_rows, strict=True):
        rows = range(first, first + len(statement.lines))
        assert document.lines[first : rows.stop] == statement.lines
        assert document.start_row(statement.anchor) == first
        assert document.statement_at(first) == (statement, first)
        covered += rows
        for tree in statement.tree:
            for node in ast.walk(tree):
                where = document.locate(statement.span(node))
                assert (where.start_row, where.start_column) <= (where.end_row, where.end_column)
                assert first <= where.start_row and where.end_row < rows.stop
                if statement.broken:
                    assert where.end_column <= len(document.lines[where.end_row])
    assert covered == sorted(set(covered))
    for row in set(range(len(document.lines))) - set(covered):
        line = document.lines[row].strip().strip("\f")
        assert not line or line.startswith("#")
        assert document.statement_at(row) is None
