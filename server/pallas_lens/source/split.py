"""Cuts the text of a module into statements, and keeps those of the version before.

An edit costs the statement it touched: statements above and below whose text is the
same are taken over as they are, a statement that moved is found again by its text.
"""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import dataclass, field

from .repair import Repaired, largest_prefix, repair
from .scan import Ending, StatementEnd, begins_statement, logical_line, restart_in, skip_gap, statement_end, without_gap
from .statements import Statement, leading_comments, placed
from .syntax import ParseFailure, parse

_HEAD = re.compile(r"(?:@[^\n]*\n(?:[ \t)\]}][^\n]*\n|\n)*)*((?:async\s+)?(?:def|class)\s+\w+|[\w.]+\s*(?=[=:]))")
_SIMPLE_LINE = re.compile(
    r"(?!\s|@|(?:async|def|class|if|for|while|with|try|else|elif|except|finally)\b)[^\n]*[^:\s\n]"
)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A statement with the gap of blank and comment lines above it.

    ``raw`` is both as they stand in the text; ``ending`` and ``scanned`` are what the
    scanner said of the statement: how it ends, and how many characters it saw.
    """

    raw: str
    gap: str
    statement: Statement
    rows: int
    gap_rows: int
    ending: Ending
    scanned: int


def split(text: str, previous: tuple[Chunk, ...] = (), cursor_row: int | None = None) -> tuple[Chunk, ...]:
    """The chunks of ``text``, in order; behind the last one only a gap is left.

    ``previous`` are those of the version before, of which all that still stands is
    taken over. ``cursor_row`` is the row, from 0, that was edited last.
    """
    kept, offset = _kept_above(text, previous)
    splitter = _Splitter(text, list(previous[:kept]), previous[kept:], cursor_row)
    splitter.run(offset)
    return _numbered(splitter.chunks)


def split_unparsed(text: str) -> tuple[Chunk, ...]:
    """The chunks of a text that nobody is typing; each statement is parsed when its tree is first asked for.

    A text with brackets or strings left open is split as any other.
    """
    chunks: list[Chunk] = []
    start = skip_gap(text, 0)
    offset = 0
    while start < len(text):
        end = statement_end(text, start)
        if end.ending is not Ending.CLEAN or end.cut_string:
            return split(text)
        statement = Statement(text[start : without_gap(text, start, end.offset)], None)
        chunks.append(_chunk(text, offset, start, statement, end))
        offset += len(chunks[-1].raw)
        start = skip_gap(text, offset)
    return _numbered(chunks)


def _chunk(text: str, offset: int, start: int, statement: Statement, end: StatementEnd) -> Chunk:
    """The chunk of ``statement``, which begins at ``start``, below a gap that begins at ``offset``."""
    body_end = start + len(statement.text)
    behind = body_end + 1 if text.startswith("\n", body_end) else body_end
    gap = text[offset:start]
    statement = placed(statement, statement.occurrence, leading_comments(gap))
    gap_rows = gap.count("\n")
    rows = gap_rows + statement.text.count("\n") + 1
    return Chunk(text[offset:behind], gap, statement, rows, gap_rows, end.ending, end.offset - start)


def _kept_above(text: str, previous: tuple[Chunk, ...]) -> tuple[int, int]:
    """How many chunks stand unchanged at the head of ``text``, and where they end."""
    kept = offset = 0
    starts: list[int] = []
    for chunk in previous:
        if not text.startswith(chunk.raw, offset):
            break
        if chunk.statement.broken and not _ends_as_before(text, offset + len(chunk.gap), chunk):
            break
        starts.append(offset)
        offset += len(chunk.raw)
        kept += 1
    if kept:
        below = skip_gap(text, offset)
        whole = previous[kept - 1].raw.endswith("\n") and not previous[kept - 1].statement.broken
        if not whole or below >= len(text) or not begins_statement(text, below):
            # The text below may belong to the last one now: an indented line, an "else".
            kept -= 1
            offset = starts[kept]
    return kept, offset


def _ends_as_before(text: str, start: int, chunk: Chunk) -> bool:
    end = statement_end(text, start)
    return end.ending is chunk.ending and (end.ending is Ending.OPEN or end.offset - start == chunk.scanned)


def _numbered(chunks: list[Chunk]) -> tuple[Chunk, ...]:
    """Equal statements told apart by their order."""
    seen: dict[str, int] = {}
    numbered = []
    for chunk in chunks:
        statement = chunk.statement
        occurrence = seen.get(statement.parsed, 0)
        seen[statement.parsed] = occurrence + 1
        if statement.occurrence != occurrence:
            chunk = _with_statement(chunk, placed(statement, occurrence, statement.leading_comments))
        numbered.append(chunk)
    return tuple(numbered)


def _with_statement(chunk: Chunk, statement: Statement) -> Chunk:
    return Chunk(chunk.raw, chunk.gap, statement, chunk.rows, chunk.gap_rows, chunk.ending, chunk.scanned)


@dataclass(slots=True)
class _Splitter:
    text: str
    chunks: list[Chunk]
    old: tuple[Chunk, ...]
    cursor_row: int | None
    # Old chunks that may be taken over, by the text of their statement.
    pool: dict[str, list[Chunk]] = field(default_factory=dict)
    below: dict[int, int] = field(default_factory=dict)
    pooled: int = 0
    first_old_offset: int = 0

    def run(self, offset: int) -> None:
        """Split from ``offset``, the end of the chunks kept above, to the end or to what is kept below."""
        text = self.text
        self.first_old_offset = offset
        suffix_offsets = self._find_kept_below(offset)
        passed = 0
        while True:
            start = skip_gap(text, offset)
            if start >= len(text):
                return
            if start in self.below:
                self._keep_below(self.below[start], text[offset:start])
                return
            while passed < len(suffix_offsets) and suffix_offsets[passed] < start:
                self._add_to_pool(self.old[self.below[suffix_offsets[passed]]])
                passed += 1
            offset = self._next(offset, start)

    def _find_kept_below(self, offset: int) -> list[int]:
        """Offsets of the statements whose text, and all below it, is as before; in ascending order."""
        end = len(self.text)
        old_tail = self._old_tail_length()
        first = len(self.old)
        offsets: list[int] = []
        if old_tail is not None:
            end -= old_tail
            for index in range(len(self.old) - 1, -1, -1):
                chunk = self.old[index]
                if not self.text.endswith(chunk.raw, offset, end):
                    break
                end -= len(chunk.raw)
                self.below[end + len(chunk.gap)] = first = index
                offsets.append(end + len(chunk.gap))
        for chunk in self.old[:first]:
            self._add_to_pool(chunk)
        offsets.reverse()
        return offsets

    def _old_tail_length(self) -> int | None:
        """The length of the gap at the end of the text; None where the last statement may have changed its end."""
        if not self.old:
            return None
        body_end = without_gap(self.text, 0, len(self.text))
        tail = len(self.text) - body_end
        ends_line = self.old[-1].raw.endswith("\n")
        if ends_line != (tail > 0):
            return None
        return tail - 1 if ends_line else 0

    def _keep_below(self, index: int, gap: str) -> None:
        chunk = self.old[index]
        if gap != chunk.gap:
            statement = placed(chunk.statement, chunk.statement.occurrence, leading_comments(gap))
            gap_rows = gap.count("\n")
            rows = chunk.rows - chunk.gap_rows + gap_rows
            raw = gap + chunk.raw[len(chunk.gap) :]
            chunk = Chunk(raw, gap, statement, rows, gap_rows, chunk.ending, chunk.scanned)
        self.chunks.append(chunk)
        self.chunks.extend(self.old[index + 1 :])

    def _add_to_pool(self, chunk: Chunk) -> None:
        self.pool.setdefault(chunk.statement.text, []).append(chunk)

    def _take(self, statement_text: str) -> Chunk | None:
        waiting = self.pool.get(statement_text)
        return waiting.pop(0) if waiting else None

    def _next(self, offset: int, start: int) -> int:
        """Add the statement that begins at ``start``; the offset behind it."""
        text = self.text
        end = statement_end(text, start)
        body_end = without_gap(text, start, end.offset)
        body = text[start:body_end]
        taken = (self._take(body) if end.ending is Ending.CLEAN else None) or self._take_broken(start, end)
        if taken is not None:
            return self._add(offset, start, taken.statement, end)
        failure: ParseFailure | None = None
        if end.ending is Ending.CLEAN:
            outcome = parse(body)
            if not isinstance(outcome, ParseFailure):
                return self._add(offset, start, Statement(body, outcome), end)
            failure = outcome
        merged = self._merge_with_next(offset, start, end) or self._merge_with_previous(start, end)
        if merged is None and failure is not None:
            merged = self._cut_at_lost_word(offset, start, failure)
        return merged or self._add_broken(offset, start, end, failure)

    def _take_broken(self, start: int, end: StatementEnd) -> Chunk | None:
        for waiting in self.pool.values():
            for chunk in waiting:
                if (
                    chunk.statement.broken
                    and self.text.startswith(chunk.statement.text, start)
                    and self.text[start + len(chunk.statement.text) :][:1] in ("", "\n")
                    and chunk.ending is end.ending
                    and (end.ending is Ending.OPEN or end.offset - start == chunk.scanned)
                ):
                    waiting.remove(chunk)
                    return chunk
        return None

    def _add(self, offset: int, start: int, statement: Statement, end: StatementEnd) -> int:
        chunk = _chunk(self.text, offset, start, statement, end)
        self.chunks.append(chunk)
        return offset + len(chunk.raw)

    def _cut_at_lost_word(self, offset: int, start: int, failure: ParseFailure) -> int | None:
        """A statement that lost its first word is indented by what followed it, and hangs below the one above."""
        text = self.text
        row = _offset_of_row(text, start, failure.row)
        if failure.message.startswith("unindent does not match"):
            # Inside a function it is more likely a line whose indentation is not typed out.
            if not text.endswith("\n\n\n", 0, row):
                return None
        elif failure.message != "unexpected indent" or text[start].isspace() or failure.row == 0:
            return None
        body_end = without_gap(text, start, row)
        outcome = parse(text[start:body_end])
        if isinstance(outcome, ParseFailure):
            return None
        seen = StatementEnd(row, Ending.CLEAN)
        taken = self._take(text[start:body_end])
        statement = taken.statement if taken is not None else Statement(text[start:body_end], outcome)
        return self._add(offset, start, statement, seen)

    def _merge_with_next(self, offset: int, start: int, end: StatementEnd) -> int | None:
        """Since Python 3.12 the fields of an f-string may span lines, which the scanner takes for its end."""
        if not end.cut_string or sys.version_info < (3, 12):
            return None
        text = self.text
        wider = end
        for _ in range(3):
            if wider.offset >= len(text):
                return None
            wider = statement_end(text, wider.offset)
            body_end = without_gap(text, start, wider.offset)
            outcome = parse(text[start:body_end])
            if not isinstance(outcome, ParseFailure):
                return self._add(offset, start, Statement(text[start:body_end], outcome), wider)
        return None

    def _merge_with_previous(self, start: int, end: StatementEnd) -> int | None:
        """A line typed at column 0 in the middle of a function cuts it in two: read it without that line."""
        text = self.text
        if self.cursor_row is None or not self.chunks or not _SIMPLE_LINE.match(text, start):
            return None
        if text.count("\n", 0, start) != self.cursor_row:
            return None
        last = logical_line(text, start, 0)[1] if end.ending is Ending.CLEAN else 0
        below = skip_gap(text, min(_offset_of_row(text, start, last + 1), len(text)))
        if below >= end.offset or not text[below].isspace():
            return None
        above = self.chunks[-1]
        last_line = above.statement.text.rpartition("\n")[2]
        if not last_line[:1].isspace() and not last_line.rstrip().endswith(":"):
            return None
        whole_start = self._start_of_last(start)
        blanked = text[:start] + "\n" * (last + 1) + text[min(_offset_of_row(text, start, last + 1), len(text)) :]
        whole_end = statement_end(blanked, whole_start)
        parsed = blanked[whole_start : without_gap(blanked, whole_start, whole_end.offset)]
        tree = self._parse_again(parsed)
        if isinstance(tree, ParseFailure):
            return None
        self.chunks.pop()
        body_end = min(_offset_of_row(text, whole_start, parsed.count("\n") + 1) - 1, len(text))
        statement = Statement(text[whole_start:body_end], tree, parsed)
        seen = StatementEnd(start, Ending.CLEAN)
        return self._add(whole_start - len(above.gap), whole_start, statement, seen)

    def _start_of_last(self, behind: int) -> int:
        """The offset of the last statement added, whose successor begins at ``behind``."""
        statement_text = self.chunks[-1].statement.text
        return self.text.rindex(statement_text, 0, behind)

    def _add_broken(self, offset: int, start: int, end: StatementEnd, failure: ParseFailure | None) -> int:
        text = self.text
        row = text.count("\n", 0, start)
        cursor = None if self.cursor_row is None else self.cursor_row - row
        restart = restart_in(text, start, end.offset)
        openers = [restart[1] if restart else None, end.opener]
        suspects = [text.count("\n", start, opener) for opener in openers if opener is not None]
        if failure is not None:
            suspects.append(failure.row)
        repaired = repair(text, start, end, suspects, cursor, self._parse_again)
        if repaired is not None:
            body_end = _offset_of_row(text, start, repaired.rows) - 1
            body = text[start : min(max(body_end, start), len(text))]
            statement = self._from_repaired(body, start, repaired)
        else:
            body_end = without_gap(text, start, restart[0] if restart else end.offset)
            body = text[start:body_end]
            statement = self._last_good(body, start) or self._from_prefix(body, failure)
        return self._add(offset, start, statement, end)

    def _from_repaired(self, body: str, start: int, repaired: Repaired) -> Statement:
        if not repaired.keeps_header:
            known = self._last_good(body, start)
            if known is not None:
                return known
            if repaired.parsed.strip() in ("", "pass"):
                return Statement(body, (), body)
        return Statement(body, repaired.tree, repaired.parsed)

    def _from_prefix(self, body: str, failure: ParseFailure | None) -> Statement:
        if failure is None:
            outcome = parse(body)
            failure = outcome if isinstance(outcome, ParseFailure) else None
        parsed, tree = largest_prefix(body, failure, self._parse_again)
        return Statement(body, tree, parsed if tree else body)

    def _last_good(self, body: str, start: int) -> Statement | None:
        """The statement's last good tree under its new text, where an older version stood in this place."""
        head = _HEAD.match(body)
        waiting = [chunk for chunks in self.pool.values() for chunk in chunks if chunk.statement.tree]
        # What stands further below as it was is no older version of this.
        gone = [chunk for chunk in waiting if self.text.find(chunk.statement.text, start + 1) < 0]
        for chunk in gone:
            old_head = _HEAD.match(chunk.statement.text)
            if head and old_head and head[1] == old_head[1]:
                return self._take_tree(chunk, body)
        return self._take_tree(gone[0], body) if gone and self._stood_at(gone[0], start) else None

    def _stood_at(self, chunk: Chunk, start: int) -> bool:
        offset = self.first_old_offset
        for other in self.old:
            if other is chunk:
                return offset + len(chunk.gap) == start
            offset += len(other.raw)
        return False

    def _take_tree(self, chunk: Chunk, body: str) -> Statement:
        self.pool[chunk.statement.text].remove(chunk)
        return Statement(body, chunk.statement.tree, chunk.statement.parsed)

    def _parse_again(self, text: str) -> tuple[ast.stmt, ...] | ParseFailure:
        """Parse, but for text that an older statement was read from already: a half-typed line costs one parse."""
        for waiting in self.pool.values():
            for chunk in waiting:
                if chunk.statement.tree and chunk.statement.parsed == text:
                    waiting.remove(chunk)
                    return chunk.statement.tree
        return parse(text)


def _offset_of_row(text: str, start: int, row: int) -> int:
    """The offset of the ``row``-th line counted from the line of ``start``; one past the end where there is none."""
    offset = start
    for _ in range(row):
        newline = text.find("\n", offset)
        if newline < 0:
            return len(text) + 1
        offset = newline + 1
    return offset
