"""How the TensorCores of a chip share the grid of one call, by its ``parallel`` axes.

Measured with libtpu 0.0.52 on v5p and, as one device, v4 (``knowledge/measure/core_split.py``):
the compiler splits the first parallel axis that the number of cores divides. Where it divides
none, it makes all parallel axes one, puts that in front of the others and rounds its half up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from .chip import Chip
from .grid import step_count
from .kernel_call import Dim, Form, KernelCall
from .symbolic import Integer, ceiling_divide, is_multiple, multiply
from .unknown import Unknown

PARALLEL = "parallel"
"""The entry of ``dimension_semantics`` that lets an axis be split."""


@dataclass(frozen=True, slots=True)
class CoreSplit:
    """What each core does of a call.

    ``axes``: the grid axes that are split, several where they are made one axis; none
    where a single core does it all. ``grid``: what the busiest core walks, its axes in
    the order of the walk. ``steps``: of each core, the busiest first.
    """

    cores: int
    axes: tuple[int, ...]
    grid: tuple[Dim, ...]
    steps: tuple[Integer | Unknown, ...]

    @property
    def merges_axes(self) -> bool:
        """Whether several axes are made one, which is then the slowest."""
        return len(self.axes) > 1

    @property
    def idle_share(self) -> float | None:
        """The part of all cores' time that cores wait for the busiest, from 0 to below 1; None where not known."""
        counts = [count for count in self.steps if isinstance(count, int)]
        if len(counts) < self.cores or not counts or counts[0] <= 0:
            return None
        return 1 - sum(counts) / (self.cores * counts[0])


def core_split(call: KernelCall, chip: Chip) -> CoreSplit | Unknown:
    """How the chip's cores share the call; Unknown where grid, semantics or a parallel dim leave it open.

    A pipeline inside a kernel is run by the core that runs the kernel: there is nothing to share.
    """
    if isinstance(call.grid, Unknown):
        return call.grid
    if call.form is not Form.PALLAS_CALL:
        return _by_one_core(call.grid, 1)
    if call.batch_sizes:
        return Unknown("`vmap` puts parallel axes in front")
    if isinstance(call.semantics, Unknown):
        return call.semantics
    entries = () if call.semantics is None else call.semantics.entries
    return entries if isinstance(entries, Unknown) else split_of_grid(call.grid, entries, chip)


def split_of_grid(grid: tuple[Dim, ...], entries: Sequence[str | Unknown | None], chip: Chip) -> CoreSplit | Unknown:
    """The same for a grid and its ``dimension_semantics``, an entry an axis; axes without one are not split."""
    cores = chip.cores_of_call
    if cores < 2:
        return _by_one_core(grid, cores)
    axes: list[int] = []
    for axis, entry in enumerate(entries[: len(grid)]):
        if isinstance(entry, Unknown):
            return entry
        if entry == PARALLEL:
            axes.append(axis)
    return _split(grid, axes, cores)


def _split(grid: tuple[Dim, ...], axes: list[int], cores: int) -> CoreSplit | Unknown:
    for axis in axes:
        dim = grid[axis]
        if isinstance(dim, Unknown):
            return dim
        if is_multiple(dim, cores):
            own = (*grid[:axis], _share(dim, cores), *grid[axis + 1 :])
            return CoreSplit(cores, (axis,), own, (step_count(own),) * cores)
        if not isinstance(dim, int):
            return Unknown(f"it depends on whether {cores} divides {dim}")
    sizes = [dim for axis in axes if isinstance(dim := grid[axis], int)]
    merged = prod(sizes)
    if merged < cores:
        return _by_one_core(grid, cores)
    others = tuple(dim for axis, dim in enumerate(grid) if axis not in axes)
    share = -(-merged // cores)
    # An axis that is the only one to be split stays in its place.
    own = (share, *others) if len(axes) > 1 else (*grid[: axes[0]], share, *grid[axes[0] + 1 :])
    inner = step_count(others)
    rest = [min(share, max(merged - core * share, 0)) for core in range(cores)]
    steps = tuple(inner if isinstance(inner, Unknown) else multiply(inner, part) for part in rest)
    return CoreSplit(cores, tuple(axes), own, steps)


def _share(dim: Integer, cores: int) -> Integer:
    return dim // cores if isinstance(dim, int) else ceiling_divide(dim, cores)


def _by_one_core(grid: tuple[Dim, ...], cores: int) -> CoreSplit:
    return CoreSplit(cores, (), grid, (step_count(grid), *(0 for _ in range(cores - 1))))
