"""A notebook as an editor holds it: cells that come, go and change, joined to one document."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from .source.document import Document, open_document, update_document
from .source.notebook import join_cells
from .source.positions import Units
from .text_sync import Change, apply_change


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell by its URI. ``text`` is what the editor has sent of it, "" for one that is no Python code."""

    uri: str
    text: str
    version: int


@dataclass(frozen=True, slots=True)
class Part:
    """The rows of a document that the editor knows under ``uri``: a cell, or a whole file."""

    uri: str
    version: int
    first_row: int
    row_count: int


@dataclass(frozen=True, slots=True)
class Splice:
    """Cells ``new`` take the place of ``delete_count`` others; ``opened`` has the text of those that are new."""

    start: int
    delete_count: int
    new: tuple[str, ...]
    opened: dict[str, Cell]


@dataclass(frozen=True, slots=True)
class CellChange:
    """What was typed in one cell."""

    uri: str
    changes: tuple[Change, ...]
    version: int


class NotebookCells:
    """The cells of one notebook, in order."""

    def __init__(self, uri: str, path: Path | None, cells: tuple[Cell, ...]) -> None:
        self._uri = uri
        self._path = path
        self._cells = list(cells)
        self._changes = 0
        self._document: Document | None = None

    @property
    def cell_uris(self) -> frozenset[str]:
        """The cells' own URIs."""
        return frozenset(cell.uri for cell in self._cells)

    def splice(self, splice: Splice) -> None:
        """Cells came, went or moved; one that only moved keeps its text."""
        known = {cell.uri: cell for cell in self._cells} | splice.opened
        new = [known.get(uri, Cell(uri, "", 0)) for uri in splice.new]
        self._cells[splice.start : splice.start + splice.delete_count] = new
        self._changes += 1

    def change(self, change: CellChange, units: Units) -> None:
        """The user has typed in a cell."""
        for index, cell in enumerate(self._cells):
            if cell.uri == change.uri:
                text = cell.text
                for one in change.changes:
                    text, _ = apply_change(text, one, units)
                self._cells[index] = replace(cell, text=text, version=change.version)
        self._changes += 1

    def document(self) -> tuple[Document, tuple[Part, ...]]:
        """The notebook's text as one document, and which rows are which cell."""
        joined = join_cells([cell.text for cell in self._cells])
        if self._document is None:
            document = open_document(self._path, joined.text, self._changes, self._uri, joined.cells)
        else:
            document = update_document(self._document, joined.text, self._changes, cells=joined.cells)
        self._document = document
        parts = tuple(
            Part(cell.uri, cell.version, rows.first_row, rows.row_count)
            for cell, rows in zip(self._cells, joined.cells, strict=True)
        )
        return document, parts
