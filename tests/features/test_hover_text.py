"""The words of hovers, and which axes a reduction takes."""

from __future__ import annotations

import pytest
from pallas_lens.features.hover_text import by_chip, bytes_text, code, dims_text, number_text, table
from pallas_lens.features.reduced_axes import reduced_axes
from pallas_lens.model.kernel_call import ArrayType, Dim
from pallas_lens.model.symbolic import Integer, multiply, symbol
from pallas_lens.model.unknown import Unknown

M = symbol("m", 1)
WHY = Unknown("comes from the caller")


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (512, "512 B"),
        (1536, "1.5 KiB"),
        (16 << 20, "16 MiB"),
        (17301504, "16.5 MiB"),
        (67043328, "63.94 MiB"),
        (multiply(M, 4), "`4 * m` B"),
        (WHY, "?"),
    ],
)
def test_bytes(count: Integer | Unknown, text: str) -> None:
    assert bytes_text(count) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(3, "3"), (0.188, "0.19"), (12.34, "12.3"), (155.5, "156"), (9952.0, "9 952"), (1234567, "1 234 567")],
)
def test_numbers(value: float, text: str) -> None:
    assert number_text(value) == text


def test_the_same_on_all_chips_is_said_once() -> None:
    assert by_chip({"v4": "1 MiB", "v5e": "1 MiB"}) == "1 MiB"
    assert by_chip({"v4": "2", "v5p": "1", "v6e": "2"}) == "2 (v5p: 1)"
    assert by_chip({}) == ""


def test_code_fits_in_a_table_cell() -> None:
    assert code("lambda i:\n    (i | 1)") == "`lambda i: (i \\| 1)`"
    assert code("a`b") == "``a`b``"
    assert table(("a", "b"), [("1", "2")], right=(1,)) == "| a | b |\n| --- | ---: |\n| 1 | 2 |"


def test_shapes() -> None:
    assert dims_text((8, M, WHY)) == "(8, m, ?)"
    assert dims_text((8,)) == "(8,)"
    assert dims_text(WHY) == "?"


@pytest.mark.parametrize(
    ("before", "after", "axes"),
    [
        ((8, 128), (8, 1), (1,)),
        ((8, 128), (1, 128), (0,)),
        ((8, 128), (8,), (1,)),
        ((4, 8, 128), (8, 128), (0,)),
        ((8, 8), (8,), None),
        ((8, 128), (), (0, 1)),
        ((8, 1), (8, 1), None),
        ((M, 128), (M, 1), (1,)),
        ((WHY, 128), (WHY, 1), None),
        ((8, 128), (8, 64), None),
    ],
)
def test_reduced_axes(before: tuple[Dim, ...], after: tuple[Dim, ...], axes: tuple[int, ...] | None) -> None:
    assert reduced_axes(ArrayType(before, "float32"), ArrayType(after, "float32")) == axes
