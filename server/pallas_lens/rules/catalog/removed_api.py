"""Name that JAX has removed.

## What it does

Finds names of `jax.experimental.pallas` and `jax.experimental.pallas.tpu` that the
user's JAX no longer has and that have no successor by name: `pl.load`, `pl.store`,
`pl.Unblocked`, `pltpu.repeat` and others. The message says what to write.

## Why it is wrong

Reading the name raises AttributeError.

## Known limits

Names under `hasattr`, `try` or a version test are left alone. Where no JAX is found in
the user's environment, the newest is assumed and the finding is a warning.

## Source

The names of every release from 0.4.35 to 0.12.0.1, read from their source.
"""

from __future__ import annotations

from collections.abc import Iterable

from pallas_lens.knowledge.api_names import NameState, replacement
from pallas_lens.model.finding import Severity
from pallas_lens.model.module_facts import ModuleFacts

from ..api import changed_names, severity_of_gone, versions_text
from ..context import Context
from ..example import kernel_file
from ..rule import Invalid, ModuleRule, Problem, Valid


def check(facts: ModuleFacts, context: Context) -> Iterable[Problem]:
    for found in changed_names(facts, context, NameState.GONE):
        new = replacement(found.path)
        if new is not None and new.use is not None:
            continue
        advice = f"; {new.advice}" if new is not None else ""
        yield Problem(
            found.span,
            f"`{found.text}` is gone {versions_text(found.change.since, context)}{advice}",
            severity=severity_of_gone(context),
        )


RULE = ModuleRule(
    code="PAL902",
    name="removed-api",
    severity=Severity.ERROR,
    summary="A name that the user's JAX no longer has.",
    documentation=__doc__ or "",
    every_backend=True,
    check=check,
    valid=(
        Valid(
            kernel_file("""
                def copy(x_ref, o_ref):
                    o_ref[...] = jnp.tile(x_ref[...], (4, 1))


                # pallas-lens: example a0=f32[8,128]
                def call(a0):
                    return pl.pallas_call(copy, out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32))(a0)
            """)
        ),
    ),
    invalid=(
        Invalid(
            kernel_file("""
                def copy(x_ref, o_ref):
                    o_ref[...] = pl.load(x_ref, (slice(None), slice(None)))


                # pallas-lens: example a0=f32[8,128]
                def call(a0):
                    return pl.pallas_call(copy, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))(a0)
            """),
            at="load",
            refusal="has no attribute 'load'",
            since="0.9.0",
        ),
        Invalid(
            kernel_file("""
                def copy(x_ref, o_ref):
                    o_ref[...] = pltpu.repeat(x_ref[...], 4, axis=0)


                # pallas-lens: example a0=f32[8,128]
                def call(a0):
                    return pl.pallas_call(copy, out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32))(a0)
            """),
            at="repeat",
            refusal="has no attribute 'repeat'",
            since="0.10.2",
        ),
        Invalid(
            kernel_file("""
                def matmul(a_ref, b_ref, o_ref):
                    o_ref[...] = pl.dot(a_ref[...], b_ref[...])


                # pallas-lens: example a0=f32[128,128], a1=f32[128,128]
                def call(a0, a1):
                    return pl.pallas_call(matmul, out_shape=jax.ShapeDtypeStruct((128, 128), jnp.float32))(a0, a1)
            """),
            at="dot",
            refusal="pl.dot was deprecated",
            since="0.12.0",
        ),
    ),
)
