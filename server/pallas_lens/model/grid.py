"""The walk of the grid: how many steps, and which axis moves which operand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod

from .kernel_call import Dim, IndexMap, Semantics
from .separable_walk import count_transfers
from .symbolic import Integer, lower_bound, multiply, substitute, symbols_of, upper_bound
from .unknown import Unknown

_MOST_STEPS_WALKED = 1 << 14


def axis_symbol(axis: int) -> str:
    """The symbol that stands for the index along a grid axis in the results of index maps."""
    return f"grid{axis}"


def step_count(grid: Sequence[Dim] | Unknown) -> Integer | Unknown:
    """Number of grid steps; 1 for an empty grid."""
    if isinstance(grid, Unknown):
        return grid
    steps: Integer = 1
    for dim in grid:
        if isinstance(dim, Unknown):
            return dim
        steps = multiply(steps, dim)
    return steps


def axes_of(index_map: IndexMap | Unknown | None, rank: int) -> frozenset[int] | Unknown:
    """The grid axes on which an index map depends. No map or the default one: none."""
    if index_map is None:
        return frozenset()
    if isinstance(index_map, Unknown):
        return index_map
    if index_map.is_default:
        return frozenset()
    if isinstance(index_map.results, Unknown):
        return index_map.results
    axes: set[int] = set()
    for result in index_map.results:
        if result.axes is not None:
            axes |= result.axes
        elif isinstance(result.value, Unknown):
            return result.value
        else:
            names = symbols_of(result.value)
            axes |= {axis for axis in range(rank) if axis_symbol(axis) in names}
    return frozenset(axes)


def has_several_steps(dim: Dim) -> bool | None:
    """Whether a grid dim is larger than 1; None where not known."""
    if isinstance(dim, Unknown):
        return None
    least, most = lower_bound(dim), upper_bound(dim)
    if least is not None and least > 1:
        return True
    return False if most is not None and most <= 1 else None


def grid_of_one_core(
    grid: tuple[Dim, ...] | Unknown, semantics: Semantics | Unknown | None, cores: int
) -> tuple[Dim, ...] | Unknown:
    """The grid as a core of a chip with two walks it, where that leaves it one step.

    There a parallel axis is split; a window that then sees a single step gets one buffer
    (measured on v5p). Grids that keep several steps are returned as they are: windows in
    them get two buffers, also along an axis that the split leaves with one step.
    """
    if cores < 2 or semantics is None or isinstance(grid, Unknown):
        return grid
    if step_count(grid) != cores:
        return grid
    axis = next(axis for axis, dim in enumerate(grid) if dim == cores) if cores in grid else None
    if axis is None:
        return grid
    entries = semantics if isinstance(semantics, Unknown) else semantics.entries
    entry = entries[axis] if not isinstance(entries, Unknown) and axis < len(entries) else entries
    if isinstance(entry, Unknown):
        return (*grid[:axis], Unknown("the cores may split the axis"), *grid[axis + 1 :])
    return (*grid[:axis], 1, *grid[axis + 1 :]) if entry == "parallel" else grid


def moves(index_map: IndexMap | Unknown | None, grid: Sequence[Dim] | Unknown) -> bool | None:
    """Whether the window moves in the walk, as the compiler sees it; None where not known.

    It looks at what the index map depends on, not at its values: ``i // 16`` moves also where ``i < 16``.
    """
    return _moves(index_map, grid if isinstance(grid, Unknown) else tuple(grid))


@lru_cache(maxsize=256)
def _moves(index_map: IndexMap | Unknown | None, grid: tuple[Dim, ...] | Unknown) -> bool | None:
    # Each chip asks anew for the same operand.
    if isinstance(grid, Unknown):
        rank = 0
        if index_map is None or (isinstance(index_map, IndexMap) and index_map.is_default):
            return False
        if isinstance(index_map, IndexMap) and not isinstance(index_map.results, Unknown):
            values = [result.value for result in index_map.results]
            if all(isinstance(value, int) for value in values):
                return False
        return None
    rank = len(grid)
    axes = axes_of(index_map, rank)
    if isinstance(axes, Unknown):
        return False if all(has_several_steps(dim) is False for dim in grid) else None
    answers = [has_several_steps(grid[axis]) for axis in axes if axis < rank]
    if True in answers:
        return True
    return None if None in answers else False


@dataclass(frozen=True, slots=True)
class Transfers:
    """How often a window is copied in the walk, and how many different blocks it visits."""

    fetches: int
    blocks: int


@dataclass(frozen=True, slots=True)
class Copies:
    """The copies of a window in the order of the walk.

    ``steps``: those that need another block than the step before; ``blocks``: the indices of these blocks;
    ``times``: how often each block is copied.
    """

    steps: tuple[int, ...]
    blocks: tuple[tuple[int, ...], ...]
    times: Mapping[tuple[int, ...], int]


def transfers(index_map: IndexMap | Unknown | None, grid: Sequence[Dim] | Unknown) -> Transfers | Unknown:
    """The transfers of one operand, counted exactly: none where two steps in a row need the same block.

    Unknown where the grid or the map is not concrete, or where some index reads several axes in one term and the
    walk is longer than 16384 steps.
    """
    if isinstance(grid, Unknown):
        return grid
    if index_map is None or (isinstance(index_map, IndexMap) and index_map.is_default):
        return Transfers(1, 1)
    concrete = _concrete(index_map, tuple(grid))
    if isinstance(concrete, Unknown):
        return concrete
    values, sizes = concrete
    try:
        counted = None if 0 in sizes else count_transfers(values, sizes, [*map(axis_symbol, range(len(sizes)))])
    except ZeroDivisionError:
        counted = None
    if counted is not None:
        return Transfers(*counted)
    copies = copies_of(index_map, tuple(grid))
    return copies if isinstance(copies, Unknown) else Transfers(len(copies.blocks), len(copies.times))


@lru_cache(maxsize=16)
def copies_of(index_map: IndexMap | Unknown, grid: tuple[Dim, ...]) -> Copies | Unknown:
    """The copies of one operand in the order of the walk; Unknown for one that is not concrete or too long."""
    concrete = _concrete(index_map, grid)
    if isinstance(concrete, Unknown):
        return concrete
    values, sizes = concrete
    if 0 in sizes:
        return Copies((), (), {})
    # Axes behind the last one that the map reads only repeat its block.
    used = [axis for value in values for axis in _axes_in(value, len(sizes))]
    walked, repeated = sizes[: max(used, default=-1) + 1], sizes[max(used, default=-1) + 1 :]
    if prod(walked) > _MOST_STEPS_WALKED:
        return Unknown(f"the walk is longer than {_MOST_STEPS_WALKED} steps")
    indices: list[list[int]] = []
    for value in values:
        along = _along_the_walk(value, walked)
        if isinstance(along, Unknown):
            return along
        indices.append(along)
    blocks = list(zip(*indices, strict=True)) if indices else [()]
    repeats = prod(repeated)
    copied = [position for position, block in enumerate(blocks) if not position or block != blocks[position - 1]]
    # Lists are made faster than generators are drained, and walks are long.
    kept = tuple([blocks[position] for position in copied])
    return Copies(tuple([position * repeats for position in copied]), kept, Counter(kept))


def _concrete(
    index_map: IndexMap | Unknown, grid: tuple[Dim, ...]
) -> tuple[tuple[Integer, ...], tuple[int, ...]] | Unknown:
    """The results of the map, and the steps along each axis, none below 0."""
    if isinstance(index_map, Unknown):
        return index_map
    if isinstance(index_map.results, Unknown):
        return index_map.results
    sizes: list[int] = []
    for dim in grid:
        if isinstance(dim, Unknown):
            return dim
        if not isinstance(dim, int):
            return Unknown(f"the grid has {dim} steps along an axis")
        sizes.append(max(dim, 0))
    values: list[Integer] = []
    for result in index_map.results:
        if isinstance(result.value, Unknown):
            return result.value
        values.append(result.value)
    return tuple(values), tuple(sizes)


def _axes_in(value: Integer, rank: int) -> list[int]:
    names = symbols_of(value)
    return [axis for axis in range(rank) if axis_symbol(axis) in names]


def _along_the_walk(value: Integer, sizes: Sequence[int]) -> list[int] | Unknown:
    """What an index is at each step. It is computed once for each combination of the axes that it depends on."""
    axes = _axes_in(value, len(sizes))
    if not axes:
        return [value] * prod(sizes) if isinstance(value, int) else _not_a_number(value)
    first, last = axes[0], axes[-1]
    between = sizes[first : last + 1]
    table: dict[tuple[int, ...], int] = {}
    for own in product(*(range(sizes[axis]) for axis in axes)):
        try:
            index = substitute(value, {axis_symbol(axis): at for axis, at in zip(axes, own, strict=True)})
        except ZeroDivisionError:
            return Unknown("the index map divides by zero")
        if not isinstance(index, int):
            return _not_a_number(index)
        table[own] = index
    positions = [axis - first for axis in axes]
    once = [table[tuple([at[position] for position in positions])] for at in product(*map(range, between))]
    inner, outer = prod(sizes[last + 1 :]), prod(sizes[:first])
    return [index for index in once for _ in range(inner)] * outer


def _not_a_number(index: Integer) -> Unknown:
    return Unknown(f"the index map depends on {', '.join(sorted(symbols_of(index)))}")
