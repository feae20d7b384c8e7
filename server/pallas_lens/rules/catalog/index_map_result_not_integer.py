"""Index map that returns a float or an array where a block index is wanted.

## What it does

Finds values in the results of index maps that are floats (a true division, a float
literal) or arrays of rank 1 and more.

## Why it is wrong

Each result is a block index: an int32 scalar. JAX says "Index map function must return
integer scalars. Output[0] has type float32[]". The usual cause is `/` in the place of
`//`.

## Known limits

Follows plain arithmetic, `jnp` calls whose result type is known, and no others.

## Source

`BlockSpec.to_block_mapping` in `jax/_src/pallas/core.py`, JAX 0.7 to 0.12.
"""

from __future__ import annotations

from collections.abc import Iterable

from pallas_lens.model.finding import Severity
from pallas_lens.model.kernel_call import Form, IndexMap, KernelCall
from pallas_lens.model.unknown import Unknown

from ..context import Context
from ..example import kernel_file
from ..parts import all_specs
from ..rule import CallRule, Invalid, Problem, Valid

_WHAT = {
    "float": "a float, and a block index is an integer; divide with `//`",
    "array": "an array, and a block index is an integer scalar",
}


def check(call: KernelCall, context: Context) -> Iterable[Problem]:
    if call.form not in (Form.PALLAS_CALL, Form.EMIT_PIPELINE):
        return
    for spec in all_specs(call):
        index_map = spec.index_map
        if not isinstance(index_map, IndexMap) or isinstance(index_map.results, Unknown):
            continue
        for position, result in enumerate(index_map.results):
            span = result.span or index_map.span
            if result.kind in _WHAT and span is not None:
                yield Problem(span, f"index map returns for dim {position} {_WHAT[result.kind]}")


RULE = CallRule(
    code="PAL203",
    name="index-map-result-not-integer",
    severity=Severity.ERROR,
    summary="An index map returns a float or an array in the place of a block index.",
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
                    return pl.pallas_call(
                        double,
                        grid=(8,),
                        in_specs=[pl.BlockSpec((8, 128), lambda i: (i // 2, 0))],
                        out_specs=pl.BlockSpec((8, 128), lambda i: (jax.lax.div(i, 2), 0)),
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
                    block = pl.BlockSpec((8, 128), lambda i: (i / 2, 0))
                    return pl.pallas_call(
                        double,
                        grid=(8,),
                        in_specs=[block],
                        out_specs=block,
                        out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32),
                    )(a0)
            """),
            at="i / 2",
            refusal="must return integer scalars",
        ),
        Invalid(
            kernel_file("""
                def double(x_ref, o_ref):
                    o_ref[...] = x_ref[...] * 2


                # pallas-lens: example a0=f32[32,128]
                def call(a0):
                    block = pl.BlockSpec((8, 128), lambda i: (jnp.floor(i * 0.5), 0))
                    return pl.pallas_call(
                        double,
                        grid=(8,),
                        in_specs=[block],
                        out_specs=block,
                        out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32),
                    )(a0)
            """),
            at="jnp.floor(i * 0.5)",
            refusal="must return integer scalars",
        ),
        Invalid(
            kernel_file("""
                def double(x_ref, o_ref):
                    o_ref[...] = x_ref[...] * 2


                # pallas-lens: example a0=f32[32,128]
                def call(a0):
                    block = pl.BlockSpec((8, 128), lambda i: (i, 0.0))
                    return pl.pallas_call(
                        double,
                        grid=(4,),
                        in_specs=[block],
                        out_specs=block,
                        out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32),
                    )(a0)
            """),
            at="0.0",
            refusal="must return integer scalars",
        ),
    ),
)
