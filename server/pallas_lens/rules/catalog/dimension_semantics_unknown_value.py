"""Value of `dimension_semantics` that the compiler does not know.

## What it does

Finds entries other than "parallel", "arbitrary", "core_parallel" and
"subcore_parallel". None stands for "arbitrary".

## Why it is wrong

The value is written into the program that goes to the compiler as it stands, and fails
there with a parse error of MLIR, far from the line that caused it.

## Known limits

Only entries whose text is known are checked.

## Source

`_get_dimension_semantics` in `jax/_src/pallas/mosaic/lowering.py`; the MLIR attribute
`#tpu.dimension_semantics`, JAX 0.7 to 0.12.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from pallas_lens.model.finding import Severity
from pallas_lens.model.fix import Applicability, Fix, Replace
from pallas_lens.model.kernel_call import Form, KernelCall, Semantics
from pallas_lens.model.unknown import Unknown

from ..context import Context
from ..example import kernel_file
from ..rule import CallRule, Invalid, Problem, Valid

KNOWN_VALUES = ("parallel", "arbitrary", "core_parallel", "subcore_parallel")


def check(call: KernelCall, context: Context) -> Iterable[Problem]:
    semantics = call.semantics
    if call.form is not Form.PALLAS_CALL or not isinstance(semantics, Semantics):
        return
    if isinstance(semantics.entries, Unknown):
        return
    for number, entry in enumerate(semantics.entries):
        if entry is None or isinstance(entry, Unknown) or entry in KNOWN_VALUES:
            continue
        own = semantics.entry_spans[number] if number < len(semantics.entry_spans) else None
        span = own or semantics.span
        if span is None:
            continue
        nearest = get_close_matches(entry.lower(), KNOWN_VALUES, 1)
        fix = None
        if nearest and own is not None:
            fix = Fix(f'Write "{nearest[0]}"', (Replace(own, f'"{nearest[0]}"'),), Applicability.SAFE)
        meant = f'; did you mean "{nearest[0]}"?' if nearest else ""
        yield Problem(
            span,
            f'the compiler knows no dimension semantics "{entry}", only "parallel", "arbitrary", "core_parallel" and '
            f'"subcore_parallel"{meant}',
            fix=fix,
        )


RULE = CallRule(
    code="PAL402",
    name="dimension-semantics-unknown-value",
    severity=Severity.ERROR,
    summary="`dimension_semantics` has a value that the compiler does not know.",
    documentation=__doc__ or "",
    check=check,
    valid=(
        Valid(
            kernel_file("""
                def double(x_ref, o_ref):
                    o_ref[...] = x_ref[...] * 2


                # pallas-lens: example a0=f32[32,256]
                def call(a0):
                    block = pl.BlockSpec((8, 128), lambda i, j: (i, j))
                    return pl.pallas_call(
                        double,
                        grid=(4, 2),
                        in_specs=[block],
                        out_specs=block,
                        out_shape=jax.ShapeDtypeStruct((32, 256), jnp.float32),
                        compiler_params=pltpu.CompilerParams(dimension_semantics=[pltpu.PARALLEL, None]),
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
                    block = pl.BlockSpec((8, 128), lambda i: (i, 0))
                    return pl.pallas_call(
                        double,
                        grid=(4,),
                        in_specs=[block],
                        out_specs=block,
                        out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32),
                        compiler_params=pltpu.CompilerParams(dimension_semantics=("paralel",)),
                    )(a0)
            """),
            at='"paralel"',
            refusal="dimension_semantics<",
        ),
    ),
)
