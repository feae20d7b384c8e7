"""A plane of blocks in characters, for terminals and editors that show no images."""

from __future__ import annotations

from collections.abc import Iterator

from .block_map import BlockMap
from .steps import step_text

_UNVISITED, _GAP, _OUTSIDE, _PARTIAL = "·", "…", "!", "~"


def blocks_text(plane: BlockMap) -> str:
    """A number for each block, the first step that needs it, and what the signs mean."""
    rows = [[_cell_text(plane, row, column) for column in plane.across.shown] for row in plane.down.shown]
    width = max(len(cell) for cells in rows for cell in cells)
    lines = [" ".join(cell.rjust(width) for cell in cells) for cells in rows]
    return "\n".join(
        [" · ".join(plane.titles), *lines, *_legend(plane, {sign for cells in rows for cell in cells for sign in cell})]
    )


def _cell_text(plane: BlockMap, row: int | None, column: int | None) -> str:
    if row is None or column is None:
        return _GAP
    inside = plane.inside((row, column))
    cell = plane.cells.get((row, column))
    if cell is None:
        return _UNVISITED if inside else ""
    copies = f"×{step_text(cell.copies)}" if cell.copies > 1 else ""
    return f"{step_text(cell.step)}{copies}{'' if inside == 1 else _PARTIAL if inside else _OUTSIDE}"


def _legend(plane: BlockMap, signs: set[str]) -> Iterator[str]:
    told = {
        "×": "×2: copied twice",
        _UNVISITED: f"{_UNVISITED} not needed by any step",
        _PARTIAL: f"{_PARTIAL} partly outside of the array",
        _OUTSIDE: f"{_OUTSIDE} outside of the array",
    }
    parts = ["number: the first step of the block", *(text for sign, text in told.items() if sign in signs)]
    yield " · ".join(parts)
    if plane.plane:
        yield plane.plane
