"""Where something stands in a file, so that a newline above it changes nothing."""

from __future__ import annotations

from .value_class import value_class


@value_class()
class Span:
    """A stretch of source, relative to the top-level statement that holds it.

    ``anchor`` names the statement; rows count from its first line, from 0; columns
    count code points, from 0; the end is exclusive. An anchor of another file than
    the one analysed carries that file's path in front, separated by a NUL.
    """

    anchor: str
    start_row: int
    start_column: int
    end_row: int
    end_column: int

    def contains(self, other: Span) -> bool:
        """Whether ``other`` lies wholly inside this span."""
        return (
            self.anchor == other.anchor
            and (self.start_row, self.start_column) <= (other.start_row, other.start_column)
            and (other.end_row, other.end_column) <= (self.end_row, self.end_column)
        )

    def covers(self, row: int, column: int) -> bool:
        """Whether the position (relative to the same anchor) lies inside or at the end."""
        return (self.start_row, self.start_column) <= (row, column) <= (self.end_row, self.end_column)

    @property
    def file(self) -> str | None:
        """The path of the file, when it is another than the one analysed."""
        path, separator, _ = self.anchor.rpartition("\0")
        return path if separator else None
