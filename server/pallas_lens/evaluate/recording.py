"""Notes what a kernel body does while it is evaluated."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ..model.kernel_body import BodyOperation, OperationKind
from ..model.kernel_call import ArrayType
from ..model.symbolic import Expression, symbol
from ..model.unknown import Unknown
from .array_types import array_of
from .machine import Frame, Machine
from .values import Array, Guarded, Opaque, Ref, Value


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
    if machine.recorder is None:
        return
    machine.recorder.operations.append(
        BodyOperation(
            kind,
            name,
            machine.span(node, frame),
            machine.span(callee, frame),
            tuple(array_type(operand) for operand in operands),
            None if result is None else array_type(result),
            ref,
            asked,
        )
    )


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
