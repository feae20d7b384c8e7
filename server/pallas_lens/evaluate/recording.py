"""Notes what a kernel body does while it is evaluated."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ..model.kernel_body import BodyOperation, OperationKind
from ..model.kernel_call import ArrayType
from ..model.symbolic import Expression, Integer, ceiling_divide, multiply, subtract, symbol
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
    precision: str | None = "",
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
            precision,
            recorder.turns,
            recorder.is_conditional,
        )
    )


@contextmanager
def in_loop(machine: Machine, turns: Integer | Unknown) -> Iterator[None]:
    """Around what a loop evaluates once for all of its ``turns``."""
    recorder = machine.recorder
    if recorder is None:
        yield
        return
    before = recorder.turns
    recorder.turns = before if isinstance(before, Unknown) else turns if before == 1 else _product(before, turns)
    yield
    recorder.turns = before


def _product(outer: Integer, inner: Integer | Unknown) -> Integer | Unknown:
    return inner if isinstance(inner, Unknown) else multiply(outer, inner)


@contextmanager
def in_branch(machine: Machine) -> Iterator[None]:
    """Around what is evaluated though a condition of unknown outcome may leave it out."""
    recorder = machine.recorder
    if recorder is None:
        yield
        return
    before, recorder.is_conditional = recorder.is_conditional, True
    yield
    recorder.is_conditional = before


def turns_between(lower: Value, upper: Value, step: Value = 1) -> Integer | Unknown:
    """How often a loop from ``lower`` to ``upper`` runs."""
    ends = [one for one in (lower, upper) if isinstance(one, int | Expression) and not isinstance(one, bool)]
    if len(ends) < 2 or not isinstance(step, int) or step <= 0:
        return Unknown("how often the loop turns is known only when the program runs")
    turns = ceiling_divide(subtract(ends[1], ends[0]), step)
    return max(turns, 0) if isinstance(turns, int) else turns


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
    precision: str | None = ""
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
        precision = _precision(machine, arguments)
    elif last in ("make_async_copy", "make_async_remote_copy", "async_copy", "sync_copy"):
        kind = OperationKind.DMA
    elif last in ("fori_loop", "while_loop", "loop"):
        kind = OperationKind.LOOP
    elif last == "when":
        kind = OperationKind.WHEN
    record(machine, kind, name, node, node.func, frame, arguments.positional, result, asked=asked, precision=precision)


def _precision(machine: Machine, arguments: Arguments) -> str | None:
    """The name of the precision that a matmul asks for: "HIGHEST"; "" for none, None where it is not known."""
    if "precision" not in arguments.keywords:
        return None if arguments.open_keywords else ""
    match machine.settled(arguments.keywords["precision"]):
        case None:
            return ""
        case External(path=path) if path.startswith("jax.lax.Precision."):
            return path.rpartition(".")[2]
        case str() as text:
            return {"default": "DEFAULT", "high": "HIGH", "highest": "HIGHEST"}.get(text.lower())
        case _:
            return None


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
