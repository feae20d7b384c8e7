"""Block in ANY or HBM that is not the whole array.

## What it does

Finds BlockSpecs with `memory_space=pl.ANY` (or HBM) whose block is smaller than the
array, or whose index map returns something else than zeros.

## Why it is wrong

In ANY and HBM nothing is copied: the kernel receives a ref of the whole array and
moves what it needs by DMA. JAX's TPU lowering refuses windows there: "supports in
memory space ANY only blocks having the same block shape as the array shape and a
trivial index_map".

## Known limits

Says nothing where the block, the index map or the array is not known.

## Source

`_check_block_mappings` in `jax/_src/pallas/mosaic/lowering.py`, JAX 0.7 to 0.12.
"""

from __future__ import annotations

from collections.abc import Iterable

from pallas_lens.model.finding import Severity
from pallas_lens.model.fix import Fix, Replace
from pallas_lens.model.kernel_call import BlockSpec, Form, KernelCall, MemorySpace
from pallas_lens.model.unknown import Unknown

from ..context import PALLAS, PALLAS_TPU, Context
from ..example import kernel_file
from ..parts import WHOLE_ARRAY_SPACES, array_related, array_shape, has_trivial_window, windowed_operands
from ..rule import CallRule, Invalid, Problem, Valid
from ..wording import operand_name, shape_text


def check(call: KernelCall, context: Context) -> Iterable[Problem]:
    if call.form is not Form.PALLAS_CALL:
        return
    for operand, spec in windowed_operands(call):
        space = operand.memory_space
        shape = array_shape(operand)
        block = spec.block_shape
        if isinstance(space, Unknown) or space not in WHOLE_ARRAY_SPACES or spec.span is None:
            continue
        if isinstance(shape, Unknown) or (
            block is not None and (isinstance(block, Unknown) or len(block) != len(shape))
        ):
            continue
        if has_trivial_window(operand, spec) is not False:
            continue
        sizes = shape if block is None else tuple(dimension.size for dimension in block)
        array = f"the array of {operand_name(call, operand)}, {shape_text(shape)}"
        fault = (
            f"its block is {shape_text(sizes)}, not {array}"
            if sizes != shape
            else f"its index map does not return zeros for {array}"
        )
        yield Problem(
            spec.block_shape_span or spec.span,
            f"an operand in {space.name} is not cut into blocks, the kernel gets the whole array: {fault}; "
            "take the block shape and index map out and copy what is needed by DMA",
            fix=_fix(spec, space, context),
            related=array_related(operand, call),
        )


def _fix(spec: BlockSpec, space: MemorySpace, context: Context) -> Fix | None:
    block_spec = context.spelling(PALLAS, "BlockSpec")
    name = context.spelling(PALLAS, "ANY") if space is MemorySpace.ANY else context.spelling(PALLAS_TPU, "HBM")
    if spec.span is None or block_spec is None or name is None:
        return None
    text = f"{block_spec}(memory_space={name})"
    return Fix(f"Use `{text}`, the whole array", (Replace(spec.span, text),))


RULE = CallRule(
    code="PAL303",
    name="any-memory-window",
    severity=Severity.ERROR,
    summary="A block in ANY or HBM is not the whole array.",
    documentation=__doc__ or "",
    check=check,
    valid=(
        Valid(
            kernel_file("""
                def copy(x_ref, o_ref):
                    pltpu.sync_copy(x_ref.at[pl.ds(pl.program_id(0) * 8, 8)], o_ref)


                # pallas-lens: example a0=f32[32,128]
                def call(a0):
                    return pl.pallas_call(
                        copy,
                        grid=(4,),
                        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
                        out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
                        out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32),
                    )(a0)
            """)
        ),
    ),
    invalid=(
        Invalid(
            kernel_file("""
                def copy(x_ref, o_ref):
                    pltpu.sync_copy(x_ref.at[pl.ds(0, 8)], o_ref)


                # pallas-lens: example a0=f32[32,128]
                def call(a0):
                    return pl.pallas_call(
                        copy,
                        grid=(4,),
                        in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0), memory_space=pl.ANY)],
                        out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
                        out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32),
                    )(a0)
            """),
            at="(8, 128)",
            refusal="only blocks having the same block shape as the array shape",
        ),
    ),
)
