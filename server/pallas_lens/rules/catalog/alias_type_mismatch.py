"""Input and output that are aliased although they differ, or do not exist.

## What it does

Checks `input_output_aliases`: each index must be there, and the two arrays must have
the same shape and dtype.

## Why it is wrong

An aliased output takes over the buffer of its input, so that both must be the same
array. JAX refuses the call while it traces. Inputs are counted from the first argument
of the call, prefetched operands included: with one prefetched operand the first input
with a BlockSpec has the index 1.

## Known limits

Says nothing where an argument is a tree of arrays, which counts as its leaves, or where
shapes or dtypes are not known. Different BlockSpecs on aliased arrays are allowed.

## Source

`pallas_call` in `jax/_src/pallas/pallas_call.py`, JAX 0.7 to 0.12.
"""

from __future__ import annotations

from collections.abc import Iterable

from pallas_lens.model.finding import Severity
from pallas_lens.model.kernel_call import ArrayType, Form, KernelCall, Operand, Role
from pallas_lens.model.symbolic import equal
from pallas_lens.model.unknown import Unknown

from ..context import Context
from ..example import kernel_file
from ..parts import array_shape
from ..rule import CallRule, Invalid, Problem, Valid
from ..wording import counted, operand_name, shape_text
from .in_specs_count import missing_specs


def check(call: KernelCall, context: Context) -> Iterable[Problem]:
    if call.form is not Form.PALLAS_CALL or isinstance(call.aliases, Unknown) or call.alias_span is None:
        return
    if isinstance(call.operands, Unknown) or missing_specs(call) or not isinstance(call.argument_count, int):
        return
    inputs = [operand for operand in call.operands if operand.role in (Role.PREFETCH, Role.INPUT)]
    outputs = [operand for operand in call.operands if operand.role is Role.OUTPUT]
    # What is not known may be a tree, which counts as its leaves.
    if any(operand.is_tree or isinstance(array_shape(operand), Unknown) for operand in (*inputs, *outputs)):
        return
    for source, target in call.aliases:
        message = _fault(call, inputs, outputs, source, target)
        if message:
            yield Problem(call.alias_span, f"input_output_aliases maps {source} to {target}, but {message}")


def _fault(call: KernelCall, inputs: list[Operand], outputs: list[Operand], source: int, target: int) -> str:
    if not 0 <= source < len(inputs):
        return f"the call has {counted(len(inputs), 'argument')}, counted from 0"
    if not 0 <= target < len(outputs):
        return f"the call has {counted(len(outputs), 'output')}, counted from 0"
    one, other = inputs[source], outputs[target]
    assert isinstance(one.array, ArrayType) and isinstance(other.array, ArrayType)
    if not _differ(one.array, other.array):
        return ""
    hint = _other_input(call, inputs, other.array, source)
    return (
        f"{operand_name(call, one)} is {_type_text(one.array)} and {operand_name(call, other)} is "
        f"{_type_text(other.array)}; aliased arrays must be alike{hint}"
    )


def _differ(one: ArrayType, other: ArrayType) -> bool:
    if isinstance(one.dtype, str) and isinstance(other.dtype, str) and one.dtype != other.dtype:
        return True
    if isinstance(one.shape, Unknown) or isinstance(other.shape, Unknown):
        return False
    if len(one.shape) != len(other.shape):
        return True
    pairs = zip(one.shape, other.shape, strict=True)
    return any(
        equal(first, second) is False
        for first, second in pairs
        if not isinstance(first, Unknown) and not isinstance(second, Unknown)
    )


def _other_input(call: KernelCall, inputs: list[Operand], wanted: ArrayType, source: int) -> str:
    """A word on the shifted count, where that is the likely mistake."""
    prefetch = call.num_scalar_prefetch
    if not isinstance(prefetch, int) or not prefetch or source + prefetch >= len(inputs):
        return ""
    shifted = inputs[source + prefetch].array
    if isinstance(shifted, ArrayType) and not _differ(shifted, wanted):
        return f" (prefetched operands are counted too: {source + prefetch} would be the input meant)"
    return ""


def _type_text(array: ArrayType) -> str:
    shape = "of unknown shape" if isinstance(array.shape, Unknown) else shape_text(array.shape)
    return f"{array.dtype if isinstance(array.dtype, str) else ''} {shape}".strip()


RULE = CallRule(
    code="PAL110",
    name="alias-type-mismatch",
    severity=Severity.ERROR,
    summary="`input_output_aliases` pairs arrays of different shape or dtype, or an index that is not there.",
    documentation=__doc__ or "",
    every_backend=True,
    check=check,
    valid=(
        Valid(
            kernel_file("""
                def add_row(row_ref, x_ref, o_ref):
                    o_ref[...] = x_ref[...] + row_ref[0]


                # pallas-lens: example a0=i32[4], a1=i32[32,128]
                def call(a0, a1):
                    block = pl.BlockSpec((8, 128), lambda i, *_: (i, 0))
                    grid_spec = pltpu.PrefetchScalarGridSpec(
                        num_scalar_prefetch=1, grid=(4,), in_specs=[block], out_specs=block
                    )
                    return pl.pallas_call(
                        add_row,
                        grid_spec=grid_spec,
                        out_shape=jax.ShapeDtypeStruct((32, 128), jnp.int32),
                        input_output_aliases={1: 0},
                    )(a0, a1)
            """)
        ),
    ),
    invalid=(
        Invalid(
            kernel_file("""
                def add_row(row_ref, x_ref, o_ref):
                    o_ref[...] = x_ref[...] + row_ref[0]


                # pallas-lens: example a0=i32[4], a1=i32[32,128]
                def call(a0, a1):
                    block = pl.BlockSpec((8, 128), lambda i, *_: (i, 0))
                    grid_spec = pltpu.PrefetchScalarGridSpec(
                        num_scalar_prefetch=1, grid=(4,), in_specs=[block], out_specs=block
                    )
                    return pl.pallas_call(
                        add_row,
                        grid_spec=grid_spec,
                        out_shape=jax.ShapeDtypeStruct((32, 128), jnp.int32),
                        input_output_aliases={0: 0},
                    )(a0, a1)
            """),
            at="{0: 0}",
            refusal="input_output_aliases",
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
                        input_output_aliases={1: 0},
                    )(a0)
            """),
            at="{1: 0}",
            refusal="outside the range",
        ),
    ),
)
