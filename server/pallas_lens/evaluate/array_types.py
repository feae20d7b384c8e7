"""Shapes and dtypes of arrays through indexing, arithmetic and broadcasting, as far as names tell."""

from __future__ import annotations

from typing import Final

from ..model import symbolic
from ..model.dtypes import from_short_name, is_floating
from ..model.symbolic import Expression
from .values import Array, Dtype, External, Opaque, Ref, ShapeOf, Value, describe

UNKNOWN_DTYPE: Final = Opaque("dtype", "its dtype could not be followed")
UNKNOWN_SHAPE: Final = Opaque("shape", "its shape could not be followed")
_COMPARISONS: Final = frozenset({"==", "!=", "<", "<=", ">", ">="})

_FLOAT_RANK: Final = ("bfloat16", "float16", "float32", "float64")


def is_array_like(value: Value) -> bool:
    """Whether ``value`` is surely an array or a ref."""
    return isinstance(value, Array | Ref)


def array_of(value: Value) -> Array:
    """``value`` as an array, as far as known."""
    match value:
        case Array():
            return value
        case Ref(_, shape, dtype):
            return Array(shape, dtype)
        case bool():
            return Array((), "bool", weak=True)
        case int() | Expression():
            return Array((), "int32", weak=True)
        case float():
            return Array((), "float32", weak=True)
        case Opaque(is_float=True):
            return Array((), "float32", weak=True)
        case Opaque(text, reason):
            return Array(Opaque(f"{text}.shape", reason), Opaque(f"{text}.dtype", reason))
        case _:
            return Array(UNKNOWN_SHAPE, UNKNOWN_DTYPE)


def binary_result(symbol: str, left: Value, right: Value) -> Array:
    """The array that an element-wise operator gives."""
    first, second = array_of(left), array_of(right)
    if symbol == "@":
        return Array(matmul_shape(first.shape, second.shape), promote(first, second))
    dtype = "bool" if symbol in _COMPARISONS else promote(first, second)
    if symbol == "/" and isinstance(dtype, str) and not is_floating(dtype):
        dtype = "float32"
    return Array(broadcast(first.shape, second.shape), dtype, weak=first.weak and second.weak)


def promote(first: Array, second: Array) -> str | Opaque:
    """JAX's type promotion where it is plain: equal types, weak scalars, floats among themselves."""
    left, right = first.dtype, second.dtype
    if isinstance(left, Opaque) or isinstance(right, Opaque):
        return left if isinstance(left, Opaque) else right
    if left == right:
        return left
    if first.weak != second.weak:
        weak, strong = (left, right) if first.weak else (right, left)
        if is_floating(strong) or not is_floating(weak):
            return strong if strong != "bool" else weak
        return UNKNOWN_DTYPE
    if left in _FLOAT_RANK and right in _FLOAT_RANK:
        if {left, right} == {"bfloat16", "float16"}:
            return "float32"
        return max(left, right, key=_FLOAT_RANK.index)
    if left in _FLOAT_RANK and not is_floating(right):
        return left
    if right in _FLOAT_RANK and not is_floating(left):
        return right
    return UNKNOWN_DTYPE


def broadcast(left: tuple[Value, ...] | Opaque, right: tuple[Value, ...] | Opaque) -> tuple[Value, ...] | Opaque:
    """The shape that numpy's broadcasting gives."""
    if left == ():
        return right
    if right == ():
        return left
    if isinstance(left, Opaque) or isinstance(right, Opaque):
        return left if isinstance(left, Opaque) else right
    rank = max(len(left), len(right))
    padded_left = (1,) * (rank - len(left)) + tuple(left)
    padded_right = (1,) * (rank - len(right)) + tuple(right)
    dims: list[Value] = []
    for first, second in zip(padded_left, padded_right, strict=True):
        if first == second or second == 1:
            dims.append(first)
        elif first == 1 or isinstance(second, int):
            dims.append(second)
        else:
            dims.append(first)
    return tuple(dims)


def matmul_shape(left: tuple[Value, ...] | Opaque, right: tuple[Value, ...] | Opaque) -> tuple[Value, ...] | Opaque:
    """The shape of ``left @ right``."""
    if isinstance(left, Opaque) or isinstance(right, Opaque):
        return UNKNOWN_SHAPE
    if len(left) == 2 and len(right) == 2:
        return (left[0], right[1])
    if len(left) >= 2 and len(right) == len(left):
        return (*left[:-1], right[-1])
    return UNKNOWN_SHAPE


def dtype_name(value: Value) -> str | Opaque:
    """The dtype that ``value`` names: a Dtype, a string, ``x.dtype``, a Python type."""
    match value:
        case Dtype(name):
            return name
        case str():
            return from_short_name(value) or Opaque(value, f"{value!r} is not a dtype that is known here")
        case External("builtins.float"):
            return "float32"
        case External("builtins.int"):
            return "int32"
        case External("builtins.bool"):
            return "bool"
        case Opaque():
            return value
        case _:
            return Opaque(describe(value), "the dtype could not be followed")


def shape_tuple(value: Value) -> tuple[Value, ...] | Opaque:
    """The dims that ``value`` gives as a shape."""
    match value:
        case tuple():
            return value
        case int() | Expression():
            return (value,)
        case ShapeOf(array):
            return Opaque(f"{array.text}.shape", array.reason)
        case Opaque():
            return value
        case _:
            items = getattr(value, "items", None)
            return items if isinstance(items, tuple) else Opaque(describe(value), "the shape could not be followed")


def known_shape(array: Opaque, rank: Value) -> tuple[Value, ...] | None:
    """The dims of ``array``, of which ``rank`` is the rank, or the dims where an annotation names them."""
    if isinstance(rank, tuple):
        return rank
    return shape_symbols(array, rank) if isinstance(rank, int) else None


def shape_symbols(array: Opaque, rank: int) -> tuple[Value, ...]:
    """The dims of an array of known rank, as symbols."""
    return tuple(symbolic.symbol(f"{array.text}.shape[{axis}]", 0) for axis in range(rank))


def indexed_shape(shape: tuple[Value, ...] | Opaque, index: Value) -> tuple[Value, ...] | Opaque:
    """The shape of ``x[index]`` for basic indexing; Opaque where an index is an array or not followed."""
    if isinstance(shape, Opaque):
        return shape
    indices = list(index) if isinstance(index, tuple) else [index]
    given = sum(1 for item in indices if item is not None and item is not Ellipsis)
    if Ellipsis in [item if item is Ellipsis else None for item in indices]:
        position = next(i for i, item in enumerate(indices) if item is Ellipsis)
        fill: list[Value] = [slice(None)] * (len(shape) - given)
        indices = indices[:position] + fill + indices[position + 1 :]
    else:
        indices += [slice(None)] * (len(shape) - given)
    dims: list[Value] = []
    axis = 0
    for item in indices:
        if item is None:
            dims.append(1)
            continue
        if axis >= len(shape):
            return UNKNOWN_SHAPE
        size = shape[axis]
        axis += 1
        match item:
            case slice():
                dims.append(_slice_length(item, size))
            case DynamicSlice(length):
                dims.append(length)
            case int() | Expression() | Opaque():
                continue
            case Array(shape=()):
                continue
            case _:
                return UNKNOWN_SHAPE
    return tuple(dims)


def _slice_length(item: slice, size: Value) -> Value:
    if item.start is None and item.stop is None and item.step is None:
        return size
    parts = (item.start, item.stop, item.step)
    if isinstance(size, int) and all(part is None or isinstance(part, int) for part in parts) and item.step != 0:
        return length_of(range(*item.indices(max(size, 0))))
    if (
        item.step is None
        and isinstance(item.stop, int | Expression)
        and (item.start is None or isinstance(item.start, int | Expression))
    ):
        start = item.start or 0
        if not (isinstance(item.stop, int) and item.stop < 0) and not (isinstance(start, int) and start < 0):
            return symbolic.subtract(item.stop, start)
    return Opaque("slice", "the length of the slice is not known")


def length_of(numbers: range) -> int:
    """``len(numbers)``, which fails where it is more than the machine can address."""
    return max(0, -((numbers.start - numbers.stop) // numbers.step))


class DynamicSlice:
    """``pl.ds(start, size)`` as an index."""

    __match_args__ = ("length",)

    def __init__(self, length: Value, start: Value = None, stride: Value = None) -> None:
        self.length = length
        self.start = start
        self.stride = stride
