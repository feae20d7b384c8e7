"""The walk of the grid: steps, axes that move an operand, transfers."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pallas_lens.model.grid import (
    Copies,
    Transfers,
    axes_of,
    axis_symbol,
    copies_of,
    grid_of_one_core,
    moves,
    step_count,
    transfers,
)
from pallas_lens.model.kernel_call import Arity, Dim, IndexMap, IndexMapResult, Semantics
from pallas_lens.model.symbolic import Integer, add, floor_divide, modulo, multiply, substitute, symbol
from pallas_lens.model.unknown import Unknown

from model.factory import axis, index_map

ROW, COLUMN, DEPTH = axis(0), axis(1), axis(2)
M = symbol("m", 1)
WHY = Unknown("comes from the caller")


def test_steps() -> None:
    assert step_count(()) == 1
    assert step_count((2, 3, 4)) == 24
    assert step_count((2, M)) == multiply(2, M)
    assert step_count((2, WHY)) is WHY


@pytest.mark.parametrize(
    ("results", "grid", "expected"),
    [
        ((ROW, 0), (4, 3), Transfers(4, 4)),
        ((COLUMN, 0), (4, 3), Transfers(12, 3)),
        ((ROW, COLUMN), (4, 3), Transfers(12, 12)),
        ((0, 0), (4, 3), Transfers(1, 1)),
        ((3, 1), (4, 3), Transfers(1, 1)),
        # The left operand of a matmul (i, k), the right (k, j), the output (i, j).
        ((ROW, DEPTH), (2, 3, 4), Transfers(24, 8)),
        ((DEPTH, COLUMN), (2, 3, 4), Transfers(24, 12)),
        ((ROW, COLUMN), (2, 3, 4), Transfers(6, 6)),
        # Two steps in a row that need the same block.
        ((floor_divide(ROW, 2), 0), (8,), Transfers(4, 4)),
        ((modulo(ROW, 2), 0), (8,), Transfers(8, 2)),
        ((add(ROW, COLUMN), 0), (2, 3), Transfers(6, 4)),
        # A walk of any length.
        ((ROW, COLUMN), (1 << 20, 1 << 20), Transfers(1 << 40, 1 << 40)),
        # An axis of one step moves nothing.
        ((ROW, COLUMN), (1, 1), Transfers(1, 1)),
        ((ROW,), (0,), Transfers(0, 0)),
    ],
)
def test_transfers(results: tuple[Integer, ...], grid: tuple[int, ...], expected: Transfers) -> None:
    assert transfers(index_map(results, len(grid)), grid) == expected


@pytest.mark.parametrize(
    ("results", "grid"),
    [
        ((ROW, 0), (M, 3)),
        ((ROW, WHY), (4, 3)),
        ((ROW, M), (4, 3)),
        ((multiply(ROW, COLUMN), 0), (1 << 20, 1 << 20)),
        ((ROW, 0), WHY),
    ],
)
def test_transfers_that_cannot_be_counted(
    results: tuple[Integer | Unknown, ...], grid: tuple[Dim, ...] | Unknown
) -> None:
    assert isinstance(transfers(index_map(results), grid), Unknown)


def test_axes() -> None:
    assert axes_of(index_map((multiply(ROW, 2), DEPTH), 3), 3) == {0, 2}
    assert axes_of(index_map((0, 0)), 2) == frozenset()
    assert axes_of(None, 2) == frozenset()
    assert axes_of(index_map((ROW, WHY)), 2) is WHY
    looked_up = IndexMap(
        "", Arity(2, 2), (IndexMapResult("reference", WHY, axes=frozenset({1})), IndexMapResult("integer", 0)), None
    )
    assert axes_of(looked_up, 2) == {1}


@pytest.mark.parametrize(
    ("results", "grid", "expected"),
    [
        ((ROW, 0), (4, 3), True),
        ((ROW, 0), (1, 3), False),
        ((ROW, 0), (M, 3), None),
        ((ROW, COLUMN), (M, 3), True),
        ((0, 0), WHY, False),
        ((ROW, 0), WHY, None),
        # The compiler looks at what the map reads: this one moves although i < 16.
        ((floor_divide(ROW, 16), 0), (16,), True),
        ((WHY, 0), (1, 1), False),
        ((WHY, 0), (4, 1), None),
    ],
)
def test_moves(results: tuple[Integer | Unknown, ...], grid: tuple[Dim, ...] | Unknown, expected: bool | None) -> None:
    assert moves(index_map(results), grid) is expected


def test_two_cores_leave_a_grid_of_two_parallel_steps_one_each() -> None:
    parallel = Semantics(("parallel", "arbitrary"), None)
    assert grid_of_one_core((2, 1), parallel, 2) == (1, 1)
    assert grid_of_one_core((2, 1), parallel, 1) == (2, 1)
    assert grid_of_one_core((2, 64), parallel, 2) == (2, 64)
    assert grid_of_one_core((1, 2), parallel, 2) == (1, 2)
    assert grid_of_one_core((2, 1), None, 2) == (2, 1)


MAPS: list[tuple[Integer, ...]] = [
    (ROW, COLUMN),
    (COLUMN, ROW),
    (DEPTH, 3),
    (add(ROW, DEPTH), COLUMN),
    (floor_divide(COLUMN, 2), modulo(DEPTH, 3)),
    (add(multiply(ROW, 5), COLUMN), multiply(DEPTH, DEPTH)),
    (7, 0),
    (),
]


@given(st.sampled_from(MAPS), st.tuples(*(st.integers(0, 5) for _ in range(3))))
def test_copies_are_those_of_a_walk_step_by_step(values: tuple[Integer, ...], grid: tuple[int, ...]) -> None:
    copies = copies_of(index_map(values, 3), grid)
    assert isinstance(copies, Copies)
    walked: list[tuple[int, tuple[Integer, ...]]] = []
    for step, at in enumerate(product(*map(range, grid))):
        names: dict[str, Integer] = {axis_symbol(number): index for number, index in enumerate(at)}
        block = tuple(substitute(value, names) for value in values)
        if not walked or walked[-1][1] != block:
            walked.append((step, block))
    assert list(zip(copies.steps, copies.blocks, strict=True)) == walked
    assert copies.times == Counter(block for _, block in walked)


def test_a_long_walk_is_left() -> None:
    assert isinstance(copies_of(index_map((ROW, COLUMN)), (128, 129)), Unknown)
    # Axes that the map does not read cost nothing.
    assert transfers(index_map((ROW, 0)), (128, 1 << 40)) == Transfers(128, 128)
