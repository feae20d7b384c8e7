"""Builds parts of the model for tests: each function fills in what a test does not speak of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pallas_lens.model.grid import axis_symbol
from pallas_lens.model.kernel_call import (
    Arity,
    ArrayType,
    BlockDimension,
    BlockSpec,
    Dim,
    DimensionKind,
    Form,
    IndexMap,
    IndexMapResult,
    KernelCall,
    MemorySpace,
    Operand,
    Role,
    Semantics,
)
from pallas_lens.model.span import Span
from pallas_lens.model.symbolic import Expression, Integer, symbol
from pallas_lens.model.unknown import Unknown

SPAN = Span("f", 0, 0, 0, 1)


def axis(number: int) -> Expression:
    """The index along a grid axis."""
    return symbol(axis_symbol(number), 0)


def block_dims(sizes: Sequence[Dim | None]) -> tuple[BlockDimension, ...]:
    """Blocked dims; None is a squeezed one."""
    return tuple(
        BlockDimension(DimensionKind.SQUEEZED, 1) if size is None else BlockDimension(DimensionKind.BLOCKED, size)
        for size in sizes
    )


def index_map(values: Sequence[Integer | Unknown], rank: int = 2) -> IndexMap:
    """An index map that returns ``values``."""
    return IndexMap("", Arity(rank, rank), tuple(IndexMapResult("integer", value) for value in values), None)


def window(
    array: Sequence[Dim],
    dtype: str | Unknown = "float32",
    block: Sequence[Dim | None] | None = None,
    index: Sequence[Integer | Unknown] | None = None,
    *,
    role: Role = Role.INPUT,
    space: MemorySpace | Unknown = MemorySpace.VMEM,
    buffers: int | None = None,
    name: str = "x",
) -> Operand:
    """An input or output; without ``block`` it is the whole array."""
    spec = None
    if block is not None:
        spec = BlockSpec(block_dims(block), None if index is None else index_map(index), None, buffers, SPAN)
    return Operand(name, role, ArrayType(tuple(array), dtype), spec, space, None)


def scratch(shape: Sequence[Dim], dtype: str = "float32", space: MemorySpace = MemorySpace.VMEM) -> Operand:
    """A scratch buffer."""
    return Operand("scratch", Role.SCRATCH, ArrayType(tuple(shape), dtype), None, space, None)


def prefetch(shape: Sequence[Dim], dtype: str = "int32") -> Operand:
    """A scalar-prefetch operand."""
    return Operand("table", Role.PREFETCH, ArrayType(tuple(shape), dtype), None, MemorySpace.SMEM, None)


def call(
    operands: Sequence[Operand] | Unknown,
    grid: Sequence[Dim] | Unknown = (),
    *,
    semantics: Sequence[str] | None = None,
    limit: Integer | Unknown | None = None,
) -> KernelCall:
    """A ``pallas_call`` with these operands."""
    known = Unknown("not part of the test")
    return KernelCall(
        form=Form.PALLAS_CALL,
        name="f",
        specialisation="generic",
        span=SPAN,
        callee_span=SPAN,
        grid=grid if isinstance(grid, Unknown) else tuple(grid),
        grid_span=None,
        grid_dim_spans=(),
        grid_is_given=True,
        grid_spec_span=None,
        grid_beside_grid_spec=(),
        num_scalar_prefetch=0,
        prefetch_span=None,
        in_specs=known,
        out_specs=known,
        out_shape_count=known,
        out_shape_span=None,
        argument_count=known,
        arguments_span=None,
        operands=operands if isinstance(operands, Unknown) else tuple(operands),
        scratch_span=None,
        named_scratch=0,
        kernel=known,
        semantics=None if semantics is None else Semantics(tuple(semantics), None),
        vmem_limit_bytes=limit,
        vmem_limit_span=None,
        aliases=(),
        alias_span=None,
    )


def of_role(operand: Operand, role: Role) -> Operand:
    """``operand`` in another role."""
    return replace(operand, role=role)
