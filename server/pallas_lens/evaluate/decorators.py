"""What decorators make of a function."""

from __future__ import annotations

import ast
from typing import Final

from . import calling, expressions
from .arguments import Arguments
from .machine import Frame, Machine
from .values import BoundExternal, Class, External, Function, KernelCallable, Opaque, Partial, Value

TRANSPARENT: Final = frozenset(
    {
        "jax.jit",
        "jax.pjit",
        "jax.checkpoint",
        "jax.remat",
        "jax.named_call",
        "jax.named_scope",
        "jax.custom_vjp",
        "jax.custom_jvp",
        "jax.custom_batching.custom_vmap",
        "jax.experimental.pjit.pjit",
        "functools.wraps",
        "functools.lru_cache",
        "functools.cache",
        "builtins.staticmethod",
        "builtins.classmethod",
        "builtins.property",
        "functools.cached_property",
        "abc.abstractmethod",
        "typing.override",
        "typing.overload",
        "typing.no_type_check",
        "typing_extensions.override",
        "contextlib.contextmanager",
        "jaxtyping.jaxtyped",
    }
)
"""Decorators that leave the parameters of a function as they are."""


def decorated(machine: Machine, node: ast.FunctionDef | ast.AsyncFunctionDef, frame: Frame) -> Value:
    """The value that the ``def`` binds, decorators applied from the innermost out."""
    value: Value = expressions.make_function(machine, node, frame)
    for decorator_node in reversed(node.decorator_list):
        decorator = machine.settled(expressions.evaluate(machine, decorator_node, frame))
        value = _apply(machine, decorator, value, decorator_node, frame)
    return value


def _apply(machine: Machine, decorator: Value, value: Value, node: ast.expr, frame: Frame) -> Value:
    match decorator:
        case External(path) if path in TRANSPARENT or path.startswith("pytest."):
            return value
        case Partial(External(path)) if path in TRANSPARENT:
            return value
        case External() | Function() | Partial() | Class():
            made = calling.apply(machine, decorator, Arguments((value,), {}, (node,), frame=frame, place=node))
            return _rewrapped(value) if isinstance(made, Opaque) else made
        case BoundExternal(owner=External() | Function()):
            return value
        case KernelCallable():
            return decorator
        case _:
            return _rewrapped(value)


def _rewrapped(value: Value) -> Value:
    if isinstance(value, Function):
        return Function(
            value.node,
            value.scope,
            value.anchor,
            value.defaults,
            value.keyword_defaults,
            value.bound_self,
            value.is_bound,
            is_rewrapped=True,
        )
    return value
