"""How two cores share a grid: as the compiler does (measure/core_split.py), and what is left open."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pallas_lens.knowledge.chips import CHIPS
from pallas_lens.model.core_split import CoreSplit, core_split, split_of_grid
from pallas_lens.model.kernel_call import Form, Semantics
from pallas_lens.model.symbolic import multiply, symbol
from pallas_lens.model.unknown import Unknown

from model.factory import call

P, A = "parallel", "arbitrary"
N = symbol("n", 1)
WHY = Unknown("comes from the caller")


@pytest.mark.parametrize(
    ("grid", "semantics", "axes", "walked", "steps"),
    [
        ((4,), (P,), (0,), (2,), (2, 2)),
        ((5,), (P,), (0,), (3,), (3, 2)),
        ((1,), (P,), (), (1,), (1, 0)),
        ((4, 6), (P, P), (0,), (2, 6), (12, 12)),
        ((3, 4), (P, P), (1,), (3, 2), (6, 6)),
        ((3, 5), (P, P), (0, 1), (8,), (8, 7)),
        ((4, 6), (A, P), (1,), (4, 3), (12, 12)),
        ((1, 4), (P, P), (1,), (1, 2), (2, 2)),
        ((1, 5), (P, A), (), (1, 5), (5, 0)),
        ((7, 3), (P, A), (0,), (4, 3), (12, 9)),
        ((8, 2), (A, A), (), (8, 2), (16, 0)),
        ((3, 5, 7), (A, P, P), (1, 2), (18, 3), (54, 51)),
        ((3, 5, 7), (P, A, P), (0, 2), (11, 5), (55, 50)),
        ((5, 3, 7, 9), (P, P, A, P), (0, 1, 3), (68, 7), (476, 469)),
        ((3, 5, 7, 2), (P, P, A, P), (3,), (3, 5, 7, 1), (105, 105)),
    ],
)
@pytest.mark.parametrize("chip", ["v4", "v5p"])
def test_the_grid_of_a_core_is_the_compilers(
    chip: str,
    grid: tuple[int, ...],
    semantics: tuple[str, ...],
    axes: tuple[int, ...],
    walked: tuple[int, ...],
    steps: tuple[int, ...],
) -> None:
    assert split_of_grid(grid, semantics, CHIPS[chip]) == CoreSplit(2, axes, walked, steps)


@pytest.mark.parametrize("chip", ["v5e", "v6e", "v7x"])
def test_other_chips_split_nothing(chip: str) -> None:
    assert split_of_grid((4, 6), (P, P), CHIPS[chip]) == CoreSplit(1, (), (4, 6), (24,))


@pytest.mark.parametrize(
    ("grid", "semantics", "idle"),
    [((4,), (P,), 0), ((5,), (P,), 1 / 6), ((5,), (A,), 1 / 2), ((N,), (A,), None), ((0,), (A,), None)],
)
def test_idle_share(grid: tuple[int, ...], semantics: tuple[str, ...], idle: float | None) -> None:
    split = split_of_grid(grid, semantics, CHIPS["v5p"])
    assert isinstance(split, CoreSplit)
    assert split.idle_share == (idle if idle is None else pytest.approx(idle))


def test_symbols_are_split_where_the_cores_surely_divide_them() -> None:
    even = multiply(2, N)
    split = split_of_grid((even, 3), (P, A), CHIPS["v5p"])
    assert isinstance(split, CoreSplit) and split.axes == (0,)
    assert split.steps == (multiply(3, N), multiply(3, N))
    assert split_of_grid((N, 3), (P, A), CHIPS["v5p"]) == Unknown("it depends on whether 2 divides n")


def test_what_is_not_known_stays_so() -> None:
    v5p = CHIPS["v5p"]
    assert core_split(call((), WHY, semantics=(P,)), v5p) is WHY
    assert split_of_grid((WHY, 4), (P, P), v5p) is WHY
    assert split_of_grid((4, WHY), (P, P), v5p) == CoreSplit(2, (0,), (2, WHY), (WHY, WHY))
    assert split_of_grid((4,), (WHY,), v5p) is WHY
    assert core_split(replace(call((), (4,)), semantics=Semantics(WHY, None)), v5p) is WHY


def test_a_pipeline_inside_a_kernel_is_not_shared() -> None:
    pipeline = replace(call((), (4, 2), semantics=(P, P)), form=Form.EMIT_PIPELINE)
    assert core_split(pipeline, CHIPS["v5p"]) == CoreSplit(1, (), (4, 2), (8,))


def test_under_vmap_there_are_more_axes() -> None:
    mapped = replace(call((), (4, 2), semantics=(P, P)), batch_sizes=(3,))
    assert isinstance(core_split(mapped, CHIPS["v5p"]), Unknown)


def test_without_semantics_one_core_does_it_all() -> None:
    assert core_split(call((), (4, 2)), CHIPS["v5p"]) == CoreSplit(2, (), (4, 2), (8, 0))
