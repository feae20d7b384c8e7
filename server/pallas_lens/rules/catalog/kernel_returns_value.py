"""Kernel that returns a value.

## What it does

Finds kernels that return an array, a number or a ref.

## Why it is wrong

A kernel gives its results by writing to the refs of its outputs. JAX refuses one that
returns something: "should return None. It returns a PyTree". Most often the last line
was meant to be an assignment: `o_ref[...] = value`.

## Known limits

Says nothing where the returned value is not known, or where the kernel has several
`return` statements with a value.

## Source

`_trace_kernel_to_jaxpr` in `jax/_src/pallas/pallas_call.py`, JAX 0.7 to 0.12.
"""

from __future__ import annotations

from collections.abc import Iterable

from pallas_lens.model.finding import Severity
from pallas_lens.model.kernel_body import KernelBody

from ..context import Context
from ..example import kernel_file
from ..rule import BodyRule, Invalid, Problem, Valid


def check(body: KernelBody, context: Context) -> Iterable[Problem]:
    if body.returned is not None:
        yield Problem(
            body.returned,
            f"kernel `{body.kernel}` returns a value, and a kernel must return nothing; write it to an output ref: "
            "`o_ref[...] = value`",
        )


RULE = BodyRule(
    code="PAL602",
    name="kernel-returns-value",
    severity=Severity.ERROR,
    summary="A kernel returns a value instead of writing it to a ref.",
    documentation=__doc__ or "",
    every_backend=True,
    check=check,
    valid=(
        Valid(
            kernel_file("""
                def double(x_ref, o_ref):
                    def doubled():
                        return x_ref[...] * 2

                    o_ref[...] = doubled()
                    return


                # pallas-lens: example a0=f32[8,128]
                def call(a0):
                    return pl.pallas_call(double, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))(a0)
            """)
        ),
    ),
    invalid=(
        Invalid(
            kernel_file("""
                def double(x_ref, o_ref):
                    return x_ref[...] * 2


                # pallas-lens: example a0=f32[8,128]
                def call(a0):
                    return pl.pallas_call(double, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))(a0)
            """),
            at="x_ref[...] * 2",
            refusal="should return None",
        ),
    ),
)
