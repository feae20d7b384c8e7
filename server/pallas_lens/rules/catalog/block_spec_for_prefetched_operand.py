"""BlockSpec given for a prefetched operand.

## What it does

Finds calls with scalar prefetch whose `in_specs` has one entry too many for each
prefetched operand.

## Why it is wrong

Prefetched operands go whole into SMEM before the grid starts: they take no BlockSpec,
and `in_specs` begins with the first operand after them. JAX says "Pytree for `in_specs`
and `inputs` do not match".

## Known limits

Says nothing where the call is not seen together with its arguments.

## Source

`get_grid_mapping` in `jax/_src/pallas/core.py`, JAX 0.7 to 0.12.
"""

from __future__ import annotations

from collections.abc import Iterable

from pallas_lens.model.finding import Severity
from pallas_lens.model.fix import Fix, RemoveArgument
from pallas_lens.model.kernel_call import BlockSpec, Form, KernelCall, SpecList
from pallas_lens.model.unknown import Unknown

from ..context import Context
from ..example import kernel_file
from ..parts import related
from ..rule import CallRule, Invalid, Problem, Valid
from ..wording import counted
from .in_specs_count import specs_cover_prefetch


def check(call: KernelCall, context: Context) -> Iterable[Problem]:
    specs = call.in_specs
    if call.form is not Form.PALLAS_CALL or not isinstance(specs, SpecList) or specs.span is None:
        return
    if not specs_cover_prefetch(call):
        return
    prefetch, arguments = call.num_scalar_prefetch, call.argument_count
    assert isinstance(prefetch, int) and isinstance(arguments, int) and not isinstance(specs.specs, Unknown)
    yield Problem(
        specs.span,
        f"in_specs has {counted(len(specs.specs), 'entry', 'entries')} for {counted(arguments, 'argument')}, "
        f"but the first {'one is' if prefetch == 1 else f'{prefetch} are'} prefetched into SMEM and "
        f"take{'s' if prefetch == 1 else ''} no BlockSpec; take {'it' if prefetch == 1 else 'them'} out",
        fix=_fix(specs, prefetch),
        related=(
            *related(call.prefetch_span, f"{counted(prefetch, 'operand')} prefetched"),
            *related(call.arguments_span, f"called with {counted(arguments, 'argument')} here"),
        ),
    )


def _fix(specs: SpecList, prefetch: int) -> Fix | None:
    """Takes the first specs out, where they are written inside the list."""
    assert not isinstance(specs.specs, Unknown)
    edits: list[RemoveArgument] = []
    for spec in specs.specs[:prefetch]:
        if not isinstance(spec, BlockSpec) or spec.span is None or specs.span is None:
            return None
        if not specs.span.contains(spec.span):
            return None
        edits.append(RemoveArgument(spec.span))
    return Fix("Take out the first BlockSpec" + (f"s, {prefetch} of them" if prefetch > 1 else ""), tuple(edits))


RULE = CallRule(
    code="PAL301",
    name="block-spec-for-prefetched-operand",
    severity=Severity.ERROR,
    summary="`in_specs` has a BlockSpec for an operand that is prefetched into SMEM.",
    documentation=__doc__ or "",
    every_backend=True,
    check=check,
    valid=(
        Valid(
            kernel_file("""
                def gather(rows_ref, x_ref, o_ref):
                    o_ref[...] = x_ref[...]


                # pallas-lens: example a0=i32[4], a1=f32[32,128]
                def call(a0, a1):
                    grid_spec = pltpu.PrefetchScalarGridSpec(
                        num_scalar_prefetch=1,
                        grid=(4,),
                        in_specs=[pl.BlockSpec((8, 128), lambda i, rows: (rows[i], 0))],
                        out_specs=pl.BlockSpec((8, 128), lambda i, rows: (i, 0)),
                    )
                    return pl.pallas_call(
                        gather,
                        grid_spec=grid_spec,
                        out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32),
                    )(a0, a1)
            """)
        ),
    ),
    invalid=(
        Invalid(
            kernel_file("""
                def gather(rows_ref, x_ref, o_ref):
                    o_ref[...] = x_ref[...]


                # pallas-lens: example a0=i32[4], a1=f32[32,128]
                def call(a0, a1):
                    block = pl.BlockSpec((8, 128), lambda i, rows: (rows[i], 0))
                    grid_spec = pltpu.PrefetchScalarGridSpec(
                        num_scalar_prefetch=1,
                        grid=(4,),
                        in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), block],
                        out_specs=pl.BlockSpec((8, 128), lambda i, rows: (i, 0)),
                    )
                    return pl.pallas_call(
                        gather,
                        grid_spec=grid_spec,
                        out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32),
                    )(a0, a1)
            """),
            at="[pl.BlockSpec(memory_space=pltpu.SMEM), block]",
            refusal="Pytree for `in_specs` and `inputs` do not match",
        ),
    ),
)
