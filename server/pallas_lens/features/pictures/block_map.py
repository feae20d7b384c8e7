"""The array of a window as a plane of blocks: which blocks are shown, and when the walk first needs each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_MOST_COLUMNS = 10
_MOST_ROWS = 7
_MOST_OUTSIDE = 2


@dataclass(frozen=True, slots=True)
class Visit:
    """One copy in the walk: the step that needs another block than the step before, and that block."""

    step: int
    block: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BlockWalk:
    """What is to be shown: the array and the block in elements, the copies in the order of the walk.

    ``is_whole``: ``visits`` are all of the walk; else they are its beginning.
    """

    array: tuple[int, ...]
    block: tuple[int, ...]
    visits: tuple[Visit, ...]
    is_whole: bool


@dataclass(frozen=True, slots=True)
class Axis:
    """One dim of the array; ``size`` and ``block`` in elements.

    ``shown``: the blocks that are shown, by their index; None stands for those left out.
    A dim that the picture does not have is one block of one element.
    """

    dim: int | None
    size: int
    block: int
    shown: tuple[int | None, ...]

    @property
    def count(self) -> int:
        """Blocks that the array has along the dim, the last one perhaps in part."""
        return -(-self.size // self.block)

    @property
    def indices(self) -> tuple[int, ...]:
        """The blocks that are shown."""
        return tuple(index for index in self.shown if index is not None)

    @property
    def gaps(self) -> Iterator[tuple[int, int]]:
        """The blocks before and behind each gap."""
        for before, gap, behind in zip(self.shown, self.shown[1:], self.shown[2:], strict=False):
            if gap is None and before is not None and behind is not None:
                yield before, behind

    def inside(self, index: int) -> float:
        """Which part of a block lies in the array, from 0 to 1."""
        return 0.0 if index < 0 else min(max(self.size / self.block - index, 0.0), 1.0)

    @property
    def cut(self) -> str:
        """ "500 = 3 × 128 + 116": the dim and the blocks that it is cut into."""
        whole, rest = divmod(self.size, self.block)
        parts = ([f"{whole} × {self.block}"] if whole else []) + ([str(rest)] if rest else [])
        return f"{self.size}{' = ' + ' + '.join(parts) if self.count > 1 else ''}"


_NO_AXIS = Axis(None, 1, 1, (0,))


@dataclass(frozen=True, slots=True)
class Cell:
    """A block that the walk visits: the first step there, its place among the blocks visited, how many copies."""

    step: int
    order: int
    copies: int


@dataclass(frozen=True, slots=True)
class BlockMap:
    """The plane, ``cells`` by (index down, index across), ``visits`` those of the walk that lie in it.

    ``fixed``: the block indices of the dims that the plane does not show; ``varied``
    those of these dims that the walk moves.
    """

    down: Axis
    across: Axis
    cells: dict[tuple[int, int], Cell]
    visits: tuple[tuple[int, int], ...]
    fixed: dict[int, int]
    varied: frozenset[int]
    is_whole: bool

    def inside(self, at: tuple[int, int]) -> float:
        """Which part of a block lies in the array, from 0 to 1."""
        return self.down.inside(at[0]) * self.across.inside(at[1])

    @property
    def leaves_the_array(self) -> bool:
        """Whether a block of the walk lies outside of the array, wholly or in part."""
        return any(self.inside(at) < 1 for at in self.cells)

    @property
    def copies_again(self) -> bool:
        """Whether a block is copied more than once."""
        return any(cell.copies > 1 for cell in self.cells.values())

    @property
    def skips_blocks(self) -> bool:
        """Whether a block shown is not visited."""
        shown = ((row, column) for row in self.down.indices for column in self.across.indices)
        return any(at not in self.cells and self.inside(at) > 0 for at in shown)

    @property
    def titles(self) -> tuple[str, ...]:
        """The dims that the plane has, the one that goes down first."""
        down = () if self.down.dim is None else (f"↓ dim {self.down.dim}: {self.down.cut}",)
        return (*down, f"→ dim {self.across.dim}: {self.across.cut}")

    @property
    def plane(self) -> str:
        """Where in the dims that are not shown the plane lies: "dim 0 at block 0"; "" where there are none."""
        return ", ".join(
            f"dim {dim} at block {index}{', the first of the walk' if dim in self.varied else ''}"
            for dim, index in self.fixed.items()
        )


def block_map(walk: BlockWalk) -> BlockMap | None:
    """The plane of the last two dims that the walk varies; None where there is none (no dim, step or element)."""
    rank = len(walk.array)
    if not rank or not walk.visits or 0 in walk.array or 0 in walk.block:
        return None
    varied = [dim for dim in range(rank) if len({visit.block[dim] for visit in walk.visits}) > 1]
    shown = sorted([*reversed(varied), *(dim for dim in reversed(range(rank)) if dim not in varied)][:2])
    fixed = {dim: walk.visits[0].block[dim] for dim in range(rank) if dim not in shown}
    cells: dict[tuple[int, int], Cell] = {}
    visits: list[tuple[int, int]] = []
    for visit in walk.visits:
        if any(visit.block[dim] != index for dim, index in fixed.items()):
            continue
        at = (visit.block[shown[0]] if rank > 1 else 0, visit.block[shown[-1]])
        known = cells.get(at)
        cells[at] = (
            Cell(visit.step, len(cells), 1) if known is None else Cell(known.step, known.order, known.copies + 1)
        )
        visits.append(at)
    return BlockMap(
        _axis(walk, shown[0], {down for down, _ in visits}, _MOST_ROWS) if rank > 1 else _NO_AXIS,
        _axis(walk, shown[-1], {across for _, across in visits}, _MOST_COLUMNS),
        cells,
        tuple(visits),
        fixed,
        frozenset(varied) & fixed.keys(),
        walk.is_whole,
    )


def _axis(walk: BlockWalk, dim: int, visited: set[int], most: int) -> Axis:
    count = -(-walk.array[dim] // walk.block[dim])
    inner: Sequence[int | None] = range(count) if count <= most else (*range(most - 2), None, count - 1)
    before = sorted(index for index in visited if index < 0)[-_MOST_OUTSIDE:]
    after: list[int | None] = [*sorted(index for index in visited if index >= count)[:_MOST_OUTSIDE]]
    if after and after[0] != count:
        after.insert(0, None)
    return Axis(dim, walk.array[dim], walk.block[dim], (*before, *inner, *after))
