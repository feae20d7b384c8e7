"""VMEM of a call, item by item: windows and scratch against a chip's limit.

Measured with libtpu 0.0.52 (``knowledge/measure/vmem_allocations.py``). The compiler
adds spills and temporaries, so that staying under the limit proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from .chip import Chip
from .grid import grid_of_one_core, moves
from .kernel_call import Dim, KernelCall, MemorySpace, Operand, Role, flat
from .symbolic import Integer, add, ceiling_divide, is_multiple, lower_bound, multiply
from .tiling import LANES, SUBLANES, is_trivial_window, memory_bits, padded_shape, round_up
from .unknown import Unknown

_WINDOW_ALIGNMENT = 1024
_SCRATCH_ALIGNMENT = 512


@dataclass(frozen=True, slots=True)
class BufferItem:
    """One allocation: the buffers of a window, or a scratch.

    ``shape`` is the buffer's, squeezed dims as 1. ``buffers``: how many the compiler
    makes, as far as can be told; ``buffers_at_least`` is certain. ``bytes`` counts the
    padding; where it is symbolic it is what is certain, for rows may be padded more.
    """

    operand: Operand
    shape: tuple[Dim, ...] | Unknown
    dtype: str | Unknown
    buffers: int
    buffers_at_least: int
    bytes: Integer | Unknown
    bytes_at_least: int


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """What a call allocates in one memory of one chip.

    ``at_least`` is certain; ``exceeds_limit``: True and False are certain as long as
    the operands come from HBM. ``exceeds_wherever_placed``: True also if XLA keeps in
    VMEM whatever operands fit there, whose windows then cost nothing. It does so on v7x
    with any operand, and elsewhere (v4 excepted) with arrays that the same jit computes.
    """

    chip: str
    items: tuple[BufferItem, ...]
    at_least: int
    limit: int | Unknown
    exceeds_limit: bool | None
    exceeds_wherever_placed: bool = False

    @property
    def windows(self) -> Integer | Unknown:
        """Bytes of all windows, unknown where one is."""
        return _sum(item for item in self.items if item.operand.role is not Role.SCRATCH)

    @property
    def scratch(self) -> Integer | Unknown:
        """Bytes of all scratch, unknown where one is."""
        return _sum(item for item in self.items if item.operand.role is Role.SCRATCH)

    @property
    def total(self) -> Integer | Unknown:
        """Windows and scratch together."""
        return _sum(self.items)


def buffer_bytes(shape: tuple[Dim, ...], dtype: str, chip: Chip) -> Integer | Unknown:
    """Bytes of one buffer with its padding. Where dims are symbolic, rows count unpadded unless their tile is known."""
    bits = memory_bits(dtype)
    if bits is None:
        return Unknown(f"the width of dtype {dtype} is not known")
    concrete: list[int] = []
    for dim in shape:
        if isinstance(dim, Unknown):
            return dim
        if isinstance(dim, int):
            concrete.append(max(dim, 0))
    if len(concrete) == len(shape):
        padded = padded_shape(tuple(concrete), dtype, chip.generation)
        assert padded is not None
        count = 1
        for size in padded:
            count *= size
        return max(count * bits // 8, _SCRATCH_ALIGNMENT if not shape else 0)
    return _symbolic_bytes([dim for dim in shape if not isinstance(dim, Unknown)], bits)


def _symbolic_bytes(shape: list[Integer], bits: int) -> Integer:
    share = max(32 // bits, 1)
    *lead, last = shape
    total = _up(last, LANES * share if not lead else LANES)
    if lead:
        *lead, rows = lead
        least = lower_bound(rows)
        covered = share >= SUBLANES or (least is not None and least > SUBLANES // 2)
        total = multiply(total, _up(rows, SUBLANES if covered else 1))
    for dim in lead:
        total = multiply(total, dim)
    return multiply(total, bits // 8) if bits >= 8 else ceiling_divide(multiply(total, bits), 8)


def _up(value: Integer, multiple: int) -> Integer:
    if isinstance(value, int):
        return round_up(value, multiple)
    return value if is_multiple(value, multiple) else multiply(ceiling_divide(value, multiple), multiple)


def window_shape(operand: Operand) -> tuple[Dim, ...] | Unknown:
    """Shape of one buffer of an operand's window (squeezed dims as 1), or of a scratch."""
    spec = operand.spec
    if isinstance(spec, Unknown):
        return spec
    if spec is None or spec.block_shape is None:
        if operand.is_tree:
            return Unknown("the argument is a tree of several arrays")
        return operand.array if isinstance(operand.array, Unknown) else operand.array.shape
    if isinstance(spec.block_shape, Unknown):
        return spec.block_shape
    return tuple(dimension.size for dimension in spec.block_shape)


def buffer_counts(operand: Operand, grid: Sequence[Dim] | Unknown) -> tuple[int, int]:
    """How many buffers the window of an input or output gets: (as far as can be told, at least).

    One where ``pl.Buffered(1)`` asks for it, where the window is the whole array or does
    not move, and where the grid has one step; else two.
    """
    if operand.role in (Role.SCRATCH, Role.PREFETCH):
        return 1, 1
    spec = operand.spec
    if isinstance(spec, Unknown):
        return 2, 1
    if spec is None:
        return 1, 1
    if spec.buffer_count == 1:
        return 1, 1
    trivial = is_trivial_window(spec.block_shape, _array_shape(operand), spec.index_map)
    if trivial:
        return 1, 1
    if _has_one_step(grid):
        return 1, 1
    moving = moves(spec.index_map, grid)
    if moving is False:
        return 1, 1
    certain = moving is True and trivial is False and not isinstance(spec.buffer_count, Unknown)
    return 2, 2 if certain else 1


def _has_one_step(grid: Sequence[Dim] | Unknown) -> bool:
    """Whether the grid certainly has one step or none."""
    if isinstance(grid, Unknown):
        return False
    numbers = [dim for dim in grid if isinstance(dim, int)]
    return len(numbers) == len(grid) and prod(numbers) <= 1


def _array_shape(operand: Operand) -> tuple[Dim, ...] | Unknown:
    return operand.array if isinstance(operand.array, Unknown) else operand.array.shape


def buffer_item(operand: Operand, grid: Sequence[Dim] | Unknown, chip: Chip) -> BufferItem:
    """The allocation behind an operand, whatever memory it is in."""
    shape = window_shape(operand)
    dtype = operand.array if isinstance(operand.array, Unknown) else operand.array.dtype
    likely, certain = buffer_counts(operand, grid)
    if isinstance(shape, Unknown) or isinstance(dtype, Unknown):
        reason = shape if isinstance(shape, Unknown) else dtype
        assert isinstance(reason, Unknown)
        return BufferItem(operand, shape, dtype, likely, certain, reason, 0)
    one = buffer_bytes(shape, dtype, chip)
    if isinstance(one, Unknown):
        return BufferItem(operand, shape, dtype, likely, certain, one, 0)
    is_window = operand.role in (Role.INPUT, Role.OUTPUT)
    alignment = _WINDOW_ALIGNMENT if is_window else _SCRATCH_ALIGNMENT
    if isinstance(one, int):
        return BufferItem(
            operand,
            shape,
            dtype,
            likely,
            certain,
            round_up(likely * one, alignment),
            round_up(certain * one, alignment),
        )
    least = max(lower_bound(one) or 0, 0)
    return BufferItem(operand, shape, dtype, likely, certain, multiply(one, likely), certain * least)


def vmem_limit(call: KernelCall, chip: Chip) -> int | Unknown:
    """Bytes that the call may use on the chip: its ``vmem_limit_bytes``, clamped to the capacity, or the default."""
    asked = call.vmem_limit_bytes
    if asked is None:
        return chip.scoped_vmem_limit
    if isinstance(asked, Unknown):
        return asked
    if isinstance(asked, int):
        return min(asked, usable_vmem(chip))
    return Unknown(f"vmem_limit_bytes is {asked}")


def usable_vmem(chip: Chip) -> int:
    """The most VMEM that any kernel can have on the chip, in bytes."""
    return chip.vmem_capacity - chip.vmem_reserved


def vmem_of(call: KernelCall, chip: Chip) -> MemoryUse | Unknown:
    """The VMEM of a call on one chip; Unknown where not even the operands are known."""
    if isinstance(call.operands, Unknown):
        return call.operands
    grid = grid_of_one_core(call.grid, call.semantics, chip.cores)
    return memory_use(call.operands, grid, chip, MemorySpace.VMEM, vmem_limit(call, chip), ceiling=usable_vmem(chip))


def memory_use(
    operands: Sequence[Operand],
    grid: Sequence[Dim] | Unknown,
    chip: Chip,
    space: MemorySpace,
    limit: int | Unknown,
    ceiling: int,
) -> MemoryUse:
    """Sums the allocations in ``space``. Operands of unknown space count as an item of unknown size.

    ``ceiling`` bounds ``limit`` where that is not known.
    """
    items: list[BufferItem] = []
    for operand in flat(operands):
        if operand.memory_space is space:
            items.append(buffer_item(operand, grid, chip))
        elif isinstance(operand.memory_space, Unknown):
            item = buffer_item(operand, grid, chip)
            unknown = BufferItem(
                operand, item.shape, item.dtype, item.buffers, item.buffers_at_least, operand.memory_space, 0
            )
            items.append(unknown)
    at_least = sum(item.bytes_at_least for item in items)
    bound = ceiling if isinstance(limit, Unknown) else limit
    room = usable_vmem(chip) - min(bound, chip.scoped_vmem_limit) if space is MemorySpace.VMEM else 0
    fixed = sum(item.bytes_at_least for item in items if not _may_be_placed(item.operand, chip, room))
    return MemoryUse(
        chip.name,
        tuple(items),
        at_least,
        limit,
        _exceeds(items, at_least, limit, ceiling),
        exceeds_wherever_placed=fixed > bound,
    )


def _may_be_placed(operand: Operand, chip: Chip, room: int) -> bool:
    """Whether XLA could keep the whole array in the ``room`` bytes of VMEM that the kernel does not have."""
    if operand.role is Role.SCRATCH or room <= 0:
        return False
    array = operand.array
    if isinstance(array, Unknown) or isinstance(array.shape, Unknown) or isinstance(array.dtype, Unknown):
        return True
    size = buffer_bytes(array.shape, array.dtype, chip)
    least = None if isinstance(size, Unknown) else lower_bound(size)
    return least is None or least <= room


def _sum(items: Iterable[BufferItem]) -> Integer | Unknown:
    total: Integer = 0
    for item in items:
        if isinstance(item.bytes, Unknown):
            return item.bytes
        total = add(total, item.bytes)
    return total


def _exceeds(items: list[BufferItem], at_least: int, limit: int | Unknown, ceiling: int) -> bool | None:
    if at_least > (ceiling if isinstance(limit, Unknown) else limit):
        return True
    certain = all(item.bytes == item.bytes_at_least for item in items)
    return False if certain and not isinstance(limit, Unknown) else None


def bytes_on(operand: Operand, grid: Sequence[Dim] | Unknown, chip: Chip) -> Integer | Unknown:
    """What ``pallas-lens kernels`` prints for an operand: its buffers' bytes in VMEM or SMEM, else 0."""
    if isinstance(operand.memory_space, Unknown):
        return operand.memory_space
    if operand.memory_space not in (MemorySpace.VMEM, MemorySpace.SMEM):
        return 0
    return buffer_item(operand, grid, chip).bytes
