"""Block dim of a kind that `pallas_call` does not take on a TPU.

## What it does

Finds block shapes that mix `pl.Element` with plain dims, or that have a `pl.BoundedSlice`
or `pl.Indirect` dim.

## Why it is wrong

`pl.Element` changes how the whole window is addressed, so that all dims have it or none;
squeezed dims may stand beside either. Bounded slices and indirect dims belong to
`pltpu.emit_pipeline` inside a kernel. JAX's TPU lowering stops: "All block dimensions
must be Elements or none of them can be Elements", "Unsupported block dimension type".

## Known limits

Says nothing where a block shape is not known.

## Source

`lower_jaxpr_into_pipelined_module` in `jax/_src/pallas/mosaic/lowering.py`, measured with
JAX 0.10.2 and 0.12.0.1.
"""

from __future__ import annotations

from collections.abc import Iterable

from pallas_lens.model.finding import Severity
from pallas_lens.model.kernel_call import BlockDimension, BlockSpec, DimensionKind, Form, KernelCall
from pallas_lens.model.unknown import Unknown

from ..context import Context
from ..example import kernel_file
from ..parts import all_specs
from ..rule import CallRule, Invalid, Problem, Valid

_NAMES = {DimensionKind.BOUNDED_SLICE: "BoundedSlice", DimensionKind.INDIRECT: "Indirect"}


def check(call: KernelCall, context: Context) -> Iterable[Problem]:
    if call.form is not Form.PALLAS_CALL:
        return
    for spec in all_specs(call):
        if spec.block_shape is None or isinstance(spec.block_shape, Unknown):
            continue
        yield from _mixed(spec, spec.block_shape)
        for dimension in spec.block_shape:
            message = _fault(dimension)
            span = dimension.span or spec.block_shape_span or spec.span
            if message is not None and span is not None:
                yield Problem(span, message)


def _mixed(spec: BlockSpec, dimensions: tuple[BlockDimension, ...]) -> Iterable[Problem]:
    kinds = {dimension.kind for dimension in dimensions}
    span = spec.block_shape_span or spec.span
    if DimensionKind.ELEMENT in kinds and DimensionKind.BLOCKED in kinds and span is not None:
        yield Problem(
            span,
            "pl.Element stands beside plain dims, and all dims of a block are Elements or none is; "
            "write pl.Element for each, and let the index map return element offsets for each",
        )


def _fault(dimension: BlockDimension) -> str | None:
    if dimension.kind in _NAMES:
        name = _NAMES[dimension.kind]
        return (
            f"pl.{name} is not a block dim of pallas_call on a TPU; use it in pltpu.emit_pipeline, "
            "or take a plain dim here"
        )
    return None


def _kernel(block: str, index_map: str) -> str:
    return kernel_file(f"""
        def double(x_ref, o_ref):
            o_ref[...] = x_ref[...] * 2


        # pallas-lens: example a0=f32[32,128]
        def call(a0):
            return pl.pallas_call(
                double,
                grid=(4,),
                in_specs=[pl.BlockSpec({block}, {index_map})],
                out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
                out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32),
            )(a0)
    """)


RULE = CallRule(
    code="PAL111",
    name="block-dim-not-supported",
    severity=Severity.ERROR,
    summary="A block dim is of a kind that `pallas_call` does not take.",
    documentation=__doc__ or "",
    check=check,
    valid=(
        Valid(_kernel("(pl.Element(8), pl.Element(128))", "lambda i: (i * 8, 0)")),
        Valid(_kernel("(pl.Blocked(8), pl.Blocked(128))", "lambda i: (i, 0)")),
    ),
    invalid=(
        Invalid(
            _kernel("(pl.Element(8), 128)", "lambda i: (i * 8, 0)"),
            at="(pl.Element(8), 128)",
            refusal="All block dimensions must be Elements",
        ),
        Invalid(
            _kernel("(pl.BoundedSlice(8), 128)", "lambda i: (pl.ds(i * 8, 8), 0)"),
            at="pl.BoundedSlice(8)",
            refusal="Unsupported block dimension type",
        ),
    ),
)
