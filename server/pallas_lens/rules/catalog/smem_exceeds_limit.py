"""Scalar memory that does not fit into SMEM.

## What it does

Adds up prefetched operands, windows and scratch in SMEM, with their padding, and
compares the sum with the chip's 1 MiB.

## Why it is wrong

The compiler stops with "Allocation would exceed memory". A table of rank 2 is padded
like a block in VMEM: an int32 table of shape (2040, 1) takes 128 lanes a row and fills
SMEM, while a flat one of 200000 entries fits.

## Known limits

Says nothing where a shape or dtype is not known.

## Source

Measured with libtpu 0.0.52 on the five chips.
"""

from __future__ import annotations

from collections.abc import Iterable

from pallas_lens.model.chip import Chip
from pallas_lens.model.dtypes import short_name
from pallas_lens.model.finding import Severity
from pallas_lens.model.kernel_call import Form, KernelCall
from pallas_lens.model.smem import smem_limit, smem_of
from pallas_lens.model.unknown import Unknown
from pallas_lens.model.vmem import BufferItem, MemoryUse

from ..context import Context
from ..example import kernel_file
from ..parts import related
from ..rule import CallRule, Invalid, Problem, Valid
from ..wording import bytes_text, listed, operand_name, shape_text

_MOST_ITEMS = 3


def check(call: KernelCall, context: Context) -> Iterable[Problem]:
    if call.form is not Form.PALLAS_CALL:
        return
    exceeding: list[tuple[Chip, MemoryUse]] = []
    # Buffers are padded alike on all chips, so that a call that fits where least is allowed fits everywhere.
    tightest = smem_of(call, min(context.targets, key=smem_limit))
    if isinstance(tightest, Unknown) or tightest.exceeds_limit is not True:
        return
    for chip in context.targets:
        use = smem_of(call, chip)
        if isinstance(use, MemoryUse) and use.exceeds_limit is True:
            exceeding.append((chip, use))
    if not exceeding:
        return
    use = exceeding[0][1]
    items = sorted((item for item in use.items if item.bytes_at_least), key=lambda item: -item.bytes_at_least)
    limit = min(one.limit for _, one in exceeding if isinstance(one.limit, int))
    narrow = any(_is_padded_a_lot(item) for item in items)
    advice = "flatten narrow tables, their last dim is padded to 128" if narrow else "keep large tables in VMEM or HBM"
    yield Problem(
        call.callee_span,
        f"prefetched operands, windows and scratch take at least {bytes_text(use.at_least)} of SMEM, of which the "
        f"kernel can have {bytes_text(limit)}: "
        f"{listed(tuple(_item_text(call, item) for item in items[:_MOST_ITEMS]))}; {advice}",
        related=tuple(
            place
            for item in items[:_MOST_ITEMS]
            for place in related(item.operand.span, f"{operand_name(call, item.operand)} in SMEM")
        ),
        chips=tuple(chip.name for chip, _ in exceeding),
    )


def _item_text(call: KernelCall, item: BufferItem) -> str:
    shape = "?" if isinstance(item.shape, Unknown) else shape_text(item.shape)
    dtype = "" if isinstance(item.dtype, Unknown) else f" {short_name(item.dtype)}"
    return f"{operand_name(call, item.operand)} {bytes_text(item.bytes_at_least)} ({shape}{dtype})"


def _is_padded_a_lot(item: BufferItem) -> bool:
    """Whether flattening would at least halve it."""
    shape = item.shape
    if isinstance(shape, Unknown) or len(shape) < 2:
        return False
    last = shape[-1]
    return isinstance(last, int) and last <= 64


RULE = CallRule(
    code="PAL502",
    name="smem-exceeds-limit",
    severity=Severity.ERROR,
    summary="Prefetched operands, windows and scratch take more SMEM than the chip has.",
    documentation=__doc__ or "",
    check=check,
    about_whole_call=True,
    valid=(
        Valid(
            kernel_file("""
                def gather(rows_ref, x_ref, o_ref):
                    o_ref[...] = x_ref[...]


                # pallas-lens: example a0=i32[4096], a1=f32[32,128]
                def call(a0, a1):
                    grid_spec = pltpu.PrefetchScalarGridSpec(
                        num_scalar_prefetch=1,
                        grid=(4,),
                        in_specs=[pl.BlockSpec((8, 128), lambda i, rows: (rows[i], 0))],
                        out_specs=pl.BlockSpec((8, 128), lambda i, rows: (i, 0)),
                    )
                    return pl.pallas_call(
                        gather,
                        grid_spec=grid_spec,
                        out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32),
                    )(a0, a1)
            """)
        ),
    ),
    invalid=(
        Invalid(
            kernel_file("""
                def gather(rows_ref, x_ref, o_ref):
                    o_ref[...] = x_ref[...]


                # pallas-lens: example a0=i32[4096,1], a1=f32[32,128]
                def call(a0, a1):
                    grid_spec = pltpu.PrefetchScalarGridSpec(
                        num_scalar_prefetch=1,
                        grid=(4,),
                        in_specs=[pl.BlockSpec((8, 128), lambda i, rows: (rows[i, 0], 0))],
                        out_specs=pl.BlockSpec((8, 128), lambda i, rows: (i, 0)),
                    )
                    return pl.pallas_call(
                        gather,
                        grid_spec=grid_spec,
                        out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32),
                    )(a0, a1)
            """),
            at="pl.pallas_call",
            refusal="smem",
        ),
    ),
)
