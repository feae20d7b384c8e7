"""Name that JAX has renamed or moved.

## What it does

Finds names of `jax.experimental.pallas` and `jax.experimental.pallas.tpu` that the
user's JAX no longer has and that are the same thing under another name:
`pltpu.TPUCompilerParams`, `pltpu.ANY`, `pltpu.semaphore_signal` and others.

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

from pallas_lens.knowledge.api_names import NameState, name_state, replacement
from pallas_lens.model.finding import Severity
from pallas_lens.model.fix import Applicability, Fix, Replace
from pallas_lens.model.module_facts import ModuleFacts

from ..api import ChangedName, changed_names, readable, severity_of_gone, spelled, versions_text
from ..context import Context
from ..example import kernel_file
from ..rule import Invalid, ModuleRule, Problem, Valid


def check(facts: ModuleFacts, context: Context) -> Iterable[Problem]:
    for found in changed_names(facts, context, NameState.GONE):
        new = replacement(found.path)
        if new is None or new.use is None:
            continue
        yield Problem(
            found.span,
            f"`{found.text}` is gone {versions_text(found.change.since, context)}; "
            f"it is `{readable(new.use, context)}` now",
            fix=fix_of(found, new.use, context),
            severity=severity_of_gone(context),
        )


def fix_of(found: ChangedName, new: str, context: Context) -> Fix | None:
    """Writes the new name, where the file imports its module and the user's JAX has it."""
    if found.use.is_import or "." not in found.text or name_state(new, context.jax_version) is None:
        return None
    if new.rpartition(".")[0] == found.path.rpartition(".")[0]:
        text = new.rpartition(".")[2]
        return Fix(f"Write `{text}`", (Replace(found.span, text),), Applicability.SAFE)
    written = spelled(new, context)
    if written is None:
        return None
    return Fix(f"Write `{written}`", (Replace(found.whole_span, written),), Applicability.SAFE)


RULE = ModuleRule(
    code="PAL901",
    name="renamed-api",
    severity=Severity.ERROR,
    summary="A name that the user's JAX has under another name.",
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
                    block = pl.BlockSpec((8, 128), lambda i: (i, 0), memory_space=pltpu.MemorySpace.VMEM)
                    return pl.pallas_call(
                        double,
                        grid=(4,),
                        in_specs=[block],
                        out_specs=block,
                        out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32),
                        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel",)),
                    )(a0)
            """)
        ),
        Valid(
            # Code that asks first is for several versions of JAX.
            kernel_file("""
                if hasattr(pltpu, "CompilerParams"):
                    CompilerParams = pltpu.CompilerParams
                else:
                    CompilerParams = pltpu.TPUCompilerParams


                def double(x_ref, o_ref):
                    o_ref[...] = x_ref[...] * 2


                # pallas-lens: example a0=f32[8,128]
                def call(a0):
                    return pl.pallas_call(
                        double,
                        out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
                        compiler_params=CompilerParams(vmem_limit_bytes=2**20),
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
                        in_specs=[block],
                        out_specs=block,
                        out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32),
                        compiler_params=pltpu.TPUCompilerParams(dimension_semantics=("parallel",)),
                    )(a0)
            """),
            at="TPUCompilerParams",
            refusal="has no attribute 'TPUCompilerParams'",
        ),
        Invalid(
            kernel_file("""
                def scale(s_ref, x_ref, o_ref):
                    o_ref[...] = x_ref[...] * s_ref[0]


                # pallas-lens: example a0=f32[1], a1=f32[8,128]
                def call(a0, a1):
                    return pl.pallas_call(
                        scale,
                        in_specs=[pl.BlockSpec(memory_space=pltpu.TPUMemorySpace.SMEM), pl.BlockSpec()],
                        out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
                    )(a0, a1)
            """),
            at="TPUMemorySpace",
            refusal="has no attribute 'TPUMemorySpace'",
        ),
        Invalid(
            kernel_file("""
                def copy(x_ref, o_ref):
                    pltpu.sync_copy(x_ref, o_ref)


                # pallas-lens: example a0=f32[8,128]
                def call(a0):
                    return pl.pallas_call(
                        copy,
                        in_specs=[pl.BlockSpec(memory_space=pltpu.ANY)],
                        out_specs=pl.BlockSpec(memory_space=pl.ANY),
                        out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
                    )(a0)
            """),
            at="ANY",
            refusal="has no attribute 'ANY'",
            since="0.10.0",
        ),
    ),
)
