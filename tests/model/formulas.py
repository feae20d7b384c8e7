"""Formulas over a few named integers: built with ``model.symbolic``, and computed with plain numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from hypothesis import strategies as st
from pallas_lens.model import symbolic
from pallas_lens.model.symbolic import Facts, Integer

MINIMA: dict[str, int | None] = {"m": 0, "b": 1, "x": None}
"""The symbols, each with the number that it is never below."""

_RANGES = {"m": range(0, 10), "b": range(1, 6), "x": range(-4, 6)}

Assignment = dict[str, int]
ASSIGNMENTS: tuple[Assignment, ...] = tuple(
    dict(zip(_RANGES, numbers, strict=True)) for numbers in product(*_RANGES.values())
)


@dataclass(frozen=True, slots=True)
class Formula:
    """``operation`` of ``parts``; a leaf is the name of a symbol or a number as text."""

    operation: str
    parts: tuple[Formula, ...] = ()

    def __repr__(self) -> str:
        return f"{self.operation}({', '.join(map(repr, self.parts))})" if self.parts else self.operation

    def symbolic(self) -> Integer:
        """The formula as the model has it.

        Raises:
            ZeroDivisionError: where it divides by the number 0.
        """
        if not self.parts:
            name = self.operation
            return symbolic.symbol(name, MINIMA[name]) if name in MINIMA else int(name)
        parts = [part.symbolic() for part in self.parts]
        match self.operation:
            case "min":
                return symbolic.minimum(parts)
            case "max":
                return symbolic.maximum(parts)
        left, right = parts
        match self.operation:
            case "+":
                return symbolic.add(left, right)
            case "-":
                return symbolic.subtract(left, right)
            case "*":
                return symbolic.multiply(left, right)
            case "//":
                return symbolic.floor_divide(left, right)
            case "%":
                return symbolic.modulo(left, right)
            case _:
                return symbolic.ceiling_divide(left, right)

    def number(self, assignment: Assignment) -> int:
        """What Python computes.

        Raises:
            ZeroDivisionError: where it divides by 0.
        """
        if not self.parts:
            name = self.operation
            return assignment[name] if name in MINIMA else int(name)
        parts = [part.number(assignment) for part in self.parts]
        match self.operation:
            case "min":
                return min(parts)
            case "max":
                return max(parts)
        left, right = parts
        match self.operation:
            case "+":
                return left + right
            case "-":
                return left - right
            case "*":
                return left * right
            case "//":
                return left // right
            case "%":
                return left % right
            case _:
                return -(-left // right)


def leaf(value: str | int) -> Formula:
    """A symbol or a number."""
    return Formula(str(value))


def numbers_of(*formulas: Formula, among: tuple[Assignment, ...] = ASSIGNMENTS) -> Iterator[tuple[int, ...]]:
    """What ``formulas`` are worth for each assignment under which all of them are worth something."""
    for assignment in among:
        try:
            yield tuple(formula.number(assignment) for formula in formulas)
        except ZeroDivisionError:
            continue


_LEAVES = st.one_of(st.sampled_from(list(MINIMA)), st.integers(-3, 9), st.sampled_from([8, 16, 128])).map(leaf)


def _larger(parts: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
    two = st.tuples(parts, parts)
    return st.one_of(
        st.builds(Formula, st.sampled_from(["+", "-", "*", "//", "%", "cdiv"]), two),
        st.builds(Formula, st.sampled_from(["min", "max"]), st.one_of(two, st.tuples(parts, parts, parts))),
    )


FORMULAS: st.SearchStrategy[Formula] = st.recursive(_LEAVES, _larger, max_leaves=8)


@st.composite
def rounded(draw: st.DrawFn) -> Formula:
    """Formulas of the kind that kernels are full of: sizes rounded to blocks, remainders, clamps."""
    size, block = draw(st.sampled_from(["m", "x"])), draw(st.sampled_from(["b", "3", "8"]))
    scale = draw(st.integers(-3, 3))
    core = Formula(draw(st.sampled_from(["//", "cdiv", "%"])), (leaf(size), leaf(block)))
    made = Formula("*", (core, leaf(draw(st.sampled_from([block, "1", "m"])))))
    made = Formula("*", (made, leaf(scale)))
    return Formula(draw(st.sampled_from(["+", "-", "min", "max"])), (made, draw(FORMULAS)))


@dataclass(frozen=True, slots=True)
class Known:
    """Facts, and the assignments that agree with them."""

    facts: Facts
    assignments: tuple[Assignment, ...]


@st.composite
def known(draw: st.DrawFn) -> Known:
    """Up to three facts about symbols and formulas, as ``assert`` and ``if`` teach them."""
    facts, left = symbolic.NO_FACTS, ASSIGNMENTS
    for _ in range(draw(st.integers(0, 3))):
        about = draw(st.one_of(st.sampled_from(list(MINIMA)).map(leaf), FORMULAS))
        try:
            value = about.symbolic()
        except ZeroDivisionError:
            continue
        if draw(st.booleans()):
            divisor = draw(st.sampled_from(["2", "3", "8", "b"]))
            facts = facts.with_divisible(value, leaf(divisor).symbolic())
            left = tuple(one for one in left if _divides(about, divisor, one))
        else:
            bound = draw(st.integers(-3, 9))
            facts = facts.with_at_least(value, bound)
            left = tuple(one for one in left if _is_at_least(about, bound, one))
    return Known(facts, left)


def _divides(about: Formula, divisor: str, assignment: Assignment) -> bool:
    try:
        return about.number(assignment) % leaf(divisor).number(assignment) == 0
    except ZeroDivisionError:
        return False


def _is_at_least(about: Formula, bound: int, assignment: Assignment) -> bool:
    try:
        return about.number(assignment) >= bound
    except ZeroDivisionError:
        return False
