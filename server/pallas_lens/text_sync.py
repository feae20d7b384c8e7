"""Changes of an editor applied to a text. Lines end as LSP says: ``\\n``, ``\\r\\n`` or ``\\r``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from .source.positions import Units, from_units

_LINE_END: Final = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class Change:
    """``text`` put in the place of a range in the client's units (line, character); the whole text where it is None."""

    range: tuple[tuple[int, int], tuple[int, int]] | None
    text: str


def apply_change(text: str, change: Change, units: Units) -> tuple[str, tuple[int, int] | None]:
    """The text after the change, and where its end is: (row, column) in code points, None for a whole text."""
    if change.range is None:
        return change.text, None
    start = offset_of(text, *change.range[0], units)
    end = max(start, offset_of(text, *change.range[1], units))
    after = text[:start] + change.text + text[end:]
    cursor = start + len(change.text)
    row = change.range[0][0] + len(_LINE_END.findall(change.text))
    return after, (row, cursor - _line_start(after, cursor))


def offset_of(text: str, line: int, character: int, units: Units) -> int:
    """The index into ``text`` of a client's position; positions behind the end are the end."""
    start = _start_of_line(text, line)
    end = _end_of_line(text, start)
    return start + from_units(text[start:end], character, units)


def _start_of_line(text: str, line: int) -> int:
    if line <= 0:
        return 0
    if "\r" not in text:
        start = 0
        for _ in range(line):
            start = text.find("\n", start) + 1
            if start == 0:
                return len(text)
        return start
    for number, match in enumerate(_LINE_END.finditer(text), 1):
        if number == line:
            return match.end()
    return len(text)


def _end_of_line(text: str, start: int) -> int:
    match = _LINE_END.search(text, start)
    return match.start() if match else len(text)


def _line_start(text: str, offset: int) -> int:
    return max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1
