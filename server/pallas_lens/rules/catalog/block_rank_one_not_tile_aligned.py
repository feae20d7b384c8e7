"""Block of rank 1 whose size the TPU cannot tile.

## What it does

Checks blocks of rank 1. The size must be the whole array, or a multiple of 1024, or a
power of two of at least 128 times the number of elements in 32 bits: 128 for float32,
256 for bfloat16, 512 for int8.

## Why it is wrong

An array of rank 1 lies in tiles of 1024 elements, and smaller windows are cut from a
tile only at sizes that fill whole rows of 128 32-bit words. JAX's TPU lowering refuses
the others.

## Known limits

Says nothing where the size, the array or the dtype that decides is not known.

## Source

`_check_block_mappings` in `jax/_src/pallas/mosaic/lowering.py`, JAX 0.7 to 0.12.
"""

from __future__ import annotations

from collections.abc import Iterable

from pallas_lens.model.finding import Severity
from pallas_lens.model.fix import Fix, Replace
from pallas_lens.model.kernel_call import DimensionKind, Form, KernelCall
from pallas_lens.model.tiling import LANES, legal_block_dim, nearest_legal_sizes, packing, tiling_applies
from pallas_lens.model.unknown import Unknown

from ..context import Context
from ..example import kernel_file
from ..parts import array_related, array_shape, has_trivial_window, runs_once, windowed_operands
from ..rule import CallRule, Invalid, Problem, Valid
from ..wording import dim_text, operand_name
from .block_not_tile_aligned import CHECKED_SPACES


def check(call: KernelCall, context: Context) -> Iterable[Problem]:
    if call.form is not Form.PALLAS_CALL or runs_once(call) is not False:
        return
    for operand, spec in windowed_operands(call):
        shape = array_shape(operand)
        block = spec.block_shape
        if block is None or isinstance(block, Unknown) or isinstance(shape, Unknown):
            continue
        if len(block) != 1 or len(shape) != 1 or operand.memory_space not in CHECKED_SPACES:
            continue
        if tiling_applies(operand.memory_space, has_trivial_window(operand, spec)) is not True:
            continue
        (dimension,), (whole,) = block, shape
        span = dimension.span or spec.block_shape_span or spec.span
        dtype = Unknown("no array") if isinstance(operand.array, Unknown) else operand.array.dtype
        if span is None or dimension.kind in (DimensionKind.BOUNDED_SLICE, DimensionKind.INDIRECT):
            continue
        if legal_block_dim(dimension.size, whole, 1, 0, dtype, call.facts) is not False:
            continue
        share = None if isinstance(dtype, Unknown) else packing(dtype)
        least = f"at least {LANES * share} ({dtype})" if share else f"at least {LANES} 32-bit words"
        of = f"{operand_name(call, operand)} has {dim_text(whole)} elements"
        if dimension.kind is DimensionKind.SQUEEZED:
            message = f"an array of rank 1 cannot be squeezed: the block would be 1 element, and {of}"
            yield Problem(span, message, related=array_related(operand, call))
            continue
        sizes: tuple[int, ...] = ()
        fix = None
        if isinstance(dimension.size, int):
            size = dimension.size
            sizes = nearest_legal_sizes(size, whole, 1, 0, dtype)
            if sizes and dimension.span is not None:
                best = min(sizes, key=lambda candidate: (abs(candidate - size), candidate))
                edit = Replace(dimension.span, str(best), over=str(size))
                fix = Fix(f"Use {best} here (adapt the grid to it)", (edit,))
        advice = f"; use {' or '.join(map(str, sizes))}" if sizes else ""
        yield Problem(
            span,
            f"a rank-1 block of {dim_text(dimension.size)} is neither the whole array nor a multiple of 1024 nor a "
            f"power of two of {least}; {of}{advice}",
            fix=fix,
            related=array_related(operand, call),
        )


RULE = CallRule(
    code="PAL103",
    name="block-rank-one-not-tile-aligned",
    severity=Severity.ERROR,
    summary="A rank-1 block is neither the whole array, nor a multiple of 1024, nor a large enough power of two.",
    documentation=__doc__ or "",
    check=check,
    valid=(
        Valid(
            kernel_file("""
                def add_one(x_ref, o_ref):
                    o_ref[...] = x_ref[...] + 1


                # pallas-lens: example a0=bf16[1024]
                def call(a0):
                    block = pl.BlockSpec((256,), lambda i: (i,))
                    return pl.pallas_call(
                        add_one,
                        grid=(4,),
                        in_specs=[block],
                        out_specs=block,
                        out_shape=jax.ShapeDtypeStruct((1024,), jnp.bfloat16),
                    )(a0)
            """)
        ),
        Valid(
            kernel_file("""
                def add_one(x_ref, o_ref):
                    o_ref[...] = x_ref[...] + 1


                # pallas-lens: example a0=f32[1000]
                def call(a0):
                    block = pl.BlockSpec((128,), lambda i: (i,))
                    return pl.pallas_call(
                        add_one,
                        grid=(8,),
                        in_specs=[block],
                        out_specs=block,
                        out_shape=jax.ShapeDtypeStruct((1000,), jnp.float32),
                    )(a0)
            """)
        ),
    ),
    invalid=(
        Invalid(
            kernel_file("""
                def add_one(x_ref, o_ref):
                    o_ref[...] = x_ref[...] + 1


                # pallas-lens: example a0=bf16[1024]
                def call(a0):
                    block = pl.BlockSpec((128,), lambda i: (i,))
                    return pl.pallas_call(
                        add_one,
                        grid=(8,),
                        in_specs=[block],
                        out_specs=block,
                        out_shape=jax.ShapeDtypeStruct((1024,), jnp.bfloat16),
                    )(a0)
            """),
            at="128",
            refusal="rank 1 block",
        ),
        Invalid(
            kernel_file("""
                def add_one(x_ref, o_ref):
                    o_ref[...] = x_ref[...] + 1


                # pallas-lens: example a0=f32[3000]
                def call(a0):
                    block = pl.BlockSpec((1000,), lambda i: (i,))
                    return pl.pallas_call(
                        add_one,
                        grid=(3,),
                        in_specs=[block],
                        out_specs=block,
                        out_shape=jax.ShapeDtypeStruct((3000,), jnp.float32),
                    )(a0)
            """),
            at="1000",
            refusal="rank 1 block",
        ),
    ),
)
