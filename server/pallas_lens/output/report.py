"""What was found in one file, ready to be printed in any form."""

from __future__ import annotations

from dataclasses import dataclass

from pallas_lens.features.diagnostics import Diagnostic
from pallas_lens.source.document import CellRows
from pallas_lens.source.positions import TextRange


@dataclass(frozen=True, slots=True)
class FileReport:
    """One file with its findings in the order of their places.

    ``lines`` are those of the text that was checked; for a notebook, the code cells one
    after the other, and ``cells`` says which is which. ``unparsed_rows`` (from 0) are the
    first rows of the statements that do not parse.
    """

    filename: str
    lines: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...]
    cells: tuple[CellRows, ...] = ()
    unparsed_rows: tuple[int, ...] = ()

    def cell_of(self, row: int) -> CellRows | None:
        """The cell that holds ``row`` (from 0); None where the file is no notebook."""
        for cell in self.cells:
            if cell.first_row <= row < cell.first_row + cell.row_count:
                return cell
        return None

    @property
    def is_notebook(self) -> bool:
        """Whether the text is that of a notebook's cells."""
        return self.filename.endswith(".ipynb")

    def line(self, row: int) -> str:
        """``file:row`` from 1, with the cell where the file is a notebook."""
        return self.place(row, 0).rpartition(":")[0]

    def place(self, row: int, column: int) -> str:
        """``file:row:column`` from 1, with the cell where the file is a notebook."""
        cell = self.cell_of(row)
        if cell is None:
            return f"{self.filename}:{row + 1}:{column + 1}"
        return f"{self.filename}:cell {cell.number}:{row - cell.first_row + 1}:{column + 1}"

    def in_cell(self, text_range: TextRange) -> TextRange:
        """``text_range`` with rows that count from the start of its cell."""
        cell = self.cell_of(text_range.start_row)
        first = cell.first_row if cell is not None else 0
        return TextRange(
            text_range.start_row - first, text_range.start_column, text_range.end_row - first, text_range.end_column
        )
