"""Top-level statements: what the rest of the program reads, keeps and compares."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b

from pallas_lens.model.span import Span

from .scan import comments
from .syntax import ParseFailure, parse


@dataclass(frozen=True, slots=True)
class Comment:
    """A ``# pallas-lens:`` comment, placed relative to the first line of a statement.

    ``row`` is negative in the gap above the statement; ``text`` runs from the "#" to the
    end of the line. ``first_row`` differs from ``row`` where the comment ends a line that
    begins inside a string or behind a backslash: it is the row where that line begins.
    """

    row: int
    column: int
    text: str
    first_row: int


class Statement:
    """A top-level statement of a module; compared and hashed by identity, never changed.

    The same object stands in the next version of a document as long as nothing in it
    changed, so that results can be kept by it.

    - ``text``: its full lines, decorators included, without the newline of the last.
    - ``tree``: what it parses to, usually one node; empty where nothing parses. Line
      numbers count from 1 at the statement's first line, columns count code points.
      One made without a tree is parsed when the tree is first asked for.
    - ``parsed``: the text that ``tree`` was parsed from; differs from ``text`` only where
      ``broken``: there a half-typed line is replaced, or an older version kept.
    - ``anchor``: its name inside the module, from ``parsed`` and the number of equal
      statements above it, so that lines inserted above leave it as it is.
    - ``broken``: ``text`` does not parse.
    - ``leading_comments``: comments above it that speak to us; no part of ``text``.
    """

    __slots__ = (
        "__weakref__",
        "_comments",
        "_kept_rows",
        "_lines",
        "_tree",
        "anchor",
        "broken",
        "leading_comments",
        "occurrence",
        "parsed",
        "text",
    )

    anchor: str
    broken: bool
    leading_comments: tuple[Comment, ...]
    occurrence: int
    parsed: str
    text: str

    def __init__(
        self,
        text: str,
        tree: tuple[ast.stmt, ...] | None,
        parsed: str | None = None,
        occurrence: int = 0,
        leading_comments: tuple[Comment, ...] = (),
        anchor: str | None = None,
    ) -> None:
        self.text = text
        self._tree = tree
        self.parsed = text if parsed is None else parsed
        self.broken = parsed is not None
        self.occurrence = occurrence
        self.leading_comments = leading_comments
        self.anchor = anchor or _anchor(self.parsed, occurrence)
        self._comments: tuple[Comment, ...] | None = None
        self._lines: tuple[str, ...] | None = None
        self._kept_rows: tuple[int, int, int] | None = None

    def __repr__(self) -> str:
        return f"Statement({self.anchor}, {self.text.partition(chr(10))[0]!r})"

    @property
    def tree(self) -> tuple[ast.stmt, ...]:
        """What the statement parses to."""
        if self._tree is None:
            outcome = parse(self.parsed)
            self._tree = () if isinstance(outcome, ParseFailure) else outcome
        return self._tree

    @property
    def parses(self) -> bool:
        """Whether ``tree`` is that of ``text``."""
        return not self.broken and bool(self.tree)

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines of ``text``."""
        if self._lines is None:
            self._lines = tuple(self.text.split("\n"))
        return self._lines

    @property
    def comments(self) -> tuple[Comment, ...]:
        """The comments inside ``text`` that speak to us."""
        if self._comments is None:
            self._comments = tuple(_comments_in(self.text)) if "pallas-lens" in self.text else ()
        return self._comments

    def span(self, node: ast.AST) -> Span:
        """Where ``node`` of ``tree`` stands; a node without a place of its own covers its children."""
        place = _place(node)
        if place is None:
            lines = self.parsed.split("\n")
            place = (1, 0, len(lines), len(lines[-1]))
        return Span(self.anchor, place[0] - 1, place[1], place[2] - 1, place[3])

    def row_in_text(self, row: int) -> int:
        """The row of ``text`` for a row of ``parsed``; both from 0, clamped to the statement."""
        if self.broken:
            head, tail_from, shift = self._row_shift()
            if row >= tail_from:
                row += shift
            elif row > head:
                row = head
            row = min(row, len(self.lines) - 1)
        return row

    def _row_shift(self) -> tuple[int, int, int]:
        """Rows that an older text shares with this one: at its head, from its tail on, and the tail's shift."""
        if self._kept_rows is None:
            old, new = self.parsed.split("\n"), self.lines
            if len(old) == len(new):
                self._kept_rows = (len(old), 0, 0)
            else:
                shorter = min(len(old), len(new))
                head = next((row for row in range(shorter) if old[row] != new[row]), shorter)
                tail = 0
                while tail < shorter - head and old[-1 - tail] == new[-1 - tail]:
                    tail += 1
                self._kept_rows = (head, len(old) - tail, len(new) - len(old))
        return self._kept_rows


def placed(statement: Statement, occurrence: int, leading_comments: tuple[Comment, ...]) -> Statement:
    """The statement as the ``occurrence``-th of its kind, below these comments; itself where that is so already."""
    if statement.occurrence == occurrence and statement.leading_comments == leading_comments:
        return statement
    return Statement(
        statement.text,
        statement._tree,
        statement.parsed if statement.broken else None,
        occurrence,
        leading_comments,
    )


def leading_comments(gap: str) -> tuple[Comment, ...]:
    """The comments of a gap that speak to us, as seen from the statement below it."""
    if "pallas-lens" not in gap:
        return ()
    lines = gap.split("\n")[:-1]
    return tuple(
        Comment(row, line.index("#"), line[line.index("#") :].rstrip(), row)
        for row, line in enumerate(lines, -len(lines))
        if line.strip().startswith("#") and "pallas-lens" in line
    )


def _comments_in(text: str) -> Iterator[Comment]:
    for found in comments(text):
        if "pallas-lens" in found.text:
            yield Comment(found.row, found.column, found.text.rstrip(), found.first_row)


def _anchor(text: str, occurrence: int) -> str:
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()
    return f"{digest}-{occurrence}" if occurrence else digest


def _place(node: ast.AST) -> tuple[int, int, int, int] | None:
    first = getattr(node, "lineno", None)
    if first is not None:
        return (first, node.col_offset, node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
    places = [place for place in map(_place, ast.iter_child_nodes(node)) if place is not None]
    if not places:
        return None
    start, end = min(place[:2] for place in places), max(place[2:] for place in places)
    return (*start, *end)
