"""Hover on a kernel's parameter, and where the kernel loads from it or stores to it."""

from __future__ import annotations

from pallas_lens.model.kernel_body import BodyOperation, OperationKind
from pallas_lens.model.kernel_call import (
    ArrayType,
    BlockDimension,
    BlockSpec,
    Dim,
    DimensionKind,
    KernelFunction,
    MemorySpace,
    Operand,
    Parameter,
    Role,
)
from pallas_lens.model.op_cost import vregs
from pallas_lens.model.unknown import Unknown
from pallas_lens.model.vmem import buffer_item

from .hover_text import (
    Seen,
    array_text,
    axes_text,
    by_chip,
    item_bytes_text,
    operand_array_text,
    ref_name,
    role_text,
    space_text,
)
from .index_map_axes import moving_axes


def parameter_markdown(parameter: Parameter, seen: Seen) -> str:
    """What a kernel's parameter receives."""
    operand = _operand_of(parameter, seen)
    head = f"**{parameter.name}**"
    if operand is None:
        reason = seen.call.operands.reason if isinstance(seen.call.operands, Unknown) else "no operand is left for it"
        return f"{head} · {reason}"
    return f"{head} · {_description(operand, seen)}"


def access_markdown(operation: BodyOperation, seen: Seen) -> str:
    """A load or store: the ref, and the vregs that move."""
    operand = _named(operation.ref, seen)
    word = "load" if operation.kind is OperationKind.LOAD else "store"
    value = operation.result if operation.kind is OperationKind.LOAD else (operation.operands or (None,))[0]
    name = ref_name(seen.call, operand) if operand is not None else operation.ref or "ref"
    lines = [f"**{name}** · {_description(operand, seen)}" if operand is not None else f"**{name}**"]
    moved = _moved(value, operand)
    if moved:
        lines.append(f"{word} {moved}")
    return "\n\n".join(lines)


def _moved(value: ArrayType | None, operand: Operand | None) -> str:
    if value is None or isinstance(value.shape, Unknown):
        return ""
    text = array_text(value.shape, value.dtype)
    if value.shape == ():
        where = "from SMEM to a scalar register" if operand and operand.memory_space is MemorySpace.SMEM else "a scalar"
        return f"{text} · {where}"
    concrete = [dim for dim in value.shape if isinstance(dim, int)]
    if isinstance(value.dtype, Unknown) or len(concrete) < len(value.shape):
        return text
    count = vregs(tuple(concrete), value.dtype)
    return text if count is None else f"{text} · {count} vreg{'' if count == 1 else 's'}"


def _operand_of(parameter: Parameter, seen: Seen) -> Operand | None:
    operands = seen.call.operands
    if parameter.operand is None or isinstance(operands, Unknown) or parameter.operand >= len(operands):
        return None
    return operands[parameter.operand]


def _named(name: str | None, seen: Seen) -> Operand | None:
    if name is None or isinstance(seen.call.operands, Unknown):
        return None
    if isinstance(seen.call.kernel, KernelFunction):
        for parameter in seen.call.kernel.parameters:
            if parameter.name == name:
                return _operand_of(parameter, seen)
    return next((operand for operand in seen.call.operands if operand.name == name), None)


def ref_shape(operand: Operand) -> tuple[Dim, ...] | Unknown:
    """The shape that the kernel sees: the block without its squeezed dims, or the array."""
    spec = operand.spec
    if isinstance(spec, Unknown):
        return spec
    if spec is None or spec.block_shape is None:
        return operand.array if isinstance(operand.array, Unknown) else operand.array.shape
    if isinstance(spec.block_shape, Unknown):
        return spec.block_shape
    block: tuple[BlockDimension, ...] = spec.block_shape
    return tuple(dimension.size for dimension in block if dimension.kind is not DimensionKind.SQUEEZED)


def _description(operand: Operand, seen: Seen) -> str:
    call = seen.call
    dtype = operand.array if isinstance(operand.array, Unknown) else operand.array.dtype
    shape = ref_shape(operand)
    if operand.semaphore is not None:
        return f"{role_text(call, operand)} · {operand.semaphore} semaphore"
    parts = [role_text(call, operand), f"{space_text(operand.memory_space)} ref `{array_text(shape, dtype)}`"]
    spec = operand.spec
    if isinstance(spec, BlockSpec) and spec.block_shape is not None:
        parts.append(f"block of `{operand_array_text(operand)}`")
    if operand.memory_space in (MemorySpace.VMEM, MemorySpace.SMEM):
        items = {chip.name: buffer_item(operand, call.grid, chip) for chip in seen.chips}
        texts = {
            name: (f"{item.buffers} buffers, " if item.buffers > 1 else "") + item_bytes_text(item)
            for name, item in items.items()
        }
        parts.append(by_chip(texts))
    windowed = isinstance(spec, BlockSpec) and spec.block_shape is not None and operand.role is not Role.SCRATCH
    if windowed and isinstance(spec, BlockSpec) and isinstance(call.grid, tuple) and call.grid:
        parts.append(f"moves with grid axes {axes_text(moving_axes(spec.index_map, len(call.grid)))}")
    if operand.memory_space in (MemorySpace.ANY, MemorySpace.HBM):
        parts.append("stays in HBM: copy by hand")
    why = next((part.reason for part in (shape, dtype) if isinstance(part, Unknown)), "")
    text = " · ".join(part for part in parts if part)
    if why:
        text += f"\n\n?: {why}"
    if seen.reading:
        text += f"\n\n{seen.reading}"
    return text
