"""Number of window buffers that the pipeline does not support.

## What it does

Checks `pl.Buffered(n)` of BlockSpecs: `pallas_call` takes 1 or 2 and no lookahead,
`pltpu.emit_pipeline` takes any number of at least 1.

## Why it is wrong

The pipeline that `pallas_call` makes is emitted by XLA and knows single and double
buffering only: "Only single (1) and double (2) buffering are supported". Deeper
pipelines, and lookahead, are for `pltpu.emit_pipeline`.

## Known limits

Silent on windows in VMEM that are the whole array, operands in ANY or HBM, and calls
without a grid, where JAX does not look at the buffering.

## Source

`lower_jaxpr_into_pipelined_module` in `jax/_src/pallas/mosaic/lowering.py` and
`BufferedRef.create` in `jax/_src/pallas/mosaic/pipeline.py`, JAX 0.7 to 0.12.
"""

from __future__ import annotations

from collections.abc import Iterable

from pallas_lens.model.finding import Severity
from pallas_lens.model.fix import Fix, Replace
from pallas_lens.model.kernel_call import Form, KernelCall, MemorySpace
from pallas_lens.model.unknown import Unknown

from ..context import PALLAS, Context
from ..example import kernel_file
from ..parts import has_trivial_window, runs_once, windowed_operands
from ..rule import CallRule, Invalid, Problem, Valid


def check(call: KernelCall, context: Context) -> Iterable[Problem]:
    if call.form is Form.EMIT_PIPELINE:
        yield from _check_emit_pipeline(call)
    if call.form is not Form.PALLAS_CALL or runs_once(call) is not False:
        return
    for operand, spec in windowed_operands(call):
        span = spec.buffer_span or spec.span
        # JAX makes a single buffer of a whole array in VMEM, whatever is asked; in SMEM it takes the number as given.
        looked_at = operand.memory_space is MemorySpace.SMEM or (
            operand.memory_space is MemorySpace.VMEM and has_trivial_window(operand, spec) is False
        )
        if not looked_at or span is None:
            continue
        if spec.has_lookahead:
            yield Problem(
                span, "pallas_call has no lookahead; leave it out, or write the pipeline with pltpu.emit_pipeline"
            )
        count = spec.buffer_count
        if not spec.has_lookahead and isinstance(count, int) and count not in (1, 2):
            best = 2 if count > 2 else 1
            written = context.spelling(PALLAS, "Buffered")
            fix = None
            if written is not None and spec.buffer_span is not None:
                edit = Replace(spec.buffer_span, f"{written}({best})", over=f"{written}({count})")
                fix = Fix(f"Use {written}({best})", (edit,))
            yield Problem(
                span,
                f"pallas_call makes 1 or 2 buffers for a window, not {count}; "
                f"use pl.Buffered({best})" + (", or write the pipeline with pltpu.emit_pipeline" if count > 2 else ""),
                fix=fix,
            )


def _check_emit_pipeline(call: KernelCall) -> Iterable[Problem]:
    for _, spec in windowed_operands(call):
        span = spec.buffer_span or spec.span
        if span is not None and not isinstance(spec.buffer_count, Unknown | None) and spec.buffer_count < 1:
            yield Problem(span, f"a window needs at least 1 buffer, not {spec.buffer_count}")


RULE = CallRule(
    code="PAL503",
    name="buffer-count-unsupported",
    severity=Severity.ERROR,
    summary="`pl.Buffered` asks for a number of buffers, or a lookahead, that the pipeline does not support.",
    documentation=__doc__ or "",
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
                        grid=(4,),
                        in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0), pipeline_mode=pl.Buffered(1))],
                        out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0), pipeline_mode=pl.Buffered(2)),
                        out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32),
                    )(a0)
            """)
        ),
        Valid(
            kernel_file("""
                def double(x_ref, o_ref):
                    o_ref[...] = x_ref[...] * 2


                def pipeline(x_ref, o_ref):
                    pltpu.emit_pipeline(
                        double,
                        grid=(4,),
                        in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0), pipeline_mode=pl.Buffered(3))],
                        out_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
                    )(x_ref, o_ref)


                # pallas-lens: example a0=f32[32,128]
                def call(a0):
                    return pl.pallas_call(
                        pipeline,
                        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
                        out_specs=pl.BlockSpec(memory_space=pl.ANY),
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
                    return pl.pallas_call(
                        double,
                        grid=(4,),
                        in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0), pipeline_mode=pl.Buffered(3))],
                        out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
                        out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32),
                    )(a0)
            """),
            at="pl.Buffered(3)",
            refusal="Only single (1) and double (2) buffering are supported",
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
                        in_specs=[
                            pl.BlockSpec(
                                (8, 128), lambda i: (i, 0), pipeline_mode=pl.Buffered(2, use_lookahead=True)
                            )
                        ],
                        out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
                        out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32),
                    )(a0)
            """),
            at="pl.Buffered(2, use_lookahead=True)",
            refusal="Lookahead is not supported",
        ),
    ),
)
