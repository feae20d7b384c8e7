"""Index map that returns another number of indices than the block has dims.

## What it does

Compares the number of values that an index map returns with the length of its
`block_shape` (or, where no block shape is given, with the rank of the array).

## Why it is wrong

There is one block index for each block dim, those given as `None` or `pl.Squeezed()`
included. JAX says "Index map function must return 2 values to match block_shape".

## Known limits

Says nothing where the index map returns something that is not written as a tuple.

## Source

`BlockSpec.to_block_mapping` in `jax/_src/pallas/core.py`, JAX 0.7 to 0.12.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pallas_lens.model.finding import Related, Severity
from pallas_lens.model.kernel_call import BlockSpec, Form, IndexMap, KernelCall, Operand
from pallas_lens.model.unknown import Unknown

from ..context import Context
from ..example import kernel_file
from ..parts import all_specs, array_shape, has_known_windows, related, windowed_operands
from ..rule import CallRule, Invalid, Problem, Valid
from ..wording import counted, shape_text


def check(call: KernelCall, context: Context) -> Iterable[Problem]:
    if call.form not in (Form.PALLAS_CALL, Form.EMIT_PIPELINE) or not has_known_windows(call):
        return
    for spec, operand in _specs_with_operands(call):
        index_map = spec.index_map
        if not isinstance(index_map, IndexMap) or index_map.is_default or isinstance(index_map.results, Unknown):
            continue
        shape = Unknown("no array") if operand is None else array_shape(operand)
        # A pipeline's argument may be a tree that a buffer of the author's own knows how to read.
        if call.form is Form.EMIT_PIPELINE and isinstance(shape, Unknown):
            continue
        count = len(index_map.results)
        # Where the block itself has a wrong rank, that is the fault, not the index map that fits the array.
        if not isinstance(shape, Unknown) and count == len(shape):
            continue
        wanted, what, places = _wanted(spec, shape)
        if wanted is None or wanted == count or index_map.span is None or spec.in_old_order:
            continue
        yield Problem(
            index_map.span,
            f"index map returns {counted(count, 'index', 'indices')}, but {what}; "
            "return one index for each of its dims",
            related=places,
        )


def _specs_with_operands(call: KernelCall) -> Iterator[tuple[BlockSpec, Operand | None]]:
    operands = list(windowed_operands(call))
    for operand, spec in operands:
        yield spec, operand
    known = [spec.span for _, spec in operands]
    for spec in all_specs(call):
        if spec.span not in known:
            yield spec, None


def _wanted(spec: BlockSpec, shape: object) -> tuple[int | None, str, tuple[Related, ...]]:
    block = spec.block_shape
    if isinstance(block, Unknown):
        return None, "", ()
    if block is not None:
        text = shape_text(tuple(dimension.size for dimension in block))
        return (
            len(block),
            f"its block shape has {counted(len(block), 'dim')}",
            related(spec.block_shape_span, f"the block shape is {text}"),
        )
    if isinstance(shape, tuple):
        return len(shape), f"the array has {counted(len(shape), 'dim')}: {shape_text(shape)}", ()
    return None, "", ()


RULE = CallRule(
    code="PAL202",
    name="index-map-result-length",
    severity=Severity.ERROR,
    summary="An index map returns more or fewer indices than its block has dims.",
    documentation=__doc__ or "",
    every_backend=True,
    check=check,
    valid=(
        Valid(
            kernel_file("""
                def double(x_ref, o_ref):
                    o_ref[...] = x_ref[...] * 2


                # pallas-lens: example a0=f32[4,32,128]
                def call(a0):
                    block = pl.BlockSpec((None, 8, 128), lambda b, i: (b, i, 0))
                    return pl.pallas_call(
                        double,
                        grid=(4, 4),
                        in_specs=[block],
                        out_specs=block,
                        out_shape=jax.ShapeDtypeStruct((4, 32, 128), jnp.float32),
                    )(a0)
            """)
        ),
        Valid(
            # A block of rank 1 may have a bare index, and a list is as good as a tuple.
            kernel_file("""
                def double(x_ref, o_ref):
                    o_ref[...] = x_ref[...] * 2


                # pallas-lens: example a0=f32[2048]
                def call(a0):
                    return pl.pallas_call(
                        double,
                        grid=(2,),
                        in_specs=[pl.BlockSpec((1024,), lambda i: i)],
                        out_specs=pl.BlockSpec((1024,), lambda i: [i]),
                        out_shape=jax.ShapeDtypeStruct((2048,), jnp.float32),
                    )(a0)
            """)
        ),
    ),
    invalid=(
        Invalid(
            kernel_file("""
                def double(x_ref, o_ref):
                    o_ref[...] = x_ref[...] * 2


                # pallas-lens: example a0=f32[4,32,128]
                def call(a0):
                    block = pl.BlockSpec((None, 8, 128), lambda b, i: (i, 0))
                    return pl.pallas_call(
                        double,
                        grid=(4, 4),
                        in_specs=[block],
                        out_specs=block,
                        out_shape=jax.ShapeDtypeStruct((4, 32, 128), jnp.float32),
                    )(a0)
            """),
            at="lambda b, i: (i, 0)",
            refusal="must return 3 values",
        ),
        Invalid(
            kernel_file("""
                def double(x_ref, o_ref):
                    o_ref[...] = x_ref[...] * 2


                # pallas-lens: example a0=f32[32,128]
                def call(a0):
                    block = pl.BlockSpec((8, 128), lambda i: i)
                    return pl.pallas_call(
                        double,
                        grid=(4,),
                        in_specs=[block],
                        out_specs=block,
                        out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32),
                    )(a0)
            """),
            at="lambda i: i",
            refusal="must return 2 values",
        ),
    ),
)
