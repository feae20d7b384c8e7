"""Attributes of values: read and set."""

from __future__ import annotations

from typing import Final

from ..model.dtypes import BITS, from_short_name
from ..model.kernel_call import MemorySpace
from ..model.symbolic import multiply
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
    Opaque,
    Partial,
    Ref,
    ScratchValue,
    ShapeOf,
    Value,
    describe,
    is_integer,
)

_ARRAY_ATTRIBUTES: Final = frozenset({"shape", "dtype", "ndim", "size", "T", "itemsize", "at", "nbytes"})


def attribute(machine: Machine, owner: Value, name: str) -> Value:
    """``owner.name``; ``owner`` is settled."""
    from .module import ModuleValue

    match owner:
        case External(path):
            return external(f"{path}.{name}")
        case ModuleValue(module):
            found = module.look_up(name, machine)
            if found is MISSING and (inner := module.submodule(name, machine)) is not None:
                return ModuleValue(inner)
            return Opaque(name, f"`{name}` was not found in its module") if found is MISSING else found
        case Array() | Ref() if name in _ARRAY_ATTRIBUTES:
            return _of_array(machine, owner, name)
        case Opaque(text, reason):
            if name == "shape":
                shape = machine.shape(owner)
                return ShapeOf(owner) if shape is None else shape
            if name == "ndim" and machine.rank(text) is not None:
                return machine.rank(text)
            if name == "T" or name == "at":
                return Opaque(f"{text}.{name}", reason)
            minimum = 0 if name in ("ndim", "size", "itemsize") else None
            return Opaque(f"{text}.{name}", reason, minimum)
        case Instance(class_) if class_.kind == "namedtuple" and name in ("_replace", "_asdict"):
            return BoundExternal(owner, name)
        case Instance(class_, fields):
            if name in fields:
                return machine.settled(fields[name])
            return _of_class(machine, class_, name, owner)
        case Class():
            if name == "__name__":
                return owner.node.name
            return _of_class(machine, owner, name, None)
        case Partial(function, arguments, keywords) if name in ("func", "args", "keywords"):
            return {"func": function, "args": arguments, "keywords": DictValue(dict(keywords))}[name]
        case Function() if name in ("__name__", "__qualname__"):
            return owner.name
        case BlockSpecValue() if name in ("block_shape", "index_map", "memory_space", "pipeline_mode"):
            return getattr(owner, name)
        case BlockSpecValue() if name == "spec":
            # A ``BufferedRef`` stands for its spec here.
            return owner
        case GridSpecValue(arguments) if name in arguments:
            return arguments[name][0]
        case Dtype(dtype):
            if name == "itemsize":
                return max(1, BITS[dtype] // 8)
            if name == "name":
                return dtype
            if name == "dtype" or name == "type":
                return owner
            return machine.fresh(f"{dtype}.{name}", "this attribute of a dtype is not followed")
        case MeshValue() if name in ("shape", "axis_names", "size"):
            from .library.meshes import mesh_attribute

            return mesh_attribute(owner, name)
        case ScratchValue() if name in ("shape", "dtype"):
            return getattr(owner, name)
        case ListValue() | DictValue() | tuple() | str() | Array() | Ref() | Function() | Partial() | KernelCallable():
            return BoundExternal(owner, name)
        case BlockSpecValue() | ShapeOf() | MemorySpaceValue():
            return BoundExternal(owner, name)
        case _:
            text = f"{describe(owner)}.{name}"
            return machine.fresh(text, f"`{text}` cannot be worked out by reading")


def _of_array(machine: Machine, owner: Array | Ref, name: str) -> Value:
    shape = owner.shape
    match name:
        case "shape":
            return shape
        case "dtype":
            return Dtype(owner.dtype) if isinstance(owner.dtype, str) else owner.dtype
        case "ndim":
            return len(shape) if isinstance(shape, tuple) else Opaque("ndim", shape.reason, 0)
        case "size":
            if not isinstance(shape, tuple):
                return Opaque("size", shape.reason, 0)
            size: Value = 1
            for dim in shape:
                if not is_integer(dim):
                    return Opaque("size", dim.reason if isinstance(dim, Opaque) else "a dim is not known", 0)
                size = multiply(size, dim)
            return size
        case "T":
            return Array(tuple(reversed(shape)) if isinstance(shape, tuple) else shape, owner.dtype)
        case "itemsize":
            return max(1, BITS[owner.dtype] // 8) if isinstance(owner.dtype, str) else owner.dtype
        case "at":
            return BoundExternal(owner, "at")
        case _:
            return machine.fresh(name, "this attribute of an array is not followed")


def _of_class(machine: Machine, class_: Class, name: str, instance: Instance | None) -> Value:
    found = class_attribute(machine, class_, name)
    if found is MISSING and name in BUFFER_MAKERS and _outside_base(class_):
        return External(f"jax.experimental.pallas.tpu.BufferedRef.{name}")
    if found is MISSING and name == "spec" and instance is not None and _outside_base(class_):
        return _spec_of_buffer(machine, class_)
    if found is MISSING:
        reason = f"`{class_.node.name}` has no `{name}` that can be found by reading"
        return machine.fresh(f"{class_.node.name}.{name}", reason)
    if isinstance(found, Function) and instance is not None:
        from .classes import method_kind

        kind = method_kind(found)
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
            from .calling import invoke

            return invoke(machine, made, (), {}, None, None)
        return made
    if isinstance(found, Function):
        from .classes import method_kind

        if method_kind(found) == "class":
            return Function(found.node, found.scope, found.anchor, found.defaults, found.keyword_defaults, class_, True)
    if class_.kind == "enum" and instance is None and not isinstance(found, Function):
        return Instance(class_, {"value": found, "name": name})
    return found


BUFFER_MAKERS: Final = frozenset({"input", "output", "input_output", "accumulator", "create"})
"""The class methods of ``pltpu.BufferedRef`` that stand for a spec in ``in_specs`` of ``emit_pipeline``."""


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


_NUMERIC_MODULES: Final = ("jax.numpy.", "numpy.", "ml_dtypes.")
_SPACES: Final = {
    "VMEM": MemorySpace.VMEM,
    "SMEM": MemorySpace.SMEM,
    "ANY": MemorySpace.ANY,
    "HBM": MemorySpace.HBM,
    "HOST": MemorySpace.HOST,
    "CMEM": MemorySpace.CMEM,
    "VMEM_SHARED": MemorySpace.VMEM_SHARED,
    "SEMAPHORE": MemorySpace.SEMAPHORE,
}
_SPACE_OWNERS: Final = frozenset(
    {
        "jax.experimental.pallas",
        "jax.experimental.pallas.tpu",
        "jax.experimental.pallas.MemorySpace",
        "jax.experimental.pallas.tpu.MemorySpace",
        "jax.experimental.pallas.tpu.TPUMemorySpace",
    }
)
_REAL_PATHS: Final = {
    "jax._src.pallas.core": "jax.experimental.pallas",
    "jax._src.pallas.pallas_call": "jax.experimental.pallas",
    "jax._src.pallas.primitives": "jax.experimental.pallas",
    "jax._src.pallas.mosaic.core": "jax.experimental.pallas.tpu",
    "jax._src.pallas.mosaic.primitives": "jax.experimental.pallas.tpu",
    "jax._src.pallas.mosaic.pipeline": "jax.experimental.pallas.tpu",
    "jax._src.pallas.mosaic.tpu_info": "jax.experimental.pallas.tpu",
    "jax._src.shard_map": "jax.experimental.shard_map",
    "jax._src.lax.lax": "jax.lax",
    "jax._src.numpy": "jax.numpy",
}


def external(path: str) -> Value:
    """The value of a name outside the workspace: a dtype, a memory space, or the name itself."""
    owner, _, name = path.rpartition(".")
    owner = _REAL_PATHS.get(owner, owner)
    if owner.startswith("pallas_lens."):
        from .library.machine_facts import fact

        found = fact(path)
        if found is not None:
            return found
    if owner in ("jax.numpy", "numpy", "ml_dtypes"):
        plain = "bool" if name == "bool_" else name
        if name != "bool" and from_short_name(plain) == plain:
            return Dtype(plain)
        if name == "newaxis":
            return None
        if name == "inf":
            return float("inf")
        if name == "pi":
            return 3.141592653589793
    if owner in _SPACE_OWNERS and name in _SPACES:
        return MemorySpaceValue(_SPACES[name])
    if owner == "math" and name in ("inf", "pi"):
        return float("inf") if name == "inf" else 3.141592653589793
    return External(f"{owner}.{name}" if owner else name)
