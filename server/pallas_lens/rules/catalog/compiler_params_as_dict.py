"""`compiler_params` given as a dict.

## What it does

Finds `compiler_params={…}` and `compiler_params=dict(…)`.

## Why it is wrong

Since JAX 0.6.1 the compiler's parameters are a dataclass of the backend:
`pltpu.CompilerParams` on a TPU. A dict fails with a message that says nothing of it:
"unhashable type: 'dict'".

## Known limits

Calls under `hasattr`, `try` or a version test are left alone. Where no JAX is found in
the user's environment, the newest is assumed and the finding is a warning.

## Source

JAX's changelog for 0.6.1; `pallas_call` in `jax/_src/pallas/pallas_call.py`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from pallas_lens.model.api_use import Keyword
from pallas_lens.model.finding import Severity
from pallas_lens.model.fix import Fix, RemoveArgument, Replace
from pallas_lens.model.module_facts import ModuleFacts
from pallas_lens.model.versions import Version

from ..api import readable, severity_of_gone, spelled, versions_text
from ..context import PALLAS, PALLAS_TPU, Context
from ..example import kernel_file
from ..rule import Invalid, ModuleRule, Problem, Valid

_SINCE = Version((0, 6, 1))
_CALLS = (f"{PALLAS}.pallas_call",)
_PARAMS = f"{PALLAS_TPU}.CompilerParams"


def check(facts: ModuleFacts, context: Context) -> Iterable[Problem]:
    if context.jax_version < _SINCE:
        return
    for use in facts.api_uses:
        if use.guarded or use.path not in _CALLS:
            continue
        for keyword in use.keywords:
            if keyword.name == "compiler_params" and keyword.value_is_dict:
                yield Problem(
                    keyword.span,
                    f"compiler_params is no dict {versions_text(_SINCE, context)}; "
                    f"give a {readable(_PARAMS, context)}(…)",
                    fix=_fix(keyword, context),
                    severity=severity_of_gone(context),
                )


def _fix(keyword: Keyword, context: Context) -> Fix | None:
    """The same entries as arguments of the dataclass, where the dict is written out."""
    entries = _entries(keyword.value_text)
    if entries is None:
        return None
    if not entries:
        return Fix("Take it out", (RemoveArgument(keyword.span),))
    params = spelled(_PARAMS, context)
    if params is None:
        return None
    arguments = ", ".join(f"{name}={text}" for name, text in entries)
    text = f"compiler_params={params}({arguments})"
    return Fix(f"Write `{params}(…)`", (Replace(keyword.span, text),))


def _entries(text: str) -> list[tuple[str, str]] | None:
    """Names and values of a dict's entries; those of the inner dict where there is just one for "mosaic"."""
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return None
    entries = _entries_of(tree)
    if entries is None:
        return None
    if len(entries) == 1 and entries[0][0] == "mosaic":
        entries = _entries_of(entries[0][1])
    if entries is None:
        return None
    found = [(name, ast.get_source_segment(text, value)) for name, value in entries]
    return [(name, source) for name, source in found if source is not None]


def _entries_of(tree: ast.expr) -> list[tuple[str, ast.expr]] | None:
    match tree:
        case ast.Dict(keys, values):
            pairs = [
                (key.value, value)
                for key, value in zip(keys, values, strict=True)
                if isinstance(key, ast.Constant) and isinstance(key.value, str) and key.value.isidentifier()
            ]
            return pairs if len(pairs) == len(keys) else None
        case ast.Call(ast.Name("dict"), [], keywords):
            named = [(one.arg, one.value) for one in keywords if one.arg is not None]
            return named if len(named) == len(keywords) else None
    return None


RULE = ModuleRule(
    code="PAL905",
    name="compiler-params-as-dict",
    severity=Severity.ERROR,
    summary="`compiler_params` is a dict, which JAX takes no more.",
    documentation=__doc__ or "",
    every_backend=True,
    check=check,
    valid=(
        Valid(
            kernel_file("""
                def double(x_ref, o_ref):
                    o_ref[...] = x_ref[...] * 2


                # pallas-lens: example a0=f32[8,128]
                def call(a0):
                    return pl.pallas_call(
                        double,
                        out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
                        compiler_params=pltpu.CompilerParams(vmem_limit_bytes=2**20),
                    )(a0)
            """)
        ),
    ),
    invalid=(
        Invalid(
            kernel_file("""
                def copy(x_ref, o_ref, scratch_ref):
                    scratch_ref[...] = x_ref[...]
                    o_ref[...] = scratch_ref[...]


                # pallas-lens: example a0=f32[8,128]
                def call(a0):
                    return pl.pallas_call(
                        copy,
                        out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
                        scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32)],
                        compiler_params=dict(mosaic=dict(vmem_limit_bytes=2**20)),
                    )(a0)
            """),
            at="compiler_params=dict(mosaic=dict(vmem_limit_bytes=2**20))",
            refusal="dict",
        ),
    ),
)
