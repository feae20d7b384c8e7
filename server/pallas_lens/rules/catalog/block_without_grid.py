"""Block that is not the whole array, in a call without a grid.

## What it does

Finds calls with neither `grid` nor a `grid_spec` that has one, whose BlockSpec cuts a
part out of its array.

## Why it is wrong

Without a grid the kernel runs once, so that there is nothing to walk over the blocks:
JAX's TPU lowering says "Non-trivial windowing is not supported for grid-free
pallas_call". Either the grid was forgotten, or the kernel should take the whole array
and slice it itself.

## Known limits

Says nothing where the block or the array is not known. An index map that does not
return the constant 0 is refused too; the rule speaks of it where its value is plain
arithmetic.

## Source

`lower_jaxpr_into_pipelined_module` in `jax/_src/pallas/mosaic/lowering.py`, JAX 0.7 to
0.12.
"""

from __future__ import annotations

from collections.abc import Iterable

from pallas_lens.model.finding import Severity
from pallas_lens.model.kernel_call import Form, KernelCall, MemorySpace
from pallas_lens.model.unknown import Unknown

from ..context import Context
from ..example import kernel_file
from ..parts import (
    WHOLE_ARRAY_SPACES,
    array_related,
    array_shape,
    has_trivial_window,
    related,
    runs_once,
    windowed_operands,
)
from ..rule import CallRule, Invalid, Problem, Valid
from ..wording import operand_name, shape_text


def check(call: KernelCall, context: Context) -> Iterable[Problem]:
    if call.form is not Form.PALLAS_CALL or runs_once(call) is not True:
        return
    for operand, spec in windowed_operands(call):
        span = spec.block_shape_span or spec.span
        shape = array_shape(operand)
        if span is None or operand.memory_space in (*WHOLE_ARRAY_SPACES, MemorySpace.SEMAPHORE):
            continue
        block = spec.block_shape
        if block is None or isinstance(block, Unknown) or isinstance(shape, Unknown) or len(block) != len(shape):
            continue
        if has_trivial_window(operand, spec) is not False:
            continue
        sizes = tuple(dimension.size for dimension in block)
        array = f"the array of {operand_name(call, operand)} is {shape_text(shape)}"
        what = f"but {array}" if sizes != shape else "but the index map does not return zeros"
        yield Problem(
            span,
            f"the call has no grid, so the kernel runs once and each block must be the whole array at index 0; "
            f"this one is {shape_text(sizes)}, {what}; give a grid, or take the block shape "
            "out and slice in the kernel",
            related=(*array_related(operand, call), *related(call.callee_span, "no grid here")),
        )


RULE = CallRule(
    code="PAL104",
    name="block-without-grid",
    severity=Severity.ERROR,
    summary="A call without a grid has a block that is not the whole array.",
    documentation=__doc__ or "",
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
                    whole = pl.BlockSpec((32, 128), lambda: (0, 0))
                    return pl.pallas_call(
                        double,
                        in_specs=[whole],
                        out_specs=whole,
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
                    block = pl.BlockSpec((8, 128), lambda: (0, 0))
                    return pl.pallas_call(
                        double,
                        in_specs=[block],
                        out_specs=block,
                        out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32),
                    )(a0)
            """),
            at="(8, 128)",
            refusal="Non-trivial windowing is not supported for grid-free pallas_call",
        ),
    ),
)
