"""Scalar in SMEM of a call with a grid.

## What it does

Finds inputs and outputs of rank 0 in SMEM, in calls that have a grid.

## Why it is wrong

With a grid each operand gets a window, and the compiler has none for arrays of rank 0:
"Failed to set window params for input 0: Scalar windows not implemented". JAX's own
checks let it pass, so that it fails late and without a line. An array of shape (1,) is
fine, and so is a prefetched operand.

## Known limits

Says nothing where the array, the memory space or the grid is not known.

## Source

Measured with libtpu 0.0.52 on the five chips, under JAX 0.10.2 and 0.12.0.1.
"""

from __future__ import annotations

from collections.abc import Iterable

from pallas_lens.model.finding import Severity
from pallas_lens.model.kernel_call import BlockSpec, Form, KernelCall, MemorySpace, Role
from pallas_lens.model.unknown import Unknown

from ..context import Context
from ..example import kernel_file
from ..parts import array_related, array_shape, grid_related, runs_once
from ..rule import CallRule, Invalid, Problem, Valid
from ..wording import operand_name


def check(call: KernelCall, context: Context) -> Iterable[Problem]:
    if call.form is not Form.PALLAS_CALL or runs_once(call) is not False or isinstance(call.operands, Unknown):
        return
    for operand in call.operands:
        if operand.role not in (Role.INPUT, Role.OUTPUT) or operand.is_tree or array_shape(operand) != ():
            continue
        if operand.memory_space is not MemorySpace.SMEM:
            continue
        span = operand.spec.span if isinstance(operand.spec, BlockSpec) else operand.span
        source = "return" if operand.role is Role.OUTPUT else "pass"
        advice = f"{source} it as an array of shape (1,)" + (", or prefetch it" if source == "pass" else "")
        yield Problem(
            span or call.callee_span,
            f"{operand_name(call, operand)} is a scalar, and in a call with a grid the compiler has no window for one, "
            f"not even in SMEM; {advice}",
            related=(*array_related(operand, call), *grid_related(call)),
        )


RULE = CallRule(
    code="PAL305",
    name="rank-zero-block-with-grid",
    severity=Severity.ERROR,
    summary="A scalar input or output in SMEM, in a call that has a grid.",
    documentation=__doc__ or "",
    check=check,
    valid=(
        Valid(
            kernel_file("""
                def scale(s_ref, x_ref, o_ref):
                    o_ref[...] = x_ref[...] * s_ref[0]


                # pallas-lens: example a0=f32[], a1=f32[32,128]
                def call(a0, a1):
                    block = pl.BlockSpec((8, 128), lambda i: (i, 0))
                    return pl.pallas_call(
                        scale,
                        grid=(4,),
                        in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), block],
                        out_specs=block,
                        out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32),
                    )(a0.reshape(1), a1)
            """)
        ),
        Valid(
            kernel_file("""
                def scale(s_ref, x_ref, o_ref):
                    o_ref[...] = x_ref[...] * s_ref[()]


                # pallas-lens: example a0=f32[], a1=f32[32,128]
                def call(a0, a1):
                    return pl.pallas_call(
                        scale,
                        in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec(memory_space=pltpu.VMEM)],
                        out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32),
                    )(a0, a1)
            """)
        ),
    ),
    invalid=(
        Invalid(
            kernel_file("""
                def scale(s_ref, x_ref, o_ref):
                    o_ref[...] = x_ref[...] * s_ref[()]


                # pallas-lens: example a0=f32[], a1=f32[32,128]
                def call(a0, a1):
                    block = pl.BlockSpec((8, 128), lambda i: (i, 0))
                    return pl.pallas_call(
                        scale,
                        grid=(4,),
                        in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), block],
                        out_specs=block,
                        out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32),
                    )(a0, a1)
            """),
            at="pl.BlockSpec(memory_space=pltpu.SMEM)",
            refusal="Scalar windows not implemented",
        ),
    ),
)
