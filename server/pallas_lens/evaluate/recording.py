"""Notes what a kernel body does while it is evaluated."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ..model.kernel_body import BodyOperation, OperationKind
from ..model.kernel_call import ArrayType
from ..model.symbolic import Expression, symbol
from ..model.unknown import Unknown
from .arguments import Arguments
from .array_types import array_of, dtype_name, is_array_like
from .machine import Frame, Machine, Recorder
from .values import Array, BoundExternal, Dtype, External, Guarded, Opaque, Ref, Value


def record(
    machine: Machine,
    kind: OperationKind,
    name: str,
    node: ast.AST,
    callee: ast.AST,
    frame: Frame,
    operands: Sequence[Value],
    result: Value,
    *,
    ref: str | None = None,
    asked: str | None = "",
) -> None:
    """Add one operation to the kernel body being recorded (nothing is recorded elsewhere)."""
    recorder = machine.recorder
    if recorder is None:
        return
    span = frame.span(node)
    recorder.operations.append(
        BodyOperation(
            kind,
            name,
            span,
            span if callee is node else frame.span(callee),
            tuple([_type_in(recorder, operand) for operand in operands]),
            None if result is None else _type_in(recorder, result),
            ref,
            asked,
        )
    )


def _type_in(recorder: Recorder, value: Value) -> ArrayType:
    """``array_type(value)``: most values are the result of one operation and an operand of others."""
    known = recorder.types.get(id(value))
    if known is None:
        known = recorder.types[id(value)] = (value, array_type(value))
    return known[1]


def record_call(
    machine: Machine, node: ast.Call, frame: Frame, callee: Value, arguments: Arguments, result: Value
) -> None:
    """Add a call to the kernel body being recorded, where it is one of JAX's or of an array's method."""
    if isinstance(callee, External) and callee.path.startswith("jax."):
        name = callee.path
    elif isinstance(callee, BoundExternal) and is_array_like(callee.owner):
        name = f"jax.Array.{callee.name}"
        arguments = Arguments((callee.owner, *arguments.positional), arguments.keywords)
    elif isinstance(callee, Dtype):
        name = f"jax.numpy.{callee.name}"
    else:
        return
    kind = OperationKind.CALL
    asked: str | None = ""
    last = name.rpartition(".")[2]
    is_einsum = last == "einsum" and _contracts(arguments.positional)
    if is_einsum:
        arguments = Arguments(arguments.positional[1:], arguments.keywords, open_keywords=arguments.open_keywords)
    if last in ("dot", "dot_general", "matmul") or is_einsum:
        kind = OperationKind.DOT
        if "preferred_element_type" in arguments.keywords:
            named = dtype_name(machine.settled(arguments.keywords["preferred_element_type"]))
            asked = named if isinstance(named, str) else None
            if arguments.keywords["preferred_element_type"] is None:
                asked = ""
        elif arguments.open_keywords:
            asked = None
    elif last in ("make_async_copy", "make_async_remote_copy", "async_copy", "sync_copy"):
        kind = OperationKind.DMA
    elif last in ("fori_loop", "while_loop", "loop"):
        kind = OperationKind.LOOP
    elif last == "when":
        kind = OperationKind.WHEN
    record(machine, kind, name, node, node.func, frame, arguments.positional, result, asked=asked)


def _contracts(positional: tuple[Value, ...]) -> bool:
    """Whether the arguments of ``einsum`` are a matmul: two arrays with a letter that the result does not have."""
    match positional:
        case (str() as formula, _, _) if "->" in formula and "." not in formula:
            inputs, _, result = formula.partition("->")
            left, _, right = inputs.partition(",")
            return any(letter.isalpha() and letter not in result for letter in set(left) & set(right))
        case _:
            return False


def array_type(value: Value) -> ArrayType:
    """``value`` as the model's array type."""
    if isinstance(value, Guarded):
        return ArrayType(Unknown(f"depends on `{value.text}`"), Unknown(f"depends on `{value.text}`"))
    array = array_of(value) if isinstance(value, Array | Ref | Opaque | bool | int | float | Expression) else None
    if array is None:
        return ArrayType(Unknown("is not an array"), Unknown("is not an array"))
    return ArrayType(
        model_shape(array.shape), array.dtype if isinstance(array.dtype, str) else Unknown(_why(array.dtype))
    )


def model_shape(shape: tuple[Value, ...] | Opaque) -> tuple[int | Expression | Unknown, ...] | Unknown:
    """A shape of values as the model has it."""
    if not isinstance(shape, tuple):
        return Unknown(_why(shape))
    return tuple(model_dim(dim) for dim in shape)


def model_dim(dim: Value) -> int | Expression | Unknown:
    """One dim as an integer, a symbol of its name, or unknown with the reason."""
    if isinstance(dim, int | Expression) and not isinstance(dim, bool):
        return dim
    if isinstance(dim, Opaque):
        return symbol(dim.text, dim.integer_minimum)
    return Unknown(_why(dim))


def _why(value: Value) -> str:
    if isinstance(value, Opaque):
        return value.reason
    if isinstance(value, Guarded):
        return f"depends on `{value.text}`"
    return "could not be followed"
