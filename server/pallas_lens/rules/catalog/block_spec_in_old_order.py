"""BlockSpec with the index map in front of the block shape.

## What it does

Finds `pl.BlockSpec(index_map, block_shape)`, the order of the arguments before JAX
0.4.31.

## Why it is wrong

The order was turned round. JAX 0.4.31 announced it and 0.4.35 took the old one away;
today the index map is taken for the block shape, and the message is no help:
"'function' object is not iterable".

## Known limits

Sees the old order only where the first argument is known to be a function.

## Source

JAX's changelog, 0.4.31 to 0.4.35; `_canonicalize_block_shape` in
`jax/_src/pallas/core.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pallas_lens.model.finding import Severity
from pallas_lens.model.fix import Applicability, Fix, Replace
from pallas_lens.model.kernel_call import BlockSpec, IndexMap, KernelCall
from pallas_lens.model.span import Span

from ..context import Context
from ..example import kernel_file
from ..parts import all_specs
from ..rule import CallRule, Invalid, Problem, Valid


def check(call: KernelCall, context: Context) -> Iterable[Problem]:
    for spec in all_specs(call):
        if spec.in_old_order and spec.span is not None:
            yield Problem(
                spec.span,
                "BlockSpec takes the block shape first and the index map second since JAX 0.4.31; "
                "here the index map stands first",
                fix=_fix(spec),
            )


def _fix(spec: BlockSpec) -> Fix | None:
    """Names the arguments where they stand, which keeps their text as it is."""
    index_map = spec.index_map.span if isinstance(spec.index_map, IndexMap) else None
    if index_map is None:
        return None
    edits = [Replace(_start_of(index_map), "index_map=")]
    if spec.block_shape_span is not None:
        edits.append(Replace(_start_of(spec.block_shape_span), "block_shape="))
    return Fix("Name the arguments", tuple(edits), Applicability.SAFE)


def _start_of(span: Span) -> Span:
    return replace(span, end_row=span.start_row, end_column=span.start_column)


RULE = CallRule(
    code="PAL105",
    name="block-spec-in-old-order",
    severity=Severity.ERROR,
    summary="A BlockSpec has its index map in front of its block shape, as before JAX 0.4.31.",
    documentation=__doc__ or "",
    every_backend=True,
    check=check,
    valid=(
        Valid(
            kernel_file("""
                def double(x_ref, o_ref):
                    o_ref[...] = x_ref[...] * 2


                # pallas-lens: example a0=f32[32,128]
                def call(a0):
                    block = pl.BlockSpec((8, 128), lambda i: (i, 0))
                    return pl.pallas_call(
                        double,
                        grid=(4,),
                        in_specs=[block],
                        out_specs=block,
                        out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32),
                    )(a0)
            """)
        ),
        Valid(
            kernel_file("""
                def double(x_ref, o_ref):
                    o_ref[...] = x_ref[...] * 2


                # pallas-lens: example a0=f32[32,128]
                def call(a0):
                    block = pl.BlockSpec(index_map=lambda i: (i, 0), block_shape=(8, 128))
                    return pl.pallas_call(
                        double,
                        grid=(4,),
                        in_specs=[block],
                        out_specs=block,
                        out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32),
                    )(a0)
            """)
        ),
    ),
    invalid=(
        Invalid(
            kernel_file("""
                def double(x_ref, o_ref):
                    o_ref[...] = x_ref[...] * 2


                # pallas-lens: example a0=f32[32,128]
                def call(a0):
                    block = pl.BlockSpec(lambda i: (i, 0), (8, 128))
                    return pl.pallas_call(
                        double,
                        grid=(4,),
                        in_specs=[block],
                        out_specs=block,
                        out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32),
                    )(a0)
            """),
            at="pl.BlockSpec(lambda i: (i, 0), (8, 128))",
            refusal="'function' object is not iterable",
        ),
    ),
)
