"""`grid`, `in_specs`, `out_specs` or `scratch_shapes` beside `grid_spec`.

## What it does

Finds calls that give a `grid_spec` and one of the arguments that it holds.

## Why it is wrong

A grid spec holds the grid, the specs and the scratch shapes. JAX refuses to merge the
two: "If `grid_spec` is specified, then `grid` must be `()`". They belong into the grid
spec.

## Known limits

An empty `grid` or `scratch_shapes` is allowed, and not found.

## Source

`pallas_call` in `jax/_src/pallas/pallas_call.py`, JAX 0.7 to 0.12.
"""

from __future__ import annotations

from collections.abc import Iterable

from pallas_lens.model.finding import Severity
from pallas_lens.model.kernel_call import Form, KernelCall

from ..context import Context
from ..example import kernel_file
from ..parts import related
from ..rule import CallRule, Invalid, Problem, Valid


def check(call: KernelCall, context: Context) -> Iterable[Problem]:
    if call.form is not Form.PALLAS_CALL or not call.grid_beside_grid_spec:
        return
    names = [f"`{name}`" for name in call.grid_beside_grid_spec]
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    yield Problem(
        call.callee_span,
        f"{listed} beside `grid_spec`: JAX takes {'it' if len(names) == 1 else 'them'} from the grid spec alone; "
        f"move {'it' if len(names) == 1 else 'them'} into the grid spec",
        related=related(call.grid_spec_span, "the grid spec"),
    )


RULE = CallRule(
    code="PAL204",
    name="grid-beside-grid-spec",
    severity=Severity.ERROR,
    summary="A call gives `grid_spec` and also an argument that the grid spec holds.",
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
                        grid_spec=pl.GridSpec(grid=(4,), in_specs=[block], out_specs=block),
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
                    block = pl.BlockSpec((8, 128), lambda i: (i, 0))
                    return pl.pallas_call(
                        double,
                        grid=(4,),
                        grid_spec=pl.GridSpec(in_specs=[block], out_specs=block),
                        out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32),
                    )(a0)
            """),
            at="pl.pallas_call",
            refusal="If `grid_spec` is specified, then `grid` must be `()`",
        ),
    ),
)
