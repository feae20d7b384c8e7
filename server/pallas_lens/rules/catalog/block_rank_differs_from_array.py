"""Block shape of another rank than its array.

## What it does

Compares the length of each `block_shape` with the number of dims of the array that it
cuts into blocks.

## Why it is wrong

A block has one entry for each dim of its array. JAX refuses any other length while it
traces the call: "Block shape for args[0] must have the same number of dimensions as
the array shape". A dim that the kernel does not want to see still needs an entry:
`None` (or `pl.Squeezed()`) takes one element of it and drops it from the ref.

## Known limits

Says nothing where the rank of the array is not known, nothing about arguments that are
trees of arrays, and nothing about pipelines that are run with `allocations`.

## Source

`BlockSpec.to_block_mapping` in `jax/_src/pallas/core.py`, JAX 0.7 to 0.12.
"""

from __future__ import annotations

from collections.abc import Iterable

from pallas_lens.model.finding import Severity
from pallas_lens.model.kernel_call import KernelCall
from pallas_lens.model.unknown import Unknown

from ..context import Context
from ..example import kernel_file
from ..parts import array_related, array_shape, has_known_windows, windowed_operands
from ..rule import CallRule, Invalid, Problem, Valid
from ..wording import counted, operand_name, shape_text


def check(call: KernelCall, context: Context) -> Iterable[Problem]:
    if not has_known_windows(call):
        return
    for operand, spec in windowed_operands(call):
        shape = array_shape(operand)
        block = spec.block_shape
        span = spec.block_shape_span or spec.span
        if block is None or isinstance(block, Unknown) or isinstance(shape, Unknown) or span is None:
            continue
        if len(block) != len(shape):
            missing = len(shape) - len(block)
            advice = (
                f"add {counted(missing, 'entry', 'entries')} (None takes one element of a dim and drops it)"
                if missing > 0
                else f"take {counted(-missing, 'entry', 'entries')} out"
            )
            yield Problem(
                span,
                f"block shape has {counted(len(block), 'dim')}, but the array of {operand_name(call, operand)} has "
                f"{len(shape)}: {shape_text(shape)}; {advice}",
                related=array_related(operand, call),
            )


RULE = CallRule(
    code="PAL101",
    name="block-rank-differs-from-array",
    severity=Severity.ERROR,
    summary="A block shape has more or fewer entries than its array has dims.",
    documentation=__doc__ or "",
    every_backend=True,
    check=check,
    valid=(
        Valid(
            kernel_file("""
                def double(x_ref, o_ref):
                    o_ref[...] = x_ref[...] * 2


                # pallas-lens: example a0=f32[4,32,128]
                def call(a0):
                    block = pl.BlockSpec((None, 8, 128), lambda b, i: (b, i, 0))
                    return pl.pallas_call(
                        double,
                        grid=(4, 4),
                        in_specs=[block],
                        out_specs=block,
                        out_shape=jax.ShapeDtypeStruct(a0.shape, a0.dtype),
                    )(a0)
            """)
        ),
    ),
    invalid=(
        Invalid(
            kernel_file("""
                def double(x_ref, o_ref):
                    o_ref[...] = x_ref[...] * 2


                # pallas-lens: example a0=f32[4,32,128]
                def call(a0):
                    return pl.pallas_call(
                        double,
                        grid=(4, 4),
                        in_specs=[pl.BlockSpec((8, 128), lambda b, i: (i, 0))],
                        out_specs=pl.BlockSpec((None, 8, 128), lambda b, i: (b, i, 0)),
                        out_shape=jax.ShapeDtypeStruct(a0.shape, a0.dtype),
                    )(a0)
            """),
            at="(8, 128)",
            refusal="must have the same number of dimensions",
        ),
        Invalid(
            kernel_file("""
                def double(x_ref, o_ref):
                    o_ref[...] = x_ref[...] * 2


                # pallas-lens: example a0=f32[32,128]
                def call(a0):
                    return pl.pallas_call(
                        double,
                        grid=(4,),
                        in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
                        out_specs=pl.BlockSpec((1, 8, 128), lambda i: (0, i, 0)),
                        out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32),
                    )(a0)
            """),
            at="(1, 8, 128)",
            refusal="must have the same number of dimensions",
        ),
    ),
)
