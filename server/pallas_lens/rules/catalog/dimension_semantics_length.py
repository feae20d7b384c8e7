"""`dimension_semantics` of another length than the grid.

## What it does

Compares the number of entries in `dimension_semantics` with the rank of the grid.

## Why it is wrong

There is one entry for each grid dim. JAX's TPU lowering says "Length of grid does not
match length of dimension semantics", also where there is no grid at all. A bare string
counts as its letters.

## Known limits

Says nothing where the grid or the entries are not known.

## Source

`MosaicGridMapping` in `jax/_src/pallas/mosaic/lowering.py`, JAX 0.7 to 0.12.
"""

from __future__ import annotations

from collections.abc import Iterable

from pallas_lens.model.finding import Severity
from pallas_lens.model.kernel_call import Form, KernelCall, Semantics
from pallas_lens.model.unknown import Unknown

from ..context import Context
from ..example import kernel_file
from ..parts import grid_of, grid_related
from ..rule import CallRule, Invalid, Problem, Valid
from ..wording import counted


def check(call: KernelCall, context: Context) -> Iterable[Problem]:
    semantics, grid = call.semantics, grid_of(call)
    if call.form is not Form.PALLAS_CALL or isinstance(grid, Unknown) or not isinstance(semantics, Semantics):
        return
    if isinstance(semantics.entries, Unknown) or semantics.span is None:
        return
    count, rank = len(semantics.entries), len(grid)
    if count == rank:
        return
    found = f"the grid has {counted(rank, 'dim')}" if rank else "the call has no grid"
    advice = "give one for each grid dim" if rank else "take dimension_semantics out, or give a grid"
    yield Problem(
        semantics.span,
        f"dimension_semantics has {counted(count, 'entry', 'entries')}, but {found}; {advice}",
        related=grid_related(call),
    )


RULE = CallRule(
    code="PAL401",
    name="dimension-semantics-length",
    severity=Severity.ERROR,
    summary="`dimension_semantics` has more or fewer entries than the grid has dims.",
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
                        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "arbitrary")),
                    )(a0)
            """)
        ),
    ),
    invalid=(
        Invalid(
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
                        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel",)),
                    )(a0)
            """),
            at='("parallel",)',
            refusal="Length of grid does not match length of dimension semantics",
        ),
        Invalid(
            kernel_file("""
                def double(x_ref, o_ref):
                    o_ref[...] = x_ref[...] * 2


                # pallas-lens: example a0=f32[8,128]
                def call(a0):
                    return pl.pallas_call(
                        double,
                        out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
                        compiler_params=pltpu.CompilerParams(dimension_semantics=("arbitrary",)),
                    )(a0)
            """),
            at='("arbitrary",)',
            refusal="Length of grid does not match length of dimension semantics",
        ),
    ),
)
