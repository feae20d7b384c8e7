"""Another number of BlockSpecs than of arguments.

## What it does

Compares the length of `in_specs` with the number of arguments that the call is given,
scalar-prefetch arguments not counted.

## Why it is wrong

Each argument has one BlockSpec (or one tree of them). JAX refuses the call while it
traces: "Pytree for `in_specs` and `inputs` do not match". A single BlockSpec where a
list is wanted is refused as well.

## Known limits

Says nothing where the call is not seen together with its arguments, or where they are
passed with `*`. Looks at the top level only: an argument that is a tree needs a tree
of specs of the same form, which is not compared.

## Source

`GridSpec.__init__` and `get_grid_mapping` in `jax/_src/pallas/core.py`, JAX 0.7 to 0.12.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pallas_lens.model.finding import Severity
from pallas_lens.model.fix import Applicability, Fix, Replace
from pallas_lens.model.kernel_call import Form, KernelCall, SpecList
from pallas_lens.model.span import Span
from pallas_lens.model.unknown import Unknown

from ..context import Context
from ..example import kernel_file
from ..parts import related
from ..rule import CallRule, Invalid, Problem, Valid
from ..wording import counted


def check(call: KernelCall, context: Context) -> Iterable[Problem]:
    specs = call.in_specs
    if call.form is not Form.PALLAS_CALL or not isinstance(specs, SpecList) or specs.span is None:
        return
    if specs.is_sequence is False:
        yield Problem(
            specs.span, "in_specs must be a list or a tuple, not a single BlockSpec", fix=_in_brackets(specs.span)
        )
        return
    missing = missing_specs(call)
    if not missing or specs_cover_prefetch(call):
        return
    assert isinstance(call.argument_count, int) and not isinstance(specs.specs, Unknown)
    prefetch = call.num_scalar_prefetch
    but = f" that {'is' if prefetch == 1 else 'are'} not prefetched" if prefetch else ""
    wanted = len(specs.specs) + missing
    added = counted(missing, "entry", "entries")
    yield Problem(
        specs.span,
        f"in_specs has {counted(len(specs.specs), 'entry', 'entries')}, but the call has "
        f"{counted(wanted, 'argument')}{but}; "
        + (f"add {added}" if missing > 0 else f"take {-missing} out, or pass {counted(-missing, 'argument')} more"),
        related=related(call.arguments_span, f"called with {counted(call.argument_count, 'argument')} here"),
    )


def missing_specs(call: KernelCall) -> int | None:
    """How many entries ``in_specs`` has too few (negative: too many); None where that is not known."""
    specs = call.in_specs
    if not isinstance(specs, SpecList) or isinstance(specs.specs, Unknown) or specs.is_sequence is not True:
        return None
    if not isinstance(call.argument_count, int) or isinstance(call.num_scalar_prefetch, Unknown):
        return None
    return call.argument_count - call.num_scalar_prefetch - len(specs.specs)


def specs_cover_prefetch(call: KernelCall) -> bool:
    """Whether there is exactly one spec too many for each prefetched operand."""
    missing = missing_specs(call)
    return (
        missing is not None
        and isinstance(call.num_scalar_prefetch, int)
        and call.num_scalar_prefetch > 0
        and missing == -call.num_scalar_prefetch
    )


def _in_brackets(span: Span) -> Fix:
    start = replace(span, end_row=span.start_row, end_column=span.start_column)
    end = replace(span, start_row=span.end_row, start_column=span.end_column)
    return Fix("Put it in a list", (Replace(start, "["), Replace(end, "]")), Applicability.SAFE)


RULE = CallRule(
    code="PAL106",
    name="in-specs-count",
    severity=Severity.ERROR,
    summary="`in_specs` has more or fewer entries than the call has arguments.",
    documentation=__doc__ or "",
    every_backend=True,
    check=check,
    valid=(
        Valid(
            kernel_file("""
                def add(x_ref, y_ref, o_ref):
                    o_ref[...] = x_ref[...] + y_ref[...]


                # pallas-lens: example a0=f32[32,128], a1=f32[32,128]
                def call(a0, a1):
                    block = pl.BlockSpec((8, 128), lambda i: (i, 0))
                    return pl.pallas_call(
                        add,
                        grid=(4,),
                        in_specs=[block, block],
                        out_specs=block,
                        out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32),
                    )(a0, a1)
            """)
        ),
        Valid(
            # One entry may be a tree, for an argument that is a tree.
            kernel_file("""
                def add(pair_refs, o_ref):
                    x_ref, y_ref = pair_refs
                    o_ref[...] = x_ref[...] + y_ref[...]


                # pallas-lens: example a0=f32[32,128], a1=f32[32,128]
                def call(a0, a1):
                    block = pl.BlockSpec((8, 128), lambda i: (i, 0))
                    return pl.pallas_call(
                        add,
                        grid=(4,),
                        in_specs=[(block, block)],
                        out_specs=block,
                        out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32),
                    )((a0, a1))
            """)
        ),
    ),
    invalid=(
        Invalid(
            kernel_file("""
                def add(x_ref, y_ref, o_ref):
                    o_ref[...] = x_ref[...] + y_ref[...]


                # pallas-lens: example a0=f32[32,128], a1=f32[32,128]
                def call(a0, a1):
                    block = pl.BlockSpec((8, 128), lambda i: (i, 0))
                    return pl.pallas_call(
                        add,
                        grid=(4,),
                        in_specs=[block],
                        out_specs=block,
                        out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32),
                    )(a0, a1)
            """),
            at="[block]",
            refusal="Pytree for `in_specs` and `inputs` do not match",
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
                        in_specs=[block, block],
                        out_specs=block,
                        out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32),
                    )(a0)
            """),
            at="[block, block]",
            refusal="Pytree for `in_specs` and `inputs` do not match",
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
                        in_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
                        out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
                        out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32),
                    )(a0)
            """),
            at="pl.BlockSpec((8, 128), lambda i: (i, 0))",
            refusal="`in_specs` must be a tuple or a list",
        ),
    ),
)
