"""Shapes, dtypes and control flow of ``jax``, ``jax.numpy`` and ``jax.lax``."""

from __future__ import annotations

from typing import Final

from ...model import symbolic
from ...model.dtypes import is_floating
from ...model.symbolic import Expression
from ...model.unknown import Unknown
from .. import calling, classes, expressions
from ..arguments import Arguments
from ..array_types import (
    UNKNOWN_DTYPE,
    UNKNOWN_SHAPE,
    array_of,
    binary_result,
    broadcast,
    dtype_name,
    is_array_like,
    length_of,
    matmul_shape,
    promote,
    shape_tuple,
)
from ..machine import Machine
from ..operators import truth
from ..recording import in_loop, turns_between
from ..texts import written
from ..values import (
    MISSING,
    Array,
    BoundExternal,
    Condition,
    DictValue,
    Dtype,
    External,
    Function,
    Instance,
    ListValue,
    Opaque,
    Partial,
    Ref,
    ShapeOf,
    Value,
    describe,
)
from .python import TableFunction, unknown_call
from .shapes import flattened, squeezed


def _struct(machine: Machine, arguments: Arguments) -> Value:
    shape = machine.settled(arguments.get(0, "shape"))
    dtype = machine.settled(arguments.get(1, "dtype"))
    if isinstance(shape, ListValue):
        shape = machine.settled(shape.items)
    if hasattr(shape, "when_true"):
        return machine.lift(lambda dims: Array(dims_of(machine, dims), dtype_name(dtype), is_struct=True), shape)
    return Array(dims_of(machine, shape), dtype_name(dtype), is_struct=True)


def dims_of(machine: Machine, shape: Value) -> tuple[Value, ...] | Opaque:
    if isinstance(shape, ShapeOf):
        known = machine.shape(shape.array)
        if known is not None:
            return known
    if isinstance(shape, ListValue):
        shape = machine.settled(shape.items)
    return shape_tuple(shape)


def _made(default_dtype: str, shape_at: int = 0, dtype_at: int = 1) -> TableFunction:
    """``zeros``, ``ones``, ``empty``, ``full``: an array of the shape and dtype given."""

    def function(machine: Machine, arguments: Arguments) -> Value:
        shape = machine.settled(arguments.get(shape_at, "shape"))
        dtype = machine.settled(arguments.get(dtype_at, "dtype", None))
        named: str | Opaque = default_dtype if dtype is None else dtype_name(dtype)
        return Array(dims_of(machine, shape), named)

    return function


def _like(machine: Machine, arguments: Arguments) -> Value:
    source = array_of(machine.settled(arguments.get(0, "a")))
    position = 2 if arguments.node is not None and "full_like" in describe_callee(arguments) else 1
    dtype = machine.settled(arguments.get(position, "dtype", None))
    shape = machine.settled(arguments.get(None, "shape", None))
    return Array(
        source.shape if shape is None else dims_of(machine, shape), source.dtype if dtype is None else dtype_name(dtype)
    )


def describe_callee(arguments: Arguments) -> str:
    """The written name of the function that is called."""

    return "" if arguments.node is None else written(arguments.node.func)


def _unary(machine: Machine, arguments: Arguments) -> Value:
    value = array_of(machine.settled(arguments.get(0, "x")))
    if isinstance(value.dtype, str) and not is_floating(value.dtype):
        return Array(value.shape, UNKNOWN_DTYPE)
    return Array(value.shape, value.dtype)


def _same_type(machine: Machine, arguments: Arguments) -> Value:
    value = array_of(machine.settled(arguments.get(0, "x")))
    return Array(value.shape, value.dtype)


def _binary(machine: Machine, arguments: Arguments) -> Value:
    left, right = machine.settled(arguments.get(0, "x")), machine.settled(arguments.get(1, "y"))
    return binary_result("+", left, right)


def _compared(machine: Machine, arguments: Arguments) -> Value:
    left, right = machine.settled(arguments.get(0, "x")), machine.settled(arguments.get(1, "y"))
    return binary_result("<", left, right)


def _where(machine: Machine, arguments: Arguments) -> Value:
    condition = array_of(machine.settled(arguments.get(0, "condition")))
    left = array_of(machine.settled(arguments.get(1, "x")))
    right = array_of(machine.settled(arguments.get(2, "y")))
    shape = broadcast(broadcast(condition.shape, left.shape), right.shape)
    return Array(shape, promote(left, right))


def _reduction(keeps_dtype: bool, dtype: str | None = None) -> TableFunction:
    def function(machine: Machine, arguments: Arguments) -> Value:
        source = array_of(machine.settled(arguments.get(0, "a")))
        return reduced(machine, source, arguments, 1, dtype, keeps_dtype)

    return function


def reduced(
    machine: Machine, source: Array, arguments: Arguments, axis_at: int, dtype: str | None, keeps_dtype: bool
) -> Array:
    """The array left after a reduction over ``axis``."""
    axis = machine.settled(arguments.get(axis_at, "axis", None))
    keeps_dims = machine.settled(arguments.get(None, "keepdims", False))
    asked = machine.settled(arguments.get(None, "dtype", None))
    kept: str | Opaque = source.dtype if keeps_dtype else UNKNOWN_DTYPE
    result_dtype = dtype_name(asked) if asked is not None else (dtype or kept)
    if isinstance(source.shape, Opaque):
        return Array(() if axis is None and keeps_dims is False else UNKNOWN_SHAPE, result_dtype)
    rank = len(source.shape)
    axes = tuple(range(rank)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if not all(isinstance(one, int) and -rank <= one < rank for one in axes) or not isinstance(keeps_dims, bool):
        return Array(UNKNOWN_SHAPE, result_dtype)
    reduced_axes = {one % rank for one in axes}
    dims = [1 if index in reduced_axes else dim for index, dim in enumerate(source.shape)]
    if not keeps_dims:
        dims = [dim for index, dim in enumerate(source.shape) if index not in reduced_axes]
    return Array(tuple(dims), result_dtype)


def _dot(machine: Machine, arguments: Arguments) -> Value:
    left = array_of(machine.settled(arguments.get(0, "a")))
    right = array_of(machine.settled(arguments.get(1, "b")))
    asked = machine.settled(arguments.get(None, "preferred_element_type", None))
    dtype = promote(left, right) if asked is None else dtype_name(asked)
    return Array(matmul_shape(left.shape, right.shape), dtype)


def _dot_general(machine: Machine, arguments: Arguments) -> Value:
    left = array_of(machine.settled(arguments.get(0, "lhs")))
    right = array_of(machine.settled(arguments.get(1, "rhs")))
    asked = machine.settled(arguments.get(None, "preferred_element_type", None))
    dtype = promote(left, right) if asked is None else dtype_name(asked)
    return Array(_dot_general_shape(machine.settled(arguments.get(2, "dimension_numbers")), left, right), dtype)


def _dot_general_shape(numbers: Value, left: Array, right: Array) -> tuple[Value, ...] | Opaque:
    plain = _plain(numbers)
    if plain is None or isinstance(left.shape, Opaque) or isinstance(right.shape, Opaque):
        return UNKNOWN_SHAPE
    try:
        (left_contracted, right_contracted), (left_batch, right_batch) = plain
        batch = [left.shape[axis] for axis in left_batch]
        rest_left = [d for i, d in enumerate(left.shape) if i not in left_contracted and i not in left_batch]
        rest_right = [d for i, d in enumerate(right.shape) if i not in right_contracted and i not in right_batch]
    except (ValueError, TypeError, IndexError):
        return UNKNOWN_SHAPE
    return (*batch, *rest_left, *rest_right)


def _plain(value: Value) -> Value:
    """A nest of lists and tuples of ints as tuples, None where it is anything else."""
    if isinstance(value, ListValue):
        value = value.items
    if isinstance(value, tuple):
        parts = [_plain(part) for part in value]
        return None if None in parts else tuple(parts)
    return value if isinstance(value, int) else None


def _cast(machine: Machine, arguments: Arguments) -> Value:
    source = array_of(machine.settled(arguments.get(0, "operand")))
    return Array(source.shape, dtype_name(machine.settled(arguments.get(1, "new_dtype"))))


def _asarray(machine: Machine, arguments: Arguments) -> Value:
    value = machine.settled(arguments.get(0, "a"))
    dtype = machine.settled(arguments.get(1, "dtype", None))
    if not is_array_like(value) and not isinstance(value, int | float | Opaque | Expression):
        items = value.items if isinstance(value, ListValue) else value
        shape, common = _stacked_type(machine, items)
        return Array(shape, common if dtype is None else dtype_name(dtype))
    source = array_of(value)
    return Array(source.shape, source.dtype if dtype is None else dtype_name(dtype))


def _stacked_type(machine: Machine, items: Value) -> tuple[tuple[Value, ...] | Opaque, str | Opaque]:
    """Shape and dtype of the array made of a list of numbers and arrays that have one shape."""
    if not isinstance(items, tuple):
        return UNKNOWN_SHAPE, UNKNOWN_DTYPE
    settled = [machine.settled(item) for item in items]
    if all(isinstance(item, int | float | Expression) for item in settled):
        return (len(settled),), UNKNOWN_DTYPE
    if not all(is_array_like(item) or isinstance(item, int | float | Expression) for item in settled):
        return UNKNOWN_SHAPE, UNKNOWN_DTYPE
    arrays = [array_of(item) for item in settled]
    first = arrays[0].shape
    if not isinstance(first, tuple) or any(array.shape != first for array in arrays):
        return UNKNOWN_SHAPE, UNKNOWN_DTYPE
    dtypes = {array.dtype if isinstance(array.dtype, str) else None for array in arrays if not array.weak}
    return (len(arrays), *first), next(iter(dtypes)) or UNKNOWN_DTYPE if len(dtypes) == 1 else UNKNOWN_DTYPE


def _arange(machine: Machine, arguments: Arguments) -> Value:
    values = [machine.settled(value) for value in arguments.positional]
    dtype = machine.settled(arguments.get(3, "dtype", None))
    size: Value = Opaque("arange", "its length is not known")
    if len(values) == 1 and isinstance(values[0], int | Expression):
        size = values[0]
    elif values and all(isinstance(value, int) for value in values) and 0 not in values[2:3]:
        size = length_of(range(*values[:3]))
    return Array((size,), "int32" if dtype is None else dtype_name(dtype))


def _broadcasted_iota(machine: Machine, arguments: Arguments) -> Value:
    return Array(
        dims_of(machine, machine.settled(arguments.get(1, "shape"))),
        dtype_name(machine.settled(arguments.get(0, "dtype"))),
    )


def _reshape(machine: Machine, arguments: Arguments) -> Value:
    source = array_of(machine.settled(arguments.get(0, "a")))
    return Array(_new_shape(machine, source, arguments.positional[1:]), source.dtype)


def _new_shape(machine: Machine, source: Array, given: tuple[Value, ...]) -> tuple[Value, ...] | Opaque:
    values = [machine.settled(value) for value in given]
    dims = dims_of(machine, values[0]) if len(values) == 1 else tuple(values)
    if isinstance(dims, Opaque) or -1 not in [dim if isinstance(dim, int) else 0 for dim in dims]:
        return dims
    if isinstance(source.shape, Opaque):
        return tuple(Opaque("reshape", source.shape.reason) if dim == -1 else dim for dim in dims)
    whole: Value = 1
    rest: Value = 1
    for dim in source.shape:
        if not isinstance(dim, int | Expression):
            return UNKNOWN_SHAPE
        whole = symbolic.multiply(whole, dim)
    for dim in dims:
        if isinstance(dim, int) and dim == -1:
            continue
        if not isinstance(dim, int | Expression):
            return UNKNOWN_SHAPE
        rest = symbolic.multiply(rest, dim)
    try:
        missing = symbolic.floor_divide(whole, rest)
    except ZeroDivisionError:
        return UNKNOWN_SHAPE
    return tuple(missing if isinstance(dim, int) and dim == -1 else dim for dim in dims)


def _transpose(machine: Machine, arguments: Arguments) -> Value:
    source = array_of(machine.settled(arguments.get(0, "a")))
    return Array(_permuted(source.shape, machine.settled(arguments.get(1, "axes", None))), source.dtype)


def _permuted(shape: tuple[Value, ...] | Opaque, axes: Value) -> tuple[Value, ...] | Opaque:
    if isinstance(shape, Opaque):
        return shape
    if axes is None:
        return tuple(reversed(shape))
    plain = _plain(axes)
    if (
        isinstance(plain, tuple)
        and len(plain) == len(shape)
        and all(-len(shape) <= axis < len(shape) for axis in plain)
    ):
        return tuple(shape[axis] for axis in plain)
    return UNKNOWN_SHAPE


def _swapaxes(machine: Machine, arguments: Arguments) -> Value:
    source = array_of(machine.settled(arguments.get(0, "a")))
    first, second = arguments.get(1, "axis1"), arguments.get(2, "axis2")
    if isinstance(source.shape, Opaque) or not isinstance(first, int) or not isinstance(second, int):
        return Array(UNKNOWN_SHAPE, source.dtype)
    dims = list(source.shape)
    try:
        dims[first], dims[second] = dims[second], dims[first]
    except IndexError:
        return Array(UNKNOWN_SHAPE, source.dtype)
    return Array(tuple(dims), source.dtype)


def _expand_dims(machine: Machine, arguments: Arguments) -> Value:
    source = array_of(machine.settled(arguments.get(0, "a")))
    axis = arguments.get(1, "axis")
    if isinstance(source.shape, Opaque) or not isinstance(axis, int):
        return Array(UNKNOWN_SHAPE, source.dtype)
    dims = list(source.shape)
    position = axis if axis >= 0 else axis + len(dims) + 1
    dims.insert(position, 1)
    return Array(tuple(dims), source.dtype)


def _broadcast_to(machine: Machine, arguments: Arguments) -> Value:
    source = array_of(machine.settled(arguments.get(0, "array")))
    return Array(dims_of(machine, machine.settled(arguments.get(1, "shape"))), source.dtype)


def _same_dtype(machine: Machine, arguments: Arguments) -> Value:
    """A function that keeps the dtype of its first array and changes the shape in a way not followed."""
    source = machine.settled(arguments.get(0, "a"))
    items = source.items if isinstance(source, ListValue) else source
    if isinstance(items, tuple) and items:
        arrays = [array_of(machine.settled(item)) for item in items]
        dtypes = {array.dtype if isinstance(array.dtype, str) else None for array in arrays}
        return Array(UNKNOWN_SHAPE, arrays[0].dtype if len(dtypes) == 1 else UNKNOWN_DTYPE)
    return Array(UNKNOWN_SHAPE, array_of(items).dtype)


def _random(shape_at: int, dtype_at: int, default: str) -> TableFunction:
    return _made(default, shape_at, dtype_at)


def _dtype(machine: Machine, arguments: Arguments) -> Value:
    named = dtype_name(machine.settled(arguments.get(0, "dtype")))
    return Dtype(named) if isinstance(named, str) else named


def _transformed(machine: Machine, arguments: Arguments) -> Value:
    """``jax.jit(f)`` and the like: called, it does what ``f`` does."""
    function = machine.settled(arguments.get(0, "fun", arguments.get(0, "f", MISSING)))
    if function is MISSING:
        return Partial(External("pallas_lens.identity"), (), (), arguments.span)
    return function


def _identity(machine: Machine, arguments: Arguments) -> Value:
    return arguments.positional[0] if arguments.positional else None


def _decorating_nothing(machine: Machine, arguments: Arguments) -> Value:
    """``jax.named_scope("name")``: a context manager, or a decorator that changes no parameter."""
    return External("pallas_lens.identity")


def _typeof(machine: Machine, arguments: Arguments) -> Value:
    source = array_of(machine.settled(arguments.get(0, "x")))
    return Array(source.shape, source.dtype, is_struct=True)


def _cond(machine: Machine, arguments: Arguments) -> Value:
    if len(arguments.positional) < 3:
        return unknown_call(machine, "cond", arguments)
    predicate, when_true, when_false, *operands = arguments.positional
    outcome = truth(machine.settled(predicate)) if not hasattr(predicate, "when_true") else None
    if isinstance(outcome, bool):
        return calling.invoke(machine, when_true if outcome else when_false, tuple(operands), {}, arguments.frame)
    condition = outcome or Condition(("cond", machine.fresh("cond", "").text), "the predicate")
    return expressions.under_both(
        machine,
        condition,
        lambda: calling.invoke(machine, when_true, tuple(operands), {}, arguments.frame),
        lambda: calling.invoke(machine, when_false, tuple(operands), {}, arguments.frame),
    )


def _fori_loop(machine: Machine, arguments: Arguments) -> Value:
    body, start = arguments.get(2, "body_fun"), arguments.get(3, "init_val")
    if body is MISSING:
        return unknown_call(machine, "fori_loop", arguments)
    index = Array((), "int32")
    turns = turns_between(machine.settled(arguments.get(0, "lower")), machine.settled(arguments.get(1, "upper")))
    with in_loop(machine, turns):
        calling.invoke(machine, body, (index, _carried(machine, start)), {}, arguments.frame)
    return _carried(machine, start)


def _while_loop(machine: Machine, arguments: Arguments) -> Value:
    test, body, start = arguments.get(0, "cond_fun"), arguments.get(1, "body_fun"), arguments.get(2, "init_val")
    if body is MISSING:
        return unknown_call(machine, "while_loop", arguments)
    with in_loop(machine, Unknown("how often a `while_loop` turns is known only when the program runs")):
        calling.invoke(machine, test, (_carried(machine, start),), {}, arguments.frame)
        calling.invoke(machine, body, (_carried(machine, start),), {}, arguments.frame)
    return _carried(machine, start)


def _scan(machine: Machine, arguments: Arguments) -> Value:
    body, start = arguments.get(0, "f"), arguments.get(1, "init")
    if body is MISSING:
        return unknown_call(machine, "scan", arguments)
    item = machine.fresh("xs[i]", "it is one slice of what the scan goes over")
    with in_loop(machine, Unknown("how many slices the `scan` goes over is not known")):
        calling.invoke(machine, body, (_carried(machine, start), item), {}, arguments.frame)
    return (_carried(machine, start), machine.fresh("ys", "the scan stacks it"))


def _carried(machine: Machine, start: Value) -> Value:
    """A loop carry: its types stay, its values change."""
    value = machine.settled(start)
    if isinstance(value, tuple):
        return tuple(_carried(machine, item) for item in value)
    if isinstance(value, ListValue) and isinstance(value.items, tuple):
        return ListValue(tuple(_carried(machine, item) for item in value.items))
    if isinstance(value, Array | Ref | Opaque | None | Instance | DictValue):
        return value
    if isinstance(value, bool | int | float | Expression):
        return Array(
            (), "bool" if isinstance(value, bool) else "float32" if isinstance(value, float) else "int32", weak=True
        )
    return machine.fresh("carry", "it changes in the loop")


def _tree_map(machine: Machine, arguments: Arguments) -> Value:
    if len(arguments.positional) < 2:
        return unknown_call(machine, "tree.map", arguments)
    function, tree, *others = arguments.positional
    return _map_tree(machine, arguments, function, machine.settled(tree), tuple(map(machine.settled, others)))


def _map_tree(machine: Machine, arguments: Arguments, function: Value, tree: Value, others: tuple[Value, ...]) -> Value:
    if isinstance(tree, tuple | ListValue):
        items = tree.items if isinstance(tree, ListValue) else tree
        rows = [other.items if isinstance(other, ListValue) else other for other in others]
        if isinstance(items, tuple) and all(isinstance(row, tuple) and len(row) == len(items) for row in rows):
            mapped = tuple(
                _map_tree(machine, arguments, function, machine.settled(item), tuple(row[index] for row in rows))
                for index, item in enumerate(items)
            )
            return ListValue(mapped) if isinstance(tree, ListValue) else mapped
        return ListValue(machine.fresh("tree.map(…)", "the tree is not known")) if isinstance(tree, ListValue) else tree
    if isinstance(tree, DictValue) and not others:
        return DictValue(
            {key: _map_tree(machine, arguments, function, item, ()) for key, item in tree.entries.items()}, tree.is_open
        )
    if isinstance(tree, Instance) and classes.is_registered_tree(tree.class_):
        mapped_fields = {}
        for name, item in tree.fields.items():
            rest = tuple(_field(other, name) for other in others)
            mapped_fields[name] = _map_tree(machine, arguments, function, machine.settled(item), rest)
        return Instance(tree.class_, mapped_fields)
    if tree is None:
        return None
    if isinstance(tree, Opaque) and not tree.may_be_array:
        return machine.fresh(f"tree.map({describe(tree)})", tree.reason)
    return calling.invoke(machine, function, (tree, *others), {}, arguments.frame)


def _field(tree: Value, name: str) -> Value:
    """The field ``name`` of the tree that goes along with the one mapped over."""
    return tree.fields.get(name) if isinstance(tree, Instance) else Opaque(name, "the trees differ")


def _tree_leaves(machine: Machine, arguments: Arguments) -> Value:
    leaves = _leaves(machine.settled(arguments.get(0, "tree")))
    return ListValue(machine.fresh("tree.leaves(…)", "the tree is not known") if leaves is None else tuple(leaves))


def _leaves(tree: Value) -> list[Value] | None:
    if tree is None:
        return []
    if isinstance(tree, ListValue):
        tree = tree.items
    if isinstance(tree, tuple):
        parts = [_leaves(item) for item in tree]
        return None if None in parts else [leaf for part in parts if part is not None for leaf in part]
    if isinstance(tree, Instance) and classes.is_registered_tree(tree.class_):
        return _leaves(tuple(tree.fields.values()))
    if isinstance(tree, Opaque) and tree.is_array:
        return [tree]
    if isinstance(tree, Opaque | DictValue | Instance) or hasattr(tree, "when_true"):
        return None
    return [tree]


def _identity_array(machine: Machine, arguments: Arguments) -> Value:
    return machine.settled(arguments.get(0, "x"))


_UNARY: Final = (
    "exp exp2 log log1p log2 sin cos tan tanh sqrt rsqrt logistic erf erf_inv ceil floor round rint expm1 square "
    "reciprocal sigmoid silu gelu relu softplus softmax log_softmax sinh cosh arcsin arccos arctan cbrt"
)
_SAME: Final = (
    "abs negative neg sign clip invert bitwise_not flip rev roll cumsum cummax cummin cumlogsumexp cumprod "
    "stop_gradient sort real nan_to_num reduce_precision"
)
_BINARY: Final = (
    "add subtract sub multiply mul divide true_divide div maximum minimum max min power pow mod rem remainder "
    "floor_divide bitwise_and bitwise_or bitwise_xor left_shift right_shift shift_left shift_right_logical "
    "shift_right_arithmetic arctan2 atan2 logaddexp nextafter"
)
_COMPARED: Final = (
    "equal not_equal greater greater_equal less less_equal eq ne gt ge lt le logical_and logical_or isnan"
)
_REDUCED: Final = "sum max min prod amax amin nanmax nanmin"


def _entries(module: str, names: str, function: TableFunction) -> dict[str, TableFunction]:
    return {f"{module}.{name}": function for name in names.split()}


_TRANSFORMS: Final = (
    "jax.jit jax.pjit jax.checkpoint jax.remat jax.named_call jax.custom_vjp jax.custom_jvp functools.lru_cache "
    "functools.cache jax.experimental.pjit.pjit"
)

FUNCTIONS: Final[dict[str, TableFunction]] = {
    **_entries("jax.lax", _BINARY, _binary),
    **_entries("jax.lax", _COMPARED, _compared),
    **_entries("jax.lax", _UNARY, _unary),
    **_entries("jax.lax", _SAME, _same_type),
    **_entries("jax.numpy", "max min sum prod amax amin nanmax nanmin mean var std", _reduction(True)),
    **_entries("jax.numpy", _UNARY, _unary),
    **_entries("jax.numpy", _SAME, _same_type),
    **_entries("jax.numpy", _BINARY.replace(" max min ", " "), _binary),
    **_entries("jax.numpy", _COMPARED, _compared),
    **_entries("jax.nn", _UNARY, _unary),
    **_entries("jax.numpy", "argmax argmin", _reduction(False, "int32")),
    **_entries("jax.numpy", "any all", _reduction(False, "bool")),
    **_entries("jax.numpy", "zeros ones empty", _made("float32")),
    **_entries("numpy", "zeros ones empty", _made("float64")),
    **_entries("jax.numpy", "zeros_like ones_like empty_like full_like", _like),
    **_entries("jax.lax", "full_like zeros_like_array", _like),
    **_entries("jax.numpy", "take_along_axis hstack vstack", _same_dtype),
    **_entries("jax.lax", "collapse gather", _same_dtype),
    "jax.numpy.full": _made("float32", 0, 2),
    "jax.lax.full": _made("float32", 0, 2),
    "jax.numpy.where": _where,
    "jax.lax.select": _where,
    "jax.numpy.dot": _dot,
    "jax.numpy.matmul": _dot,
    "jax.lax.dot": _dot,
    "jax.experimental.pallas.dot": _dot,
    "jax.lax.dot_general": _dot_general,
    "jax.lax.convert_element_type": _cast,
    "jax.numpy.astype": _cast,
    "jax.lax.bitcast_convert_type": _cast,
    "jax.numpy.asarray": _asarray,
    "jax.numpy.array": _asarray,
    "numpy.asarray": _asarray,
    "numpy.array": _asarray,
    "jax.numpy.arange": _arange,
    "numpy.arange": _arange,
    "jax.lax.broadcasted_iota": _broadcasted_iota,
    "jax.numpy.reshape": _reshape,
    "jax.lax.reshape": _reshape,
    "jax.numpy.transpose": _transpose,
    "jax.lax.transpose": _transpose,
    "jax.numpy.swapaxes": _swapaxes,
    "jax.numpy.expand_dims": _expand_dims,
    "jax.numpy.broadcast_to": _broadcast_to,
    "jax.random.normal": _random(1, 2, "float32"),
    "jax.random.uniform": _random(1, 2, "float32"),
    "jax.random.randint": _random(1, 4, "int32"),
    "jax.random.bits": _random(1, 2, "uint32"),
    "jax.random.bernoulli": _random(2, 3, "bool"),
    "jax.numpy.dtype": _dtype,
    "numpy.dtype": _dtype,
    "jax.dtypes.canonicalize_dtype": _dtype,
    "jax.ShapeDtypeStruct": _struct,
    "jax.ShapeDtypeStruct.like": _typeof,
    "jax.core.ShapedArray": _struct,
    "jax.typeof": _typeof,
    "jax.device_put": _identity_array,
    "jax.block_until_ready": _identity_array,
    "jax.lax.stop_gradient": _identity_array,
    "jax.lax.optimization_barrier": _identity_array,
    "jax.experimental.pallas.tpu.with_memory_space_constraint": _identity_array,
    **{path: _transformed for path in _TRANSFORMS.split()},
    "pallas_lens.identity": _identity,
    "jax.named_scope": _decorating_nothing,
    "jax.profiler.annotate_function": _decorating_nothing,
    "jax.lax.cond": _cond,
    "jax.lax.fori_loop": _fori_loop,
    "jax.lax.while_loop": _while_loop,
    "jax.lax.scan": _scan,
    "jax.tree.map": _tree_map,
    "jax.tree_util.tree_map": _tree_map,
    "jax.tree_map": _tree_map,
    "jax.tree.leaves": _tree_leaves,
    "jax.tree_util.tree_leaves": _tree_leaves,
}


def elementwise_fallback(machine: Machine, path: str, arguments: Arguments) -> Value | None:
    """An array of unknown type for a JAX function that has no entry, when it is given an array; none for a class."""
    if path.rpartition(".")[2][:1].isupper():
        return None
    values = [machine.settled(value) for value in arguments.positional]
    if any(is_array_like(value) for value in values) and not any(isinstance(v, Function | Partial) for v in values):
        return Array(UNKNOWN_SHAPE, UNKNOWN_DTYPE)
    return None


def array_method(machine: Machine, owner: Array | Ref, name: str, arguments: Arguments) -> Value:
    """A method of an array: ``astype``, ``reshape``, ``sum`` …"""
    source = array_of(owner)
    values = tuple(map(machine.settled, arguments.positional))
    match name:
        case "astype" | "view":
            return Array(source.shape, dtype_name(values[0]) if values else UNKNOWN_DTYPE)
        case "reshape":
            return Array(_new_shape(machine, source, values), source.dtype)
        case "transpose" | "swapaxes":
            if name == "swapaxes":
                return _swapaxes(machine, Arguments((source, *values), arguments.keywords))
            if len(values) > 1:
                return Array(_permuted(source.shape, values), source.dtype)
            return Array(_permuted(source.shape, values[0] if values else None), source.dtype)
        case "sum" | "max" | "min" | "prod" | "mean":
            return reduced(machine, source, arguments, 0, None, True)
        case "argmax" | "argmin":
            return reduced(machine, source, arguments, 0, "int32", False)
        case "any" | "all":
            return reduced(machine, source, arguments, 0, "bool", False)
        case "dot":
            return _dot(machine, Arguments((source, *values), arguments.keywords))
        case "at":
            return BoundExternal(owner, "at")
        case "copy" | "block_until_ready" | "clip" | "round":
            return source
        case "get" | "set" | "add" | "start" | "wait":
            return source
        case "flatten" | "ravel":
            return Array(flattened(source.shape), source.dtype)
        case "squeeze":
            return Array(squeezed(source.shape, arguments.get(0, "axis", None)), source.dtype)
        case "bitcast":
            return Ref(
                owner.name if isinstance(owner, Ref) else "ref",
                UNKNOWN_SHAPE,
                dtype_name(values[0]) if values else UNKNOWN_DTYPE,
            )
        case _:
            return machine.fresh(f"array.{name}(…)", f"`.{name}` of an array is not followed")
