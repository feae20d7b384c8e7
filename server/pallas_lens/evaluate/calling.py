"""Calls: arguments evaluated, bound to parameters, and the function followed."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, Final

from ..model.span import Span
from . import attributes, classes, expressions, library, starting, statements, wrappers
from .arguments import Arguments, Place
from .lexical import is_generator, wrapped_form
from .machine import DEPTH_LIMIT, Frame, Machine
from .recording import record_call
from .values import (
    MISSING,
    Array,
    BoundExternal,
    Class,
    Condition,
    DictValue,
    Dtype,
    External,
    Function,
    Guarded,
    Instance,
    KernelCallable,
    ListValue,
    MemorySpaceValue,
    Opaque,
    Partial,
    Scope,
    ScratchValue,
    SpannedTuple,
    Transformed,
    Value,
    describe,
)


def call(machine: Machine, node: ast.Call, frame: Frame) -> Value:
    """The value of the call ``node``."""
    callee = expressions.evaluate(machine, node.func, frame)
    arguments, starred = _evaluate_arguments(machine, node, frame)
    started = len(machine.started)
    is_own = "\0" not in frame.anchor
    if is_own:
        machine.calls.append((node, frame))
    try:
        if callee.__class__ is Guarded or starred:
            # An argument list whose length hangs on a condition makes one call for each outcome.
            result = machine.lift(
                lambda function, *contents: _applied(machine, function, _unstarred(arguments, contents), started),
                callee,
                *starred,
            )
        else:
            result = _applied(machine, callee, arguments, started)
    finally:
        if is_own:
            machine.calls.pop()
    if machine.recorder is not None:
        if starred:
            arguments = _unstarred(arguments, tuple(map(machine.settled, starred)))
        record_call(machine, node, frame, callee, arguments, result)
    return result


def _applied(machine: Machine, callee: Value, arguments: Arguments, started: int) -> Value:
    result = apply(machine, callee, arguments)
    if arguments.frame is None or "\0" in arguments.frame.anchor or wrapped_form(arguments.keywords.keys()) is None:
        return result
    return wrappers.as_kernel_callable(machine, callee, arguments, result, started)


def _evaluate_arguments(machine: Machine, node: ast.Call, frame: Frame) -> tuple[Arguments, tuple[Value, ...]]:
    """The arguments of ``node``, evaluated from left to right, and what stands behind the stars among them.

    A starred one has no value of its own: ``_unstarred`` puts the contents in its place.
    """
    evaluate = expressions.evaluate
    positional: list[Value] = []
    starred: list[Value] = []
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            starred.append(expressions.starred_items(machine, evaluate(machine, argument.value, frame)))
            positional.append(MISSING)
        else:
            positional.append(evaluate(machine, argument, frame))
    keywords: dict[str, Value] = {}
    places: dict[str, Place] = {}
    is_open = False
    for keyword in node.keywords:
        value = evaluate(machine, keyword.value, frame)
        if keyword.arg is not None:
            keywords[keyword.arg] = value
            places[keyword.arg] = keyword.value
        elif isinstance(value, DictValue):
            is_open = is_open or value.is_open
            for key, item in value.entries.items():
                if isinstance(key, str) and item is not MISSING:
                    keywords[key] = item
                    places[key] = value.key_spans.get(key, keyword.value)
        else:
            is_open = True
    given = Arguments(tuple(positional), keywords, tuple(node.args), places, None, is_open, node, frame)
    return given, tuple(starred)


def _unstarred(arguments: Arguments, contents: tuple[Value, ...]) -> Arguments:
    """The arguments as the function sees them, with ``contents`` in the places of the starred ones."""
    positional: list[Value] = []
    places: list[Place | None] = []
    rest: str | None = None
    all_contents = iter(contents)
    for value, place in zip(arguments.positional, arguments.positional_places, strict=True):
        if not isinstance(place, ast.Starred):
            positional.append(value)
            places.append(place)
            continue
        items = next(all_contents)
        if not isinstance(items, tuple):
            rest = _unknown_length(items)
            break
        positional.extend(items)
        places.extend([place] * len(items))
    return Arguments(
        tuple(positional),
        arguments.keywords,
        tuple(places),
        arguments.keyword_places,
        rest,
        arguments.open_keywords,
        arguments.node,
        arguments.frame,
    )


def _unknown_length(items: Value) -> str:
    match items:
        case Opaque(_, reason):
            return reason
        case Guarded(_, text):
            return f"depends on `{text}`"
        case _:
            return f"the length of `*{describe(items)}` is not known"


def apply(machine: Machine, callee: Value, arguments: Arguments) -> Value:
    """Call ``callee`` (settled) with ``arguments``."""
    follow = _FOLLOW.get(callee.__class__)
    if follow is not None:
        return follow(machine, callee, arguments)
    text = describe(callee)
    return machine.fresh(f"{text}({_arguments_text(arguments)})", f"`{text}` is not a function that can be followed")


def _apply_partial(machine: Machine, callee: Partial, arguments: Arguments) -> Value:
    merged = arguments.behind(callee.arguments, dict(callee.keywords))
    return machine.lift(lambda target: apply(machine, target, merged), callee.function)


def _call_instance(machine: Machine, callee: Instance, arguments: Arguments) -> Value:
    class_ = callee.class_
    if isinstance(attributes.class_attribute(machine, class_, "__call__"), Function):
        return apply(machine, attributes.attribute(machine, callee, "__call__"), arguments)
    text = f"{class_.node.name}(…)({_arguments_text(arguments)})"
    return machine.fresh(text, f"an object of `{class_.node.name}` cannot be called")


def _make_scratch(machine: Machine, callee: MemorySpaceValue, arguments: Arguments) -> Value:
    return ScratchValue(arguments.get(0, "shape"), arguments.get(1, "dtype"), callee.space, arguments.span)


def _convert(machine: Machine, callee: Dtype, arguments: Arguments) -> Value:
    value = arguments.get(0, "object", 0)
    return Array(value.shape, callee.name) if isinstance(value, Array) else Array((), callee.name)


def _call_unknown(machine: Machine, callee: Opaque, arguments: Arguments) -> Value:
    _forget_lists(machine, arguments, callee.text)
    return machine.fresh(f"{callee.text}({_arguments_text(arguments)})", callee.reason)


def _arguments_text(arguments: Arguments) -> str:
    parts = [describe(value) for value in arguments.positional]
    parts += [f"{name}={describe(value)}" for name, value in arguments.keywords.items()]
    return ", ".join(parts)


def _forget_lists(machine: Machine, arguments: Arguments, callee: str) -> None:
    """A function that cannot be read may have changed the lists it was given."""
    for value in (*arguments.positional, *arguments.keywords.values()):
        if isinstance(value, ListValue):
            unknown = machine.fresh("the list", f"`{callee}` may have changed it")
            machine.journal.write(value, "items", unknown)


def invoke(
    machine: Machine,
    function: Value,
    positional: tuple[Value, ...],
    keywords: dict[str, Value],
    frame: Frame | None,
) -> Value:
    """Call ``function`` with values at hand."""
    made = Arguments(positional, keywords, frame=frame)
    return machine.lift(lambda target: apply(machine, target, made), function)


def invoke_function(machine: Machine, function: Function, arguments: Arguments) -> Value:
    """Follow a function of the program."""
    node = function.node
    if len(machine.stack) >= DEPTH_LIMIT or [other.node for other in machine.stack].count(node) >= 2:
        _forget_lists(machine, arguments, function.name)
        return machine.fresh(f"{function.name}(…)", f"the calls of `{function.name}` nest too deep to follow")
    scope = Scope(bind(machine, function, arguments), function.scope, function.scope.module)
    return run(machine, function, scope)


def run(machine: Machine, function: Function, scope: Scope) -> Value:
    """Run the body of ``function`` with its parameters bound in ``scope``; returns its value."""
    node = function.node
    frame = Frame(scope, function.anchor, function.name, entry_assumptions=dict(machine.assumed))
    machine.functions_run.add(id(node))
    scope.module.read_text(function.anchor, machine)
    machine.stack.append(function)
    try:
        if isinstance(node, ast.Lambda):
            return expressions.evaluate(machine, node.body, frame)
        if scope.module.document.mentions_yield and is_generator(node):
            statements.execute(machine, node.body, frame)
            return machine.fresh(f"{function.name}(…)", f"`{function.name}` is a generator")
        flow = statements.execute(machine, node.body, frame)
        if flow is statements.Flow.NORMAL:
            frame.returns.append(({}, None))
        return _returned(machine, frame)
    finally:
        machine.stack.pop()


def _returned(machine: Machine, frame: Frame) -> Value:
    """One value from all the returns, each under the conditions that lead to it."""
    if not frame.returns:
        return machine.fresh(f"{frame.name}(…)", f"`{frame.name}` always raises")
    *earlier, (_, result) = frame.returns
    split: set[object] = set()
    for assumed, value in reversed(earlier):
        guards = [(key, outcome) for key, outcome in assumed.items() if machine.assumed.get(key) != outcome]
        if not guards:
            result = value
            continue
        made = value
        for key, outcome in reversed(guards):
            condition = Condition(key, machine.texts.get(key, "a condition"))
            made = machine.join(condition, made, result) if outcome else machine.join(condition, result, made)
            split.add(key)
        result = made
    # Both ways of a condition that decided a return are open again for the caller.
    for key in split:
        if key in machine.assumed and key not in frame.entry_assumptions:
            machine.journal.write(machine.assumed, key, MISSING)
    return result


def bind(machine: Machine, function: Function, arguments: Arguments) -> dict[str, Value]:
    """The parameters of ``function`` with what they receive."""
    node = function.node.args
    names = [parameter.arg for parameter in (*node.posonlyargs, *node.args)]
    given = arguments.positional
    if function.is_bound:
        given = (function.bound_self, *given)
    bound: dict[str, Value] = {}
    keywords = dict(arguments.keywords)
    for index, name in enumerate(names):
        if index < len(given):
            bound[name] = given[index]
        elif name in keywords:
            bound[name] = keywords.pop(name)
        elif arguments.rest is not None:
            bound[name] = machine.fresh(name, arguments.rest)
        else:
            default = index - (len(names) - len(function.defaults))
            if default >= 0:
                bound[name] = function.defaults[default]
                if arguments.open_keywords:
                    bound[name] = machine.fresh(name, f"`{name}` may be among the keyword arguments")
            else:
                bound[name] = machine.fresh(name, f"`{name}` is not given")
    if node.vararg is not None:
        if arguments.rest is not None:
            bound[node.vararg.arg] = machine.fresh(f"*{node.vararg.arg}", arguments.rest)
        else:
            spans: tuple[Span | None, ...] = ((None,) if function.is_bound else ()) + arguments.spans_from(0)
            bound[node.vararg.arg] = SpannedTuple.of(given[len(names) :], spans[len(names) :], None)
    defaults = dict(function.keyword_defaults)
    for parameter in node.kwonlyargs:
        if parameter.arg in keywords:
            bound[parameter.arg] = keywords.pop(parameter.arg)
        elif parameter.arg in defaults and not arguments.open_keywords:
            bound[parameter.arg] = defaults[parameter.arg]
        else:
            bound[parameter.arg] = machine.fresh(parameter.arg, f"`{parameter.arg}` is not given")
    if node.kwarg is not None:
        bound[node.kwarg.arg] = DictValue(keywords, arguments.open_keywords, arguments.keyword_spans)
    return bound


_FOLLOW: Final[dict[type, Callable[[Machine, Any, Arguments], Value]]] = {
    Function: invoke_function,
    Partial: _apply_partial,
    External: lambda machine, callee, arguments: library.call_external(machine, callee.path, arguments),
    BoundExternal: lambda machine, callee, arguments: library.call_method(
        machine, callee.owner, callee.name, arguments
    ),
    Class: lambda machine, callee, arguments: classes.instantiate(machine, callee, arguments),
    Transformed: lambda machine, callee, arguments: library.run_transformed(machine, callee, arguments),
    KernelCallable: lambda machine, callee, arguments: starting.start_kernel(machine, callee, arguments),
    Instance: _call_instance,
    MemorySpaceValue: _make_scratch,
    Dtype: _convert,
    Opaque: _call_unknown,
}
