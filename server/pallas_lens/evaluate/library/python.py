"""Builtins, ``math``, ``functools`` and the methods of Python's own containers."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from inspect import Parameter, signature
from typing import Final

from ...model import symbolic
from ...model.symbolic import Expression
from .. import attributes, calling, expressions, statements
from ..arguments import Arguments
from ..array_types import length_of, shape_symbols
from ..machine import Machine
from ..operators import as_integer, binary, compare, condition, truth
from ..values import (
    CONSTANTS,
    MISSING,
    Array,
    Class,
    Condition,
    DictValue,
    External,
    Function,
    Guarded,
    Instance,
    KernelCallable,
    ListValue,
    Opaque,
    Partial,
    Ref,
    ShapeOf,
    SpannedTuple,
    Transformed,
    Value,
    describe,
    is_integer,
    item_spans,
)

TableFunction = Callable[[Machine, Arguments], Value]


def unknown_call(machine: Machine, name: str, arguments: Arguments) -> Opaque:
    """The value of a call whose arguments do not tell enough."""
    text = f"{name}({', '.join(map(describe, arguments.positional))})"
    reasons = [value.reason for value in arguments.positional if isinstance(value, Opaque)]
    return machine.fresh(text, reasons[0] if reasons else f"`{text}` cannot be worked out by reading")


def _arity(function: Callable[..., Value]) -> tuple[int, float]:
    """The least and the most values that ``function`` takes besides the machine and the arguments, at least one."""
    parameters = list(signature(function).parameters.values())[2:]
    if any(parameter.kind is Parameter.VAR_POSITIONAL for parameter in parameters):
        return 1, math.inf
    return max(1, sum(parameter.default is Parameter.empty for parameter in parameters)), len(parameters)


def _lifted(name: str, function: Callable[..., Value]) -> tuple[str, TableFunction]:
    """A table entry whose function sees positional values without guards, as many as it takes."""
    least, most = _arity(function)

    def entry(machine: Machine, arguments: Arguments) -> Value:
        if arguments.rest is not None or not least <= len(arguments.positional) <= most:
            return unknown_call(machine, name, arguments)
        return machine.lift(lambda *values: function(machine, arguments, *values), *arguments.positional)

    return (f"builtins.{name}" if "." not in name else name, entry)


def _sequence(machine: Machine, value: Value) -> Value:
    """The items of a list, tuple or shape: a tuple, a Guarded of tuples, or None."""
    if isinstance(value, ListValue):
        return machine.settled(value.items)
    if isinstance(value, ShapeOf):
        return machine.shape(value.array)
    if isinstance(value, DictValue):
        return None if value.is_open else tuple(value.entries)
    return value if isinstance(value, tuple | Opaque) else None


def _len(machine: Machine, arguments: Arguments, value: Value) -> Value:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Array | Ref):
        return (
            value.shape[0]
            if isinstance(value.shape, tuple) and value.shape
            else unknown_call(machine, "len", arguments)
        )
    if isinstance(value, ShapeOf):
        rank = machine.rank(value.array.text)
        return rank if rank is not None else Opaque(f"{value.array.text}.ndim", value.array.reason, 0)

    def count(items: Value) -> Value:
        if isinstance(items, tuple):
            return len(items)
        if isinstance(items, Opaque):
            return Opaque(f"len({items.text})", items.reason, 0)
        return unknown_call(machine, "len", arguments)

    return machine.lift(count, _sequence(machine, value))


def _as_tuple(machine: Machine, arguments: Arguments, value: Value) -> Value:
    if isinstance(value, Instance) and value.class_.kind == "namedtuple":
        return tuple(value.fields.get(name) for name, _ in value.class_.fields)
    if isinstance(value, ShapeOf) and machine.rank(value.array.text) is None:
        return value
    items = _sequence(machine, value)
    return items if items is not None else unknown_call(machine, "tuple", arguments)


def _as_list(machine: Machine, arguments: Arguments, value: Value) -> Value:
    items = _as_tuple(machine, arguments, value)
    if isinstance(items, ShapeOf):
        items = Opaque(f"{items.array.text}.shape", items.array.reason)
    return ListValue(items)


def _empty_tuple(machine: Machine, arguments: Arguments) -> Value:
    return () if not arguments.positional else _TUPLE(machine, arguments)


def _empty_list(machine: Machine, arguments: Arguments) -> Value:
    return ListValue(()) if not arguments.positional else _LIST(machine, arguments)


def _dict(machine: Machine, arguments: Arguments) -> Value:
    made = DictValue({}, arguments.open_keywords)
    for value in map(machine.settled, arguments.positional):
        if isinstance(value, DictValue):
            made.entries.update(value.entries)
            made.is_open = made.is_open or value.is_open
        else:
            made.is_open = True
    made.entries.update(arguments.keywords)
    made.key_spans.update(arguments.keyword_spans)
    return made


def _range(machine: Machine, arguments: Arguments, *values: Value) -> Value:
    if all(isinstance(value, int) for value in values) and 1 <= len(values) <= 3:
        try:
            numbers = range(*values)
        except ValueError:
            return unknown_call(machine, "range", arguments)
        if length_of(numbers) <= expressions.UNROLL_LIMIT:
            return tuple(numbers)
    return Opaque(f"range({', '.join(map(describe, values))})", "the number of turns is not known or large")


def _zip(machine: Machine, arguments: Arguments, *values: Value) -> Value:
    rows = [expressions.iterable_items(machine, value) for value in values]
    known = [row for row in rows if row is not None]
    if len(known) != len(rows):
        # A shape that goes along with what has as many items: its rank is at least that, or the program fails.
        least = min(map(len, known), default=0)
        rows = [
            shape_symbols(value.array, least) if row is None and isinstance(value, ShapeOf) and least else row
            for value, row in zip(values, rows, strict=True)
        ]
        known = [row for row in rows if row is not None]
    if len(known) != len(rows):
        return unknown_call(machine, "zip", arguments)
    return tuple(zip(*known, strict=False))


def _enumerate(machine: Machine, arguments: Arguments, value: Value, start: Value = 0) -> Value:
    items = expressions.iterable_items(machine, value)
    if items is None or not isinstance(start, int):
        return unknown_call(machine, "enumerate", arguments)
    return tuple(enumerate(items, start))


def _reversed(machine: Machine, arguments: Arguments, value: Value) -> Value:
    items = expressions.iterable_items(machine, value)
    return unknown_call(machine, "reversed", arguments) if items is None else tuple(reversed(items))


def _map(machine: Machine, arguments: Arguments) -> Value:
    if len(arguments.positional) != 2:
        return unknown_call(machine, "map", arguments)
    function, source = arguments.positional
    items = expressions.iterable_items(machine, machine.settled(source))
    with expressions.turning(machine, len(items) if items is not None else 1) as are_few:
        if items is None or not are_few:
            return ListValue(unknown_call(machine, "map", arguments))
        return tuple([calling.invoke(machine, function, (item,), {}, arguments.frame) for item in items])


def _extreme(name: str) -> Callable[..., Value]:
    chosen = symbolic.minimum if name == "min" else symbolic.maximum

    def function(machine: Machine, arguments: Arguments, *values: Value) -> Value:
        parts: tuple[Value, ...] | None = values if len(values) > 1 else expressions.iterable_items(machine, values[0])
        if parts and not arguments.keywords:
            if all(isinstance(part, int | float) for part in parts):
                return min(parts) if name == "min" else max(parts)
            integers = [as_integer(part) for part in parts]
            if None not in integers:
                return chosen([part for part in integers if part is not None])
        return unknown_call(machine, name, arguments)

    return function


def _sum(machine: Machine, arguments: Arguments, value: Value, start: Value = 0) -> Value:
    items = expressions.iterable_items(machine, value)
    if items is None:
        return unknown_call(machine, "sum", arguments)
    total = start
    for item in items:
        total = machine.lift(lambda a, b: binary(machine, "+", a, b), total, item)
    return total


def _product(machine: Machine, arguments: Arguments, value: Value) -> Value:
    items = expressions.iterable_items(machine, value)
    if items is None:
        return unknown_call(machine, "prod", arguments)
    total: Value = 1
    for item in items:
        total = machine.lift(lambda a, b: binary(machine, "*", a, b), total, item)
    return total


def _int(machine: Machine, arguments: Arguments, value: Value) -> Value:
    if isinstance(value, float | bool | str):
        try:
            return int(value)
        except (ValueError, OverflowError):
            return unknown_call(machine, "int", arguments)
    if isinstance(value, Opaque) and value.is_float:
        return Opaque(f"int({value.text})", value.reason)
    if is_integer(value) or isinstance(value, Opaque):
        return value
    return unknown_call(machine, "int", arguments)


def _float(machine: Machine, arguments: Arguments, value: Value) -> Value:
    if isinstance(value, int | float | str):
        try:
            return float(value)
        except (ValueError, OverflowError):
            return unknown_call(machine, "float", arguments)
    return unknown_call(machine, "float", arguments)


def _bool(machine: Machine, arguments: Arguments, value: Value) -> Value:
    return truth(value)


def _abs(machine: Machine, arguments: Arguments, value: Value) -> Value:
    if isinstance(value, int | float):
        return abs(value)
    return value if isinstance(value, Array) else unknown_call(machine, "abs", arguments)


def _divmod(machine: Machine, arguments: Arguments, left: Value, right: Value) -> Value:
    return (binary(machine, "//", left, right), binary(machine, "%", left, right))


def _all_any(name: str) -> Callable[..., Value]:
    def function(machine: Machine, arguments: Arguments, value: Value) -> Value:
        items = expressions.iterable_items(machine, value)
        if items is None:
            return unknown_call(machine, name, arguments)
        outcomes = [truth(machine.settled(item)) for item in items if not isinstance(item, Guarded)]
        deciding = name == "any"
        if deciding in outcomes:
            return deciding
        undecided = [outcome for outcome in outcomes if isinstance(outcome, Condition)]
        if undecided or len(outcomes) != len(items):
            return undecided[0] if len(undecided) == 1 == len(outcomes) else unknown_call(machine, name, arguments)
        return not deciding

    return function


def _isinstance(machine: Machine, arguments: Arguments, value: Value, kind: Value) -> Value:
    kinds = kind if isinstance(kind, tuple) else (kind,)
    outcomes = [_is_kind(value, one) for one in kinds]
    if True in outcomes:
        return True
    if None not in outcomes:
        return False
    return condition(machine, f"isinstance({describe(value)}, {describe(kind)})")


_PYTHON_KINDS: Final[dict[str, type | tuple[type, ...]]] = {
    "int": int,
    "float": float,
    "str": str,
    "bool": bool,
    "tuple": tuple,
}


def _is_kind(value: Value, kind: Value) -> bool | None:
    if isinstance(value, Opaque | ShapeOf | Guarded):
        return None
    if isinstance(kind, External):
        name = kind.path.rpartition(".")[2]
        if kind.path.startswith("builtins."):
            if name == "list":
                return isinstance(value, ListValue)
            if name == "dict":
                return isinstance(value, DictValue)
            if name == "int" and isinstance(value, Expression):
                return True
            if name in _PYTHON_KINDS:
                if isinstance(value, Instance):
                    return value.class_.kind == "namedtuple" and name == "tuple"
                return isinstance(value, _PYTHON_KINDS[name])
            return None
        if isinstance(value, (*CONSTANTS, tuple, ListValue, DictValue)):
            return False
        return None
    if isinstance(value, Instance):
        queue = [value.class_]
        while queue:
            current = queue.pop()
            if current is kind or current.node is getattr(kind, "node", None):
                return True
            if any(not hasattr(base, "node") and not isinstance(base, External) for base in current.bases):
                return None
            queue.extend(base for base in current.bases if hasattr(base, "node"))
        return False
    if isinstance(value, (*CONSTANTS, tuple, ListValue, DictValue, Array)):
        return False if hasattr(kind, "node") else None
    return None


def _getattr(machine: Machine, arguments: Arguments) -> Value:
    values = [machine.settled(value) for value in arguments.positional]
    if len(values) >= 2 and isinstance(values[1], str):
        found = attributes.attribute(machine, values[0], values[1])
        if len(values) == 3 and isinstance(found, Opaque):
            return machine.fresh(found.text, found.reason)
        return found
    return unknown_call(machine, "getattr", arguments)


def _setattr(machine: Machine, arguments: Arguments) -> Value:
    if len(arguments.positional) == 3:
        owner, name, value = arguments.positional
        owner = machine.settled(owner)
        if isinstance(name, str):
            attributes.set_attribute(machine, owner, name, value)
    return None


def _hasattr(machine: Machine, arguments: Arguments) -> Value:
    values = [machine.settled(value) for value in arguments.positional]
    return condition(machine, f"hasattr({', '.join(map(describe, values))})")


def _callable(machine: Machine, arguments: Arguments, value: Value) -> Value:
    if isinstance(value, Function | Partial | External | KernelCallable | Transformed | Class):
        return True
    if isinstance(value, (*CONSTANTS, Expression, tuple, ListValue, DictValue, Array, Ref)):
        return False
    return condition(machine, f"callable({describe(value)})")


def _sorted(machine: Machine, arguments: Arguments, value: Value) -> Value:
    items = expressions.iterable_items(machine, value)
    if items is not None and not arguments.keywords and all(isinstance(item, int | str) for item in items):
        try:
            return ListValue(tuple(sorted(items)))
        except TypeError:
            pass
    return ListValue(unknown_call(machine, "sorted", arguments))


def _slice(machine: Machine, arguments: Arguments, *values: Value) -> Value:
    parts = (None, *values) if len(values) == 1 else values
    return slice(*parts[:3])


def _partial(machine: Machine, arguments: Arguments) -> Value:
    if not arguments.positional:
        return unknown_call(machine, "partial", arguments)
    if arguments.rest is not None or arguments.open_keywords:
        text = f"partial({describe(arguments.positional[0])}, …)"
        return machine.fresh(text, arguments.rest or "its keyword arguments are not known")
    function, *bound = arguments.positional
    return Partial(function, tuple(bound), tuple(arguments.keywords.items()), arguments.span)


def _reduce(machine: Machine, arguments: Arguments) -> Value:
    if len(arguments.positional) < 2:
        return unknown_call(machine, "reduce", arguments)
    function, source, *start = arguments.positional
    items = expressions.iterable_items(machine, machine.settled(source))
    if items is None or not (start or items):
        return unknown_call(machine, "reduce", arguments)
    total, rest = (start[0], items) if start else (items[0], items[1:])
    for item in rest:
        total = calling.invoke(machine, function, (total, item), {}, arguments.frame)
    return total


def _ceil(machine: Machine, arguments: Arguments, value: Value) -> Value:
    if isinstance(value, int | float) and math.isfinite(value):
        return math.ceil(value)
    return unknown_call(machine, "ceil", arguments)


def _log2(machine: Machine, arguments: Arguments, value: Value) -> Value:
    return (
        math.log2(value) if isinstance(value, int | float) and value > 0 else unknown_call(machine, "log2", arguments)
    )


def _sqrt(machine: Machine, arguments: Arguments, value: Value) -> Value:
    return (
        math.sqrt(value) if isinstance(value, int | float) and value >= 0 else unknown_call(machine, "sqrt", arguments)
    )


def _operator(symbol: str) -> Callable[..., Value]:
    return lambda machine, arguments, left, right: binary(machine, symbol, left, right)


def _replace(machine: Machine, arguments: Arguments) -> Value:
    def replaced(owner: Value) -> Value:
        if isinstance(owner, Instance):
            kept = owner.fields
            if arguments.open_keywords:
                name = owner.class_.node.name
                kept = {field: machine.fresh(f"{name}.{field}", "it may have been replaced") for field in kept}
            return Instance(owner.class_, {**kept, **arguments.keywords})
        return unknown_call(machine, "replace", arguments)

    return machine.lift(replaced, arguments.get(0, "obj"))


def _copy(machine: Machine, arguments: Arguments, value: Value) -> Value:
    if isinstance(value, ListValue):
        return ListValue(value.items)
    if isinstance(value, DictValue):
        return DictValue(dict(value.entries), value.is_open, dict(value.key_spans))
    return Instance(value.class_, dict(value.fields)) if isinstance(value, Instance) else value


def _super(machine: Machine, arguments: Arguments) -> Value:
    return machine.fresh("super()", "`super()` is not followed")


_TUPLE = _lifted("tuple", _as_tuple)[1]
_LIST = _lifted("list", _as_list)[1]


def _next(machine: Machine, arguments: Arguments) -> Value:
    """``next(m for m in … if …)``: the first item. Of an iterator that has a name, another may have been taken."""
    node = arguments.node
    source = machine.settled(arguments.get(0, ""))
    if node is None or not isinstance(node.args[0], ast.GeneratorExp) or not isinstance(source, ListValue):
        return unknown_call(machine, "next", arguments)

    def first(items: Value) -> Value:
        if isinstance(items, tuple) and items:
            return items[0]
        if isinstance(items, tuple) and len(arguments.positional) > 1:
            return arguments.positional[1]
        return unknown_call(machine, "next", arguments)

    return machine.lift(first, source.items)


FUNCTIONS: Final[dict[str, TableFunction]] = dict(
    [
        ("builtins.next", _next),
        _lifted("len", _len),
        _lifted("range", _range),
        _lifted("zip", _zip),
        _lifted("enumerate", _enumerate),
        _lifted("reversed", _reversed),
        _lifted("min", _extreme("min")),
        _lifted("max", _extreme("max")),
        _lifted("sum", _sum),
        _lifted("int", _int),
        _lifted("float", _float),
        _lifted("bool", _bool),
        _lifted("abs", _abs),
        _lifted("divmod", _divmod),
        _lifted("all", _all_any("all")),
        _lifted("any", _all_any("any")),
        _lifted("isinstance", _isinstance),
        _lifted("callable", _callable),
        _lifted("sorted", _sorted),
        _lifted("slice", _slice),
        _lifted("math.prod", _product),
        _lifted("copy.copy", _copy),
        _lifted("copy.deepcopy", _copy),
        _lifted("numpy.prod", _product),
        _lifted("math.ceil", _ceil),
        _lifted("math.floor", _int),
        _lifted("math.log2", _log2),
        _lifted("math.sqrt", _sqrt),
        _lifted("operator.mul", _operator("*")),
        _lifted("operator.add", _operator("+")),
        _lifted("operator.floordiv", _operator("//")),
        ("builtins.tuple", _empty_tuple),
        ("builtins.list", _empty_list),
        ("builtins.dict", _dict),
        ("builtins.map", _map),
        ("builtins.getattr", _getattr),
        ("builtins.hasattr", _hasattr),
        ("builtins.setattr", _setattr),
        ("builtins.object.__setattr__", _setattr),
        ("builtins.super", _super),
        ("functools.partial", _partial),
        ("functools.reduce", _reduce),
        ("dataclasses.replace", _replace),
    ]
)


def method(machine: Machine, owner: Value, name: str, arguments: Arguments) -> Value:
    """A method of a list, tuple, dict, string, or function."""
    match owner:
        case ListValue():
            return _list_method(machine, owner, name, arguments)
        case DictValue():
            return _dict_method(machine, owner, name, arguments)
        case tuple():
            if name == "index" and arguments.positional:
                for position, item in enumerate(owner):
                    if compare(machine, "==", item, machine.settled(arguments.positional[0])) is True:
                        return position
            if name == "count" and arguments.positional:
                outcomes = [compare(machine, "==", item, arguments.positional[0]) for item in owner]
                if all(isinstance(outcome, bool) for outcome in outcomes):
                    return sum(outcomes)
        case str():
            return _string_method(machine, owner, name, arguments)
        case Instance(class_, fields) if name == "_replace" and not arguments.open_keywords:
            return Instance(class_, {**fields, **arguments.keywords})
        case Instance(fields=fields) if name == "_asdict":
            return DictValue(dict(fields))
        case Function() | Partial() | KernelCallable():
            # f.lower(...), f.trace(...), f.defvjp(...): what a transformed function offers besides being called.
            return machine.fresh(f"{describe(owner)}.{name}(…)", f"`.{name}` of a function is not followed")
    text = f"{describe(owner)}.{name}({', '.join(map(describe, arguments.positional))})"
    return machine.fresh(text, f"`.{name}` is not followed")


def _list_method(machine: Machine, owner: ListValue, name: str, arguments: Arguments) -> Value:
    items = machine.settled(owner.items)
    match name:
        case "append" if len(arguments.positional) == 1:
            span = arguments.span_of(0, "")
            added = SpannedTuple.of(arguments.positional, (span,), None)
            statements.extend(machine, owner, added)
            return None
        case "extend" if len(arguments.positional) == 1:
            statements.extend(machine, owner, machine.settled(arguments.positional[0]))
            return None
        case "insert" if len(arguments.positional) == 2 and isinstance(items, tuple):
            position, value = arguments.positional
            if isinstance(position, int):
                spans = item_spans(items)
                joined = (*items[:position], value, *items[position:])
                marks = (*spans[:position], None, *spans[position:])
                machine.journal.write(owner, "items", SpannedTuple.of(joined, marks, None))
                return None
        case "pop" if isinstance(items, tuple) and items:
            position = arguments.get(0, "index", -1)
            if isinstance(position, int) and -len(items) <= position < len(items):
                position %= len(items)
                rest = SpannedTuple.of(
                    (*items[:position], *items[position + 1 :]),
                    (*item_spans(items)[:position], *item_spans(items)[position + 1 :]),
                    None,
                )
                machine.journal.write(owner, "items", rest)
                return items[position]
        case "copy":
            return ListValue(owner.items)
        case "reverse" if isinstance(items, tuple):
            machine.journal.write(owner, "items", tuple(reversed(items)))
            return None
        case "index" | "count":
            return (
                method(machine, items, name, arguments) if isinstance(items, tuple) else machine.fresh(name, "unknown")
            )
        case _:
            pass
    machine.journal.write(
        owner, "items", machine.fresh("the list", f"`.{name}` changed it in a way that is not followed")
    )
    return machine.fresh(f"list.{name}(…)", f"`.{name}` is not followed")


def _dict_method(machine: Machine, owner: DictValue, name: str, arguments: Arguments) -> Value:
    closed = not owner.is_open and MISSING not in owner.entries.values()
    match name:
        case "get" | "pop" | "setdefault" if arguments.positional:
            key = machine.settled(arguments.positional[0])
            default = arguments.get(1, "default", None)
            try:
                if key in owner.entries and owner.entries[key] is not MISSING:
                    value = owner.entries[key]
                elif closed and isinstance(key, CONSTANTS):
                    value = default
                else:
                    value = machine.fresh(f"dict.{name}({describe(key)})", "the keys of the dict are not known")
                if name == "pop":
                    rest = {other: item for other, item in owner.entries.items() if other != key}
                    machine.journal.write(owner, "items", (rest, owner.is_open))
                return value
            except TypeError:
                pass
        case "items" if closed:
            return tuple(owner.entries.items())
        case "keys" if closed:
            return tuple(owner.entries)
        case "values" if closed:
            return tuple(owner.entries.values())
        case "copy":
            return DictValue(dict(owner.entries), owner.is_open, dict(owner.key_spans))
        case "update":
            entries, is_open = dict(owner.entries), owner.is_open or arguments.open_keywords
            for value in map(machine.settled, arguments.positional):
                if isinstance(value, DictValue):
                    entries.update(value.entries)
                    is_open = is_open or value.is_open
                else:
                    is_open = True
            entries.update(arguments.keywords)
            machine.journal.write(owner, "items", (entries, is_open))
            return None
        case _:
            pass
    return machine.fresh(f"dict.{name}(…)", "the keys of the dict are not known")


def _string_method(machine: Machine, owner: str, name: str, arguments: Arguments) -> Value:
    simple = {"lower", "upper", "strip", "startswith", "endswith", "split", "replace", "removeprefix", "removesuffix"}
    if name in simple and all(isinstance(value, str) for value in arguments.positional):
        if sum(map(len, (owner, *arguments.positional))) > expressions.LONGEST_STRING:
            return machine.fresh(f"a text.{name}(…)", "the text is too long to follow")
        try:
            result = getattr(owner, name)(*arguments.positional)
        except (TypeError, ValueError):
            return machine.fresh(f"{describe(owner)}.{name}(…)", f"`.{name}` fails")
        return ListValue(tuple(result)) if isinstance(result, list) else result
    return machine.fresh(f"{describe(owner)}.{name}(…)", f"`.{name}` of a text is not followed")
