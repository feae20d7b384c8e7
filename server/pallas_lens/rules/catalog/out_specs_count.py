"""Another number, or another form, of output BlockSpecs than of outputs.

## What it does

Compares `out_specs` with `out_shape`: both a single entry, or both lists or tuples of
the same length.

## Why it is wrong

JAX pairs the two entry by entry and refuses the call while it traces: "Pytree for
`out_specs` and `out_shape` do not match". A list and a tuple go together; a list of
one and a single entry do not.

## Known limits

Looks at the top level only; dicts and trees of outputs are not compared.

## Source

`get_grid_mapping` in `jax/_src/pallas/core.py`, JAX 0.7 to 0.12.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pallas_lens.model.finding import Severity
from pallas_lens.model.fix import Applicability, Fix, Replace
from pallas_lens.model.kernel_call import BlockSpec, Form, KernelCall, SpecList
from pallas_lens.model.unknown import Unknown

from ..context import Context
from ..example import kernel_file
from ..parts import related
from ..rule import CallRule, Invalid, Problem, Valid
from ..wording import counted


def check(call: KernelCall, context: Context) -> Iterable[Problem]:
    specs = call.out_specs
    if call.form is not Form.PALLAS_CALL or not isinstance(specs, SpecList) or specs.span is None:
        return
    outputs = call.out_shape_count
    if isinstance(outputs, Unknown) or isinstance(specs.specs, Unknown) or isinstance(specs.is_sequence, Unknown):
        return
    count = len(specs.specs)
    if outputs is None and specs.is_sequence:
        yield Problem(
            specs.span,
            f"out_specs is a sequence of {count}, but out_shape is a single output; "
            "both must be single, or both sequences",
            fix=_without_brackets(specs),
            related=related(call.out_shape_span, "a single output here"),
        )
    elif outputs is not None and not specs.is_sequence:
        yield Problem(
            specs.span,
            f"out_specs is a single BlockSpec, but out_shape is a sequence of {outputs}; "
            "give one BlockSpec for each output, in a list or tuple",
            fix=_in_brackets(specs) if outputs == 1 else None,
            related=related(call.out_shape_span, f"{counted(outputs, 'output')} here"),
        )
    elif outputs is not None and outputs != count:
        yield Problem(
            specs.span,
            f"out_specs has {counted(count, 'entry', 'entries')}, but out_shape has {outputs}; "
            "give one BlockSpec for each output",
            related=related(call.out_shape_span, f"{counted(outputs, 'output')} here"),
        )


def _in_brackets(specs: SpecList) -> Fix | None:
    span = specs.span
    if span is None:
        return None
    start = replace(span, end_row=span.start_row, end_column=span.start_column)
    end = replace(span, start_row=span.end_row, start_column=span.end_column)
    return Fix("Put it in a list", (Replace(start, "["), Replace(end, "]")), Applicability.SAFE)


def _without_brackets(specs: SpecList) -> Fix | None:
    """Takes away what stands around the only spec, where that is written inside the list."""
    if specs.span is None or isinstance(specs.specs, Unknown) or len(specs.specs) != 1:
        return None
    (spec,) = specs.specs
    if not isinstance(spec, BlockSpec) or spec.span is None or not specs.span.contains(spec.span):
        return None
    before = replace(specs.span, end_row=spec.span.start_row, end_column=spec.span.start_column)
    behind = replace(specs.span, start_row=spec.span.end_row, start_column=spec.span.end_column)
    return Fix("Take the brackets away", (Replace(before, ""), Replace(behind, "")), Applicability.SAFE)


RULE = CallRule(
    code="PAL107",
    name="out-specs-count",
    severity=Severity.ERROR,
    summary="`out_specs` and `out_shape` differ in number, or one is a sequence and the other is not.",
    documentation=__doc__ or "",
    every_backend=True,
    check=check,
    valid=(
        Valid(
            kernel_file("""
                def split(x_ref, low_ref, high_ref):
                    low_ref[...] = jnp.minimum(x_ref[...], 0)
                    high_ref[...] = jnp.maximum(x_ref[...], 0)


                # pallas-lens: example a0=f32[32,128]
                def call(a0):
                    block = pl.BlockSpec((8, 128), lambda i: (i, 0))
                    half = jax.ShapeDtypeStruct((32, 128), jnp.float32)
                    return pl.pallas_call(
                        split,
                        grid=(4,),
                        in_specs=[block],
                        out_specs=(block, block),
                        out_shape=[half, half],
                    )(a0)
            """)
        ),
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
                        out_specs=[block],
                        out_shape=[jax.ShapeDtypeStruct((32, 128), jnp.float32)],
                    )(a0)[0]
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
                        in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
                        out_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0)),],
                        out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32),
                    )(a0)
            """),
            at="[pl.BlockSpec((8, 128), lambda i: (i, 0)),]",
            refusal="Pytree for `out_specs` and `out_shape` do not match",
        ),
        Invalid(
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
                        out_shape=[jax.ShapeDtypeStruct((32, 128), jnp.float32)],
                    )(a0)[0]
            """),
            at="block",
            occurrence=2,
            refusal="Pytree for `out_specs` and `out_shape` do not match",
        ),
        Invalid(
            kernel_file("""
                def split(x_ref, low_ref, high_ref):
                    low_ref[...] = jnp.minimum(x_ref[...], 0)
                    high_ref[...] = jnp.maximum(x_ref[...], 0)


                # pallas-lens: example a0=f32[32,128]
                def call(a0):
                    block = pl.BlockSpec((8, 128), lambda i: (i, 0))
                    half = jax.ShapeDtypeStruct((32, 128), jnp.float32)
                    return pl.pallas_call(
                        split,
                        grid=(4,),
                        in_specs=[block],
                        out_specs=[block],
                        out_shape=[half, half],
                    )(a0)
            """),
            at="[block]",
            occurrence=1,
            refusal="Pytree for `out_specs` and `out_shape` do not match",
        ),
    ),
)
