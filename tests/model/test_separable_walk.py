"""Transfers counted axis by axis are those of a walk that is followed step by step."""

from __future__ import annotations

import random
from itertools import pairwise, product
from math import prod

import pytest
from pallas_lens.model import separable_walk
from pallas_lens.model.grid import Transfers, axis_symbol, transfers
from pallas_lens.model.separable_walk import count_transfers
from pallas_lens.model.symbolic import Integer, add, ceiling_divide, floor_divide, minimum, modulo, multiply, substitute
from pallas_lens.model.unknown import Unknown

from model.factory import axis, index_map

RANDOM_WALKS = 500
NAMES = [axis_symbol(number) for number in range(4)]


def term(number: int, chosen: random.Random) -> Integer:
    """One term that reads one axis, of the kinds that index maps are made of."""
    linear = add(multiply(axis(number), chosen.choice([-3, -1, 1, 1, 1, 2, 8])), chosen.choice([0, 0, 0, 1, 5]))
    divisor = chosen.choice([1, 2, 3, 4, 8])
    match chosen.randrange(8):
        case 0:
            return floor_divide(linear, divisor)
        case 1:
            return modulo(linear, divisor)
        case 2:
            return ceiling_divide(linear, divisor)
        case 3:
            return minimum((linear, chosen.randrange(4)))
        case 4:
            return multiply(floor_divide(linear, divisor), chosen.choice([-1, 2, 4]))
        case _:
            return linear


def random_walk(seed: int) -> tuple[tuple[int, ...], tuple[Integer, ...]]:
    """A grid of up to four axes, and a map to up to three indices."""
    chosen = random.Random(seed)
    grid = tuple(chosen.choice([1, 2, 3, 4, 5, 8]) for _ in range(chosen.randint(1, 4)))
    results: list[Integer] = []
    for _ in range(chosen.randint(1, 3)):
        value: Integer = chosen.choice([0, 0, 2])
        for number in range(len(grid)):
            if chosen.random() < 0.4:
                value = add(value, term(number, chosen))
        results.append(value)
    return grid, tuple(results)


def followed(grid: tuple[int, ...], results: tuple[Integer, ...]) -> tuple[int, int]:
    """Copies and blocks, step by step."""
    blocks = [
        tuple(substitute(value, dict(zip(NAMES, at, strict=False))) for value in results)
        for at in product(*map(range, grid))
    ]
    copies = 1 + sum(one != other for one, other in pairwise(blocks))
    return copies, len(set(blocks))


@pytest.mark.parametrize("seed", range(RANDOM_WALKS))
def test_random_walks_are_counted_as_they_are_followed(seed: int) -> None:
    grid, results = random_walk(seed)
    assert count_transfers(results, grid, NAMES[: len(grid)]) == followed(grid, results), (
        grid,
        list(map(str, results)),
    )


@pytest.mark.parametrize(
    ("results", "grid", "expected"),
    [
        ((axis(0), axis(2)), (1000, 1000, 1000), (10**9, 10**6)),
        ((axis(2), axis(1)), (1000, 1000, 1000), (10**9, 10**6)),
        ((axis(0), axis(1)), (1000, 1000, 1000), (10**6, 10**6)),
        ((floor_divide(axis(0), 8), 0), (10**6,), (125_000, 125_000)),
        ((modulo(axis(0), 8), axis(0)), (10**9,), (10**9, 10**9)),
        ((add(multiply(axis(0), 1000), axis(1)), 0), (1000, 1000, 7), (10**6, 10**6)),
    ],
)
def test_long_walks_are_counted_by_few_evaluations(
    results: tuple[Integer, ...],
    grid: tuple[int, ...],
    expected: tuple[int, int | None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    evaluated = 0

    def counted(value: Integer, values: dict[str, Integer]) -> Integer:
        nonlocal evaluated
        evaluated += 1
        return substitute(value, values)

    monkeypatch.setattr(separable_walk, "substitute", counted)
    assert prod(grid) >= 10**6
    assert count_transfers(results, grid, NAMES[: len(grid)]) == expected
    assert evaluated < 50_000


def test_an_index_that_reads_two_axes_in_one_term_is_followed_where_the_walk_is_short() -> None:
    flat = floor_divide(add(multiply(axis(0), 8), axis(1)), 3)
    assert count_transfers((flat,), (4, 8), NAMES[:2]) is None
    assert transfers(index_map((flat,)), (4, 8)) == Transfers(11, 11)
    assert isinstance(transfers(index_map((flat,)), (1000, 1000)), Unknown)
