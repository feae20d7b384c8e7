"""Block of `pltpu.emit_pipeline` that no DMA can move.

## What it does

Checks the blocks of `pltpu.emit_pipeline` whose arrays are known. Like `pallas_call` it
wants the last block dim to be a multiple of 128 or the whole array dim; it differs in
what else it takes: rows in any number that divides the array, and on some chips
narrow blocks that divide 128 lanes.

## Why it is wrong

The pipeline moves each block by a DMA of its own. A block that does not divide its
array must be whole tiles ("Block size must divide tiling"); a slice of lanes must be
whole tiles too, or on v4 and v5e at least 512 bytes ("The contiguous inner slice in the
DMA transfer must be divisible by 512 bytes"), and on v7x its offset must be known to be
aligned. On v5p and v6e blocks of 64 or 32 lanes are moved.

## Known limits

Says nothing where the array, the block or the index map is not known, and nothing of
pipelines with `tiling=`. SparseCore kernels have other tiles: silence the rule there.

## Source

`_create_blocked_slice` in `jax/_src/pallas/mosaic/pipeline.py`, JAX 0.10 to 0.12;
measured with libtpu 0.0.52 on the five chips.
"""

from __future__ import annotations

from collections.abc import Iterable

from pallas_lens.model.finding import Severity
from pallas_lens.model.fix import Fix, Replace
from pallas_lens.model.grid import axis_symbol, has_several_steps
from pallas_lens.model.kernel_call import BlockDimension, Dim, DimensionKind, Form, IndexMap, KernelCall, MemorySpace
from pallas_lens.model.symbolic import symbols_of
from pallas_lens.model.tiling import LANES, SUBLANES, packing
from pallas_lens.model.unknown import Unknown

from ..context import Context
from ..example import kernel_file
from ..parts import array_shape, has_known_windows, windowed_operands
from ..rule import CallRule, Invalid, Problem, Valid
from ..wording import operand_name

_MOVES_NARROW_LANES = ("v5p", "v6e")
_MOVES_NARROW_LANES_AT_FIXED_OFFSETS = (*_MOVES_NARROW_LANES, "v7x")


def check(call: KernelCall, context: Context) -> Iterable[Problem]:
    if call.form is not Form.EMIT_PIPELINE or not has_known_windows(call):
        return
    for operand, spec in windowed_operands(call):
        shape, block = array_shape(operand), spec.block_shape
        if block is None or isinstance(block, Unknown) or isinstance(shape, Unknown) or len(block) != len(shape):
            continue
        if spec.memory_space not in (None, MemorySpace.VMEM) or not block:
            continue
        dtype = None if isinstance(operand.array, Unknown) else operand.array.dtype
        rank = len(block)
        for position in range(max(rank - 2, 0), rank):
            dimension, whole = block[position], shape[position]
            span = dimension.span or spec.block_shape_span or spec.span
            moves = _moves(spec.index_map, position, call)
            if span is None or moves is None:
                continue
            refused = _refusing_chips(
                dimension, whole, rank, position, moves, dtype if isinstance(dtype, str) else None, context
            )
            if not refused:
                continue
            multiple = _multiple(rank, position, dtype if isinstance(dtype, str) else None) or LANES
            assert isinstance(dimension.size, int) and isinstance(whole, int)
            size = dimension.size
            best = min(-(-size // multiple) * multiple, whole)
            why = _why(size, whole, multiple, position == rank - 1)
            place = "last block dim" if position == rank - 1 else "last block dim but one"
            fix = Fix(f"Use {best} here (adapt the grid to it)", (Replace(span, str(best), over=str(size)),))
            yield Problem(
                span,
                f"{place} {size} of the pipeline is neither a multiple of {multiple} nor dim {position} of "
                f"{operand_name(call, operand)}, {whole}: {why}; use {best}",
                fix=fix,
                chips=refused,
            )


def _moves(index_map: IndexMap | Unknown | None, position: int, call: KernelCall) -> bool | None:
    """Whether the block walks along a dim as the grid goes on."""
    if not isinstance(index_map, IndexMap) or isinstance(index_map.results, Unknown) or isinstance(call.grid, Unknown):
        return None
    if position >= len(index_map.results):
        return None
    value = index_map.results[position].value
    if isinstance(value, Unknown):
        return None
    names = symbols_of(value)
    answers = [has_several_steps(dim) for axis, dim in enumerate(call.grid) if axis_symbol(axis) in names]
    if True in answers:
        return True
    return None if None in answers else False


def _multiple(rank: int, position: int, dtype: str | None) -> int | None:
    """Rows or lanes of a whole tile."""
    if rank >= 2:
        return LANES if position == rank - 1 else SUBLANES
    share = packing(dtype) if dtype is not None else None
    return LANES * share if share else None


def _refusing_chips(
    dimension: BlockDimension,
    whole: Dim,
    rank: int,
    position: int,
    moves: bool,
    dtype: str | None,
    context: Context,
) -> tuple[str, ...]:
    size = dimension.size
    if dimension.kind is not DimensionKind.BLOCKED or not isinstance(size, int) or not isinstance(whole, int):
        return ()
    multiple = _multiple(rank, position, dtype)
    if multiple is None or size <= 0 or size == whole or size % multiple == 0:
        return ()
    everywhere = context.target_names
    if whole % size:
        return everywhere
    if position < rank - 1:
        return ()
    if rank == 1 or LANES % size:
        return everywhere if moves else ()
    able = _MOVES_NARROW_LANES if moves else _MOVES_NARROW_LANES_AT_FIXED_OFFSETS
    return tuple(name for name in everywhere if name not in able)


def _why(size: int, whole: int, multiple: int, is_last: bool) -> str:
    if whole % size:
        return "a block that does not divide its array must be whole tiles"
    unit = "rows" if not is_last else "lanes" if multiple == LANES else "elements"
    return f"the DMA moves whole tiles of {multiple} {unit}"


def _pipeline(array: str, block: str, grid: int, index_map: str) -> str:
    """An example: a copy through a pipeline of its own."""
    return kernel_file(f"""
        def double(x_ref, o_ref):
            o_ref[...] = x_ref[...] * 2


        def pipeline(x_ref, o_ref):
            block = pl.BlockSpec({block}, {index_map})
            pltpu.emit_pipeline(double, grid=({grid},), in_specs=[block], out_specs=[block])(x_ref, o_ref)


        # pallas-lens: example a0={array}
        def call(a0):
            whole = pl.BlockSpec(memory_space=pl.ANY)
            return pl.pallas_call(
                pipeline,
                in_specs=[whole],
                out_specs=whole,
                out_shape=jax.ShapeDtypeStruct(a0.shape, a0.dtype),
            )(a0)
    """)


RULE = CallRule(
    code="PAL109",
    name="pipeline-block-not-dma-aligned",
    severity=Severity.ERROR,
    summary="A block of `pltpu.emit_pipeline` that the DMA cannot move.",
    documentation=__doc__ or "",
    check=check,
    valid=(
        Valid(_pipeline("f32[8,256]", "(8, 128)", 2, "lambda i: (0, i)")),
        # Any number of rows that divides the array, and the whole of a dim, however odd.
        Valid(_pipeline("f32[36,100]", "(12, 100)", 3, "lambda i: (i, 0)")),
    ),
    invalid=(
        Invalid(
            _pipeline("f32[8,256]", "(8, 64)", 4, "lambda i: (0, i)"),
            at="64",
            refusal="DMA|multiple of the word size",
            chips=("v4", "v5e", "v7x"),
        ),
        Invalid(
            _pipeline("f32[8,384]", "(8, 192)", 2, "lambda i: (0, i)"),
            at="192",
            refusal="aligned to tiles",
        ),
        Invalid(
            _pipeline("f32[32,128]", "(12, 128)", 3, "lambda i: (i, 0)"),
            at="12",
            refusal="Block size must divide tiling",
        ),
        Invalid(
            _pipeline("bf16[1024]", "(128,)", 8, "lambda i: (i,)"),
            at="128",
            refusal="aligned to tiles",
        ),
    ),
)
