"""Arithmetic, comparison and truth over values."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Final

from ..model import symbolic
from ..model.symbolic import Expression, Integer
from .array_types import binary_result, is_array_like
from .machine import Machine
from .values import (
    MISSING,
    Array,
    Class,
    Comparison,
    Condition,
    DictValue,
    Dtype,
    External,
    Function,
    Instance,
    Itself,
    KernelCallable,
    ListValue,
    Opaque,
    Partial,
    Ref,
    ShapeOf,
    SpannedTuple,
    Value,
    describe,
    is_integer,
    item_spans,
)

SYMBOLS: Final[dict[type[ast.operator], str]] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
}

_CONCRETE: Final[dict[str, Callable[[Value, Value], Value]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}

_SYMBOLIC: Final[dict[str, Callable[[Integer, Integer], Integer]]] = {
    "+": symbolic.add,
    "-": symbolic.subtract,
    "*": symbolic.multiply,
    "//": symbolic.floor_divide,
    "%": symbolic.modulo,
}

# A number larger than this can only come from a mistake or an attack ("9 ** 9 ** 9").
_LARGEST_BITS: Final = 256
_LONGEST: Final = 4096


def as_integer(value: Value) -> Integer | None:
    """``value`` as an integer for arithmetic: known, symbolic, or an opaque value as a symbol of its name."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int | Expression):
        return value
    if isinstance(value, Opaque) and not value.is_float:
        return symbolic.symbol(value.text, value.integer_minimum)
    return None


def _is_float(value: Value) -> bool:
    return isinstance(value, float) or (isinstance(value, Opaque) and value.is_float)


def _float(text: str) -> Opaque:
    return Opaque(text, f"`{text}` is a float", is_float=True)


def binary(machine: Machine, symbol: str, left: Value, right: Value) -> Value:
    """``left symbol right``; both are settled (not guarded)."""
    if is_array_like(left) or is_array_like(right):
        return binary_result(symbol, left, right)
    if is_integer(left) and is_integer(right):
        return _integers(machine, symbol, left, right)
    if isinstance(left, int | float) and isinstance(right, int | float):
        return _numbers(machine, symbol, left, right)
    if isinstance(left, str) and isinstance(right, str) and symbol == "+" and len(left) + len(right) < _LONGEST:
        return left + right
    sequence = _sequences(machine, symbol, left, right)
    if sequence is not MISSING:
        return sequence
    text = f"{describe(left)} {symbol} {describe(right)}"
    if (_is_float(left) or _is_float(right)) and all(_is_float(one) or is_integer(one) for one in (left, right)):
        return _float(text)
    if isinstance(left, Opaque) or isinstance(right, Opaque):
        first, second = as_integer(left), as_integer(right)
        if first is not None and second is not None and symbol in _SYMBOLIC:
            result = _integers(machine, symbol, first, second)
            if not isinstance(result, Opaque):
                return result
        unknown = left if isinstance(left, Opaque) else right
        return Opaque(text, unknown.reason)
    return machine.fresh(text, f"`{text}` cannot be worked out by reading")


def _integers(machine: Machine, symbol: str, left: Integer, right: Integer) -> Value:
    if isinstance(left, int) and isinstance(right, int):
        return _numbers(machine, symbol, left, right)
    text = f"{left} {symbol} {right}"
    if symbol == "/":
        return _float(text)
    if symbol == "<<" and isinstance(right, int) and 0 <= right < 64:
        return symbolic.multiply(left, 1 << right)
    if symbol == ">>" and isinstance(right, int) and 0 <= right < 64:
        return symbolic.floor_divide(left, 1 << right)
    if symbol == "**" and isinstance(right, int) and 0 <= right <= 4:
        power: Integer = 1
        for _ in range(right):
            power = symbolic.multiply(power, left)
        return power
    function = _SYMBOLIC.get(symbol)
    if function is None:
        return machine.fresh(text, f"`{text}` cannot be worked out by reading")
    try:
        return function(left, right)
    except ZeroDivisionError:
        return machine.fresh(text, f"`{text}` divides by zero")


def _numbers(machine: Machine, symbol: str, left: float, right: float) -> Value:
    text = f"{left} {symbol} {right}"
    try:
        if symbol == "**":
            if abs(right) > _LARGEST_BITS or (
                isinstance(left, int) and left.bit_length() * abs(right) > _LARGEST_BITS * 4
            ):
                return machine.fresh(text, f"`{text}` is too large")
            return left**right
        if symbol == "<<" and right > _LARGEST_BITS:
            return machine.fresh(text, f"`{text}` is too large")
        result = _CONCRETE[symbol](left, right)
    except (ArithmeticError, ValueError, TypeError, KeyError):
        return machine.fresh(text, f"`{text}` fails")
    if isinstance(result, int) and result.bit_length() > _LARGEST_BITS:
        return machine.fresh(text, f"`{text}` is too large")
    return result


def _sequences(machine: Machine, symbol: str, left: Value, right: Value) -> Value:
    """``+`` and ``*`` of tuples and lists; MISSING where the operands are others."""
    if symbol == "+":
        if isinstance(left, tuple) and isinstance(right, tuple):
            return concatenated(machine, left, right)
        if isinstance(left, ListValue) and isinstance(right, ListValue):
            return ListValue(machine.lift(lambda a, b: concatenated(machine, a, b), left.items, right.items))
        if isinstance(left, tuple | ListValue) or isinstance(right, tuple | ListValue):
            other: Value
            other = left if isinstance(left, Opaque | ShapeOf) else right
            reason = other.reason if isinstance(other, Opaque) else f"the length of `{describe(other)}` is not known"
            unknown = machine.fresh(f"{describe(left)} + {describe(right)}", reason)
            return ListValue(unknown) if isinstance(left, ListValue) or isinstance(right, ListValue) else unknown
    if symbol == "*":
        sequence, count = (left, right) if isinstance(left, tuple | ListValue) else (right, left)
        if isinstance(sequence, tuple | ListValue):
            items = sequence.items if isinstance(sequence, ListValue) else sequence
            repeated = machine.lift(lambda part, times: _repeated(machine, part, times), items, count)
            return ListValue(repeated) if isinstance(sequence, ListValue) else repeated
    return MISSING


def concatenated(machine: Machine, left: Value, right: Value) -> Value:
    """The items of ``left`` and then those of ``right``; Opaque where one of them is, or both are too many."""
    if isinstance(left, tuple) and isinstance(right, tuple):
        if len(left) + len(right) > _LONGEST:
            return machine.fresh(f"{describe(left)} + {describe(right)}", "it is too long to follow")
        return SpannedTuple.of((*left, *right), (*item_spans(left), *item_spans(right)), None)
    return left if isinstance(left, Opaque) else right


def _repeated(machine: Machine, items: Value, count: Value) -> Value:
    if isinstance(items, tuple) and isinstance(count, int) and len(items) * max(count, 0) <= _LONGEST:
        return SpannedTuple.of(tuple(items) * count, item_spans(items) * count, None)
    text = f"{describe(items)} * {describe(count)}"
    return items if isinstance(items, Opaque) else machine.fresh(text, f"the count `{describe(count)}` is not known")


def compare(machine: Machine, symbol: str, left: Value, right: Value) -> Value:
    """``left symbol right`` as a bool, or a Condition where it is not known; both are settled."""
    if symbol in ("is", "is not"):
        return _identity(machine, symbol, left, right)
    if symbol in ("in", "not in"):
        return _membership(machine, symbol, left, right)
    first, second = as_integer(left), as_integer(right)
    if first is not None and second is not None and (is_integer(left) or is_integer(right) or isinstance(left, bool)):
        known = _compare_integers(machine, symbol, first, second)
        if known is not None:
            return known
        difference = symbolic.subtract(first, second)
        text = f"{first} {symbol} {second}"
        return _oriented(symbol, first, second, text, difference)
    if isinstance(left, float | int | str | bytes) and isinstance(right, float | int | str | bytes):
        try:
            return bool(_COMPARISONS[symbol](left, right))
        except TypeError:
            return machine_condition(machine, f"{left!r} {symbol} {right!r}")
    if symbol in ("==", "!="):
        known = _same_value(left, right)
        if known is not None:
            return known == (symbol == "==")
    if is_array_like(left) or is_array_like(right):
        if isinstance(left, Opaque) or isinstance(right, Opaque):
            return Condition(
                ("compare", describe(left), symbol, describe(right)), f"{describe(left)} {symbol} {describe(right)}"
            )
        return binary_result(symbol, left, right)
    negated = symbol == "!="
    if symbol in ("==", "!=") and (isinstance(left, Opaque) != isinstance(right, Opaque)):
        unknown, constant = (left, right) if isinstance(left, Opaque) else (right, left)
        if isinstance(constant, str | bytes):
            text = f"{unknown.text} == {constant!r}"
            return Condition(("equals", unknown.text, constant), text, negated)
    return condition(machine, f"{describe(left)} {'==' if negated else symbol} {describe(right)}", negated)


_COMPARISONS: Final[dict[str, Callable[[Value, Value], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

_OPPOSITE: Final = {"!=": "==", ">=": "<", ">": "<="}


def condition(machine: Machine, text: str, negated: bool = False) -> Condition:
    """A condition that has the same outcome wherever the same is asked, which only a full text can tell."""
    if "…" in text:
        return machine_condition(machine, text)
    return Condition(("asked", text), text, negated)


def machine_condition(machine: Machine, text: str) -> Condition:
    """A condition that no other condition shares its outcome with."""
    name = machine.fresh(text, "").text
    return Condition(("once", name), text)


def _oriented(symbol: str, left: Integer, right: Integer, text: str, difference: Integer) -> Condition:
    # "a != b" is the opposite of "a == b", so both share one key.
    negated = symbol in _OPPOSITE
    positive = _OPPOSITE.get(symbol, symbol)
    comparison = Comparison(positive, left, right)
    return Condition(
        (positive, str(difference)), text if not negated else f"{left} {positive} {right}", negated, comparison
    )


def _compare_integers(machine: Machine, symbol: str, left: Integer, right: Integer) -> bool | None:
    if isinstance(left, int) and isinstance(right, int):
        return _COMPARISONS[symbol](left, right)
    facts = machine.facts
    match symbol:
        case "==" | "!=":
            known = symbolic.equal(left, right, facts)
            if known is None and right == 0 and isinstance(left, Expression):
                known = _known_remainder(machine, left)
            return known if symbol == "==" or known is None else not known
        case "<=":
            return symbolic.at_most(left, right, facts)
        case ">=":
            return symbolic.at_most(right, left, facts)
        case "<":
            over = symbolic.at_most(right, left, facts)
            if over is None:
                return True if symbolic.at_most(symbolic.add(left, 1), right, facts) else None
            return not over
        case ">":
            return _compare_integers(machine, "<", right, left)
    return None


def _known_remainder(machine: Machine, value: Expression) -> bool | None:
    match value.terms:
        case (((symbolic.Modulo(dividend, divisor),), 1),):
            if (dividend, divisor) in machine.facts.divisible:
                return True
            if isinstance(divisor, int):
                return symbolic.is_multiple(dividend, divisor, machine.facts)
    return None


def _identity(machine: Machine, symbol: str, left: Value, right: Value) -> Value:
    negated = symbol == "is not"
    if left is None or right is None:
        other = right if left is None else left
        if other is None:
            return not negated
        if not isinstance(other, Opaque):
            return negated
        text = f"{other.text} is None"
        # The likelier world comes first: an argument that a function tests for None is usually given.
        return Condition(("is not None", other.text), f"{other.text} is not None", not negated) if text else negated
    known = _same_value(left, right)
    if known is not None:
        return known != negated
    return condition(machine, f"{describe(left)} is {describe(right)}", negated)


def _membership(machine: Machine, symbol: str, left: Value, right: Value) -> Value:
    negated = symbol == "not in"
    items = right.items if isinstance(right, ListValue) else right
    if isinstance(right, DictValue):
        if not right.is_open:
            items = tuple(right.entries)
        elif left in right.entries:
            return not negated
    if isinstance(items, tuple):
        outcomes = [_same_value(left, item) for item in items]
        if True in outcomes:
            return not negated
        if None not in outcomes:
            return negated
    if isinstance(left, str) and isinstance(right, str):
        return (left in right) != negated
    return condition(machine, f"{describe(left)} in {describe(right)}", negated)


def _same_value(left: Value, right: Value) -> bool | None:
    """Whether two values are equal, where their kinds tell."""
    plain = int | float | str | bytes | type(None) | type(Ellipsis) | Dtype | External
    if isinstance(left, plain) and isinstance(right, plain):
        if isinstance(left, External) or isinstance(right, External):
            both = isinstance(left, External) and isinstance(right, External)
            return True if both and left == right else (None if both else _external_equals(left, right))
        return bool(left == right)
    if isinstance(left, Dtype) or isinstance(right, Dtype):
        return None
    if isinstance(left, tuple) and isinstance(right, tuple):
        if len(left) != len(right):
            return False
        outcomes = [_same_item(a, b) for a, b in zip(left, right, strict=True)]
        if False in outcomes:
            return False
        return None if None in outcomes else True
    if isinstance(left, Instance | Class | Function | Partial | KernelCallable) and left is right:
        return True
    if isinstance(left, Instance) and isinstance(right, Instance) and left.class_.kind == right.class_.kind == "enum":
        return _same_member(left, right)
    if isinstance(left, Opaque) and isinstance(right, Opaque) and left == right:
        return True
    if (left is None and isinstance(right, _NEVER_NONE)) or (right is None and isinstance(left, _NEVER_NONE)):
        return False
    return None


_NEVER_NONE: Final = (Array, Ref, Instance, Class, Function, Partial, tuple, ListValue, DictValue)


def _same_member(left: Instance, right: Instance) -> bool | None:
    """Whether two enum members are one; names of equal value are names of one member."""
    if left.class_.node is not right.class_.node:
        return None
    if left.fields["name"] == right.fields["name"]:
        return True
    first, second = left.fields["value"], right.fields["value"]
    if isinstance(first, Opaque) and isinstance(second, Opaque):
        # What is written as enum.auto() differs from member to member.
        return False
    return _same_item(first, second)


def _external_equals(left: Value, right: Value) -> bool | None:
    other = right if isinstance(left, External) else left
    return False if other is None else None


def _same_item(left: Value, right: Value) -> bool | None:
    if is_integer(left) and is_integer(right):
        return symbolic.equal(left, right)
    return _same_value(left, right)


def truth(value: Value) -> bool | Condition:
    """Whether ``value`` counts as true; a Condition where that is not known. ``value`` is settled."""
    match value:
        case Condition():
            return value
        case bool():
            return value
        case None:
            return False
        case int() | float() | str() | bytes() | tuple():
            return bool(value)
        case ListValue(items):
            if isinstance(items, tuple):
                return bool(items)
            return Condition(("true", Itself(value)), "the list is not empty")
        case DictValue(entries, is_open):
            if entries or not is_open:
                return bool(entries)
            return Condition(("true", Itself(value)), "the dict is not empty")
        case Expression():
            if symbolic.equal(value, 0) is False:
                return True
            return Condition(("==", str(value)), f"{value} == 0", True, Comparison("==", value, 0))
        case Opaque(text):
            return Condition(("true", text), text)
        case Array() | Ref() | ShapeOf():
            return Condition(("true", Itself(value)), describe(value))
        case _:
            return True


def negate(value: bool | Condition) -> bool | Condition:
    """``not value``."""
    if isinstance(value, Condition):
        return Condition(value.key, value.text, not value.negated, value.comparison)
    return not value
