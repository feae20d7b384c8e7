"""SMEM of a call: scalar prefetch, windows and scratch in scalar memory.

Measured with libtpu 0.0.52: the tiles are those of VMEM. An int32 table of shape (2040, 1)
is padded to 128 lanes and fills the 1 MiB; a flat one of 200000 entries fits.
"""

from __future__ import annotations

from .chip import Chip
from .grid import grid_of_one_core
from .kernel_call import KernelCall, MemorySpace, Operand, Role
from .unknown import Unknown
from .vmem import MemoryUse, memory_use


def smem_limit(chip: Chip) -> int:
    """Bytes of SMEM that a call can have on the chip."""
    return chip.smem_capacity - chip.smem_reserved


def smem_of(call: KernelCall, chip: Chip) -> MemoryUse | Unknown:
    """The SMEM of a call on one chip; Unknown where not even the operands are known."""
    if isinstance(call.operands, Unknown):
        return call.operands
    limit = smem_limit(chip)
    operands = [operand for operand in call.operands if _may_be_in_smem(operand)]
    grid = grid_of_one_core(call.grid, call.semantics, chip.cores)
    return memory_use(operands, grid, chip, MemorySpace.SMEM, limit, ceiling=limit)


def _may_be_in_smem(operand: Operand) -> bool:
    """Whether SMEM is where the operand is or, for one of unknown space, is likelier than not."""
    return operand.memory_space is MemorySpace.SMEM or (
        operand.role is Role.PREFETCH and not isinstance(operand.memory_space, MemorySpace)
    )
