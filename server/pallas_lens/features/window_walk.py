"""The walk of a call's windows, for pictures and the roofline: blocks visited, bytes moved."""

from __future__ import annotations

from math import prod

from pallas_lens.model.grid import Transfers, copies_of, transfers
from pallas_lens.model.kernel_call import (
    ArrayType,
    BlockSpec,
    Dim,
    DimensionKind,
    IndexMap,
    KernelCall,
    MemorySpace,
    Operand,
    Role,
    flat,
)
from pallas_lens.model.roofline import Traffic
from pallas_lens.model.tiling import memory_bits
from pallas_lens.model.unknown import Unknown

from .hover_text import ref_name
from .pictures.block_map import BlockWalk

_PLAIN = (DimensionKind.BLOCKED, DimensionKind.SQUEEZED)


def block_walk(operand: Operand, call: KernelCall) -> BlockWalk | None:
    """The blocks of an input or output in the order of the walk; None where shapes, grid or map are no numbers."""
    spec, array = operand.spec, operand.array
    if not isinstance(spec, BlockSpec) or not isinstance(spec.block_shape, tuple) or isinstance(array, Unknown):
        return None
    if any(dimension.kind not in _PLAIN for dimension in spec.block_shape):
        return None
    shape, block = _numbers(array.shape), _numbers(tuple(dimension.size for dimension in spec.block_shape))
    if shape is None or block is None or not isinstance(spec.index_map, IndexMap) or isinstance(call.grid, Unknown):
        return None
    copies = copies_of(spec.index_map, call.grid)
    if isinstance(copies, Unknown) or {len(shape), *map(len, copies.blocks[:1])} != {len(block)}:
        return None
    return BlockWalk(shape, block, copies)


def _numbers(dims: tuple[Dim, ...] | Unknown) -> tuple[int, ...] | None:
    if isinstance(dims, Unknown):
        return None
    numbers = tuple(dim for dim in dims if isinstance(dim, int))
    return numbers if len(numbers) == len(dims) and min(numbers, default=0) >= 0 else None


def traffic_of(call: KernelCall) -> Traffic:
    """Bytes that the windows of the call move; what is not known is left out and named."""
    if isinstance(call.operands, Unknown):
        return Traffic(0, 0, (call.operands.reason,))
    moved = {Role.INPUT: 0, Role.OUTPUT: 0}
    unknown: list[str] = []
    for operand in flat(call.operands):
        if operand.role not in moved or operand.memory_space is MemorySpace.SMEM:
            continue
        found = _moved(operand, call)
        if isinstance(found, Unknown):
            unknown.append(f"{ref_name(call, operand)}: {found.reason}")
        else:
            moved[operand.role] += found
    return Traffic(moved[Role.INPUT], moved[Role.OUTPUT], tuple(unknown))


def _moved(operand: Operand, call: KernelCall) -> int | Unknown:
    """Bytes of all copies of an operand; of blocks at the edge only what lies in the array."""
    spec, array = operand.spec, operand.array
    if isinstance(spec, Unknown):
        return spec
    if operand.memory_space is not MemorySpace.VMEM:
        space = operand.memory_space
        return space if isinstance(space, Unknown) else Unknown("what the kernel copies of it by hand is not counted")
    for part in (array, *(() if isinstance(array, Unknown) else (array.shape, array.dtype))):
        if isinstance(part, Unknown):
            return part
    assert isinstance(array, ArrayType) and isinstance(array.dtype, str)
    bits = memory_bits(array.dtype)
    if bits is None:
        return Unknown(f"the width of dtype {array.dtype} is not known")
    elements = _elements_copied(operand, spec, array, call)
    return elements if isinstance(elements, Unknown) else elements * bits // 8


def _elements_copied(operand: Operand, spec: BlockSpec | None, array: ArrayType, call: KernelCall) -> int | Unknown:
    walk = block_walk(operand, call)
    if walk is not None:
        return _elements_inside(walk)
    # Windows that are the whole array, or that go by elements: every copy is a whole block.
    times: Transfers | Unknown = Transfers(1, 1)
    sizes = array.shape
    if spec is not None and spec.block_shape is not None:
        if isinstance(spec.block_shape, Unknown):
            return spec.block_shape
        sizes = tuple(dimension.size for dimension in spec.block_shape)
        times = transfers(spec.index_map, call.grid)
    numbers, whole = _numbers(sizes), _numbers(array.shape)
    if isinstance(times, Unknown):
        return times
    if numbers is None:
        return Unknown("its size is not a number")
    if whole is not None and len(whole) == len(numbers) and any(map(int.__mod__, whole, map(_at_least_one, numbers))):
        return Unknown("blocks at the edge are not told apart in a walk of so many steps")
    return prod(numbers) * times.fetches


def _at_least_one(size: int) -> int:
    return max(size, 1)


def _elements_inside(walk: BlockWalk) -> int:
    """Elements of the array in all copies together."""
    times = walk.copies.times
    dims = list(zip(walk.array, walk.block, zip(*times, strict=True), strict=False))
    if all(min(indices) >= 0 and (max(indices) + 1) * block <= size for size, block, indices in dims):
        return prod(walk.block) * len(walk.copies.blocks)
    return sum(count * prod(map(_inside, walk.block, walk.array, indices)) for indices, count in times.items())


def _inside(block: int, size: int, index: int) -> int:
    """Elements of a block along a dim that lie in the array."""
    return max(min(size - index * block, block), 0) if index >= 0 else 0
