"""Code points to the units of a client and back, against what Python's encoders say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pallas_lens.source.positions import TextRange, Units, from_units, to_units

WIDTHS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


@given(st.text(st.characters(exclude_categories=["Cs"])), st.integers(0, 30), st.sampled_from(sorted(WIDTHS)))
def test_columns_are_those_of_the_encoded_text(line: str, column: int, units: Units) -> None:
    encoding, width = WIDTHS[units]
    column = min(column, len(line))
    expected = len(line[:column].encode(encoding)) // width
    assert to_units(line, column, units) == expected
    assert from_units(line, expected, units) == column


@pytest.mark.parametrize(
    ("line", "column", "units", "expected"),
    [
        ("a𝒳b", 2, "utf-16", 1),
        ("a𝒳b", 3, "utf-8", 1),
        ("aé", 99, "utf-8", 2),
        ("ab", 99, "utf-16", 2),
        ("é", -1, "utf-8", 0),
    ],
)
def test_columns_between_characters_and_behind_the_end(line: str, column: int, units: Units, expected: int) -> None:
    assert from_units(line, column, units) == expected


def test_a_column_behind_the_end_becomes_the_end() -> None:
    assert to_units("é𝒳", 99, "utf-16") == 3


def test_ranges() -> None:
    one = TextRange(1, 4, 2, 3)
    assert one.covers(1, 4) and one.covers(2, 3) and not one.covers(2, 4)
    assert one.overlaps(TextRange(2, 3, 2, 9)) and not one.overlaps(TextRange(2, 4, 3, 0))
