"""Symbolic integers: whatever is said to be proven holds for every number, and equal formulas are one."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pallas_lens.model import symbolic
from pallas_lens.model.symbolic import NO_FACTS, Expression, Facts, Integer, symbol

from .formulas import ASSIGNMENTS, FORMULAS, MINIMA, Formula, Known, known, leaf, numbers_of, rounded

ANY_FORMULA = st.one_of(FORMULAS, rounded())
m, b, x = (symbol(name, least) for name, least in MINIMA.items())


def made(formula: Formula) -> Integer:
    try:
        return formula.symbolic()
    except ZeroDivisionError:
        assume(False)
        raise


def at(value: Integer, assignment: dict[str, int]) -> Integer:
    return symbolic.substitute(value, {**assignment})


@settings(max_examples=300, deadline=None)
@given(ANY_FORMULA)
def test_numbers_put_in_give_what_python_computes(formula: Formula) -> None:
    value = made(formula)
    for assignment in ASSIGNMENTS:
        try:
            number = formula.number(assignment)
        except ZeroDivisionError:
            continue
        assert at(value, assignment) == number


@settings(max_examples=200, deadline=None)
@given(ANY_FORMULA, st.sampled_from(list(MINIMA)), FORMULAS)
def test_formulas_put_in_give_what_python_computes(formula: Formula, name: str, other: Formula) -> None:
    value, inner = made(formula), made(other)
    try:
        changed = symbolic.substitute(value, {name: inner})
    except ZeroDivisionError:
        assume(False)
        raise
    for assignment in ASSIGNMENTS:
        try:
            inside = {**assignment, name: other.number(assignment)}
            number = formula.number(inside)
        except ZeroDivisionError:
            continue
        if MINIMA[name] is None or inside[name] >= (MINIMA[name] or 0):
            assert at(changed, assignment) == number


@settings(max_examples=300, deadline=None)
@given(ANY_FORMULA, ANY_FORMULA, known())
def test_comparisons_that_are_proven_hold(left: Formula, right: Formula, what: Known) -> None:
    first, second = made(left), made(right)
    for answer, holds in (
        (symbolic.equal(first, second, what.facts), int.__eq__),
        (symbolic.at_most(first, second, what.facts), int.__le__),
        (symbolic.at_most(second, first, what.facts), int.__ge__),
    ):
        if answer is not None:
            assert all(holds(*pair) == answer for pair in numbers_of(left, right, among=what.assignments))


@settings(max_examples=300, deadline=None)
@given(ANY_FORMULA, known())
def test_bounds_that_are_proven_hold(formula: Formula, what: Known) -> None:
    value = made(formula)
    least, most = symbolic.lower_bound(value, what.facts), symbolic.upper_bound(value, what.facts)
    for (number,) in numbers_of(formula, among=what.assignments):
        assert least is None or least <= number
        assert most is None or number <= most


@settings(max_examples=300, deadline=None)
@given(ANY_FORMULA, st.sampled_from([1, 2, 3, 8, 128, -8]), known())
def test_divisors_that_are_proven_divide(formula: Formula, divisor: int, what: Known) -> None:
    answer = symbolic.is_multiple(made(formula), divisor, what.facts)
    if answer is not None:
        assert all((number % divisor == 0) == answer for (number,) in numbers_of(formula, among=what.assignments))


@settings(max_examples=300, deadline=None)
@given(ANY_FORMULA)
def test_the_text_is_python_and_means_the_same(formula: Formula) -> None:
    """What is printed is what is meant; and different values never share a text, which serves as a key."""
    text = str(made(formula))

    def cdiv(numerator: int, denominator: int) -> int:
        return -(-numerator // denominator)

    for assignment in ASSIGNMENTS[::7]:
        try:
            number = formula.number(assignment)
        except ZeroDivisionError:
            continue
        assert eval(text, {"cdiv": cdiv, **assignment}) == number, text


Term = tuple[int, tuple[str, ...]]
SUMS = st.lists(st.tuples(st.integers(-4, 4), st.lists(st.sampled_from("mbx"), max_size=3).map(tuple)), max_size=5)


def sum_of(terms: list[Term], from_left: bool) -> Integer:
    products: list[Integer] = []
    for coefficient, names in terms:
        product_: Integer = coefficient
        for name in names:
            product_ = (
                symbolic.multiply(product_, symbol(name)) if from_left else symbolic.multiply(symbol(name), product_)
            )
        products.append(product_)
    total: Integer = 0
    for one in products:
        total = symbolic.add(total, one) if from_left else symbolic.add(one, total)
    return total


@given(SUMS, st.randoms())
def test_equal_sums_of_products_are_the_same(terms: list[Term], chosen: Any) -> None:
    other = [(coefficient, tuple(chosen.sample(names, len(names)))) for coefficient, names in terms]
    chosen.shuffle(other)
    first, second = sum_of(terms, True), sum_of(other, False)
    assert first == second
    assert str(first) == str(second)
    assert symbolic.subtract(first, second) == 0
    assert symbolic.equal(first, second) is True


@given(SUMS, SUMS, SUMS)
def test_products_of_sums_are_the_same_in_any_order(one: list[Term], two: list[Term], three: list[Term]) -> None:
    first, second, third = sum_of(one, True), sum_of(two, True), sum_of(three, True)
    assert symbolic.multiply(symbolic.add(first, second), third) == symbolic.add(
        symbolic.multiply(third, second), symbolic.multiply(first, third)
    )


@given(FORMULAS, FORMULAS, FORMULAS)
def test_minima_and_maxima_are_the_same_in_any_order(one: Formula, two: Formula, three: Formula) -> None:
    first, second, third = made(one), made(two), made(three)
    for extreme in (symbolic.minimum, symbolic.maximum):
        assert extreme([first, second]) == extreme([second, first])
        assert extreme([first, first]) == first
        assert str(extreme([first, second, third])) == str(extreme([third, first, second]))


DIVIDES_M = NO_FACTS.with_divisible(m, b)

# Each is what the questions of the rules come down to, with the answer that kernels rely on.
PROVEN: dict[str, tuple[Callable[[], object], object]] = {
    "rounding down": (lambda: symbolic.at_most(symbolic.multiply(symbolic.floor_divide(m, b), b), m), True),
    "rounding up": (lambda: symbolic.at_most(m, symbolic.multiply(symbolic.ceiling_divide(m, b), b)), True),
    "rounding down, more blocks than one": (
        lambda: symbolic.at_most(symbolic.multiply(symbolic.floor_divide(m, 8), 16), symbolic.multiply(m, 2)),
        True,
    ),
    "a multiple has no remainder": (lambda: symbolic.modulo(symbolic.multiply(x, 128), 128), 0),
    "a multiple of a name has no remainder": (lambda: symbolic.modulo(symbolic.multiply(x, b), b), 0),
    "a multiple divides": (lambda: symbolic.floor_divide(symbolic.multiply(x, b), b), x),
    "a sum of multiples divides": (
        lambda: symbolic.floor_divide(symbolic.add(symbolic.multiply(x, 256), 128), 128),
        symbolic.add(symbolic.multiply(x, 2), 1),
    ),
    "what is left is divided": (lambda: symbolic.floor_divide(symbolic.add(symbolic.multiply(x, 8), 3), 8), x),
    "a multiple of a multiple": (lambda: symbolic.is_multiple(symbolic.multiply(symbolic.multiply(x, 16), m), 8), True),
    "never a multiple": (lambda: symbolic.is_multiple(symbolic.add(symbolic.multiply(x, 8), 4), 8), False),
    "not known": (lambda: symbolic.is_multiple(x, 8), None),
    "what was asserted": (lambda: symbolic.is_multiple(m, 8, NO_FACTS.with_divisible(m, 16)), True),
    "what was asserted, times": (
        lambda: symbolic.is_multiple(symbolic.multiply(m, x), 8, NO_FACTS.with_divisible(m, 8)),
        True,
    ),
    "what was asserted of less": (lambda: symbolic.is_multiple(m, 16, NO_FACTS.with_divisible(m, 8)), None),
    "the least of multiples": (
        lambda: symbolic.is_multiple(symbolic.minimum([symbolic.multiply(x, 8), 128]), 8),
        True,
    ),
    "the least is at most each": (lambda: symbolic.at_most(symbolic.minimum([m, 128]), 128), True),
    "the least is at most a name": (lambda: symbolic.at_most(symbolic.minimum([m, 128]), m), True),
    "the greatest is at least each": (lambda: symbolic.at_most(1, symbolic.maximum([x, 1])), True),
    "the greatest is at least a name": (lambda: symbolic.at_most(x, symbolic.maximum([x, 1])), True),
    "the least of one thing": (lambda: symbolic.minimum([m, m]), m),
    "the least of what is ordered": (lambda: symbolic.minimum([symbolic.add(m, 1), m]), m),
    "the greatest of what is ordered": (lambda: symbolic.maximum([m, 0]), m),
    "numbers among names": (lambda: symbolic.minimum([8, m, 4]), symbolic.minimum([m, 4])),
    "nested": (lambda: symbolic.minimum([symbolic.minimum([m, 8]), 4]), symbolic.minimum([m, 4])),
    "sizes are not negative": (lambda: symbolic.at_most(0, symbolic.multiply(m, b)), True),
    "remainders are less": (lambda: symbolic.upper_bound(symbolic.modulo(m, 128)), 127),
    "remainders are not negative": (lambda: symbolic.lower_bound(symbolic.modulo(x, b)), 0),
    "what was asserted is a bound": (lambda: symbolic.lower_bound(x, NO_FACTS.with_at_least(x, 5)), 5),
    "asserted to be no more": (
        lambda: symbolic.upper_bound(x, NO_FACTS.with_at_least(symbolic.negate(x), -5)),
        5,
    ),
    "asserted to be no more, in a sum": (
        lambda: symbolic.upper_bound(
            symbolic.add(symbolic.multiply(x, 2), 1), NO_FACTS.with_at_least(symbolic.negate(x), -5)
        ),
        11,
    ),
    "one less": (lambda: symbolic.at_most(symbolic.subtract(m, 1), m), True),
    "one more": (lambda: symbolic.at_most(symbolic.add(m, 1), m), False),
    "same": (lambda: symbolic.equal(symbolic.add(m, b), symbolic.add(b, m)), True),
    "never the same": (lambda: symbolic.equal(symbolic.add(m, 1), m), False),
    "perhaps the same": (lambda: symbolic.equal(m, b), None),
    "a size is perhaps 0": (lambda: symbolic.equal(m, 0), None),
}


@pytest.mark.parametrize(("question", "answer"), PROVEN.values(), ids=PROVEN)
def test_what_kernels_rely_on_is_proven(question: Callable[[], object], answer: object) -> None:
    assert question() == answer


@pytest.mark.parametrize("divide", [symbolic.floor_divide, symbolic.ceiling_divide, symbolic.modulo])
def test_the_number_0_divides_nothing(divide: Callable[[Integer, Integer], Integer]) -> None:
    for value in (5, m):
        with pytest.raises(ZeroDivisionError):
            divide(value, 0)
    with pytest.raises(ZeroDivisionError):
        symbolic.substitute(divide(m, b), {"b": 0})
    assert isinstance(divide(m, b), Expression)


def test_texts_read_as_people_write() -> None:
    texts = {
        "m - 1": symbolic.subtract(m, 1),
        "b * m": symbolic.multiply(m, b),
        "cdiv(m, b)": symbolic.ceiling_divide(m, b),
        "b * (m // b)": symbolic.multiply(symbolic.floor_divide(m, b), b),
        "(m + 1) // b": symbolic.floor_divide(symbolic.add(m, 1), b),
        "-(m // b)": symbolic.negate(symbolic.floor_divide(m, b)),
        "(cdiv(m, 8) + min(b, m)) // 8": symbolic.floor_divide(
            symbolic.add(symbolic.ceiling_divide(m, 8), symbolic.minimum([m, b])), 8
        ),
        "2 * m + x - 3": symbolic.add(symbolic.add(symbolic.multiply(m, 2), x), -3),
        "m * (y / 2)": symbolic.multiply(m, symbol("y / 2")),
    }
    assert {text: str(value) for text, value in texts.items()} == {text: text for text in texts}


def test_the_symbols_of_a_formula() -> None:
    inner = symbolic.floor_divide(symbolic.add(m, 1), symbolic.minimum([b, 8]))
    assert symbolic.symbols_of(symbolic.multiply(inner, symbolic.modulo(x, 3))) == {"m", "b", "x"}
    assert symbolic.symbols_of(7) == frozenset()


GROWTH: dict[str, Callable[[Integer], Integer]] = {
    "squares": lambda value: symbolic.multiply(value, value),
    "sums of squares": lambda value: symbolic.add(symbolic.multiply(value, value), symbolic.multiply(value, b)),
    "quotients": lambda value: symbolic.floor_divide(value, symbolic.add(value, 1)),
    "remainders": lambda value: symbolic.add(symbolic.modulo(value, 7), symbolic.floor_divide(value, 5)),
    "minima": lambda value: symbolic.minimum([symbolic.multiply(value, 3), symbolic.add(value, x)]),
    "ceilings": lambda value: symbolic.ceiling_divide(symbolic.multiply(value, x), symbolic.add(value, m)),
    "numbers": lambda value: symbolic.multiply(symbolic.add(value, 1 << 60), 1 << 60),
}


@pytest.mark.parametrize("step", GROWTH.values(), ids=GROWTH)
def test_formulas_that_grow_and_grow_stay_small(step: Callable[[Integer], Integer]) -> None:
    """Forty doublings would be a formula of 10**12 parts; it ends as a name that stands for it."""
    value: Integer = symbolic.add(m, x)
    for _ in range(40):
        value = step(value)
    assert len(str(value)) < 20_000
    assert symbolic.equal(value, value) is True
    again: Integer = symbolic.add(m, x)
    for _ in range(40):
        again = step(again)
    assert again == value


def test_powers_of_numbers_stay_small() -> None:
    value: Integer = 3
    for _ in range(40):
        value = symbolic.multiply(value, value)
    assert len(str(value)) < 2_000


def test_facts_are_values() -> None:
    one, two = Facts().with_at_least(m, 1).with_divisible(m, 8), Facts().with_divisible(m, 8).with_at_least(m, 1)
    assert one == two and hash(one) == hash(two)
    assert [leaf(name).symbolic() for name in MINIMA] == [m, b, x]
    assert len(list(product(range(10), range(5), range(10)))) == len(ASSIGNMENTS)
