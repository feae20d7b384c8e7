"""What an expression is worth."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

from ..model import symbolic
from ..model.kernel_body import OperationKind
from ..model.symbolic import Expression
from . import attributes, calling, operators
from .array_types import array_of, indexed_shape, is_array_like
from .machine import GUARD_LIMIT, MANY_CONDITIONS, SPEC_GUARD_LIMIT, STEP_LIMIT, Frame, Machine, OutOfBudget
from .recording import in_branch, record
from .texts import written
from .values import (
    CONSTANTS,
    LARGEST_TREE,
    MISSING,
    Array,
    Condition,
    DictValue,
    External,
    Function,
    Guarded,
    Instance,
    ListValue,
    Opaque,
    Ref,
    Scope,
    ShapeOf,
    SpannedTuple,
    Value,
    conditions_of,
    describe,
    is_integer,
    item_spans,
    tree_size,
)

UNROLL_LIMIT: Final = 64
TURNS_LIMIT: Final = 1024
"""The most turns of a loop body that are followed, those of all loops around it multiplied."""
NESTING_LIMIT: Final = 100
LONGEST_STRING: Final = 4096
_BUILTIN_NAMES: Final = frozenset(dir(builtins))


def evaluate(machine: Machine, node: ast.expr, frame: Frame) -> Value:
    """The value of ``node`` in ``frame``; an Opaque where it cannot be known."""
    machine.steps += 1
    if machine.steps > STEP_LIMIT:
        raise OutOfBudget
    handler = _HANDLERS.get(node.__class__)
    if handler is None:
        return machine.fresh(written(node), "this kind of expression is not followed")
    if machine.nesting >= NESTING_LIMIT:
        return machine.fresh(f"a nested {type(node).__name__}", "the expressions nest too deep to follow")
    machine.nesting += 1
    try:
        value = handler(machine, node, frame)
    finally:
        machine.nesting -= 1
    kind = value.__class__
    if kind is Guarded:
        value = machine.settled(value)
        kind = value.__class__
    if kind in _TREES and node.__class__ not in _NAMES:
        size = tree_size(value)
        machine.steps += size // 16
        if size > LARGEST_TREE:
            return machine.fresh(written(node), "it holds too many values to follow")
    return value


_TREES: Final = frozenset({tuple, SpannedTuple, ListValue, Guarded})
_NAMES: Final = frozenset({ast.Name, ast.Attribute})


def _constant(machine: Machine, node: ast.Constant, frame: Frame) -> Value:
    return node.value


def _name(machine: Machine, node: ast.Name, frame: Frame) -> Value:
    scope = frame.scope
    if scope.parent is not None and node.id in scope.variables:
        return machine.settled(scope.variables[node.id])
    return look_up(machine, node.id, scope)


def look_up(machine: Machine, name: str, scope: Scope) -> Value:
    """The value of variable ``name`` as seen from ``scope``."""
    current: Scope | None = scope
    while current is not None:
        if current.parent is None:
            value = current.module.look_up(name, machine)
            if value is not MISSING:
                return value
        elif (current is scope or not current.is_class) and name in current.variables:
            return machine.settled(current.variables[name])
        current = current.parent
    if name in _BUILTIN_NAMES:
        return External(f"builtins.{name}")
    return Opaque(name, f"`{name}` is not defined here")


def _attribute(machine: Machine, node: ast.Attribute, frame: Frame) -> Value:
    owner = evaluate(machine, node.value, frame)
    if owner.__class__ is not Guarded:
        return attributes.attribute(machine, owner, node.attr)
    return machine.lift(lambda value: attributes.attribute(machine, value, node.attr), owner)


def _tuple(machine: Machine, node: ast.Tuple | ast.List, frame: Frame) -> Value:
    items: list[Value] = []
    spans: list[Any] = []
    for element in node.elts:
        if isinstance(element, ast.Starred):
            inner = evaluate(machine, element.value, frame)
            contents = starred_items(machine, inner)
            if isinstance(contents, Guarded):
                return _starred_under_condition(machine, node, frame, contents)
            if isinstance(contents, tuple):
                items.extend(contents)
                spans.extend(item_spans(contents))
                continue
            reason = contents.reason if isinstance(contents, Opaque) else "its length is not known"
            unknown = machine.fresh(f"*{describe(contents)}", reason)
            return ListValue(unknown) if isinstance(node, ast.List) else unknown
        items.append(evaluate(machine, element, frame))
        spans.append(frame.span(element))
    made = SpannedTuple.of(items, spans, frame.span(node))
    return ListValue(made) if isinstance(node, ast.List) else made


def starred_items(machine: Machine, value: Value) -> Value:
    """What ``*value`` puts into a list: a tuple, a Guarded of tuples, or what is not known."""

    def items(one: Value) -> Value:
        match one:
            case ListValue(items=contents):
                return machine.settled(contents)
            case Instance(class_=class_, fields=fields) if class_.kind == "namedtuple":
                return tuple([fields.get(name) for name, _ in class_.fields])
            case ShapeOf(array) if (shape := machine.shape(array)) is not None:
                return shape
            case DictValue(entries, False) if MISSING not in entries.values():
                return tuple(entries)
            case _:
                return one

    return machine.lift(items, value)


def _starred_under_condition(machine: Machine, node: ast.Tuple | ast.List, frame: Frame, guarded: Guarded) -> Value:
    """``[*a, b]`` where ``a`` depends on a condition: build it under each outcome."""
    condition = Condition(guarded.key, guarded.text)
    results = []
    for outcome in (True, False):
        mark = machine.journal.mark()
        machine.assume(condition, outcome)
        value = _tuple(machine, node, frame)
        results.append(value.items if isinstance(value, ListValue) else value)
        machine.journal.rewind(mark)
    joined = machine.join(condition, results[0], results[1])
    return ListValue(joined) if isinstance(node, ast.List) else joined


def _dict(machine: Machine, node: ast.Dict, frame: Frame) -> Value:
    made = DictValue({})
    for key_node, value_node in zip(node.keys, node.values, strict=True):
        value = evaluate(machine, value_node, frame)
        if key_node is None:
            if isinstance(value, DictValue):
                made.entries.update(value.entries)
                made.is_open = made.is_open or value.is_open
            else:
                made.is_open = True
            continue
        key = evaluate(machine, key_node, frame)
        if (
            isinstance(key, tuple)
            or (isinstance(key, CONSTANTS) and key is not Ellipsis)
            or isinstance(key, Expression)
        ):
            try:
                made.entries[key] = value
                made.key_spans[key] = frame.span(key_node)
            except TypeError:
                made.is_open = True
        else:
            made.is_open = True
    return made


def _set(machine: Machine, node: ast.Set, frame: Frame) -> Value:
    for element in node.elts:
        evaluate(machine, element.value if isinstance(element, ast.Starred) else element, frame)
    return machine.fresh(written(node), "sets are not followed")


def _binary(machine: Machine, node: ast.BinOp, frame: Frame) -> Value:
    left = _as_operand(machine, evaluate(machine, node.left, frame))
    right = _as_operand(machine, evaluate(machine, node.right, frame))
    symbol = operators.SYMBOLS[type(node.op)]
    result = machine.lift(partial(operators.binary, machine, symbol), left, right)
    if machine.recorder is not None and (is_array_like(left) or is_array_like(right)):
        kind = OperationKind.DOT if symbol == "@" else OperationKind.OPERATOR
        record(machine, kind, OPERATOR_NAMES[symbol], node, node, frame, (left, right), result)
    return result


def _as_operand(machine: Machine, value: Value) -> Value:
    """A truth value counts as 1 or 0 in arithmetic, whichever way it goes."""
    if isinstance(value, Condition):
        known = machine.outcome(value)
        return machine.join(value, True, False) if known is None else known
    return value


OPERATOR_NAMES: Final = {
    "+": "operator.add",
    "-": "operator.sub",
    "*": "operator.mul",
    "/": "operator.truediv",
    "//": "operator.floordiv",
    "%": "operator.mod",
    "**": "operator.pow",
    "@": "operator.matmul",
    "<<": "operator.lshift",
    ">>": "operator.rshift",
    "&": "operator.and_",
    "|": "operator.or_",
    "^": "operator.xor",
    "<": "operator.lt",
    "<=": "operator.le",
    ">": "operator.gt",
    ">=": "operator.ge",
    "==": "operator.eq",
    "!=": "operator.ne",
}


def _unary(machine: Machine, node: ast.UnaryOp, frame: Frame) -> Value:
    operand = evaluate(machine, node.operand, frame)
    if isinstance(node.op, ast.Not):
        return machine.lift(lambda value: operators.negate(operators.truth(value)), operand)

    def apply(value: Value) -> Value:
        if isinstance(node.op, ast.USub) and is_integer(value):
            return symbolic.negate(value)
        if isinstance(node.op, ast.USub) and isinstance(value, float | bool):
            return -value
        if isinstance(node.op, ast.UAdd):
            return value
        if isinstance(node.op, ast.Invert) and isinstance(value, int):
            return ~value
        if is_array_like(value):
            made = array_of(value)
            return made
        number = operators.as_integer(value)
        if isinstance(node.op, ast.USub) and number is not None:
            return symbolic.negate(number)
        return machine.fresh(written(node), f"`{describe(value)}` is not known")

    result = machine.lift(apply, operand)
    if machine.recorder is not None and is_array_like(operand):
        name = {ast.USub: "operator.neg", ast.Invert: "operator.invert"}.get(type(node.op), "operator.pos")
        record(machine, OperationKind.OPERATOR, name, node, node, frame, (operand,), result)
    return result


def _boolean(machine: Machine, node: ast.BoolOp, frame: Frame) -> Value:
    return _boolean_from(machine, node, 0, frame)


def _boolean_from(machine: Machine, node: ast.BoolOp, index: int, frame: Frame) -> Value:
    """The value of the parts from ``index`` on; an undecided part leaves a value for each outcome.

    Keeping the parts apart, rather than making one condition of them, is what lets a
    later test of the same part agree with this one.
    """
    is_and = isinstance(node.op, ast.And)
    value = evaluate(machine, node.values[index], frame)
    if index == len(node.values) - 1:
        return value

    def decide(part: Value) -> Value:
        outcome = operators.truth(part)
        if isinstance(outcome, Condition):
            known = machine.outcome(outcome)
            if known is None:
                short: Value = False if is_and else part if not isinstance(part, Condition) else True

                def rest() -> Value:
                    return _boolean_from(machine, node, index + 1, frame)

                return under_both(
                    machine, outcome, rest if is_and else lambda: short, (lambda: short) if is_and else rest
                )
            outcome = known
        return part if outcome != is_and else _boolean_from(machine, node, index + 1, frame)

    return machine.lift(decide, value)


def _compare(machine: Machine, node: ast.Compare, frame: Frame) -> Value:
    left = evaluate(machine, node.left, frame)
    result: Value = True
    for op, right_node in zip(node.ops, node.comparators, strict=True):
        right = evaluate(machine, right_node, frame)
        symbol = _COMPARE_SYMBOLS[type(op)]
        result = machine.lift(partial(operators.compare, machine, symbol), left, right)
        if machine.recorder is not None and (is_array_like(left) or is_array_like(right)) and symbol in OPERATOR_NAMES:
            record(machine, OperationKind.OPERATOR, OPERATOR_NAMES[symbol], node, node, frame, (left, right), result)
        if result is False:
            return False
        left = right
    if len(node.ops) > 1 and result is not True:
        return operators.machine_condition(machine, written(node))
    return result


_COMPARE_SYMBOLS: Final[dict[type[ast.cmpop], str]] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}


def _conditional(machine: Machine, node: ast.IfExp, frame: Frame) -> Value:
    test = evaluate(machine, node.test, frame)

    def choose(value: Value) -> Value:
        outcome = operators.truth(value)
        if isinstance(outcome, Condition):
            known = machine.outcome(outcome)
            if known is None:
                return under_both(
                    machine,
                    outcome,
                    lambda: evaluate(machine, node.body, frame),
                    lambda: evaluate(machine, node.orelse, frame),
                )
            outcome = known
        return evaluate(machine, node.body if outcome else node.orelse, frame)

    return machine.lift(choose, test)


def under_both(
    machine: Machine, condition: Condition, when_true: Callable[[], Value], when_false: Callable[[], Value]
) -> Value:
    """Evaluate both ways of ``condition``, keep the effects of both, and join the values."""
    facts = machine.facts
    mark = machine.journal.mark()
    machine.assume(condition, True)
    with in_branch(machine):
        true_value = when_true()
    true_touched = machine.journal.rewind(mark)
    machine.facts = facts
    machine.assume(condition, False)
    with in_branch(machine):
        false_value = when_false()
    false_touched = machine.journal.rewind(mark)
    machine.facts = facts
    for touched in (true_touched, false_touched):
        touched.pop((id(machine.assumed), condition.key), None)
    machine.journal.merge(true_touched, false_touched, lambda t, f: machine.join(condition, t, f))
    return machine.join(condition, true_value, false_value)


def _lambda(machine: Machine, node: ast.Lambda, frame: Frame) -> Value:
    return make_function(machine, node, frame)


def make_function(
    machine: Machine, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, frame: Frame
) -> Function:
    """The function that ``node`` defines, with its defaults evaluated now."""
    defaults = tuple(evaluate(machine, default, frame) for default in node.args.defaults)
    keyword_defaults = tuple(
        (argument.arg, evaluate(machine, default, frame))
        for argument, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        if default is not None
    )
    made = Function(node, frame.scope, frame.anchor, defaults, keyword_defaults)
    machine.functions_made.append(made)
    return made


def _subscript(machine: Machine, node: ast.Subscript, frame: Frame) -> Value:
    owner = evaluate(machine, node.value, frame)
    index = evaluate_index(machine, node.slice, frame)
    result = machine.lift(lambda value, at: subscript(machine, value, at, node), owner, index)
    if machine.recorder is not None and isinstance(owner, Ref) and isinstance(node.ctx, ast.Load):
        record(machine, OperationKind.LOAD, "load", node, node, frame, (owner,), result, ref=owner.name)
    return result


def evaluate_index(machine: Machine, node: ast.expr, frame: Frame) -> Value:
    """An index: an integer, a slice, Ellipsis, or a tuple of those."""
    if isinstance(node, ast.Slice):
        parts = [
            None if part is None else evaluate(machine, part, frame) for part in (node.lower, node.upper, node.step)
        ]
        return slice(*parts)
    if isinstance(node, ast.Tuple):
        if any(isinstance(element, ast.Starred) for element in node.elts):
            return _tuple(machine, node, frame)
        return tuple(evaluate_index(machine, element, frame) for element in node.elts)
    return evaluate(machine, node, frame)


def subscript(machine: Machine, owner: Value, index: Value, node: ast.expr) -> Value:
    """``owner[index]``, written as ``node``; both settled."""
    match owner:
        case tuple():
            return _item(machine, owner, index, node)
        case ListValue(items):
            if isinstance(index, slice):
                return ListValue(machine.lift(lambda part: _item(machine, part, index, node), items))
            return machine.lift(lambda part: _item(machine, part, index, node), items)
        case DictValue(entries):
            try:
                if index in entries:
                    value = entries[index]
                    return machine.fresh(written(node), "is not set on every path") if value is MISSING else value
            except TypeError:
                pass
            return machine.fresh(written(node), f"the key `{describe(index)}` is not known")
        case ShapeOf(array):
            return _shape_item(machine, array, index, node)
        case Ref(shape=shape, dtype=dtype):
            return Array(indexed_shape(shape, index), dtype)
        case Array(shape, dtype):
            return Array(indexed_shape(shape, index), dtype)
        case str() if isinstance(index, int) and -len(owner) <= index < len(owner):
            return owner[index]
        case Opaque():
            return Opaque(f"{owner.text}[{_index_text(index)}]", owner.reason)
        case External() | Function():
            return owner
        case _:
            return machine.fresh(written(node), f"`{written(node)}` cannot be worked out by reading")


def _index_text(index: Value) -> str:
    match index:
        case slice():
            parts = ["" if part is None else describe(part) for part in (index.start, index.stop)]
            return ":".join(parts)
        case tuple():
            return ", ".join(map(_index_text, index))
        case _:
            return describe(index)


def _item(machine: Machine, items: Value, index: Value, node: ast.expr) -> Value:
    if isinstance(items, Opaque):
        return Opaque(f"{items.text}[{_index_text(index)}]", items.reason)
    if isinstance(index, slice):
        bounds = (index.start, index.stop, index.step)
        if all(bound is None or isinstance(bound, int) for bound in bounds) and index.step != 0:
            spans = item_spans(items)
            return SpannedTuple.of(tuple(items)[index], spans[index], None)
        return machine.fresh(written(node), "the bounds of the slice cannot be used")
    if isinstance(index, int):
        if -len(items) <= index < len(items):
            return items[index]
        return machine.fresh(written(node), f"`{written(node)}` is out of range")
    return machine.fresh(written(node), f"the index `{describe(index)}` is not known")


def _shape_item(machine: Machine, array: Opaque, index: Value, node: ast.expr) -> Value:
    shape = machine.shape(array)
    if shape is not None and isinstance(index, int | slice):
        return _item(machine, shape, index, node)
    if isinstance(index, int):
        return symbolic.symbol(f"{array.text}.shape[{index}]", 0)
    return Opaque(f"{array.text}.shape[{_index_text(index)}]", array.reason)


def _call(machine: Machine, node: ast.Call, frame: Frame) -> Value:
    return calling.call(machine, node, frame)


def _joined_string(machine: Machine, node: ast.JoinedStr, frame: Frame) -> Value:
    parts: list[str] = []
    for value in node.values:
        if isinstance(value, ast.Constant):
            parts.append(str(value.value))
            continue
        inner = evaluate(machine, value.value, frame) if isinstance(value, ast.FormattedValue) else None
        if not isinstance(inner, str | int | float) or (isinstance(value, ast.FormattedValue) and value.format_spec):
            return Opaque(written(node), "the text is put together from values that are not known")
        parts.append(describe(inner) if isinstance(inner, int) else str(inner))
    text = "".join(parts)
    return text if len(text) <= LONGEST_STRING else machine.fresh(written(node), "the text is too long to follow")


def _starred(machine: Machine, node: ast.Starred, frame: Frame) -> Value:
    return evaluate(machine, node.value, frame)


def _named(machine: Machine, node: ast.NamedExpr, frame: Frame) -> Value:
    value = evaluate(machine, node.value, frame)
    machine.journal.write(frame.scope.variables, node.target.id, value)
    return value


def _comprehension(machine: Machine, node: ast.ListComp | ast.GeneratorExp | ast.SetComp, frame: Frame) -> Value:
    return ListValue(_gathered(machine, node, 0, Frame(_inner(frame), frame.anchor, frame.name)))


def _inner(frame: Frame) -> Scope:
    return Scope({}, frame.scope, frame.scope.module)


def _gathered(machine: Machine, node: ast.ListComp | ast.GeneratorExp | ast.SetComp, depth: int, frame: Frame) -> Value:
    """The items that the ``for`` number ``depth`` of a comprehension gives, as a tuple."""
    generator = node.generators[depth]

    def item(given: Value) -> Value:
        inner = Frame(_inner(frame), frame.anchor, frame.name)
        assign(machine, generator.target, given, inner)
        return tested(0, inner)

    def tested(index: int, inner: Frame) -> Value:
        if index < len(generator.ifs):
            test = evaluate(machine, generator.ifs[index], inner)
            return machine.lift(lambda value: decided(value, index, inner), test)
        if depth + 1 < len(node.generators):
            return _gathered(machine, node, depth + 1, inner)
        return SpannedTuple.of((evaluate(machine, node.elt, inner),), (None,), None)

    def decided(value: Value, index: int, inner: Frame) -> Value:
        outcome = operators.truth(value)
        if isinstance(outcome, Condition):
            known = machine.outcome(outcome)
            if known is None:
                return under_both(machine, outcome, lambda: tested(index + 1, inner), lambda: ())
            outcome = known
        return tested(index + 1, inner) if outcome else ()

    def over(iterable: Value) -> Value:
        items = iterable_items(machine, iterable)
        with turning(machine, len(items) if items is not None else 1) as are_few:
            if items is None or not are_few:
                reason = "the length of what it goes over is not known"
                item(Opaque(written(generator.target), reason))
                return machine.fresh(written(node), reason)
            parts = [item(given) for given in items]
            if len(conditions_of(*parts)) > (GUARD_LIMIT if all(map(is_integer, items)) else SPEC_GUARD_LIMIT):
                return machine.fresh(written(node), MANY_CONDITIONS)
            made: Value = SpannedTuple.of((), (), frame.span(node))
            for part in parts:
                made = machine.lift(partial(operators.concatenated, machine), made, part)
            return made

    return machine.lift(over, evaluate(machine, generator.iter, frame))


def _dict_comprehension(machine: Machine, node: ast.DictComp, frame: Frame) -> Value:
    made = DictValue({}, is_open=True)
    if len(node.generators) != 1 or node.generators[0].ifs:
        return made
    generator = node.generators[0]
    items = iterable_items(machine, evaluate(machine, generator.iter, frame))
    with turning(machine, len(items) if items is not None else 1) as are_few:
        if items is None or not are_few:
            return made
        entries: dict[Value, Value] = {}
        for item in items:
            inner = Frame(_inner(frame), frame.anchor, frame.name)
            assign(machine, generator.target, item, inner)
            key = evaluate(machine, node.key, inner)
            if not isinstance(key, str | int | tuple | Expression):
                return made
            entries[key] = evaluate(machine, node.value, inner)
    return DictValue(entries)


def iterable_items(machine: Machine, value: Value) -> tuple[Value, ...] | None:
    """The items that a loop over ``value`` sees, where they are known and few."""
    items = machine.settled(value.items) if isinstance(value, ListValue) else value
    if isinstance(value, DictValue) and not value.is_open:
        items = tuple(value.entries)
    if isinstance(items, ShapeOf):
        items = machine.shape(items.array)
    if isinstance(items, str):
        items = tuple(items)
    if isinstance(items, tuple) and len(items) <= UNROLL_LIMIT:
        return items
    return None


@contextmanager
def turning(machine: Machine, count: int) -> Iterator[bool]:
    """Around the turns of a loop that runs ``count`` times; gives whether they can all be followed."""
    before = machine.turns
    machine.turns *= max(count, 1)
    try:
        yield machine.turns <= TURNS_LIMIT
    finally:
        machine.turns = before


def assign(machine: Machine, target: ast.expr, value: Value, frame: Frame) -> None:
    """Bind ``value`` to ``target``, unpacking as Python does."""
    match target:
        case ast.Name(id=name):
            machine.journal.write(frame.scope.variables, name, value)
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            for element, item in zip(elements, unpack(machine, elements, value), strict=True):
                assign(machine, element.value if isinstance(element, ast.Starred) else element, item, frame)
        case ast.Attribute(value=owner_node, attr=name):
            attributes.set_attribute(machine, evaluate(machine, owner_node, frame), name, value)
        case ast.Subscript():
            _assign_item(machine, target, value, frame)
        case _:
            pass


def unpack(machine: Machine, elements: list[ast.expr], value: Value) -> list[Value]:
    """``value`` as one value for each of ``elements``; learns the rank of an unpacked shape."""
    starred = next((index for index, element in enumerate(elements) if isinstance(element, ast.Starred)), None)
    value = machine.settled(value)
    items: Value = machine.settled(value.items) if isinstance(value, ListValue) else value
    if isinstance(items, Instance) and items.class_.kind == "namedtuple":
        items = starred_items(machine, items)
    if isinstance(items, ShapeOf):
        if starred is None and machine.rank(items.array.text) != len(elements):
            machine.journal.write(machine.ranks, items.array.text, len(elements))
        items = machine.shape(items.array) or items
    if isinstance(items, Guarded):
        condition = Condition(items.key, items.text)
        true_items = unpack(machine, elements, items.when_true)
        false_items = unpack(machine, elements, items.when_false)
        return [machine.join(condition, t, f) for t, f in zip(true_items, false_items, strict=True)]
    if isinstance(items, Array) and not isinstance(items.shape, Opaque) and items.shape:
        row = Array(items.shape[1:], items.dtype)
        items = tuple(row for _ in elements) if starred is None else items
    if isinstance(items, tuple):
        if starred is None and len(items) == len(elements):
            return list(items)
        after = len(elements) - 1 - (starred or 0)
        if starred is not None and len(items) >= len(elements) - 1:
            middle = ListValue(tuple(items[starred : len(items) - after]))
            return [*items[:starred], middle, *items[len(items) - after :]]
    reason = items.reason if isinstance(items, Opaque) else f"`{describe(value)}` cannot be unpacked by reading"
    base = describe(items)
    return [
        ListValue(machine.fresh(f"*{base}", reason))
        if index == starred
        else Opaque(f"{base}[{index}]", reason)
        if isinstance(items, Opaque | ShapeOf) and starred is None
        else machine.fresh(written(element), reason)
        for index, element in enumerate(elements)
    ]


def _assign_item(machine: Machine, target: ast.Subscript, value: Value, frame: Frame) -> None:
    owner = evaluate(machine, target.value, frame)
    index = evaluate_index(machine, target.slice, frame)
    if isinstance(owner, DictValue):
        try:
            entries = {**owner.entries, index: value}
            machine.journal.write(owner, "items", (entries, owner.is_open))
        except TypeError:
            machine.journal.write(owner, "items", (owner.entries, True))
    elif isinstance(owner, ListValue):
        items = owner.items
        if isinstance(items, tuple) and isinstance(index, int) and -len(items) <= index < len(items):
            spans = list(item_spans(items))
            position = index % len(items)
            changed = (*items[:position], value, *items[position + 1 :])
            machine.journal.write(owner, "items", SpannedTuple.of(changed, spans, None))
        elif not isinstance(items, Opaque):
            unknown = machine.fresh(written(target.value), "an item whose position is not known is replaced")
            machine.journal.write(owner, "items", unknown)
    elif isinstance(owner, Ref) and machine.recorder is not None:
        target_type = Array(indexed_shape(owner.shape, index), owner.dtype)
        record(machine, OperationKind.STORE, "store", target, target, frame, (target_type, value), None, ref=owner.name)


def _await(machine: Machine, node: ast.Await, frame: Frame) -> Value:
    return evaluate(machine, node.value, frame)


_HANDLERS: Final[dict[type[ast.expr], Callable[[Machine, Any, Frame], Value]]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Tuple: _tuple,
    ast.List: _tuple,
    ast.Dict: _dict,
    ast.Set: _set,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _boolean,
    ast.Compare: _compare,
    ast.IfExp: _conditional,
    ast.Lambda: _lambda,
    ast.Subscript: _subscript,
    ast.Call: _call,
    ast.JoinedStr: _joined_string,
    ast.Starred: _starred,
    ast.NamedExpr: _named,
    ast.ListComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.SetComp: _comprehension,
    ast.DictComp: _dict_comprehension,
    ast.Await: _await,
}
