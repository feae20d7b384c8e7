"""Symbolic integers: canonical sums of products, with answers that are yes, no or unknown.

An ``Integer`` is a Python ``int`` or an ``Expression``. Expressions are polynomials
with integer coefficients over atoms: symbols, floor divisions, moduli, minima, maxima.
Two expressions that are the same sum of products compare equal, and different ones never
print the same text. A formula that outgrows ``LARGEST_WEIGHT`` becomes a symbol that stands for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field
from functools import reduce
from hashlib import blake2b
from typing import Final

from .value_class import value_class

LARGEST_WEIGHT: Final = 256
"""The most symbols and operations in one expression; no index map or shape that people write comes near."""
LARGEST_BITS: Final = 1024
"""The longest coefficient."""


class _Written:
    """Writes and weighs itself once: expressions are put in order by their text, over and over."""

    __slots__ = ("_factor", "_size", "_text")
    _text: str
    _factor: str
    _size: int

    def _write(self) -> str:
        raise NotImplementedError

    def _weigh(self) -> int:
        raise NotImplementedError

    def __str__(self) -> str:
        try:
            return self._text
        except AttributeError:
            text = self._write()
            self._text = text
            return text

    def factor(self) -> str:
        """The text as one factor: in brackets where it is more than a name or a call."""
        try:
            return self._factor
        except AttributeError:
            text = _as_factor(str(self))
            self._factor = text
            return text

    def weight(self) -> int:
        """How many symbols and operations this is made of."""
        try:
            return self._size
        except AttributeError:
            size = self._weigh()
            self._size = size
            return size


@value_class()
class Symbol(_Written):
    """A named integer of unknown value, at least ``minimum`` where that is known."""

    name: str
    minimum: int | None = field(default=None, compare=False)

    def _weigh(self) -> int:
        return 1

    def _write(self) -> str:
        return self.name


@value_class()
class FloorDivision(_Written):
    """``numerator // denominator``, as Python rounds."""

    numerator: Integer
    denominator: Integer

    def _weigh(self) -> int:
        return 1 + _weight(self.numerator) + _weight(self.denominator)

    def _write(self) -> str:
        return f"{_wrapped(self.numerator)} // {_wrapped(self.denominator)}"


@value_class()
class CeilingDivision(_Written):
    """``-(-numerator // denominator)``, which Pallas writes ``pl.cdiv``."""

    numerator: Integer
    denominator: Integer

    def _weigh(self) -> int:
        return 1 + _weight(self.numerator) + _weight(self.denominator)

    def _write(self) -> str:
        return f"cdiv({self.numerator}, {self.denominator})"


@value_class()
class Modulo(_Written):
    """``dividend % divisor``, as Python signs it."""

    dividend: Integer
    divisor: Integer

    def _weigh(self) -> int:
        return 1 + _weight(self.dividend) + _weight(self.divisor)

    def _write(self) -> str:
        return f"{_wrapped(self.dividend)} % {_wrapped(self.divisor)}"


@value_class()
class Minimum(_Written):
    """The least of at least two integers, in canonical order."""

    values: tuple[Integer, ...]

    def _weigh(self) -> int:
        return 1 + sum(map(_weight, self.values))

    def _write(self) -> str:
        return f"min({', '.join(map(str, self.values))})"


@value_class()
class Maximum(_Written):
    """The greatest of at least two integers, in canonical order."""

    values: tuple[Integer, ...]

    def _weigh(self) -> int:
        return 1 + sum(map(_weight, self.values))

    def _write(self) -> str:
        return f"max({', '.join(map(str, self.values))})"


Atom = Symbol | FloorDivision | CeilingDivision | Modulo | Minimum | Maximum
Monomial = tuple[Atom, ...]


@value_class()
class Expression(_Written):
    """A sum of ``coefficient * product of atoms``; the empty product is the constant."""

    terms: tuple[tuple[Monomial, int], ...]

    def _weigh(self) -> int:
        return sum(1 + sum(map(_weight, monomial)) for monomial, _ in self.terms)

    def _write(self) -> str:
        parts: list[str] = []
        for monomial, coefficient in self.terms:
            alone = len(monomial) == 1 and (coefficient == 1 or (coefficient == -1 and bool(parts)))
            factors = [str(atom) if alone and not isinstance(atom, Symbol) else _wrapped(atom) for atom in monomial]
            if abs(coefficient) != 1 or not factors:
                factors.insert(0, str(abs(coefficient)))
            text = " * ".join(factors)
            if not parts:
                parts.append(text if coefficient > 0 else f"-{text}")
            else:
                parts.append(f"{'+' if coefficient > 0 else '-'} {text}")
        return " ".join(parts)


Integer = int | Expression


def _wrapped(value: Integer | Atom) -> str:
    """The text of ``value`` as one factor."""
    return value.factor() if isinstance(value, _Written) else _as_factor(str(value))


def _as_factor(text: str) -> str:
    """``text`` in brackets where it is more than a name, a number or a call."""
    depth = 0
    for character in text:
        if character in "([":
            depth += 1
        elif character in ")]":
            depth -= 1
        elif depth == 0 and character in " -":
            return f"({text})"
    return text


def symbol(name: str, minimum: int | None = None) -> Expression:
    """A new unknown integer called ``name``."""
    return _of_atom(Symbol(name, minimum))


def _of_atom(atom: Atom) -> Expression:
    made = Expression((((atom,), 1),))
    return made if _weight(atom) <= LARGEST_WEIGHT else _stand_in(str(atom), lower_bound(made))


def _weight(value: Integer | Atom) -> int:
    """How many symbols and operations ``value`` is made of."""
    return 1 if isinstance(value, int) else value.weight()


def _stand_in(text: str, least: int | None) -> Expression:
    """A symbol for the formula that ``text`` writes; the same text gives the same symbol."""
    digest = blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()
    return Expression((((Symbol(f"formula_{digest}", least),), 1),))


def _bounded(number: int) -> Integer:
    return number if number.bit_length() <= LARGEST_BITS else _stand_in(hex(number), 1 if number > 0 else None)


def _items(value: Integer) -> tuple[tuple[Monomial, int], ...]:
    return value.terms if isinstance(value, Expression) else (((), value),)


def _terms(value: Integer) -> dict[Monomial, int]:
    if isinstance(value, int):
        return {(): value} if value else {}
    return dict(value.terms)


def _from_terms(terms: dict[Monomial, int]) -> Integer:
    kept = {monomial: coefficient for monomial, coefficient in terms.items() if coefficient}
    if not kept:
        return 0
    if len(kept) == 1 and () in kept:
        return kept[()]
    # The constant stands last, as people write it: "m - 1".
    ordered = sorted(kept.items(), key=lambda term: (not term[0], tuple(map(str, term[0]))))
    made = Expression(tuple(ordered))
    if _weight(made) > LARGEST_WEIGHT or any(number.bit_length() > LARGEST_BITS for number in kept.values()):
        return _stand_in(_key(made), lower_bound(made))
    return made


def _key(value: Integer) -> str:
    """A text that no other value has; unlike ``str`` it takes numbers of any length."""
    if isinstance(value, int):
        return hex(value)
    return " + ".join(" * ".join((hex(coefficient), *map(_wrapped, monomial))) for monomial, coefficient in value.terms)


def add(left: Integer, right: Integer) -> Integer:
    """``left + right``."""
    if isinstance(left, int) and isinstance(right, int):
        return _bounded(left + right)
    terms = _terms(left)
    for monomial, coefficient in _terms(right).items():
        terms[monomial] = terms.get(monomial, 0) + coefficient
    return _from_terms(terms)


def negate(value: Integer) -> Integer:
    """``-value``."""
    return multiply(value, -1)


def subtract(left: Integer, right: Integer) -> Integer:
    """``left - right``."""
    return add(left, negate(right))


def multiply(left: Integer, right: Integer) -> Integer:
    """``left * right``."""
    if isinstance(left, int) and isinstance(right, int):
        return _bounded(left * right)
    if isinstance(left, int):
        left, right = right, left
    if isinstance(right, int):
        return _scaled(left, right)
    if len(_items(left)) * len(_items(right)) > LARGEST_WEIGHT:
        first, second = lower_bound(left), lower_bound(right)
        least = 0 if first is not None and first >= 0 and second is not None and second >= 0 else None
        return _stand_in(" * ".join(sorted((f"({_key(left)})", f"({_key(right)})"))), least)
    terms: dict[Monomial, int] = {}
    for left_monomial, left_coefficient in _terms(left).items():
        for right_monomial, right_coefficient in _terms(right).items():
            monomial = tuple(sorted(left_monomial + right_monomial, key=str))
            terms[monomial] = terms.get(monomial, 0) + left_coefficient * right_coefficient
    return _from_terms(terms)


def _scaled(value: Integer, factor: int) -> Integer:
    """``value * factor``; scaling keeps the order of the terms."""
    if factor == 0:
        return 0
    made = Expression(tuple([(monomial, number * factor) for monomial, number in _items(value)]))
    if any(number.bit_length() > LARGEST_BITS for _, number in made.terms):
        return _stand_in(_key(made), lower_bound(made))
    return made


def _exact_quotient(value: Integer, divisor: Integer) -> Integer | None:
    """``value / divisor`` where every term divides, else None."""
    if value == divisor:
        return 1
    if isinstance(divisor, int):
        terms = _terms(value)
        if divisor and all(coefficient % divisor == 0 for coefficient in terms.values()):
            return _from_terms({monomial: coefficient // divisor for monomial, coefficient in terms.items()})
        return None
    if len(divisor.terms) != 1:
        return None
    ((divisor_monomial, divisor_coefficient),) = divisor.terms
    quotient: dict[Monomial, int] = {}
    for monomial, coefficient in _terms(value).items():
        rest = list(monomial)
        for atom in divisor_monomial:
            if atom not in rest:
                return None
            rest.remove(atom)
        if coefficient % divisor_coefficient:
            return None
        quotient[tuple(rest)] = coefficient // divisor_coefficient
    return _from_terms(quotient)


def floor_divide(left: Integer, right: Integer) -> Integer:
    """``left // right``.

    Raises:
        ZeroDivisionError: when ``right`` is the number 0.
    """
    if isinstance(right, int) and right == 0:
        raise ZeroDivisionError
    if isinstance(left, int) and isinstance(right, int):
        return left // right
    exact = _exact_quotient(left, right)
    if exact is not None:
        return exact
    if isinstance(right, int) and right > 0:
        # A part that divides leaves the floor: (8 * m + 3) // 8 is m.
        whole, rest = _split_multiple(left, right)
        if whole != 0:
            return add(floor_divide(whole, right), floor_divide(rest, right))
    return _of_atom(FloorDivision(left, right))


def ceiling_divide(left: Integer, right: Integer) -> Integer:
    """``-(-left // right)``.

    Raises:
        ZeroDivisionError: when ``right`` is the number 0.
    """
    if isinstance(right, int) and right == 0:
        raise ZeroDivisionError
    if isinstance(left, int) and isinstance(right, int):
        return -(-left // right)
    exact = _exact_quotient(left, right)
    return exact if exact is not None else _of_atom(CeilingDivision(left, right))


def modulo(left: Integer, right: Integer) -> Integer:
    """``left % right``.

    Raises:
        ZeroDivisionError: when ``right`` is the number 0.
    """
    if isinstance(right, int) and right == 0:
        raise ZeroDivisionError
    if isinstance(left, int) and isinstance(right, int):
        return left % right
    if _exact_quotient(left, right) is not None:
        return 0
    if isinstance(right, int) and right > 0:
        left = _split_multiple(left, right)[1]
        if isinstance(left, int):
            return left % right
    return _of_atom(Modulo(left, right))


def _split_multiple(value: Integer, divisor: int) -> tuple[Integer, Integer]:
    """``value`` as (a multiple of ``divisor``, the rest)."""
    whole: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    for monomial, coefficient in _terms(value).items():
        (whole if monomial and coefficient % divisor == 0 else rest)[monomial] = coefficient
    return _from_terms(whole), _from_terms(rest)


def minimum(values: Iterable[Integer]) -> Integer:
    """The least of ``values`` (at least one)."""
    return _extreme(values, min, Minimum, keep_left=lambda left, right: at_most(left, right, NO_FACTS))


def maximum(values: Iterable[Integer]) -> Integer:
    """The greatest of ``values`` (at least one)."""
    return _extreme(values, max, Maximum, keep_left=lambda left, right: at_most(right, left, NO_FACTS))


def _extreme(
    values: Iterable[Integer],
    of_numbers: Callable[[int, int], int],
    atom: type[Minimum] | type[Maximum],
    keep_left: Callable[[Integer, Integer], bool | None],
) -> Integer:
    flat: list[Integer] = []
    for value in values:
        inner = _single_atom(value)
        flat.extend(inner.values if isinstance(inner, atom) else [value])
    if len(flat) > LARGEST_WEIGHT:
        return _stand_in(f"{atom.__name__}({', '.join(sorted(set(map(_key, flat))))})", None)
    numbers = [value for value in flat if isinstance(value, int)]
    others: list[Integer] = sorted({value for value in flat if not isinstance(value, int)}, key=str)
    if numbers:
        others.append(reduce(of_numbers, numbers))
    kept: list[Integer] = []
    for value in others:
        if any(keep_left(other, value) for other in kept):
            continue
        kept = [other for other in kept if not keep_left(value, other)]
        kept.append(value)
    return kept[0] if len(kept) == 1 else _of_atom(atom(tuple(kept)))


def _single_atom(value: Integer) -> Atom | None:
    if isinstance(value, Expression) and len(value.terms) == 1:
        (monomial, coefficient), *_ = value.terms
        if coefficient == 1 and len(monomial) == 1:
            return monomial[0]
    return None


@value_class()
class Facts:
    """What the program has established about its integers on the way to a point.

    ``divisible`` holds pairs (value, divisor) with value % divisor == 0;
    ``at_least`` holds pairs (value, bound).
    """

    divisible: frozenset[tuple[Integer, Integer]] = frozenset()
    at_least: frozenset[tuple[Integer, int]] = frozenset()

    def with_divisible(self, value: Integer, divisor: Integer) -> Facts:
        """These facts and ``value % divisor == 0``."""
        return Facts(self.divisible | {(value, divisor)}, self.at_least)

    def with_at_least(self, value: Integer, bound: int) -> Facts:
        """These facts and ``value >= bound``."""
        return Facts(self.divisible, self.at_least | {(value, bound)})


NO_FACTS = Facts()


def is_multiple(value: Integer, divisor: int, facts: Facts = NO_FACTS) -> bool | None:
    """Whether ``divisor`` divides ``value``: True and False are proven, None is unknown."""
    if isinstance(value, int):
        return value % divisor == 0
    _, rest = _split_multiple(value, divisor)
    if isinstance(rest, int):
        return rest % divisor == 0
    if any(known == value and _divides(divisor, by) for known, by in facts.divisible):
        return True
    if all(
        _monomial_is_multiple(monomial, coefficient, divisor, facts) for monomial, coefficient in _terms(rest).items()
    ):
        return True
    return None


def _divides(divisor: int, value: Integer) -> bool:
    return isinstance(value, int) and value % divisor == 0


def _monomial_is_multiple(monomial: Monomial, coefficient: int, divisor: int, facts: Facts) -> bool:
    for atom in monomial:
        expression = _of_atom(atom)
        for known, by in facts.divisible:
            if known == expression and isinstance(by, int):
                coefficient *= by
                break
        else:
            if isinstance(atom, Minimum | Maximum) and all(is_multiple(v, divisor, facts) for v in atom.values):
                return True
    return coefficient % divisor == 0


def lower_bound(value: Integer, facts: Facts = NO_FACTS) -> int | None:
    """A number that ``value`` is never below, where one is known."""
    if isinstance(value, int):
        return value
    bounds = [bound for known, bound in facts.at_least if known == value]
    total = 0
    for monomial, coefficient in value.terms:
        if not monomial:
            total += coefficient
            continue
        if coefficient < 0:
            if len(monomial) == 1 and (upper := _upper_bound_of_atom(monomial[0], facts)) is not None:
                total += coefficient * upper
                continue
            break
        product = coefficient
        for atom in monomial:
            bound = _lower_bound_of_atom(atom, facts)
            if bound is None or bound < 0:
                break
            product *= bound
        else:
            total += product
            continue
        break
    else:
        bounds.append(total)
    return max(bounds) if bounds else None


def _lower_bound_of_atom(atom: Atom, facts: Facts) -> int | None:
    known = [bound for value, bound in facts.at_least if value == _of_atom(atom)]
    match atom:
        case Symbol(minimum=least):
            own = least
        case FloorDivision(numerator, denominator):
            above, below = lower_bound(numerator, facts), lower_bound(denominator, facts)
            own = 0 if above is not None and above >= 0 and below is not None and below > 0 else None
            if own == 0 and isinstance(denominator, int) and above is not None:
                own = above // denominator
        case CeilingDivision(numerator, denominator):
            above, below = lower_bound(numerator, facts), lower_bound(denominator, facts)
            own = None
            if above is not None and above >= 0 and below is not None and below > 0:
                own = -(-above // denominator) if isinstance(denominator, int) else min(above, 1)
        case Modulo(_, divisor):
            below = lower_bound(divisor, facts)
            own = 0 if below is not None and below > 0 else None
        case Minimum(values):
            parts = [lower_bound(value, facts) for value in values]
            own = None if None in parts else min(part for part in parts if part is not None)
        case Maximum(values):
            own = max((part for value in values if (part := lower_bound(value, facts)) is not None), default=None)
    if own is not None:
        known.append(own)
    return max(known) if known else None


def _upper_bound_of_atom(atom: Atom, facts: Facts) -> int | None:
    known: list[int] = []
    if facts.at_least:
        negated = negate(_of_atom(atom))
        known = [-bound for value, bound in facts.at_least if value == negated]
    match atom:
        case Modulo(_, int(divisor)) if divisor > 0:
            known.append(divisor - 1)
        case Minimum(values):
            known += [value for value in values if isinstance(value, int)]
        case Maximum(values):
            tops = [top for value in values if (top := upper_bound(value, facts)) is not None]
            known += [max(tops)] if len(tops) == len(values) else []
        case _:
            pass
    return min(known) if known else None


def upper_bound(value: Integer, facts: Facts = NO_FACTS) -> int | None:
    """A number that ``value`` is never above, where one is known."""
    lower = lower_bound(negate(value), facts)
    return None if lower is None else -lower


def at_most(left: Integer, right: Integer, facts: Facts = NO_FACTS) -> bool | None:
    """Whether ``left <= right``: True and False are proven, None is unknown."""
    difference = subtract(right, left)
    least = lower_bound(difference, facts)
    if least is not None and least >= 0:
        return True
    most = upper_bound(difference, facts)
    if most is not None and most < 0:
        return False
    if isinstance(difference, int):
        return None
    return True if _clamped_is_positive(difference, facts) or _rounded_is_positive(difference, facts) else None


def _clamped_is_positive(difference: Expression, facts: Facts) -> bool:
    """Proves ``min(m, b) <= m`` and ``max(m, b) >= m``."""
    for monomial, coefficient in difference.terms:
        if len(monomial) != 1:
            continue
        (atom,) = monomial
        if (isinstance(atom, Minimum) and coefficient < 0) or (isinstance(atom, Maximum) and coefficient > 0):
            rest = subtract(difference, Expression(((monomial, coefficient),)))
            for value in atom.values:
                if _is_at_least_0(add(rest, multiply(value, coefficient)), facts):
                    return True
    return False


def _rounded_is_positive(difference: Expression, facts: Facts) -> bool:
    """Proves the two rounding idioms: ``cdiv(m, b) * b >= m`` and ``m // b * b <= m``."""
    for monomial, coefficient in difference.terms:
        for atom in monomial:
            rounded_up = isinstance(atom, CeilingDivision) and coefficient > 0
            rounded_down = isinstance(atom, FloorDivision) and coefficient < 0
            if not (rounded_up or rounded_down):
                continue
            assert isinstance(atom, CeilingDivision | FloorDivision)
            below = lower_bound(atom.denominator, facts)
            if below is None or below <= 0:
                continue
            others = list(monomial)
            others.remove(atom)
            scale: Integer = abs(coefficient) if not others else Expression(((tuple(others), abs(coefficient)),))
            whole = _exact_quotient(scale, atom.denominator)
            if whole is None or not _is_at_least_0(whole, facts):
                continue
            exact = multiply(whole, atom.numerator)
            rest = add(
                subtract(difference, Expression(((monomial, coefficient),))), exact if rounded_up else negate(exact)
            )
            if _is_at_least_0(rest, facts):
                return True
    return False


def _is_at_least_0(value: Integer, facts: Facts) -> bool:
    least = lower_bound(value, facts)
    return least is not None and least >= 0


def equal(left: Integer, right: Integer, facts: Facts = NO_FACTS) -> bool | None:
    """Whether ``left == right``: True and False are proven, None is unknown."""
    if left == right:
        return True
    if isinstance(left, int) and isinstance(right, int):
        return False
    difference = subtract(left, right)
    if isinstance(difference, int):
        return difference == 0
    least, most = lower_bound(difference, facts), upper_bound(difference, facts)
    if (least is not None and least > 0) or (most is not None and most < 0):
        return False
    return None


def substitute(value: Integer, values: dict[str, Integer]) -> Integer:
    """``value`` with the named symbols replaced.

    Raises:
        ZeroDivisionError: when a divisor becomes 0.
    """
    if isinstance(value, int):
        return value
    total: Integer = 0
    for monomial, coefficient in value.terms:
        product: Integer = coefficient
        for atom in monomial:
            product = multiply(product, _substitute_atom(atom, values))
        total = add(total, product)
    return total


def _substitute_atom(atom: Atom, values: dict[str, Integer]) -> Integer:
    match atom:
        case Symbol(name):
            return values.get(name, _of_atom(atom))
        case FloorDivision(numerator, denominator):
            return floor_divide(substitute(numerator, values), substitute(denominator, values))
        case CeilingDivision(numerator, denominator):
            return ceiling_divide(substitute(numerator, values), substitute(denominator, values))
        case Modulo(dividend, divisor):
            return modulo(substitute(dividend, values), substitute(divisor, values))
        case Minimum(parts):
            return minimum(substitute(part, values) for part in parts)
        case Maximum(parts):
            return maximum(substitute(part, values) for part in parts)


def symbols_of(value: Integer) -> frozenset[str]:
    """The names of the symbols that ``value`` depends on."""
    if isinstance(value, int):
        return frozenset()
    names: set[str] = set()
    for monomial, _ in value.terms:
        for atom in monomial:
            match atom:
                case Symbol(name):
                    names.add(name)
                case FloorDivision(first, second) | CeilingDivision(first, second) | Modulo(first, second):
                    names |= symbols_of(first) | symbols_of(second)
                case Minimum(parts) | Maximum(parts):
                    names = names.union(*(symbols_of(part) for part in parts))
    return frozenset(names)
