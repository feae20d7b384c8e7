"""Device meshes and how ``shard_map`` cuts arrays along their axes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ...model import symbolic
from ...model.symbolic import Expression
from ..arguments import Arguments
from ..array_types import UNKNOWN_SHAPE
from ..machine import Machine
from ..values import (
    MISSING,
    Array,
    DictValue,
    ListValue,
    MeshValue,
    Opaque,
    PartitionSpecValue,
    Value,
)
from .python import TableFunction, unknown_call


def _items(machine: Machine, value: Value) -> tuple[Value, ...] | None:
    value = machine.settled(value)
    if isinstance(value, ListValue):
        value = machine.settled(value.items)
    if isinstance(value, tuple):
        return tuple(map(machine.settled, value))
    return (value,) if isinstance(value, str | int) else None


def _mesh(machine: Machine, arguments: Arguments) -> Value:
    """``AbstractMesh(sizes, names)`` and ``jax.make_mesh(sizes, names)``."""
    sizes = _items(machine, arguments.get(0, "axis_sizes", arguments.get(0, "axis_shapes")))
    names = _items(machine, arguments.get(1, "axis_names"))
    if sizes is None or names is None or len(sizes) != len(names) or not all(isinstance(name, str) for name in names):
        return unknown_call(machine, "a mesh", arguments)
    return MeshValue(dict(zip(names, sizes, strict=True)))


def _mesh_of_devices(machine: Machine, arguments: Arguments) -> Value:
    """``jax.sharding.Mesh(devices, names)``: how many devices there are is known only where it runs."""
    names = _items(machine, arguments.get(1, "axis_names"))
    if names is None or not all(isinstance(name, str) for name in names):
        return unknown_call(machine, "a mesh", arguments)
    unknown = "the number of devices is not known"
    return MeshValue({name: Opaque(f"the devices of axis {name}", unknown, 1) for name in names})


def _partition_spec(machine: Machine, arguments: Arguments) -> Value:
    return PartitionSpecValue(tuple(map(machine.settled, arguments.positional)))


def mesh_attribute(mesh: MeshValue, name: str) -> Value:
    """``mesh.shape``, ``mesh.axis_names`` and ``mesh.size``; MISSING for anything else."""
    match name:
        case "shape":
            return DictValue(dict(mesh.axes))
        case "axis_names":
            return tuple(mesh.axes)
        case "size":
            return _size(tuple(mesh.axes), mesh.axes)
        case _:
            return MISSING


def _axis_size(machine: Machine, arguments: Arguments) -> Value:
    """``lax.axis_size(name)`` inside ``shard_map``."""
    names = _items(machine, arguments.get(0, "axis_name"))
    size = None if names is None else _size(names, machine.mesh_axes)
    return unknown_call(machine, "axis_size", arguments) if size is None else size


def _psum(machine: Machine, arguments: Arguments) -> Value:
    """``lax.psum(x, name)``, of 1 the size of the axis."""
    value = machine.settled(arguments.get(0, "x"))
    if value == 1 and isinstance(value, int):
        names = _items(machine, arguments.get(1, "axis_name"))
        size = None if names is None else _size(names, machine.mesh_axes)
        return unknown_call(machine, "psum", arguments) if size is None else size
    return value


def _size(names: tuple[Value, ...], axes: Mapping[str, Value]) -> Value | None:
    """The number of devices along some axes, None where one is not known."""
    size: Value = 1
    for name in names:
        one = axes.get(name) if isinstance(name, str) else None
        if not isinstance(one, int | Expression):
            return None
        size = symbolic.multiply(size, one)
    return size


def part_of(machine: Machine, array: Array, spec: Value, axes: Mapping[str, Value]) -> Array | None:
    """What each device has of ``array``, cut as ``spec`` says; None where the spec or the mesh is not known."""
    spec = machine.settled(spec)
    if not isinstance(spec, PartitionSpecValue):
        return None
    if not isinstance(array.shape, tuple) or len(spec.entries) > len(array.shape):
        return Array(UNKNOWN_SHAPE, array.dtype)
    dims = list(array.shape)
    for index, entry in enumerate(spec.entries):
        if entry is None:
            continue
        names = _items(machine, entry)
        size = None if names is None else _size(names, axes)
        if size is None:
            return None
        dim = dims[index]
        known = isinstance(dim, int | Expression) and size != 0
        dims[index] = symbolic.floor_divide(dim, size) if known else Opaque("a part", "its length is not known")
    return Array(tuple(dims), array.dtype)


FUNCTIONS: Final[dict[str, TableFunction]] = {
    "jax.sharding.AbstractMesh": _mesh,
    "jax.make_mesh": _mesh,
    "jax.sharding.Mesh": _mesh_of_devices,
    "jax.sharding.PartitionSpec": _partition_spec,
    "jax.P": _partition_spec,
    "jax.lax.axis_size": _axis_size,
    "jax.lax.psum": _psum,
}
