"""Places in text, and their one conversion between code points and the units of a client.

Inside the program rows and columns count from 0 and columns count code points.
Editors count UTF-8 bytes or UTF-16 units; the border to them converts here and
nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Units = Literal["utf-8", "utf-16", "utf-32"]


@dataclass(frozen=True, slots=True, order=True)
class TextRange:
    """A stretch of a document: rows and columns from 0, in code points, end exclusive."""

    start_row: int
    start_column: int
    end_row: int
    end_column: int

    def covers(self, row: int, column: int) -> bool:
        """Whether the position lies inside the range or at its end."""
        return (self.start_row, self.start_column) <= (row, column) <= (self.end_row, self.end_column)

    def overlaps(self, other: TextRange) -> bool:
        """Whether the two ranges share a position; touching ends count."""
        return (self.start_row, self.start_column) <= (other.end_row, other.end_column) and (
            other.start_row,
            other.start_column,
        ) <= (self.end_row, self.end_column)


def to_units(line: str, column: int, units: Units) -> int:
    """The column of ``line`` in the client's units for a column in code points.

    A column behind the end of the line becomes the end of the line.
    """
    head = line[: max(column, 0)]
    if units == "utf-32" or head.isascii():
        return len(head)
    if units == "utf-8":
        return sum(_utf8_width(character) for character in head)
    return sum(1 + (character > "\uffff") for character in head)


def from_units(line: str, column: int, units: Units) -> int:
    """The column of ``line`` in code points for a column in the client's units.

    A column inside a character becomes the start of that character, one behind the
    end of the line becomes the end of the line.
    """
    if units == "utf-32" or line.isascii():
        return min(max(column, 0), len(line))
    passed = 0
    for index, character in enumerate(line):
        passed += _utf8_width(character) if units == "utf-8" else 1 + (character > "\uffff")
        if passed > column:
            return index
    return len(line)


def _utf8_width(character: str) -> int:
    code = ord(character)
    return 1 if code < 0x80 else 2 if code < 0x800 else 3 if code < 0x10000 else 4
