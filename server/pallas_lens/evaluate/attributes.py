"""Attributes of values: read and set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ..model.dtypes import BITS
from ..model.symbolic import multiply
from . import calling, classes, library, outside
from .machine import Machine
from .values import (
    MISSING,
    Array,
    BlockSpecValue,
    BoundExternal,
    Class,
    DictValue,
    Dtype,
    External,
    Function,
    GridSpecValue,
    Instance,
    KernelCallable,
    ListValue,
    MemorySpaceValue,
    MeshValue,
    ModuleValue,
    Opaque,
    Partial,
    Ref,
    ScratchValue,
    ShapeOf,
    Value,
    describe,
    is_integer,
)


def attribute(machine: Machine, owner: Value, name: str) -> Value:
    """``owner.name``; ``owner`` is settled."""
    read = _READ.get(owner.__class__)
    found = MISSING if read is None else read(machine, owner, name)
    if found is not MISSING:
        return found
    if isinstance(owner, _WITH_METHODS):
        return BoundExternal(owner, name)
    text = f"{describe(owner)}.{name}"
    return machine.fresh(text, f"`{text}` cannot be worked out by reading")


def _of_external(machine: Machine, owner: External, name: str) -> Value:
    return outside.external(f"{owner.path}.{name}")


def _of_module(machine: Machine, owner: ModuleValue, name: str) -> Value:
    found = owner.module.look_up(name, machine)
    if found is MISSING and (inner := owner.module.submodule(name, machine)) is not None:
        return ModuleValue(inner)
    return Opaque(name, f"`{name}` was not found in its module") if found is MISSING else found


def _of_opaque(machine: Machine, owner: Opaque, name: str) -> Value:
    if name == "shape":
        shape = machine.shape(owner)
        return ShapeOf(owner) if shape is None else shape
    if name == "ndim" and (rank := machine.rank(owner.text)) is not None:
        return rank
    if name == "T" or name == "at":
        return Opaque(f"{owner.text}.{name}", owner.reason)
    minimum = 0 if name in ("ndim", "size", "itemsize") else None
    return Opaque(f"{owner.text}.{name}", owner.reason, minimum)


def _of_instance(machine: Machine, owner: Instance, name: str) -> Value:
    if owner.class_.kind == "namedtuple" and name in ("_replace", "_asdict"):
        return BoundExternal(owner, name)
    if name in owner.fields:
        return machine.settled(owner.fields[name])
    return _of_class(machine, owner.class_, name, owner)


def _of_class_itself(machine: Machine, owner: Class, name: str) -> Value:
    return owner.node.name if name == "__name__" else _of_class(machine, owner, name, None)


def _of_partial(machine: Machine, owner: Partial, name: str) -> Value:
    match name:
        case "func":
            return owner.function
        case "args":
            return owner.arguments
        case "keywords":
            return DictValue(dict(owner.keywords))
        case _:
            return MISSING


def _of_spec(machine: Machine, owner: BlockSpecValue, name: str) -> Value:
    # A ``BufferedRef`` is its spec here.
    return owner if name == "spec" else _own(owner, name, "block_shape", "index_map", "memory_space", "pipeline_mode")


def _own(owner: Value, name: str, *known: str) -> Value:
    return getattr(owner, name) if name in known else MISSING


def _of_dtype(machine: Machine, owner: Dtype, name: str) -> Value:
    match name:
        case "itemsize":
            return max(1, BITS[owner.name] // 8)
        case "name":
            return owner.name
        case "dtype" | "type":
            return owner
        case _:
            return machine.fresh(f"{owner.name}.{name}", "this attribute of a dtype is not followed")


def _of_array(machine: Machine, owner: Array | Ref, name: str) -> Value:
    shape, dtype = owner.shape, owner.dtype
    match name:
        case "shape":
            return shape
        case "dtype":
            return Dtype(dtype) if isinstance(dtype, str) else dtype
        case "ndim":
            return len(shape) if isinstance(shape, tuple) else Opaque("ndim", shape.reason, 0)
        case "size":
            return _size(shape)
        case "T":
            return Array(tuple(reversed(shape)) if isinstance(shape, tuple) else shape, dtype)
        case "itemsize":
            return max(1, BITS[dtype] // 8) if isinstance(dtype, str) else dtype
        case "nbytes":
            return machine.fresh(name, "this attribute of an array is not followed")
        case _:
            return MISSING


def _size(shape: tuple[Value, ...] | Opaque) -> Value:
    if not isinstance(shape, tuple):
        return Opaque("size", shape.reason, 0)
    size: Value = 1
    for dim in shape:
        if not is_integer(dim):
            return Opaque("size", dim.reason if isinstance(dim, Opaque) else "a dim is not known", 0)
        size = multiply(size, dim)
    return size


def _of_class(machine: Machine, class_: Class, name: str, instance: Instance | None) -> Value:
    found = class_attribute(machine, class_, name)
    if found is MISSING and name in library.BUFFER_MAKERS and _outside_base(class_):
        return External(f"jax.experimental.pallas.tpu.BufferedRef.{name}")
    if found is MISSING and name == "spec" and instance is not None and _outside_base(class_):
        return _spec_of_buffer(machine, class_)
    if found is MISSING:
        reason = f"`{class_.node.name}` has no `{name}` that can be found by reading"
        return machine.fresh(f"{class_.node.name}.{name}", reason)
    if isinstance(found, Function) and instance is not None:
        kind = classes.method_kind(found)
        if kind == "static":
            return found
        bound = instance if kind != "class" else class_
        made = Function(
            found.node,
            found.scope,
            found.anchor,
            found.defaults,
            found.keyword_defaults,
            bound,
            True,
            found.is_rewrapped,
        )
        if kind == "property":
            return calling.invoke(machine, made, (), {}, None)
        return made
    if isinstance(found, Function) and classes.method_kind(found) == "class":
        return Function(found.node, found.scope, found.anchor, found.defaults, found.keyword_defaults, class_, True)
    if class_.kind == "enum" and instance is None and not isinstance(found, Function):
        return Instance(class_, {"value": found, "name": name})
    return found


def _spec_of_buffer(machine: Machine, class_: Class) -> BlockSpecValue:
    """The ``spec`` of a buffer whose class is derived from ``pltpu.BufferedRef``: one spec, whatever it says."""
    reason = f"it is the spec of a `{class_.node.name}`"
    parts = (machine.fresh(f"spec.{name}", reason) for name in ("block_shape", "index_map", "memory_space"))
    shape, index_map, space = parts
    return BlockSpecValue(shape, index_map, space, None, None, None, None, None, False)


def _outside_base(class_: Class) -> bool:
    """Whether some base of the class is not part of the program."""
    return any(_outside_base(base) if isinstance(base, Class) else True for base in class_.bases)


def class_attribute(machine: Machine, class_: Class, name: str) -> Value:
    """What ``name`` is in the class or its bases, MISSING where it is not there."""
    if name in class_.scope.variables:
        return machine.settled(class_.scope.variables[name])
    for base in class_.bases:
        if isinstance(base, Class):
            found = class_attribute(machine, base, name)
            if found is not MISSING:
                return found
    return MISSING


def set_attribute(machine: Machine, owner: Value, name: str, value: Value) -> None:
    """``owner.name = value``."""
    if isinstance(owner, Instance):
        machine.journal.write(owner.fields, name, value)
    elif isinstance(owner, Class):
        machine.journal.write(owner.scope.variables, name, value)


_READ: Final[dict[type, Callable[[Machine, Any, str], Value]]] = {
    External: _of_external,
    ModuleValue: _of_module,
    Array: _of_array,
    Ref: _of_array,
    Opaque: _of_opaque,
    Instance: _of_instance,
    Class: _of_class_itself,
    Partial: _of_partial,
    Function: lambda machine, owner, name: owner.name if name in ("__name__", "__qualname__") else MISSING,
    BlockSpecValue: _of_spec,
    GridSpecValue: lambda machine, owner, name: owner.arguments.get(name, (MISSING,))[0],
    Dtype: _of_dtype,
    MeshValue: lambda machine, owner, name: library.mesh_attribute(owner, name),
    ScratchValue: lambda machine, owner, name: _own(owner, name, "shape", "dtype"),
}
"""What reads the attributes of each kind of value; MISSING from there on: a method, or what is not known."""
_WITH_METHODS: Final = (
    ListValue
    | DictValue
    | tuple
    | str
    | Array
    | Ref
    | Function
    | Partial
    | KernelCallable
    | BlockSpecValue
    | ShapeOf
    | MemorySpaceValue
)
