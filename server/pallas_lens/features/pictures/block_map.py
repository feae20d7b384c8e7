"""The array of a window as a plane of blocks: which blocks are shown, and when the walk first needs each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress, islice, product, repeat

from pallas_lens.model.grid import Copies

_MOST_COLUMNS = 10
_MOST_ROWS = 6
_MOST_OUTSIDE = 2
_MOST_MOVES = 17
"""More than are drawn: one that draws can tell that there are more."""


@dataclass(frozen=True, slots=True)
class BlockWalk:
    """What is to be shown: the array and the block, in elements, and the copies of the walk."""

    array: tuple[int, ...]
    block: tuple[int, ...]
    copies: Copies


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
    """A block that the walk visits: the first step there, and how many copies."""

    step: int
    copies: int


@dataclass(frozen=True, slots=True)
class BlockMap:
    """The plane. ``cells``: of the blocks shown those that the walk visits, in its order, by (index down, index
    across); ``moves``: the blocks of the first copies in the plane, also those that are not shown.

    ``fixed``: the block indices of the dims that the plane does not show; ``varied``
    those of these dims that the walk moves.
    """

    down: Axis
    across: Axis
    cells: dict[tuple[int, int], Cell]
    moves: tuple[tuple[int, int], ...]
    fixed: dict[int, int]
    varied: frozenset[int]

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
    if not rank or not walk.copies.blocks or 0 in walk.array or 0 in walk.block:
        return None
    # Walks are long: what follows goes over the copies without a line of Python for each.
    indices = list(zip(*walk.copies.blocks, strict=True))
    varied = [dim for dim in range(rank) if len(set(indices[dim])) > 1]
    shown = sorted([*reversed(varied), *(dim for dim in reversed(range(rank)) if dim not in varied)][:2])
    fixed = {dim: indices[dim][0] for dim in range(rank) if dim not in shown}
    visits = list(zip(indices[shown[0]] if rank > 1 else repeat(0), indices[shown[-1]], strict=False))
    steps = walk.copies.steps
    for dim in fixed.keys() & set(varied):
        kept = [index == fixed[dim] for index in indices[dim]]
        indices = [tuple(compress(column, kept)) for column in indices]
        visits, steps = list(compress(visits, kept)), tuple(compress(steps, kept))
    # Where the array has no dims but these two, the blocks are counted already.
    copies = walk.copies.times if rank == 2 else Counter(visits)
    down = _axis(walk, shown[0], {at[0] for at in copies}, _MOST_ROWS) if rank > 1 else _NO_AXIS
    across = _axis(walk, shown[-1], {at[1] for at in copies}, _MOST_COLUMNS)
    # Of several steps of a block, the first one is put in last.
    first = dict(zip(reversed(visits), reversed(steps), strict=True))
    seen = sorted((first[at], at) for at in product(down.indices, across.indices) if at in first)
    return BlockMap(
        down,
        across,
        {at: Cell(step, copies[at]) for step, at in seen},
        tuple(islice(visits, _MOST_MOVES + 1)),
        fixed,
        frozenset(varied) & fixed.keys(),
    )


def _axis(walk: BlockWalk, dim: int, visited: set[int], most: int) -> Axis:
    count = -(-walk.array[dim] // walk.block[dim])
    inner: Sequence[int | None] = range(count) if count <= most else (*range(most - 2), None, count - 1)
    before = sorted(index for index in visited if index < 0)[-_MOST_OUTSIDE:]
    after: list[int | None] = [*sorted(index for index in visited if index >= count)[:_MOST_OUTSIDE]]
    if after and after[0] != count:
        after.insert(0, None)
    return Axis(dim, walk.array[dim], walk.block[dim], (*before, *inner, *after))
