"""Block dim that is neither a whole number of tiles nor the whole array dim.

## What it does

Checks the last two dims of each block of rank 2 or more: the last must be a multiple
of 128 or the whole array dim, the one before it a multiple of 8 or the whole array
dim. A dim given as `None` or `pl.Squeezed()` counts as 1.

## Why it is wrong

The TPU moves arrays in tiles of 8 sublanes by 128 lanes, and JAX's TPU lowering
refuses windows that would cut a tile, for every dtype alike: a bfloat16 or int8 block
of 8 rows is legal. The block need not divide the array, and the whole dim is always
allowed, however odd it is.

## Known limits

Says nothing where a size is not known, or where the memory space is not. Blocks of
rank 1 have a rule of their own, `block-rank-one-not-tile-aligned`; SMEM blocks are
free while they are the whole array.

## Source

`_check_block_mappings` in `jax/_src/pallas/mosaic/lowering.py`, JAX 0.7 to 0.12.
"""

from __future__ import annotations

from collections.abc import Iterable

from pallas_lens.model.finding import Severity
from pallas_lens.model.fix import Fix, Replace
from pallas_lens.model.kernel_call import BlockDimension, Dim, DimensionKind, Form, KernelCall, MemorySpace, Operand
from pallas_lens.model.tiling import (
    dividing_sizes,
    legal_block_dim,
    nearest_legal_sizes,
    required_multiple,
    tiling_applies,
)
from pallas_lens.model.unknown import Unknown

from ..context import Context
from ..example import kernel_file
from ..parts import array_related, array_shape, has_trivial_window, runs_once, windowed_operands
from ..rule import CallRule, Invalid, Problem, Valid
from ..wording import dim_text, operand_name

CHECKED_SPACES = (MemorySpace.VMEM, MemorySpace.SMEM)


def check(call: KernelCall, context: Context) -> Iterable[Problem]:
    # Without a grid any block but the whole array is refused: another rule says that.
    if call.form is not Form.PALLAS_CALL or runs_once(call) is not False:
        return
    for operand, spec in windowed_operands(call):
        shape = array_shape(operand)
        block = spec.block_shape
        if block is None or isinstance(block, Unknown) or isinstance(shape, Unknown) or len(block) < 2:
            continue
        if len(block) != len(shape) or operand.memory_space not in CHECKED_SPACES:
            continue
        if tiling_applies(operand.memory_space, has_trivial_window(operand, spec)) is not True:
            continue
        dtype = operand.array if isinstance(operand.array, Unknown) else operand.array.dtype
        rank = len(block)
        for position in (rank - 2, rank - 1):
            dimension, whole = block[position], shape[position]
            span = dimension.span or spec.block_shape_span or spec.span
            if span is None or dimension.kind in (DimensionKind.BOUNDED_SLICE, DimensionKind.INDIRECT):
                continue
            if legal_block_dim(dimension.size, whole, rank, position, dtype, call.facts) is False:
                yield Problem(
                    span,
                    _message(call, operand, dimension, whole, rank, position),
                    fix=_fix(dimension, whole, rank, position),
                    related=array_related(operand, call),
                )


def _message(
    call: KernelCall, operand: Operand, dimension: BlockDimension, whole: Dim, rank: int, position: int
) -> str:
    multiple = required_multiple(rank, position)
    where = "last block dim" if position == rank - 1 else "last block dim but one"
    of = f"dim {position} of {operand_name(call, operand)} is {dim_text(whole)}"
    if dimension.kind is DimensionKind.SQUEEZED:
        return (
            f"a squeezed dim counts as 1 in the {where}, which must be a multiple of {multiple} or the whole dim; "
            f"{of}; squeeze a dim further in front, or take {multiple} of this one"
        )
    size = dim_text(dimension.size)
    whole_text = f", not {size}" if isinstance(whole, int) else ""
    advice = _advice(dimension, whole, rank, position)
    return f"{where} {size} is not a multiple of {multiple}, and {of}{whole_text}{advice}"


def _advice(dimension: BlockDimension, whole: Dim, rank: int, position: int) -> str:
    sizes = _candidates(dimension, whole, rank, position)
    return f"; use {' or '.join(map(str, sizes))}" if sizes else ""


def _candidates(dimension: BlockDimension, whole: Dim, rank: int, position: int) -> tuple[int, ...]:
    if not isinstance(dimension.size, int):
        return ()
    return nearest_legal_sizes(dimension.size, whole, rank, position, Unknown("the dtype plays no part"))


def _fix(dimension: BlockDimension, whole: Dim, rank: int, position: int) -> Fix | None:
    """The nearest size, of those that divide the array where there is one. Unsafe: the grid may have to follow."""
    if dimension.span is None or not isinstance(dimension.size, int):
        return None
    sizes = _candidates(dimension, whole, rank, position)
    if isinstance(whole, int):
        unknown = Unknown("the dtype plays no part")
        sizes = dividing_sizes(dimension.size, whole, rank, position, unknown) or sizes
    if not sizes:
        return None
    size = dimension.size
    best = min(sizes, key=lambda candidate: (abs(candidate - size), candidate))
    return Fix(f"Use {best} here (adapt the grid to it)", (Replace(dimension.span, str(best), over=str(size)),))


RULE = CallRule(
    code="PAL102",
    name="block-not-tile-aligned",
    severity=Severity.ERROR,
    summary="One of the last two block dims is neither a multiple of the tile (8, 128) nor the whole array dim.",
    documentation=__doc__ or "",
    check=check,
    valid=(
        Valid(
            kernel_file("""
                def double(x_ref, o_ref):
                    o_ref[...] = x_ref[...] * 2


                # pallas-lens: example a0=f32[32,512]
                def call(a0):
                    block = pl.BlockSpec((8, 128), lambda i, j: (i, j))
                    return pl.pallas_call(
                        double,
                        grid=(4, 4),
                        in_specs=[block],
                        out_specs=block,
                        out_shape=jax.ShapeDtypeStruct((32, 512), jnp.float32),
                    )(a0)
            """)
        ),
        Valid(
            # The whole dim is legal however odd, 8 rows are for bfloat16 too, and the block need not divide.
            kernel_file("""
                def double(x_ref, o_ref):
                    o_ref[...] = x_ref[...] * 2


                # pallas-lens: example a0=bf16[30,100]
                def call(a0):
                    block = pl.BlockSpec((8, 100), lambda i: (i, 0))
                    return pl.pallas_call(
                        double,
                        grid=(pl.cdiv(a0.shape[0], 8),),
                        in_specs=[block],
                        out_specs=block,
                        out_shape=jax.ShapeDtypeStruct(a0.shape, a0.dtype),
                    )(a0)
            """)
        ),
        Valid(
            # A table that stays whole in SMEM may have any shape.
            kernel_file("""
                def scale(s_ref, x_ref, o_ref):
                    o_ref[...] = x_ref[...] * s_ref[0, 2]


                # pallas-lens: example a0=f32[3,5], a1=f32[32,128]
                def call(a0, a1):
                    block = pl.BlockSpec((8, 128), lambda i: (i, 0))
                    table = pl.BlockSpec((3, 5), lambda i: (0, 0), memory_space=pltpu.SMEM)
                    return pl.pallas_call(
                        scale,
                        grid=(4,),
                        in_specs=[table, block],
                        out_specs=block,
                        out_shape=jax.ShapeDtypeStruct(a1.shape, a1.dtype),
                    )(a0, a1)
            """)
        ),
    ),
    invalid=(
        Invalid(
            kernel_file("""
                def double(x_ref, o_ref):
                    o_ref[...] = x_ref[...] * 2


                # pallas-lens: example a0=f32[32,512]
                def call(a0):
                    block = pl.BlockSpec((8, 64), lambda i, j: (i, j))
                    return pl.pallas_call(
                        double,
                        grid=(4, 8),
                        in_specs=[block],
                        out_specs=block,
                        out_shape=jax.ShapeDtypeStruct((32, 512), jnp.float32),
                    )(a0)
            """),
            at="64",
            refusal="divisible by 8 and 128",
        ),
        Invalid(
            kernel_file("""
                def double(x_ref, o_ref):
                    o_ref[...] = x_ref[...] * 2


                # pallas-lens: example a0=f32[512,128]
                def call(a0):
                    block_rows = 100
                    block = pl.BlockSpec((block_rows, 128), lambda i: (i, 0))
                    return pl.pallas_call(
                        double,
                        grid=(pl.cdiv(512, block_rows),),
                        in_specs=[block],
                        out_specs=block,
                        out_shape=jax.ShapeDtypeStruct((512, 128), jnp.float32),
                    )(a0)
            """),
            at="block_rows",
            occurrence=1,
            refusal="divisible by 8 and 128",
        ),
        Invalid(
            kernel_file("""
                def double(x_ref, o_ref):
                    o_ref[...] = x_ref[...] * 2


                # pallas-lens: example a0=f32[32,128]
                def call(a0):
                    block = pl.BlockSpec((None, 128), lambda i: (i, 0))
                    return pl.pallas_call(
                        double,
                        grid=(32,),
                        in_specs=[block],
                        out_specs=block,
                        out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32),
                    )(a0)
            """),
            at="None",
            refusal="divisible by 8 and 128",
        ),
    ),
)
