"""Kernel files that the tests check. ``at`` finds the places that are expected, so that none is counted by hand."""

from __future__ import annotations

GOOD = """\
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2


# pallas-lens: example x=f32[512,256]
def call(x):
    return pl.pallas_call(
        double,
        grid=(4,),
        in_specs=[pl.BlockSpec((128, 256), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((128, 256), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((512, 256), jnp.float32),
    )(x)
"""

UNALIGNED = GOOD.replace("out_specs=pl.BlockSpec((128, 256)", "out_specs=pl.BlockSpec((100, 256)")
"""Its output's block is refused by every chip."""

MISSPELT = """\
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2


def call(x):
    return pl.pallas_call(
        double,
        grid=(4,),
        in_specs=[pl.BlockSpec((128, 256), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((128, 256), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((512, 256), jnp.float32),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("paralel",)),
    )(x)
"""
"""Has one finding with a safe fix."""


def at(text: str, part: str, occurrence: int = 0) -> dict[str, dict[str, int]]:
    """``location`` and ``end_location`` of a part of one line, as the contract has them."""
    start = -1
    for _ in range(occurrence + 1):
        start = text.index(part, start + 1)
    row = text.count("\n", 0, start) + 1
    column = start - (text.rfind("\n", 0, start) + 1) + 1
    return {"location": {"row": row, "column": column}, "end_location": {"row": row, "column": column + len(part)}}
