"""Functions of the project that start kernels for their callers: ``buffered_pallas_call(kernel, grid_spec=…)``.

One that hands its arguments on as they are is followed into ``pallas_call``. One that makes
another kernel or other specs of them is taken for what its caller writes: a call of
``pallas_call`` (or ``pl.kernel``) with the parts given, and rules are silent on it.
"""

from __future__ import annotations

import ast
from typing import Final

from ..model.span import Span
from . import starting
from .arguments import Arguments
from .lexical import wrapped_form
from .machine import Machine
from .values import (
    FROM_CALLER,
    MISSING,
    External,
    Function,
    Opaque,
    Partial,
    Scope,
    Transformed,
    Value,
)

_KERNEL_NAMES: Final = ("kernel", "body", "kernel_fn", "kernel_function", "func", "fn", "f")


def as_kernel_callable(machine: Machine, callee: Value, arguments: Arguments, result: Value, started: int) -> Value:
    """What calling a wrapper gives: a kernel that can be started, where following it did not already give one.

    ``result`` is what following it gave, and ``started`` how many kernels had been made before.
    """
    form = wrapped_form(arguments.keywords.keys())
    target = machine.target(callee)
    if form is None or not _may_wrap(target) or not isinstance(result, Function | Partial | Opaque):
        return result
    assert arguments.node is not None and arguments.frame is not None and arguments.span is not None
    if any(made.callable.span == arguments.span for made in machine.started[started:]):
        return result
    kernel, kernel_span = _kernel_of(machine, arguments)
    if kernel is MISSING:
        return result
    named = {
        name: (value, arguments.keyword_spans.get(name) or arguments.span)
        for name, value in arguments.keywords.items()
        if value is not kernel
    }
    if form == "pallas_call" and "out_shape" not in named and len(arguments.positional) > 1:
        named["out_shape"] = (arguments.positional[1], arguments.span_of(1, "") or arguments.span)
    name = target.name if isinstance(target, Function) else target.path
    callee_span = arguments.frame.span(arguments.node.func)
    return starting.make_kernel(machine, form, kernel, kernel_span, named, arguments, arguments.span, callee_span, name)


def _may_wrap(callee: Value) -> bool:
    """A function of the project, or one of another that is called like JAX's, as ``qwix.pallas.pallas_call`` is."""
    return isinstance(callee, Function) or (isinstance(callee, External) and callee.path.endswith(".pallas_call"))


def _kernel_of(machine: Machine, arguments: Arguments) -> tuple[Value, Span | None]:
    for name in _KERNEL_NAMES:
        if _is_function(machine, arguments.keywords.get(name, MISSING)):
            return arguments.keywords[name], arguments.span_of(None, name)
    if arguments.positional and _is_function(machine, arguments.positional[0]):
        return arguments.positional[0], arguments.span_of(0, "")
    return MISSING, None


def _is_function(machine: Machine, value: Value) -> bool:
    value = machine.settled(value)
    while isinstance(value, Partial | Transformed):
        value = machine.settled(value.function)
    return isinstance(value, Function)


def comes_from_caller(machine: Machine, kernel: Value) -> bool:
    """Whether the caller of the function around gives what ``kernel`` does: it is a parameter, or calls one."""
    target = machine.target(kernel)
    if isinstance(target, Opaque):
        return True
    if not isinstance(target, Function):
        return False
    called = {
        node.func.id for node in ast.walk(target.node) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    return any(_is_parameter(name, target.scope) for name in called)


def _is_parameter(name: str, scope: Scope | None) -> bool:
    """Whether ``name`` is a variable of an enclosing function that its caller gave."""
    while scope is not None and scope.parent is not None:
        if name in scope.variables:
            value = scope.variables[name]
            return isinstance(value, Opaque) and FROM_CALLER in value.reason
        scope = scope.parent
    return False
