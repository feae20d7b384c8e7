"""Keyword that a function of JAX no longer takes.

## What it does

Finds keywords that a Pallas function took in an earlier JAX and takes no more in the
user's: `pl.kernel(scratch_shapes=)`, `pl.pallas_call(backend=)`,
`pl.BlockSpec(indexing_mode=)` and others.

## Why it is wrong

The call raises TypeError: "got an unexpected keyword argument". A keyword that has
only got another name can be renamed by the fix.

## Known limits

Knows the functions whose parameters have changed since JAX 0.4.35. Calls under
`hasattr`, `try` or a version test are left alone. Where no JAX is found in the user's
environment, the newest is assumed and the finding is a warning.

## Source

The signatures of every release from 0.4.35 to 0.12.0.1, read from their source.
"""

from __future__ import annotations

from collections.abc import Iterable

from pallas_lens.knowledge.api_names import Replacement, parameter_replacement, removed_parameter
from pallas_lens.model.api_use import ApiUse, Keyword
from pallas_lens.model.finding import Severity
from pallas_lens.model.fix import Applicability, Fix, RemoveArgument, Replace
from pallas_lens.model.module_facts import ModuleFacts

from ..api import severity_of_gone, versions_text
from ..context import Context
from ..example import kernel_file
from ..rule import Invalid, ModuleRule, Problem, Valid

_LEAVE_OUT = "leave it out"


def check(facts: ModuleFacts, context: Context) -> Iterable[Problem]:
    for use in facts.api_uses:
        if use.guarded or not use.is_call:
            continue
        for keyword in use.keywords:
            since = removed_parameter(use.path, keyword.name, context.jax_version)
            if since is None:
                continue
            new = parameter_replacement(use.path, keyword.name)
            yield Problem(
                keyword.name_span,
                f"`{use.text}` takes no `{keyword.name}` {versions_text(since, context)}{_advice(new)}",
                fix=_fix(use, keyword, new),
                severity=severity_of_gone(context),
            )


def _advice(new: Replacement | None) -> str:
    if new is None:
        return ""
    return f"; it is `{new.use}` now" if new.use is not None else f"; {new.advice}"


def _fix(use: ApiUse, keyword: Keyword, new: Replacement | None) -> Fix | None:
    if new is None:
        return None
    if new.use is not None:
        if any(other.name == new.use for other in use.keywords):
            return None
        return Fix(f"Write `{new.use}`", (Replace(keyword.name_span, new.use),), Applicability.SAFE)
    if new.advice == _LEAVE_OUT or keyword.value_text == "None":
        return Fix(f"Take `{keyword.name}` out", (RemoveArgument(keyword.span),))
    return None


RULE = ModuleRule(
    code="PAL904",
    name="removed-keyword",
    severity=Severity.ERROR,
    summary="A keyword that a function of the user's JAX no longer takes.",
    documentation=__doc__ or "",
    every_backend=True,
    check=check,
    valid=(
        Valid(
            kernel_file("""
                # pallas-lens: example a0=f32[8,128]
                def call(a0):
                    @pl.kernel(
                        out_type=jax.ShapeDtypeStruct((8, 128), jnp.float32),
                        mesh=pltpu.TensorCoreMesh(axis_name="core", num_cores=1),
                        scratch_types=[pltpu.VMEM((8, 128), jnp.float32)],
                    )
                    def copy(x_ref, o_ref, scratch_ref):
                        pltpu.sync_copy(x_ref, scratch_ref)
                        pltpu.sync_copy(scratch_ref, o_ref)

                    return copy(a0)
            """),
            since="0.12.0",
        ),
        Valid(
            kernel_file("""
                def double(x_ref, o_ref):
                    o_ref[...] = x_ref[...] * 2


                # pallas-lens: example a0=f32[8,128]
                def call(a0):
                    return pl.pallas_call(
                        double,
                        in_specs=[pl.BlockSpec((8, 128), lambda: (0, 0))],
                        out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
                    )(a0)
            """)
        ),
    ),
    invalid=(
        Invalid(
            kernel_file("""
                def double(x_ref, o_ref):
                    o_ref[...] = x_ref[...] * 2


                # pallas-lens: example a0=f32[8,128]
                def call(a0):
                    return pl.pallas_call(
                        double,
                        out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
                        backend="mosaic_tpu",
                    )(a0)
            """),
            at="backend",
            refusal="unexpected keyword argument 'backend'",
            since="0.9.1",
        ),
        Invalid(
            kernel_file("""
                def double(x_ref, o_ref):
                    o_ref[...] = x_ref[...] * 2


                # pallas-lens: example a0=f32[8,128]
                def call(a0):
                    return pl.pallas_call(
                        double,
                        in_specs=[pl.BlockSpec((8, 128), lambda: (0, 0), indexing_mode=None)],
                        out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
                    )(a0)
            """),
            at="indexing_mode",
            refusal="unexpected keyword argument 'indexing_mode'",
            since="0.7.1",
        ),
        Invalid(
            kernel_file("""
                # pallas-lens: example a0=f32[8,128]
                def call(a0):
                    @pl.kernel(
                        out_type=jax.ShapeDtypeStruct((8, 128), jnp.float32),
                        mesh=pltpu.TensorCoreMesh(axis_name="core", num_cores=1),
                        scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32)],
                    )
                    def copy(x_ref, o_ref, scratch_ref):
                        pltpu.sync_copy(x_ref, scratch_ref)
                        pltpu.sync_copy(scratch_ref, o_ref)

                    return copy(a0)
            """),
            at="scratch_shapes",
            refusal="scratch_shapes",
            since="0.12.0",
        ),
    ),
)
