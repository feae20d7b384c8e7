"""Hover on a BlockSpec or a scratch: block, array, memory, bytes, index map, legality."""

from __future__ import annotations

from pallas_lens.model.grid import Transfers, step_count, transfers
from pallas_lens.model.kernel_call import (
    BlockDimension,
    BlockSpec,
    Dim,
    DimensionKind,
    IndexMap,
    MemorySpace,
    Operand,
    Role,
    SpecList,
)
from pallas_lens.model.span import Span
from pallas_lens.model.tiling import (
    is_trivial_window,
    legal_block,
    memory_bits,
    nearest_legal_sizes,
    required_multiple,
    tiling_applies,
)
from pallas_lens.model.unknown import Unknown
from pallas_lens.model.vmem import BufferItem, buffer_item

from .hover_pictures import walk_markdown
from .hover_text import (
    Seen,
    axes_text,
    by_chip,
    bytes_text,
    code,
    dim_text,
    item_bytes_text,
    number_text,
    operand_array_text,
    ref_name,
    role_text,
    space_text,
)
from .index_map_axes import moving_axes

_MOST_OPERANDS = 4


def spec_markdown(span: Span, operands: tuple[Operand, ...], seen: Seen) -> str:
    """What a spec says for each operand that it stands for."""
    if not operands:
        spec = _written(span, seen)
        lines = [f"**block** {block_text(spec)}" if spec else "**BlockSpec**"]
        if isinstance(seen.call.operands, Unknown):
            lines.append(f"operand not known: {seen.call.operands.reason}")
        return "\n\n".join([*lines, *filter(None, [seen.reading])])
    told = [_operand_markdown(operand, seen) for operand in operands[:_MOST_OPERANDS]]
    if len(operands) > _MOST_OPERANDS:
        told.append(f"and {len(operands) - _MOST_OPERANDS} more operands")
    return "\n\n".join([*told, *filter(None, [seen.reading])])


def _written(span: Span, seen: Seen) -> BlockSpec | None:
    for specs in (seen.call.in_specs, seen.call.out_specs):
        if isinstance(specs, SpecList) and not isinstance(specs.specs, Unknown):
            for spec in specs.specs:
                if isinstance(spec, BlockSpec) and spec.span == span:
                    return spec
    return None


def block_text(spec: BlockSpec) -> str:
    """A block shape as written: squeezed dims as None."""
    block = spec.block_shape
    if block is None:
        return "whole array"
    if isinstance(block, Unknown):
        return f"not known: {block.reason}"
    inner = ", ".join(map(_dimension_text, block))
    return code(f"({inner},)" if len(block) == 1 else f"({inner})")


def _dimension_text(dimension: BlockDimension) -> str:
    if dimension.kind is DimensionKind.SQUEEZED:
        return "None"
    size = dim_text(dimension.size)
    if dimension.kind is DimensionKind.BLOCKED:
        return size
    return f"{dimension.kind.value.replace('_', ' ')} {size}"


def _operand_markdown(operand: Operand, seen: Seen) -> str:
    call = seen.call
    head = [f"**{ref_name(call, operand)}**", role_text(call, operand), space_text(operand.memory_space)]
    if operand.semaphore is not None:
        return " · ".join([*head, f"{operand.semaphore} semaphore"])
    spec = operand.spec
    if isinstance(spec, Unknown):
        return " · ".join([*head, f"spec not known: {spec.reason}"])
    if spec is None or spec.block_shape is None:
        head.append(f"`{operand_array_text(operand)}`")
    else:
        head.append(f"block {block_text(spec)} of `{operand_array_text(operand)}`")
    lines = [" · ".join(head), _bytes_line(operand, seen)]
    if spec is not None and operand.role in (Role.INPUT, Role.OUTPUT):
        lines += [_legality_line(operand, spec), _index_map_line(operand, spec, seen)]
    # Lines close together leave the picture in sight, for a hover is not high.
    text = "  \n".join(line for line in lines if line)
    picture = walk_markdown(operand, seen) if operand.role in (Role.INPUT, Role.OUTPUT) else ""
    return f"{text}\n\n{picture}" if picture else text


def _bytes_line(operand: Operand, seen: Seen) -> str:
    if operand.memory_space not in (MemorySpace.VMEM, MemorySpace.SMEM):
        return "no window: stays where it is" if isinstance(operand.memory_space, MemorySpace) else ""
    items = {chip.name: buffer_item(operand, seen.call.grid, chip) for chip in seen.chips}
    if any(isinstance(item.dtype, Unknown) and not isinstance(item.shape, Unknown) for item in items.values()):
        return f"{space_text(operand.memory_space)} {by_chip({name: _item_text(item) for name, item in items.items()})}"
    unknown = next((item.bytes for item in items.values() if isinstance(item.bytes, Unknown)), None)
    if unknown is not None:
        return f"bytes not known: {unknown.reason}"
    return f"{space_text(operand.memory_space)} {by_chip({name: _item_text(item) for name, item in items.items()})}"


def _item_text(item: BufferItem) -> str:
    total = item_bytes_text(item)
    if item.buffers > 1 and isinstance(item.bytes, int):
        total = f"{item.buffers} × {bytes_text(item.bytes // item.buffers)} = {total}"
    elif item.buffers > 1:
        total = f"{total} in {item.buffers} buffers"
    padding = _padding(item)
    return f"{total}, {number_text(padding)}× by padding" if padding and padding > 1 else total


def _padding(item: BufferItem) -> float | None:
    """How many times larger the padded buffer is than its elements."""
    if isinstance(item.bytes, Unknown) or not isinstance(item.bytes, int) or isinstance(item.shape, Unknown):
        return None
    bits = None if isinstance(item.dtype, Unknown) else memory_bits(item.dtype)
    elements = 1
    for dim in item.shape:
        if not isinstance(dim, int):
            return None
        elements *= dim
    if bits is None or elements <= 0:
        return None
    ratio = item.bytes * 8 / (elements * bits * item.buffers)
    return ratio if ratio >= 1.01 else None


def _legality_line(operand: Operand, spec: BlockSpec) -> str:
    if isinstance(operand.array, Unknown) or isinstance(operand.array.shape, Unknown):
        return ""
    array = operand.array
    shape: tuple[Dim, ...] = () if isinstance(array.shape, Unknown) else array.shape
    applies = tiling_applies(operand.memory_space, is_trivial_window(spec.block_shape, array.shape, spec.index_map))
    answers = legal_block(spec, shape, array.dtype)
    if not answers or not applies or isinstance(spec.block_shape, Unknown) or spec.block_shape is None:
        return ""
    if all(answers):
        return "block shape ✓"
    rank = len(answers)
    parts = []
    for position, answer in enumerate(answers):
        size = spec.block_shape[position].size
        if answer is None:
            parts.append(f"dim {position} ✓ if {code(dim_text(size))} is {_needed(rank, position, shape[position])}")
        elif answer is False:
            near = ""
            if isinstance(size, int):
                sizes = nearest_legal_sizes(size, shape[position], rank, position, array.dtype)
                near = f"; nearest {' or '.join(map(str, sizes))}"
            parts.append(f"dim {position} ✗ {dim_text(size)} is not {_needed(rank, position, shape[position])}{near}")
    return " · ".join(parts)


def _needed(rank: int, position: int, array_dim: Dim) -> str:
    whole = "" if isinstance(array_dim, Unknown) else f" or {code(dim_text(array_dim))}"
    return f"a multiple of {required_multiple(rank, position)}{whole}"


def _index_map_line(operand: Operand, spec: BlockSpec, seen: Seen) -> str:
    index_map, grid = spec.index_map, seen.call.grid
    if isinstance(index_map, Unknown):
        return f"index map not known: {index_map.reason}"
    if not isinstance(index_map, IndexMap) or spec.block_shape is None:
        return ""
    parts = [f"index map {code(index_map.text)}" if index_map.text else "index map"]
    if isinstance(index_map.results, tuple) and not index_map.is_default and not index_map.text.startswith("lambda"):
        values = [result.value for result in index_map.results]
        if not any(isinstance(value, Unknown) for value in values):
            parts[0] += f" → {code('(' + ', '.join(map(str, values)) + ')')}"
    if isinstance(grid, Unknown):
        return parts[0]
    axes = moving_axes(index_map, len(grid))
    parts.append(f"moves with axes {axes_text(axes)}" if axes else "does not move")
    counted, steps = transfers(index_map, grid), step_count(grid)
    if isinstance(counted, Transfers) and isinstance(steps, int):
        word = "stores" if operand.role is Role.OUTPUT else "fetches"
        blocks = f" of {number_text(counted.blocks)} blocks" if counted.fetches > counted.blocks else ""
        parts.append(f"{number_text(counted.fetches)} {word}{blocks} in {number_text(steps)} steps")
    return " · ".join(parts)
