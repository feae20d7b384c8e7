"""Transfers of a window counted without walking the grid, where each axis adds to the index on its own.

Most index maps are sums of terms that read one grid axis each: ``(i, k)``, ``(i * 4 + j, 0)``, ``(i // 8, i % 8)``.
Between two steps one axis goes on by one and all faster ones fall back to their first index. Whether the block
changes then depends on how far that one axis stands and on nothing else, so that the steps of a whole grid are told
from those of its axes: their sum, not their product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lcm, prod

from .symbolic import (
    CeilingDivision,
    Expression,
    FloorDivision,
    Integer,
    Modulo,
    Monomial,
    Symbol,
    substitute,
    symbols_of,
)

_MOST_INDICES = 1 << 14
"""So many indices of an axis, or of axes that are to be combined, are computed one by one."""


@dataclass(frozen=True, slots=True)
class _Part:
    """What one axis of ``size`` steps adds to one index of a window.

    ``slope`` is what each step adds, where it is always the same. ``period``: after so many steps the additions
    repeat; None where they may not.
    """

    name: str
    size: int
    formula: Integer
    slope: int | None
    period: int | None

    def at(self, index: int) -> int:
        """What the axis adds at ``index``. Raises ZeroDivisionError as the map does."""
        if self.slope is not None:
            return self.slope * index
        value = substitute(self.formula, {self.name: index})
        assert isinstance(value, int)
        return value

    @property
    def fall(self) -> int:
        """What changes when the axis falls back from its last index to its first."""
        return self.at(0) - self.at(self.size - 1)


def count_transfers(values: Sequence[Integer], sizes: Sequence[int], names: Sequence[str]) -> tuple[int, int] | None:
    """How often a window with the block indices ``values`` is copied, and how many blocks it visits.

    ``names`` are the symbols of the axes, the slowest first, ``sizes`` their steps, each at least 1. None where terms
    read several axes, or the count would take too long.

    Raises:
        ZeroDivisionError: as the index map does.
    """
    rows = [_parts(value, sizes, names) for value in values]
    found: list[list[_Part]] = []
    for row in rows:
        if row is None:
            return None
        found.append(row)
    copies = 1
    for axis, size in enumerate(sizes):
        falls = [sum(part.fall for part in row[axis + 1 :]) for row in found]
        changes = _changes([row[axis] for row in found], falls, size)
        if changes is None:
            return None
        copies += prod(sizes[:axis]) * changes
    blocks = _distinct(found, sizes)
    return None if blocks is None else (copies, blocks)


def _parts(value: Integer, sizes: Sequence[int], names: Sequence[str]) -> list[_Part] | None:
    """What each axis adds to ``value``; None where a term reads several axes, or something else."""
    terms: dict[str, list[tuple[Monomial, int]]] = {name: [] for name in names}
    for monomial, coefficient in value.terms if isinstance(value, Expression) else ():
        read = symbols_of(Expression(((monomial, 1),)))
        if len(read) > 1 or not read <= terms.keys():
            return None
        if read:
            terms[next(iter(read))].append((monomial, coefficient))
    return [_part(name, size, terms[name]) for name, size in zip(names, sizes, strict=True)]


def _part(name: str, size: int, terms: list[tuple[Monomial, int]]) -> _Part:
    formula: Integer = Expression(tuple(terms)) if terms else 0
    if all(len(monomial) == 1 and isinstance(monomial[0], Symbol) for monomial, _ in terms):
        return _Part(name, size, formula, sum(coefficient for _, coefficient in terms), 1)
    periods = [_period(monomial) for monomial, _ in terms]
    known = [period for period in periods if period is not None]
    return _Part(name, size, formula, None, lcm(*known) if len(known) == len(periods) else None)


def _period(monomial: Monomial) -> int | None:
    """After how many steps the additions of a term repeat: ``i // 8`` adds 1 at every eighth."""
    match monomial:
        case (Symbol(),):
            return 1
        case (
            FloorDivision(inner, int() as divisor)
            | CeilingDivision(inner, int() as divisor)
            | Modulo(inner, int() as divisor),
        ) if divisor and _is_linear(inner):
            return abs(divisor)
        case _:
            return None


def _is_linear(value: Integer) -> bool:
    return isinstance(value, int) or all(
        not monomial or (len(monomial) == 1 and isinstance(monomial[0], Symbol)) for monomial, _ in value.terms
    )


def _changes(parts: list[_Part], falls: list[int], size: int) -> int | None:
    """At how many of its ``size - 1`` steps forward an axis changes some index, faster axes falling back meanwhile."""
    steps = size - 1
    if all(part.slope is not None for part in parts):
        return steps if any(part.slope != -fall for part, fall in zip(parts, falls, strict=True)) else 0
    periods = [part.period for part in parts]
    period = steps if None in periods else min(steps, lcm(*(one for one in periods if one is not None)))
    if period > _MOST_INDICES:
        return None
    changed = [False] * period
    for part, fall in zip(parts, falls, strict=True):
        indices = [part.at(index) for index in range(period + 1)]
        for index in range(period):
            if indices[index + 1] - indices[index] + fall:
                changed[index] = True
    if not period:
        return 0
    whole, rest = divmod(steps, period)
    return whole * sum(changed) + sum(changed[:rest])


def _distinct(rows: list[list[_Part]], sizes: Sequence[int]) -> int | None:
    """How many different blocks there are: indices that share no axis multiply."""
    blocks = 1
    open_rows = [row for row in rows if _axes(row)]
    while open_rows:
        group = [open_rows.pop()]
        axes = _axes(group[0])
        while joined := [row for row in open_rows if _axes(row) & axes]:
            group += joined
            axes = axes.union(*map(_axes, joined))
            open_rows = [row for row in open_rows if row not in joined]
        count = _distinct_in_group(group, sorted(axes), sizes)
        if count is None:
            return None
        blocks *= count
    return blocks


def _axes(row: list[_Part]) -> frozenset[int]:
    """The axes that change an index."""
    return frozenset(axis for axis, part in enumerate(row) if part.size > 1 and part.slope != 0)


def _distinct_in_group(group: list[list[_Part]], axes: list[int], sizes: Sequence[int]) -> int | None:
    whole = prod(sizes[axis] for axis in axes)
    if any(_tells_all_apart([row[axis] for axis in axes]) for row in group):
        return whole
    if whole > _MOST_INDICES:
        parts = [row[axes[0]] for row in group]
        if len(axes) > 1 or not all(map(_never_turns, parts)):
            return None
        # What only grows or only falls never comes back to a block.
        changes = _changes(parts, [0] * len(parts), whole)
        return None if changes is None else 1 + changes
    seen: set[tuple[int, ...]] = {(0,) * len(group)}
    for axis in axes:
        added = [tuple(row[axis].at(index) for row in group) for index in range(sizes[axis])]
        seen = {tuple(map(int.__add__, block, one)) for block in seen for one in added}
    return len(seen)


def _never_turns(part: _Part) -> bool:
    """Whether an axis only adds to an index, or only takes from it."""
    if part.slope is not None:
        return True
    if part.period is None or part.period > _MOST_INDICES:
        return False
    indices = [part.at(index) for index in range(part.period + 1)]
    return indices in (sorted(indices), sorted(indices, reverse=True))


def _tells_all_apart(parts: list[_Part]) -> bool:
    """Whether an index has another value for each combination of its axes, as digits make a number."""
    reach = 0
    slopes = [(abs(part.slope), part.size) for part in parts if part.slope is not None]
    if len(slopes) < len(parts):
        return False
    for slope, size in sorted(slopes):
        if slope <= reach:
            return False
        reach += slope * (size - 1)
    return True
