"""One version of one source file."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from pallas_lens.model.span import Span

from .positions import TextRange
from .split import Chunk, split, split_unparsed
from .statements import Statement

_NEWLINE = re.compile(r"\r\n?")


@dataclass(frozen=True, slots=True)
class CellRows:
    """A code cell of a notebook: its number among all cells, from 1, and the rows of the document it takes."""

    number: int
    first_row: int
    row_count: int


class Document:
    """One version of one file; immutable as far as can be seen from outside.

    Rows and columns count from 0, columns in code points, ends are exclusive. A text
    without "pallas" is parsed only when its statements are asked for. ``cells`` says which
    rows are which cell of a notebook; a plain file has none.
    """

    __slots__ = (
        "_chunks",
        "_cursor_row",
        "_first_rows",
        "_is_typed",
        "_lines",
        "_mentions_yield",
        "_rows",
        "_source",
        "_statements",
        "cells",
        "path",
        "text",
        "uri",
        "version",
    )

    path: Path | None
    uri: str
    version: int
    text: str
    cells: tuple[CellRows, ...]

    def __init__(self, path: Path | None, uri: str, version: int, text: str, cells: tuple[CellRows, ...] = ()) -> None:
        self.cells = cells
        self.path = path
        self.uri = uri
        self.version = version
        self.text = text
        self._source = _readable(text)
        self._chunks: tuple[Chunk, ...] | None = None
        self._cursor_row: int | None = None
        self._is_typed = True
        self._first_rows: tuple[int, ...] | None = None
        self._lines: tuple[str, ...] | None = None
        self._mentions_yield: bool | None = None
        self._rows: dict[str, int] | None = None
        self._statements: tuple[Statement, ...] | None = None

    def __repr__(self) -> str:
        return f"Document({self.uri!r}, version {self.version})"

    @property
    def mentions_pallas(self) -> bool:
        """Whether the text names Pallas at all; where not, there is nothing to say about it."""
        return "pallas" in self.text

    @property
    def mentions_yield(self) -> bool:
        """Whether the text may define generators, which few do."""
        if self._mentions_yield is None:
            self._mentions_yield = "yield" in self.text
        return self._mentions_yield

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines without their ends; at least one."""
        if self._lines is None:
            self._lines = tuple(self._source.split("\n"))
        return self._lines

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """The statements with the gaps above them; for the next version of the document."""
        if self._chunks is None:
            self._chunks = split(self._source, (), self._cursor_row) if self._is_typed else split_unparsed(self._source)
        return self._chunks

    @property
    def statements(self) -> tuple[Statement, ...]:
        """The top-level statements, in order."""
        if self._statements is None:
            self._statements = tuple([chunk.statement for chunk in self.chunks])
        return self._statements

    @property
    def first_rows(self) -> tuple[int, ...]:
        """The row of the first line of each statement, in order."""
        if self._first_rows is None:
            ends = accumulate((chunk.rows for chunk in self.chunks), initial=0)
            self._first_rows = tuple([end + chunk.gap_rows for end, chunk in zip(ends, self.chunks, strict=False)])
        return self._first_rows

    @property
    def unparsed_rows(self) -> tuple[int, ...]:
        """The row of the first line of each statement that does not parse."""
        return tuple(row for row, one in zip(self.first_rows, self.statements, strict=True) if one.broken)

    def start_row(self, anchor: str) -> int | None:
        """The row of the first line of the statement that ``anchor`` names; None for one that is not here."""
        if self._rows is None:
            self._rows = {statement.anchor: index for index, statement in enumerate(self.statements)}
        index = self._rows.get(anchor)
        return None if index is None else self.first_rows[index]

    def statement(self, anchor: str) -> Statement | None:
        """The statement that ``anchor`` names; None for one that is not here."""
        if self.start_row(anchor) is None or self._rows is None:
            return None
        return self.statements[self._rows[anchor]]

    def statement_at(self, row: int) -> tuple[Statement, int] | None:
        """The statement whose lines hold ``row``, and its first row; None between statements."""
        index = bisect_right(self.first_rows, row) - 1
        if index < 0:
            return None
        statement, first = self.statements[index], self.first_rows[index]
        return (statement, first) if row < first + len(statement.lines) else None

    def locate(self, span: Span) -> TextRange:
        """Where ``span`` stands in this version, clamped to the text.

        Raises KeyError for an anchor that is not of this document; ask ``start_row`` first
        where that can be.
        """
        anchor = span.anchor.rpartition("\0")[2]
        statement = self.statement(anchor)
        first = self.start_row(anchor)
        if statement is None or first is None:
            raise KeyError(anchor)
        if not statement.broken:
            return TextRange(first + span.start_row, span.start_column, first + span.end_row, span.end_column)
        start = (first + statement.row_in_text(span.start_row), span.start_column)
        end = (first + statement.row_in_text(span.end_row), span.end_column)
        start, end = self._clamped(*start), self._clamped(*end)
        return TextRange(*start, *max(start, end))

    def text_in(self, where: TextRange) -> str:
        """The text of a range, lines ending with a newline character."""
        lines = list(self.lines[where.start_row : where.end_row + 1])
        if not lines:
            return ""
        lines[-1] = lines[-1][: where.end_column]
        lines[0] = lines[0][where.start_column :]
        return "\n".join(lines)

    def span(self, statement: Statement, node: ast.AST) -> Span:
        """Where ``node`` of the statement's tree stands."""
        return statement.span(node)

    def _clamped(self, row: int, column: int) -> tuple[int, int]:
        row = min(max(row, 0), len(self.lines) - 1)
        return row, min(column, len(self.lines[row]))


def open_document(
    path: Path | None,
    text: str,
    version: int = 0,
    uri: str | None = None,
    cells: tuple[CellRows, ...] = (),
    known: Document | None = None,
) -> Document:
    """The first version of a document; the statements of ``known``, if it has the same text, are taken over."""
    document = Document(path, uri if uri is not None else _uri(path), version, text, cells)
    if document.mentions_pallas:
        if known is not None and known.text == text and all(chunk.statement.parses for chunk in known.chunks):
            document._chunks = known.chunks
        _ = document.chunks
    return document


def read_document(path: Path, text: str) -> Document:
    """A document that nobody types in: what is asked of it is parsed, a statement at a time."""
    document = Document(path, _uri(path), 0, text)
    document._is_typed = False
    return document


def update_document(
    previous: Document,
    text: str,
    version: int,
    cursor: tuple[int, int] | None = None,
    cells: tuple[CellRows, ...] = (),
) -> Document:
    """The next version of ``previous``, with every statement taken over that did not change.

    ``cursor`` is the place (row, column) of the edit: where code is half typed, that
    line is left out first.
    """
    document = Document(previous.path, previous.uri, version, text, cells)
    document._cursor_row = cursor[0] if cursor is not None else None
    if document.mentions_pallas:
        old = previous._chunks if previous._chunks is not None else ()
        document._chunks = split(document._source, old, document._cursor_row)
    return document


def _readable(text: str) -> str:
    """The text as the parser takes it, with every character in its row and column."""
    if "\r" in text:
        text = _NEWLINE.sub("\n", text)
    if text.startswith("\ufeff"):
        # A form feed is the one character that may stand before the first column.
        text = "\f" + text[1:]
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode("utf-8")
    return text


def _uri(path: Path | None) -> str:
    if path is None:
        return "untitled:"
    return path.absolute().as_uri()
