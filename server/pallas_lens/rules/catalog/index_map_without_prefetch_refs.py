"""Index map that does not take the refs of scalar prefetch.

## What it does

Finds index maps of a call with scalar prefetch that take one argument for each grid
dim and no more.

## Why it is wrong

With `PrefetchScalarGridSpec` every index map, of inputs and outputs, is called with
the grid indices and then a ref for each prefetched operand, whether it uses them or
not: "<lambda>() takes 1 positional argument but 2 were given".

## Known limits

Says nothing where the rank of the grid, `num_scalar_prefetch` or the index map's
parameters are not known.

## Source

`get_grid_mapping` in `jax/_src/pallas/core.py`, JAX 0.7 to 0.12.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pallas_lens.model.finding import Severity
from pallas_lens.model.fix import Applicability, Fix, Replace
from pallas_lens.model.kernel_call import Arity, IndexMap, KernelCall

from ..context import Context
from ..example import kernel_file
from ..parts import grid_related, related
from ..rule import CallRule, Invalid, Problem, Valid
from ..wording import arity_text, counted
from .index_map_arity import misfitting_index_maps, misses_prefetch_only


def check(call: KernelCall, context: Context) -> Iterable[Problem]:
    for index_map, arity, rank, prefetch in misfitting_index_maps(call):
        if not misses_prefetch_only(arity, rank, prefetch) or index_map.span is None:
            continue
        refs = counted(prefetch, "prefetched ref")
        yield Problem(
            index_map.span,
            f"index map takes {arity_text(arity)}, but is called with {rank + prefetch}: "
            f"{counted(rank, 'grid index', 'grid indices')}, then {refs}, used or not; add `*_`",
            fix=_fix(index_map, arity),
            related=(*related(call.prefetch_span, f"{counted(prefetch, 'operand')} prefetched"), *grid_related(call)),
        )


def _fix(index_map: IndexMap, arity: Arity) -> Fix | None:
    span = index_map.parameters_span
    if span is None or arity.minimum != arity.maximum:
        return None
    end = replace(span, start_row=span.end_row, start_column=span.end_column)
    text = ", *_" if arity.maximum else "*_"
    return Fix("Take the prefetched refs, unused: `*_`", (Replace(end, text),), Applicability.SAFE)


RULE = CallRule(
    code="PAL302",
    name="index-map-without-prefetch-refs",
    severity=Severity.ERROR,
    summary="An index map of a call with scalar prefetch does not take the prefetched refs.",
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
                        out_specs=pl.BlockSpec((8, 128), lambda i, *_: (i, 0)),
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
                    grid_spec = pltpu.PrefetchScalarGridSpec(
                        num_scalar_prefetch=1,
                        grid=(4,),
                        in_specs=[pl.BlockSpec((8, 128), lambda i, rows: (rows[i], 0))],
                        out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
                    )
                    return pl.pallas_call(
                        gather,
                        grid_spec=grid_spec,
                        out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32),
                    )(a0, a1)
            """),
            at="lambda i: (i, 0)",
            refusal="takes 1 positional argument but 2 were given",
        ),
    ),
)
