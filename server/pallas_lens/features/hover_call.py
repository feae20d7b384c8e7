"""Hover on the call that starts a kernel: grid, refs, VMEM item by item against each chip's limit."""

from __future__ import annotations

from pallas_lens.model.grid import Transfers, grid_of_one_core, transfers
from pallas_lens.model.kernel_call import (
    BlockSpec,
    KernelCall,
    KernelFunction,
    MemorySpace,
    Operand,
    Role,
    SpecList,
)
from pallas_lens.model.smem import smem_limit, smem_of
from pallas_lens.model.unknown import Unknown
from pallas_lens.model.vmem import MemoryUse, buffer_item, vmem_of

from .hover_grid import grid_line
from .hover_pictures import vmem_markdown
from .hover_ref import ref_shape
from .hover_roofline import roofline_markdown
from .hover_text import (
    Seen,
    array_text,
    axes_text,
    by_chip,
    bytes_text,
    code,
    item_bytes_text,
    name_code,
    number_text,
    ref_name,
    role_text,
    space_text,
    table,
)
from .index_map_axes import moving_axes

_MOST_ROWS = 24
_MOST_REASONS = 6


def call_markdown(seen: Seen) -> str:
    """All that is known of the call, in its specialisation."""
    call = seen.call
    kernel = f"kernel {code(call.kernel.name)}" if isinstance(call.kernel, KernelFunction) else ""
    head = " · ".join(part for part in (f"**{call.name}**", kernel, seen.reading) if part)
    parts = [head, grid_line(seen), *_around(call)]
    if isinstance(call.operands, Unknown):
        parts += [f"operands not known: {call.operands.reason}", _structure(call)]
    else:
        vmem = [use for chip in seen.chips if isinstance(use := vmem_of(call, chip), MemoryUse)]
        parts += [vmem_markdown(vmem, seen), _refs(call.operands, seen), _budget(vmem, seen), roofline_markdown(seen)]
    parts.append(_reasons(seen))
    if len(seen.specialised.worlds) > 1:
        parts.append(f"one of {len(seen.specialised.worlds)} ways that its conditions may go")
    return "\n\n".join(part for part in parts if part)


def _around(call: KernelCall) -> list[str]:
    """What stands between the program and JAX's function, where something does."""
    told = []
    if call.is_for_callers:
        told.append("the kernel comes from the caller of the function around: see its calls")
    if call.wrapper is not None:
        told.append(f"as given to {code(call.wrapper)}, which may change the parts")
    if call.batch_sizes:
        sizes = ", ".join("?" if isinstance(size, Unknown) else str(size) for size in call.batch_sizes)
        how = "JAX puts a parallel grid axis in front for each"
        if call.num_scalar_prefetch != 0:
            how += ", or loops where a prefetched operand is mapped"
        told.append(f"under `vmap` over {sizes}: {how}")
    return told


def _structure(call: KernelCall) -> str:
    told = []
    for name, specs in (("in_specs", call.in_specs), ("out_specs", call.out_specs)):
        if isinstance(specs, SpecList) and not isinstance(specs.specs, Unknown):
            told.append(f"{name}: {len(specs.specs)}")
    if isinstance(call.kernel, KernelFunction) and not isinstance(call.kernel.arity, Unknown):
        told.append(f"kernel takes {call.kernel.arity} refs")
    return " · ".join(told)


def _refs(operands: tuple[Operand, ...], seen: Seen) -> str:
    rows = [_row(operand, seen) for operand in operands[:_MOST_ROWS]]
    if len(operands) > _MOST_ROWS:
        rows.append((f"and {len(operands) - _MOST_ROWS} more", "", "", "", "", "", "", ""))
    header = ("ref", "role", "memory", "buffer", "×", "bytes", "axes", "copies")
    return table(header, rows, right=(4, 5, 7))


def _row(operand: Operand, seen: Seen) -> tuple[str, ...]:
    call = seen.call
    name, role, space = name_code(ref_name(call, operand)), role_text(call, operand), space_text(operand.memory_space)
    if operand.semaphore is not None:
        return (name, role, space, operand.semaphore, "", "", "", "")
    dtype = operand.array if isinstance(operand.array, Unknown) else operand.array.dtype
    shape = code(array_text(ref_shape(operand), dtype))
    if operand.memory_space not in (MemorySpace.VMEM, MemorySpace.SMEM):
        return (name, role, space, shape, "", "", "", "")
    items = {
        chip.name: buffer_item(operand, grid_of_one_core(call.grid, call.semantics, chip.cores), chip)
        for chip in seen.chips
    }
    buffers = by_chip({chip: str(item.buffers) for chip, item in items.items()})
    size = by_chip({chip: item_bytes_text(item) for chip, item in items.items()})
    return (name, role, space, shape, buffers, size, *_moves(operand, seen))


def _moves(operand: Operand, seen: Seen) -> tuple[str, str]:
    spec, grid = operand.spec, seen.call.grid
    if operand.role not in (Role.INPUT, Role.OUTPUT) or not isinstance(spec, BlockSpec) or isinstance(grid, Unknown):
        return "", ""
    if spec.block_shape is None or not grid:
        return "", ""
    counted = transfers(spec.index_map, grid)
    axes = axes_text(moving_axes(spec.index_map, len(grid)))
    return axes, number_text(counted.fetches) if isinstance(counted, Transfers) else "?"


def _budget(vmem: list[MemoryUse], seen: Seen) -> str:
    uses = {use.chip: use for use in vmem}
    rows = [
        ("**VMEM** limit", *(bytes_text(use.limit) for use in uses.values())),
        ("windows", *(bytes_text(use.windows) for use in uses.values())),
    ]
    if any(item.operand.role is Role.SCRATCH for use in uses.values() for item in use.items):
        rows.append(("scratch", *(bytes_text(use.scratch) for use in uses.values())))
    rows.append(("**used**", *(_used(use, seen) for use in uses.values())))
    smem = {chip.name: (smem_of(seen.call, chip), smem_limit(chip)) for chip in seen.chips}
    if any(isinstance(use, MemoryUse) and use.items for use, _ in smem.values()):
        rows.append(("**SMEM** of 1 MiB", *(_smem(use, limit) for use, limit in smem.values())))
    header = ("", *uses)
    return table(header, rows, right=range(1, len(header)))


def _used(use: MemoryUse, seen: Seen) -> str:
    total = use.total
    chip = next(chip for chip in seen.chips if chip.name == use.chip)
    over = "🔴 " if use.exceeds_limit else ""
    if over and chip.may_place_operands_in_vmem and not use.exceeds_wherever_placed:
        over = "🌕 "
    if isinstance(total, int) and isinstance(use.limit, int) and use.limit > 0:
        return f"{over}{bytes_text(total)}, {100 * total / use.limit:.0f} %"
    if use.at_least and isinstance(total, Unknown):
        return f"{over}at least {bytes_text(use.at_least)}"
    return f"{over}{bytes_text(total)}"


def _smem(use: MemoryUse | Unknown, limit: int) -> str:
    if isinstance(use, Unknown):
        return "?"
    return f"{'🔴 ' if use.exceeds_limit else ''}{bytes_text(use.total)}"


def _reasons(seen: Seen) -> str:
    """Why something stayed unknown, each reason once."""
    call = seen.call
    told: dict[str, None] = {}
    if not isinstance(call.operands, Unknown) and seen.chips:
        for operand in call.operands:
            item = buffer_item(operand, call.grid, seen.chips[0])
            in_memory = operand.memory_space in (MemorySpace.VMEM, MemorySpace.SMEM)
            reason = item.bytes if in_memory else operand.memory_space
            if isinstance(reason, Unknown) and operand.semaphore is None:
                told[f"{name_code(ref_name(call, operand))} not known: {reason.reason}"] = None
    for missing in call.missing:
        told[f"{missing.what} not known: {missing.why}"] = None
    lines = [f"- {line}" for line in list(told)[:_MOST_REASONS]]
    if len(told) > _MOST_REASONS:
        lines.append(f"- and {len(told) - _MOST_REASONS} more")
    return "\n".join(lines)
