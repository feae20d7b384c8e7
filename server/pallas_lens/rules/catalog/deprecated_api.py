"""Name that JAX still has, but warns of.

## What it does

Finds names of `jax.experimental.pallas` and `jax.experimental.pallas.tpu` that are
deprecated in the user's JAX: `pl.core_map`, `pl.reciprocal`,
`pltpu.create_tensorcore_mesh` and others.

## Why it is wrong

It works today and warns when it is read; a later release takes it away. A hint, drawn
struck through.

## Known limits

Names under `hasattr`, `try` or a version test are left alone.

## Source

The names of every release from 0.4.35 to 0.12.0.1, read from their source.
"""

from __future__ import annotations

from collections.abc import Iterable

from pallas_lens.knowledge.api_names import NameState, replacement
from pallas_lens.model.finding import Severity
from pallas_lens.model.module_facts import ModuleFacts

from ..api import changed_names, readable
from ..context import Context
from ..example import kernel_file
from ..rule import Invalid, ModuleRule, Problem, Valid
from .renamed_api import fix_of


def check(facts: ModuleFacts, context: Context) -> Iterable[Problem]:
    for found in changed_names(facts, context, NameState.DEPRECATED):
        new = replacement(found.path)
        advice, fix = "", None
        if new is not None and new.use is not None:
            advice, fix = f"; use `{readable(new.use, context)}`", fix_of(found, new.use, context)
        elif new is not None:
            advice = f"; {new.advice}"
        yield Problem(
            found.span,
            f"`{found.text}` is deprecated since JAX {found.change.since}{advice}",
            fix=fix,
            tags=("deprecated",),
        )


RULE = ModuleRule(
    code="PAL903",
    name="deprecated-api",
    severity=Severity.HINT,
    summary="A name that the user's JAX warns of.",
    documentation=__doc__ or "",
    confirmed_by="deprecation",
    every_backend=True,
    check=check,
    valid=(
        Valid(
            kernel_file("""
                def invert(x_ref, o_ref):
                    o_ref[...] = pltpu.reciprocal(x_ref[...])


                # pallas-lens: example a0=f32[8,128]
                def call(a0):
                    return pl.pallas_call(invert, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))(a0)
            """),
            since="0.11.2",
        ),
        Valid(
            kernel_file("""
                def invert(x_ref, o_ref):
                    o_ref[...] = 1 / x_ref[...]


                # pallas-lens: example a0=f32[8,128]
                def call(a0):
                    return pl.pallas_call(invert, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))(a0)
            """)
        ),
    ),
    invalid=(
        Invalid(
            kernel_file("""
                def invert(x_ref, o_ref):
                    o_ref[...] = pl.reciprocal(x_ref[...])


                # pallas-lens: example a0=f32[8,128]
                def call(a0):
                    return pl.pallas_call(
                        invert,
                        in_specs=[pl.BlockSpec(memory_space=pltpu.VMEM)],
                        out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
                    )(a0)
            """),
            at="reciprocal",
            refusal="",
            since="0.11.2",
        ),
    ),
)
