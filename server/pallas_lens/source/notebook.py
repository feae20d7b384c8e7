"""Notebooks: the code cells of one notebook as one module, in the order of the cells."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .document import CellRows, Document, open_document
from .scan import logical_line

# Cell magics whose cell is Python all the same; any other hands its cell to something else.
_PYTHON_CELL_MAGICS = frozenset({"time", "timeit", "capture", "prun", "memit", "mprun", "lprun", "debug"})
_MAYBE_MAGIC = re.compile(r"^\s*[%!?]|\?\s*$|=\s*[%!]", re.MULTILINE)
_LINE_MAGIC = re.compile(r"\s*(?:%|!|\?)|[^#'\"]*[\w)\]]\?{1,2}\s*$")
_ASSIGNED_MAGIC = re.compile(r"(\s*[\w.,\s\[\]]+=\s*)[%!]\w")


@dataclass(frozen=True, slots=True)
class NotebookText:
    """The code cells joined to one module, and where each begins."""

    text: str
    cells: tuple[CellRows, ...]

    def cell_at(self, row: int) -> tuple[int, int] | None:
        """Index into ``cells`` and row inside that cell, for a row of ``text``."""
        for index, cell in enumerate(self.cells):
            if cell.first_row <= row < cell.first_row + cell.row_count:
                return index, row - cell.first_row
        return None

    def row_of(self, index: int, row: int) -> int:
        """The row of ``text`` for a row of the ``index``-th code cell."""
        return self.cells[index].first_row + row


def join_cells(sources: Sequence[str], numbers: Sequence[int] | None = None) -> NotebookText:
    """The code cells as one module; magics are blanked, rows and columns stay.

    ``numbers`` are the places of the cells among all cells, from 1.
    """
    texts: list[str] = []
    cells: list[CellRows] = []
    row = 0
    for index, source in enumerate(sources):
        text = without_magics(re.sub(r"\r\n?", "\n", source))
        rows = text.count("\n") + 1
        cells.append(CellRows(numbers[index] if numbers is not None else index + 1, row, rows))
        texts.append(text)
        row += rows
    return NotebookText("\n".join(texts), tuple(cells))


def open_notebook(path: Path, text: str) -> Document:
    """The document of a notebook file.

    A file that is no notebook gives an empty document, one for another language too.
    """
    joined = join_cells(*_code_cells(text))
    return open_document(path, joined.text, cells=joined.cells)


def is_notebook(text: str) -> bool:
    """Whether the text is JSON of a notebook's form, for whatever language."""
    try:
        notebook = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(notebook, Mapping) and ("cells" in notebook or "worksheets" in notebook)


def without_magics(source: str) -> str:
    """One cell's source with what only IPython understands blanked."""
    if not _MAYBE_MAGIC.search(source):
        return source
    lines = source.split("\n")
    first = next((row for row, line in enumerate(lines) if line.strip()), 0)
    if lines[first].startswith("%%"):
        magic = re.match(r"%%(\w*)", lines[first])
        if magic is None or magic[1] not in _PYTHON_CELL_MAGICS:
            return "\n".join(_blank(line) for line in lines)
        lines[first] = _blank(lines[first])
    row = 0
    while row < len(lines):
        last = row
        if _is_magic(lines[row]):
            while lines[last].endswith("\\") and last + 1 < len(lines):
                last += 1
            lines[row] = _without_magic(lines[row])
            lines[row + 1 : last + 1] = map(_blank, lines[row + 1 : last + 1])
        else:
            last = max(row, logical_line("\n".join(lines), 0, row)[1])
            if last > row and any(_is_magic(line) for line in lines[row + 1 : last + 1]):
                last = row if not _closes("\n".join(lines[row : last + 1])) else last
        row = last + 1
    return "\n".join(lines)


def _closes(source: str) -> bool:
    """Whether the lines are one whole logical line, so that a magic's sign in them is an operator."""
    return logical_line(source + "\n_", 0, source.count("\n") + 1)[0] > 0


def _is_magic(line: str) -> bool:
    return _LINE_MAGIC.match(line) is not None or _ASSIGNED_MAGIC.match(line) is not None


def _without_magic(line: str) -> str:
    assigned = _ASSIGNED_MAGIC.match(line)
    if assigned:
        # The name stays bound, to something unknown.
        return assigned[1] + "...".ljust(len(line) - len(assigned[1]))
    indent = line[: len(line) - len(line.lstrip())]
    # An indented magic may be all there is in its block.
    return indent + ("pass" if indent else "").ljust(len(line) - len(indent))


def _blank(line: str) -> str:
    return " " * len(line)


def _code_cells(text: str) -> tuple[list[str], list[int]]:
    try:
        notebook = json.loads(text)
    except (ValueError, RecursionError):
        return [], []
    if not isinstance(notebook, Mapping) or not _is_python(notebook):
        return [], []
    cells = notebook.get("cells")
    if cells is None:
        # Before version 4 of the format the cells stood in worksheets.
        sheets = notebook.get("worksheets")
        first = sheets[0] if isinstance(sheets, list) and sheets else None
        cells = first.get("cells") if isinstance(first, Mapping) else None
    sources: list[str] = []
    numbers: list[int] = []
    for number, cell in enumerate(cells if isinstance(cells, list) else [], 1):
        if isinstance(cell, Mapping) and cell.get("cell_type") == "code":
            source = cell.get("source", cell.get("input", ""))
            sources.append("".join(map(str, source)) if isinstance(source, list) else str(source))
            numbers.append(number)
    return sources, numbers


def _is_python(notebook: Mapping[str, object]) -> bool:
    metadata = notebook.get("metadata")
    if not isinstance(metadata, Mapping):
        return True
    for key, name in (("language_info", "name"), ("kernelspec", "language")):
        described = metadata.get(key)
        if isinstance(described, Mapping) and isinstance(described.get(name), str):
            return str(described[name]).lower() in ("python", "ipython", "python3")
    return True
