"""``vmap``, ``grad``, ``shard_map``: functions that run a function on other arrays than they are given."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from ...model.symbolic import Expression
from .. import calling
from ..arguments import Arguments
from ..array_types import UNKNOWN_SHAPE, array_of, is_array_like
from ..machine import Machine
from ..values import (
    MISSING,
    REPEATEDLY,
    Array,
    External,
    ListValue,
    MeshValue,
    Opaque,
    Partial,
    Transformed,
    Value,
    describe,
)
from .meshes import part_of
from .python import TableFunction


def _transformation(name: str) -> TableFunction:
    def function(machine: Machine, arguments: Arguments) -> Value:
        options = dict(arguments.keywords)
        target = machine.settled(options.pop("fun", options.pop("f", arguments.get(0, "", MISSING))))
        if target is MISSING:
            # ``@jax.vmap(in_axes=…)`` and ``@shard_map(mesh=…)``: the function comes with the next call.
            return Partial(External(f"jax.{name}"), (), tuple(arguments.keywords.items()), arguments.span)
        options |= dict(zip(_POSITIONAL.get(name, ()), arguments.positional[1:], strict=False))
        return Transformed(name, target, options)

    return function


_POSITIONAL: Final = {
    "vmap": ("in_axes", "out_axes"),
    "pmap": ("axis_name",),
    "grad": ("argnums",),
    "value_and_grad": ("argnums",),
    "shard_map": ("mesh", "in_specs", "out_specs"),
}


def run_transformed(machine: Machine, transformed: Transformed, arguments: Arguments) -> Value:
    """Call a transformed function: the function is followed on the arrays that it then sees."""
    if transformed.transformation == REPEATEDLY:
        return _run_repeatedly_mapped(machine, transformed, arguments)
    match transformed.transformation:
        case "vmap" | "pmap":
            return _run_mapped(machine, transformed, arguments)
        case "grad" | "value_and_grad":
            return _run_differentiated(machine, transformed, arguments)
        case "hessian":
            _follow(machine, transformed.function, arguments)
            return machine.fresh("the second derivatives", "`hessian` has axes for both of what it differentiates by")
        case _:
            return _run_in_shards(machine, transformed, arguments)


def _run_mapped(machine: Machine, transformed: Transformed, arguments: Arguments) -> Value:
    in_axes = machine.settled(transformed.options.get("in_axes", 0))
    settled = tuple(map(machine.settled, arguments.positional))
    axes = [_axis_of(in_axes, index) for index in range(len(settled))]
    named = {name: machine.settled(value) for name, value in arguments.keywords.items()}
    size = _mapped_size(machine, [*zip(settled, axes, strict=True), *((value, 0) for value in named.values())])
    inner = replace(
        arguments,
        positional=tuple(_without_axis(machine, value, axis) for value, axis in zip(settled, axes, strict=True)),
        keywords={name: _without_axis(machine, value, 0) for name, value in named.items()},
    )
    # ``pmap`` runs a call on each device as it is.
    with _mapping_over(machine, (size,) if transformed.transformation == "vmap" else ()):
        result = _follow(machine, transformed.function, inner)
    out_axes = machine.settled(transformed.options.get("out_axes", 0))
    return machine.lift(lambda value: _with_axis(machine, value, out_axes, size), result)


def _run_repeatedly_mapped(machine: Machine, transformed: Transformed, arguments: Arguments) -> Value:
    """``f`` after a loop that put some ``vmap`` around it: its operands and results have ranks that are not known."""
    reason = "a loop puts `vmap` around the function, how often is not known"
    rows = tuple(Opaque(f"{describe(machine.settled(value))}[vmap]", reason) for value in arguments.positional)
    with _mapping_over(machine, (Opaque("the mapped axes", reason),)):
        _follow(machine, transformed.function, replace(arguments, positional=rows))
    return machine.fresh("the results", reason)


def _follow(machine: Machine, function: Value, arguments: Arguments) -> Value:
    return machine.lift(lambda target: calling.apply(machine, target, arguments), function)


@contextmanager
def _mapping_over(machine: Machine, sizes: tuple[Value, ...]) -> Iterator[None]:
    """Around what runs under one ``vmap`` more for each of ``sizes``."""
    outer = machine.batch_sizes
    machine.batch_sizes = (*outer, *sizes)
    try:
        yield
    finally:
        machine.batch_sizes = outer


def _axis_of(in_axes: Value, index: int) -> Value:
    if isinstance(in_axes, ListValue):
        in_axes = in_axes.items
    if isinstance(in_axes, tuple):
        return in_axes[index] if index < len(in_axes) else Opaque("in_axes", "it has too few entries")
    return in_axes


def _mapped_size(machine: Machine, mapped: list[tuple[Value, Value]]) -> Value:
    for value, axis in mapped:
        if axis is None or not isinstance(axis, int):
            continue
        shape = _shape(machine, value)
        if shape is not None and -len(shape) <= axis < len(shape):
            return shape[axis]
    return Opaque("the mapped axis", "the size that `vmap` maps over is not known")


def _shape(machine: Machine, value: Value) -> tuple[Value, ...] | None:
    if isinstance(value, tuple | ListValue):
        items = value.items if isinstance(value, ListValue) else value
        return _shape(machine, machine.settled(items[0])) if isinstance(items, tuple) and items else None
    if isinstance(value, Opaque):
        return machine.shape(value)
    if is_array_like(value):
        shape = array_of(value).shape
        return shape if isinstance(shape, tuple) else None
    return None


def _without_axis(machine: Machine, value: Value, axis: Value) -> Value:
    """What one step of the map sees of ``value``."""
    if axis is None or value is None:
        return value
    if isinstance(value, tuple) and not isinstance(axis, tuple):
        return tuple(_without_axis(machine, machine.settled(item), axis) for item in value)
    if isinstance(value, ListValue) and isinstance(value.items, tuple) and not isinstance(axis, tuple):
        return ListValue(tuple(_without_axis(machine, machine.settled(item), axis) for item in value.items))
    if isinstance(value, Opaque):
        shape = _shape(machine, value)
        if shape is None:
            return Opaque(f"{value.text}[vmap]", value.reason)
        value = Array(shape, Opaque(f"{value.text}.dtype", value.reason))
    if is_array_like(value):
        array = array_of(value)
        if isinstance(axis, int) and isinstance(array.shape, tuple) and -len(array.shape) <= axis < len(array.shape):
            position = axis % len(array.shape)
            return Array((*array.shape[:position], *array.shape[position + 1 :]), array.dtype)
        return Array(UNKNOWN_SHAPE, array.dtype)
    return machine.fresh(f"{describe(value)}[vmap]", "`vmap` cuts it")


def _with_axis(machine: Machine, value: Value, axis: Value, size: Value) -> Value:
    """What the map makes of the result of one step: stacked along ``axis``, or as it is where that is None."""
    if axis is None or value is None:
        return value
    if isinstance(value, tuple):
        return tuple(
            _with_axis(machine, machine.settled(item), _axis_of(axis, index), size) for index, item in enumerate(value)
        )
    if isinstance(value, ListValue) and isinstance(value.items, tuple):
        return ListValue(_with_axis(machine, value.items, axis, size))
    if is_array_like(value):
        array = array_of(value)
        if isinstance(axis, int) and isinstance(array.shape, tuple) and isinstance(size, int | Expression | Opaque):
            rank = len(array.shape) + 1
            if -rank <= axis < rank:
                position = axis % rank
                return Array((*array.shape[:position], size, *array.shape[position:]), array.dtype)
        return Array(UNKNOWN_SHAPE, array.dtype)
    return machine.fresh("the results", "`vmap` stacks them")


def _run_differentiated(machine: Machine, transformed: Transformed, arguments: Arguments) -> Value:
    result = _follow(machine, transformed.function, arguments)
    wanted = machine.settled(transformed.options.get("argnums", 0))
    if isinstance(wanted, int) and wanted < len(arguments.positional):
        gradient: Value = _like(machine, arguments.positional[wanted])
    elif isinstance(wanted, tuple) and all(isinstance(n, int) and n < len(arguments.positional) for n in wanted):
        gradient = tuple(_like(machine, arguments.positional[number]) for number in wanted)
    else:
        gradient = machine.fresh("the gradients", "`argnums` is not known")
    if transformed.transformation == "value_and_grad":
        return (result, gradient)
    if machine.settled(transformed.options.get("has_aux", False)) is False:
        return gradient
    # What the function gives besides its value comes along.
    has_rest = isinstance(result, tuple) and len(result) == 2
    return (gradient, result[1] if has_rest else machine.fresh("the rest", "what the function returns is not known"))


def _like(machine: Machine, value: Value) -> Value:
    settled = machine.settled(value)
    if is_array_like(settled):
        return array_of(settled)
    return machine.fresh("the gradient", f"it is like `{describe(settled)}`")


def _run_in_shards(machine: Machine, transformed: Transformed, arguments: Arguments) -> Value:
    """Each device runs the function on its part: ranks and types stay, sizes where the mesh and specs are known."""
    name = transformed.transformation
    reason = f"`{name}` gives each device a part"
    mesh = machine.settled(transformed.options.get("mesh"))
    axes = mesh.axes if isinstance(mesh, MeshValue) else {}
    specs = machine.settled(transformed.options.get("in_specs"))

    def part(value: Value, spec: Value) -> Value:
        settled = machine.settled(value)
        if isinstance(settled, tuple):
            return tuple(part(item, _entry(machine, spec, index)) for index, item in enumerate(settled))
        if is_array_like(settled):
            cut = part_of(machine, array_of(settled), spec, axes)
            if cut is not None:
                return cut
        shape = _shape(machine, settled)
        if isinstance(settled, Opaque):
            made = Opaque(f"{settled.text}[shard]", reason)
            if shape is not None:
                machine.journal.write(machine.ranks, made.text, len(shape))
            return made
        if is_array_like(settled) and shape is not None:
            dims = tuple(Opaque(f"dim {axis} of a part", reason) for axis in range(len(shape)))
            return Array(dims, array_of(settled).dtype)
        return settled

    parts = tuple(part(value, _entry(machine, specs, index)) for index, value in enumerate(arguments.positional))
    outer = machine.mesh_axes
    machine.mesh_axes = {**outer, **axes}
    try:
        _follow(machine, transformed.function, replace(arguments, positional=parts))
    finally:
        machine.mesh_axes = outer
    return machine.fresh(f"{name}(…)(…)", f"`{name}` puts the parts together")


def _entry(machine: Machine, specs: Value, index: int) -> Value:
    """The spec of one operand; one spec alone stands for all."""
    specs = machine.settled(specs)
    if isinstance(specs, ListValue):
        specs = machine.settled(specs.items)
    if isinstance(specs, tuple):
        return specs[index] if index < len(specs) else None
    return specs


def _run_and_pull_back(machine: Machine, arguments: Arguments) -> Value:
    """``jax.vjp(f, *primals)`` and ``jax.linearize``: the result, and a function for the rest."""
    if not arguments.positional:
        return machine.fresh("vjp()", "its function is not given")
    function, *primals = arguments.positional
    inner = Arguments(tuple(primals), {}, arguments.positional_places[1:], {}, arguments.rest, frame=arguments.frame)
    result = _follow(machine, function, inner)
    return (result, machine.fresh("vjp_function", "what it returns is not followed"))


def _run_with_tangents(machine: Machine, arguments: Arguments) -> Value:
    """``jax.jvp(f, primals, tangents)``: two results of one type."""
    function, primals = arguments.get(0, "fun"), machine.settled(arguments.get(1, "primals"))
    if not isinstance(primals, tuple):
        return machine.fresh("jvp(…)", "its primals are not known")
    inner = Arguments(primals, {}, frame=arguments.frame)
    result = _follow(machine, function, inner)
    return (result, result)


def _evaluated_for_shape(machine: Machine, arguments: Arguments) -> Value:
    """``jax.eval_shape(f, *arguments)``."""
    if not arguments.positional:
        return machine.fresh("eval_shape()", "its function is not given")
    function, *given = arguments.positional
    inner = Arguments(tuple(given), arguments.keywords, arguments.positional_places[1:], frame=arguments.frame)
    return _follow(machine, function, inner)


FUNCTIONS: Final[dict[str, TableFunction]] = {
    **{f"jax.{name}": _transformation(name) for name in ("vmap", "pmap", "grad", "value_and_grad", "shard_map")},
    "jax.hessian": _transformation("hessian"),
    "jax.experimental.shard_map.shard_map": _transformation("shard_map"),
    "jax.vjp": _run_and_pull_back,
    "jax.linearize": _run_and_pull_back,
    "jax.jvp": _run_with_tangents,
    "jax.eval_shape": _evaluated_for_shape,
}
