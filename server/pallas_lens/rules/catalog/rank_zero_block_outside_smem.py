"""Scalar operand that is not in SMEM.

## What it does

Finds inputs and outputs of rank 0 whose memory space is not SMEM.

## Why it is wrong

VMEM is made of tiles and holds no array of rank 0. JAX's TPU lowering says "currently
supports only blocks of rank >= 1". A scalar belongs into SMEM: as a prefetched operand,
as an array of shape (1,), or in a call without a grid as it is, with
`pl.BlockSpec(memory_space=pltpu.SMEM)`.

## Known limits

Says nothing where the array or the memory space is not known.

## Source

`_check_block_mappings` in `jax/_src/pallas/mosaic/lowering.py`, JAX 0.7 to 0.12.
"""

from __future__ import annotations

from collections.abc import Iterable

from pallas_lens.model.finding import Severity
from pallas_lens.model.fix import Fix, InsertArgument
from pallas_lens.model.kernel_call import BlockSpec, Form, KernelCall, MemorySpace, Role
from pallas_lens.model.unknown import Unknown

from ..context import PALLAS_TPU, Context
from ..example import kernel_file
from ..parts import array_related, array_shape, runs_once
from ..rule import CallRule, Invalid, Problem, Valid
from ..wording import operand_name

_REFUSED = (MemorySpace.VMEM, MemorySpace.ANY, MemorySpace.HBM)


def check(call: KernelCall, context: Context) -> Iterable[Problem]:
    if call.form is not Form.PALLAS_CALL or isinstance(call.operands, Unknown):
        return
    for operand in call.operands:
        if operand.role not in (Role.INPUT, Role.OUTPUT) or operand.is_tree or array_shape(operand) != ():
            continue
        space = operand.memory_space
        if isinstance(space, Unknown) or space not in _REFUSED or isinstance(operand.spec, Unknown):
            continue
        spec, once = operand.spec, runs_once(call)
        # In a call with a grid a scalar has no window in SMEM either.
        advice = (
            "put it into SMEM: `pl.BlockSpec(memory_space=pltpu.SMEM)`, or prefetch it"
            if once
            else "prefetch it, or pass it as an array of shape (1,) in SMEM"
        )
        span = (spec.span if spec is not None else None) or operand.span or call.callee_span
        yield Problem(
            span,
            f"{operand_name(call, operand)} is a scalar, and {space.name} holds no array of rank 0; {advice}",
            fix=_fix(spec, context) if once else None,
            related=array_related(operand, call),
        )


def _fix(spec: BlockSpec | None, context: Context) -> Fix | None:
    smem = context.spelling(PALLAS_TPU, "SMEM")
    if spec is None or spec.span is None or spec.memory_space is not None or smem is None:
        return None
    return Fix("Put it into SMEM", (InsertArgument(spec.span, f"memory_space={smem}"),))


RULE = CallRule(
    code="PAL304",
    name="rank-zero-block-outside-smem",
    severity=Severity.ERROR,
    summary="A scalar input or output is not in SMEM.",
    documentation=__doc__ or "",
    check=check,
    valid=(
        Valid(
            kernel_file("""
                def scale(s_ref, x_ref, o_ref):
                    o_ref[...] = x_ref[...] * s_ref[()]


                # pallas-lens: example a0=f32[], a1=f32[8,128]
                def call(a0, a1):
                    return pl.pallas_call(
                        scale,
                        in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec()],
                        out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
                    )(a0, a1)
            """)
        ),
    ),
    invalid=(
        Invalid(
            kernel_file("""
                def scale(s_ref, x_ref, o_ref):
                    o_ref[...] = x_ref[...] * s_ref[()]


                # pallas-lens: example a0=f32[], a1=f32[8,128]
                def call(a0, a1):
                    return pl.pallas_call(
                        scale,
                        in_specs=[pl.BlockSpec((), lambda: ()), pl.BlockSpec(memory_space=pltpu.VMEM)],
                        out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
                    )(a0, a1)
            """),
            at="pl.BlockSpec((), lambda: ())",
            refusal="supports only blocks of rank >= 1",
        ),
    ),
)
