"""Shapes of what ``jax.numpy`` and ``jax.lax`` put together, cut, repeat and rearrange."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ...model import symbolic
from ...model.symbolic import Expression
from ..arguments import Arguments
from ..array_types import UNKNOWN_DTYPE, UNKNOWN_SHAPE, array_of, dtype_name
from ..machine import Machine
from ..values import Array, ListValue, Opaque, Value, describe
from .python import TableFunction

Shape = tuple[Value, ...] | Opaque


def _made(shape: Shape, dtype: str | Opaque) -> Array:
    """An array whose dims are integers or unknown, whatever went into them."""
    if isinstance(shape, Opaque):
        return Array(shape, dtype)
    return Array(tuple(_dim(dim) for dim in shape), dtype)


def _dim(value: Value) -> Value:
    if isinstance(value, Expression | Opaque) or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    return Opaque(describe(value), f"`{describe(value)}` could not be followed")


def _items(machine: Machine, value: Value) -> tuple[Value, ...] | None:
    value = machine.settled(value)
    if isinstance(value, ListValue):
        value = machine.settled(value.items)
    return tuple(map(machine.settled, value)) if isinstance(value, tuple) else None


def _arrays(machine: Machine, arguments: Arguments) -> list[Array] | None:
    items = _items(machine, arguments.get(0, "arrays", arguments.get(0, "tup", arguments.get(0, "operands"))))
    return None if not items else [array_of(item) for item in items]


def _common_dtype(arrays: list[Array]) -> str | Opaque:
    dtypes = {array.dtype if isinstance(array.dtype, str) else None for array in arrays}
    return arrays[0].dtype if len(dtypes) == 1 else UNKNOWN_DTYPE


def _axis(machine: Machine, arguments: Arguments, position: int | None, default: int, rank: int) -> int | None:
    axis = machine.settled(arguments.get(position, "axis", arguments.get(position, "dimension", default)))
    if not isinstance(axis, int) or isinstance(axis, bool) or not -rank <= axis < max(rank, 1):
        return None
    return axis % rank if rank else 0


def _sum(values: list[Value]) -> Value:
    total: Value = 0
    for value in values:
        if not isinstance(value, int | Expression):
            return Opaque("concatenate", "a length is not known")
        assert isinstance(total, int | Expression)
        total = symbolic.add(total, value)
    return total


def _product(left: Value, right: Value) -> Value:
    if isinstance(left, int | Expression) and isinstance(right, int | Expression):
        return symbolic.multiply(left, right)
    return Opaque("repeat", "a length is not known")


def _concatenate(default_axis: int = 0) -> TableFunction:
    def function(machine: Machine, arguments: Arguments) -> Value:
        arrays = _arrays(machine, arguments)
        if arrays is None:
            return Array(UNKNOWN_SHAPE, UNKNOWN_DTYPE)
        dtype = _common_dtype(arrays)
        shapes = [array.shape for array in arrays]
        first = shapes[0]
        if isinstance(first, Opaque) or any(isinstance(one, Opaque) or len(one) != len(first) for one in shapes):
            return Array(UNKNOWN_SHAPE, dtype)
        axis = _axis(machine, arguments, 1, default_axis, len(first))
        if axis is None or not first:
            return Array(UNKNOWN_SHAPE, dtype)
        length = _sum([one[axis] for one in shapes if not isinstance(one, Opaque)])
        return _made((*first[:axis], length, *first[axis + 1 :]), dtype)

    return function


def _stack(machine: Machine, arguments: Arguments) -> Value:
    arrays = _arrays(machine, arguments)
    if arrays is None:
        return Array(UNKNOWN_SHAPE, UNKNOWN_DTYPE)
    dtype = _common_dtype(arrays)
    shape = arrays[0].shape
    if isinstance(shape, Opaque):
        return Array(UNKNOWN_SHAPE, dtype)
    axis = _axis(machine, arguments, 1, 0, len(shape) + 1)
    if axis is None:
        return Array(UNKNOWN_SHAPE, dtype)
    return _made((*shape[:axis], len(arrays), *shape[axis:]), dtype)


def _repeat(machine: Machine, arguments: Arguments) -> Value:
    source = array_of(machine.settled(arguments.get(0, "a")))
    repeats = machine.settled(arguments.get(1, "repeats"))
    axis = machine.settled(arguments.get(2, "axis", None))
    whole = machine.settled(arguments.get(None, "total_repeat_length", None))
    shape = source.shape
    if isinstance(shape, Opaque):
        return Array(UNKNOWN_SHAPE, source.dtype)
    if axis is None:
        if whole is not None:
            return _made((whole,), source.dtype)
        if len(shape) != 1:
            return Array(UNKNOWN_SHAPE, source.dtype)
        axis = 0
    if not isinstance(axis, int) or not -len(shape) <= axis < len(shape):
        return Array(UNKNOWN_SHAPE, source.dtype)
    axis %= len(shape)
    length = whole if whole is not None else _product(shape[axis], repeats)
    return _made((*shape[:axis], length, *shape[axis + 1 :]), source.dtype)


def _tile(machine: Machine, arguments: Arguments) -> Value:
    source = array_of(machine.settled(arguments.get(0, "A")))
    given = machine.settled(arguments.get(1, "reps"))
    repeats = (given,) if isinstance(given, int | Expression) else _items(machine, given)
    if isinstance(source.shape, Opaque) or repeats is None:
        return Array(UNKNOWN_SHAPE, source.dtype)
    rank = max(len(repeats), len(source.shape))
    dims = (1,) * (rank - len(source.shape)) + source.shape
    times = (1,) * (rank - len(repeats)) + repeats
    return _made(tuple(_product(dim, time) for dim, time in zip(dims, times, strict=True)), source.dtype)


def _pad(machine: Machine, arguments: Arguments) -> Value:
    """``jnp.pad``: widths as a number, a pair, or a pair for each dim."""
    source = array_of(machine.settled(arguments.get(0, "array")))
    given = machine.settled(arguments.get(1, "pad_width"))
    if isinstance(source.shape, Opaque):
        return Array(UNKNOWN_SHAPE, source.dtype)
    widths: list[tuple[Value, ...] | None]
    if isinstance(given, int | Expression):
        widths = [(given, given)] * len(source.shape)
    else:
        entries = _items(machine, given) or ()
        pairs = [_items(machine, entry) for entry in entries]
        if len(entries) == 2 and all(isinstance(entry, int | Expression) for entry in entries):
            pairs = [entries]
        widths = pairs * len(source.shape) if len(pairs) == 1 else pairs
    if len(widths) != len(source.shape):
        return Array(UNKNOWN_SHAPE, source.dtype)
    dims = [
        UNKNOWN_SHAPE if width is None or len(width) != 2 else _sum([dim, *width])
        for dim, width in zip(source.shape, widths, strict=True)
    ]
    return _made(tuple(dims), source.dtype)


def _lax_pad(machine: Machine, arguments: Arguments) -> Value:
    """``lax.pad``: low, high and interior for each dim."""
    source = array_of(machine.settled(arguments.get(0, "operand")))
    entries = _items(machine, arguments.get(2, "padding_config"))
    if isinstance(source.shape, Opaque) or entries is None or len(entries) != len(source.shape):
        return Array(UNKNOWN_SHAPE, source.dtype)
    dims: list[Value] = []
    for dim, entry in zip(source.shape, entries, strict=True):
        widths = _items(machine, entry)
        if widths is None or len(widths) != 3 or widths[2] != 0:
            return Array(UNKNOWN_SHAPE, source.dtype)
        dims.append(_sum([dim, *widths[:2]]))
    return _made(tuple(dims), source.dtype)


def _squeeze(machine: Machine, arguments: Arguments) -> Value:
    source = array_of(machine.settled(arguments.get(0, "a")))
    axis = machine.settled(arguments.get(1, "axis", arguments.get(1, "dimensions", None)))
    return Array(
        squeezed(source.shape, axis if isinstance(axis, int) or axis is None else _items(machine, axis)), source.dtype
    )


def squeezed(shape: Shape, axis: Value) -> Shape:
    """``shape`` without the dims of size 1 that ``axis`` names, or without all."""
    if isinstance(shape, Opaque):
        return shape
    if axis is None:
        if not all(isinstance(dim, int) for dim in shape):
            return UNKNOWN_SHAPE
        return tuple(dim for dim in shape if dim != 1)
    axes = axis if isinstance(axis, tuple) else (axis,)
    if not all(isinstance(one, int) and -len(shape) <= one < len(shape) for one in axes):
        return UNKNOWN_SHAPE
    gone = {one % len(shape) for one in axes if isinstance(one, int)}
    return tuple(dim for index, dim in enumerate(shape) if index not in gone)


def flattened(shape: Shape) -> Shape:
    """The one dim of ``x.reshape(-1)``."""
    if isinstance(shape, Opaque):
        return shape
    total: Value = 1
    for dim in shape:
        total = _product(total, dim)
    return (total,)


def _ravel(machine: Machine, arguments: Arguments) -> Value:
    source = array_of(machine.settled(arguments.get(0, "a")))
    return Array(flattened(source.shape), source.dtype)


def _take(machine: Machine, arguments: Arguments) -> Value:
    source = array_of(machine.settled(arguments.get(0, "a")))
    indices = array_of(machine.settled(arguments.get(1, "indices")))
    axis = machine.settled(arguments.get(2, "axis", None))
    if isinstance(indices.shape, Opaque):
        return Array(UNKNOWN_SHAPE, source.dtype)
    if axis is None:
        return Array(indices.shape, source.dtype)
    if (
        isinstance(source.shape, Opaque)
        or not isinstance(axis, int)
        or not -len(source.shape) <= axis < len(source.shape)
    ):
        return Array(UNKNOWN_SHAPE, source.dtype)
    axis %= len(source.shape)
    return _made((*source.shape[:axis], *indices.shape, *source.shape[axis + 1 :]), source.dtype)


def _dynamic_slice(machine: Machine, arguments: Arguments) -> Value:
    source = array_of(machine.settled(arguments.get(0, "operand")))
    sizes = _items(machine, arguments.get(2, "slice_sizes"))
    return _made(UNKNOWN_SHAPE if sizes is None else sizes, source.dtype)


def _slice(machine: Machine, arguments: Arguments) -> Value:
    source = array_of(machine.settled(arguments.get(0, "operand")))
    starts = _items(machine, arguments.get(1, "start_indices"))
    limits = _items(machine, arguments.get(2, "limit_indices"))
    strides = machine.settled(arguments.get(3, "strides", None))
    if starts is None or limits is None or strides is not None or len(starts) != len(limits):
        return Array(UNKNOWN_SHAPE, source.dtype)
    dims: list[Value] = []
    for start, limit in zip(starts, limits, strict=True):
        known = isinstance(start, int | Expression) and isinstance(limit, int | Expression)
        dims.append(symbolic.subtract(limit, start) if known else Opaque("slice", "its length is not known"))
    return _made(tuple(dims), source.dtype)


def _histogram(machine: Machine, arguments: Arguments) -> Value:
    bins = machine.settled(arguments.get(1, "bins", 10))
    if not isinstance(bins, int | Expression):
        return (Array(UNKNOWN_SHAPE, "float32"), Array(UNKNOWN_SHAPE, "float32"))
    return (Array((bins,), "float32"), Array((symbolic.add(bins, 1),), "float32"))


def _bincount(machine: Machine, arguments: Arguments) -> Value:
    length = machine.settled(arguments.get(None, "length", None))
    return _made(UNKNOWN_SHAPE if length is None else (length,), "int32")


def _argsort(machine: Machine, arguments: Arguments) -> Value:
    return Array(array_of(machine.settled(arguments.get(0, "a"))).shape, "int32")


def _eye(machine: Machine, arguments: Arguments) -> Value:
    rows = machine.settled(arguments.get(0, "N"))
    columns = machine.settled(arguments.get(1, "M", None))
    dtype = machine.settled(arguments.get(None, "dtype", None))
    return _made((rows, rows if columns is None else columns), "float32" if dtype is None else dtype_name(dtype))


def _triangle(machine: Machine, arguments: Arguments) -> Value:
    source = array_of(machine.settled(arguments.get(0, "m")))
    return Array(source.shape, source.dtype)


def _moveaxis(machine: Machine, arguments: Arguments) -> Value:
    source = array_of(machine.settled(arguments.get(0, "a")))
    start, end = (
        machine.settled(arguments.get(position, name)) for position, name in ((1, "source"), (2, "destination"))
    )
    if isinstance(source.shape, Opaque) or not isinstance(start, int) or not isinstance(end, int):
        return Array(UNKNOWN_SHAPE, source.dtype)
    rank = len(source.shape)
    if not (-rank <= start < rank and -rank <= end < rank):
        return Array(UNKNOWN_SHAPE, source.dtype)
    dims = list(source.shape)
    dims.insert(end % rank, dims.pop(start % rank))
    return _made(tuple(dims), source.dtype)


def _split(machine: Machine, arguments: Arguments) -> Value:
    """``jnp.split`` into equal parts; other cuts are not followed."""
    source = array_of(machine.settled(arguments.get(0, "ary")))
    parts = machine.settled(arguments.get(1, "indices_or_sections"))
    if not isinstance(parts, int) or isinstance(parts, bool) or not 0 < parts <= _MOST_PARTS:
        return machine.fresh("split(…)", "where it is split is not followed")
    shape = source.shape
    if isinstance(shape, Opaque):
        return ListValue((Array(UNKNOWN_SHAPE, source.dtype),) * parts)
    axis = _axis(machine, arguments, 2, 0, len(shape))
    if axis is None or not shape:
        return ListValue((Array(UNKNOWN_SHAPE, source.dtype),) * parts)
    length = shape[axis]
    part: Value = Opaque("split", "its length is not known")
    if isinstance(length, int | Expression):
        part = symbolic.floor_divide(length, parts)
    return ListValue((_made((*shape[:axis], part, *shape[axis + 1 :]), source.dtype),) * parts)


_MOST_PARTS: Final = 64


def _both(names: str, function: Callable[[Machine, Arguments], Value]) -> dict[str, TableFunction]:
    return {f"{module}.{name}": function for module in ("jax.numpy", "numpy") for name in names.split()}


FUNCTIONS: Final[dict[str, TableFunction]] = {
    **_both("concatenate concat", _concatenate()),
    "jax.lax.concatenate": _concatenate(),
    **_both("stack", _stack),
    **_both("repeat", _repeat),
    **_both("tile", _tile),
    **_both("pad", _pad),
    "jax.lax.pad": _lax_pad,
    **_both("squeeze", _squeeze),
    "jax.lax.squeeze": _squeeze,
    **_both("ravel", _ravel),
    **_both("take", _take),
    "jax.lax.dynamic_slice": _dynamic_slice,
    "jax.lax.slice": _slice,
    **_both("histogram", _histogram),
    **_both("bincount", _bincount),
    **_both("argsort", _argsort),
    **_both("eye", _eye),
    **_both("tril triu", _triangle),
    **_both("moveaxis", _moveaxis),
    **_both("split", _split),
}
