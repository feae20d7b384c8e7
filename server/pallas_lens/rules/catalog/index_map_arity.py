"""Index map that takes another number of arguments than the grid has dims.

## What it does

Compares the parameters of each index map with the rank of the grid plus, where there
is scalar prefetch, one for each prefetched operand. Default arguments and `*args` make
the parameters a range.

## Why it is wrong

The index map is called with one index for each grid dim, then the prefetched refs. The
message is Python's own: "<lambda>() takes 1 positional argument but 2 were given".

## Known limits

Says nothing where the rank of the grid or the index map's parameters are not known. An
index map that misses just the prefetched refs is for `index-map-without-prefetch-refs`.

## Source

`BlockSpec.to_block_mapping` in `jax/_src/pallas/core.py`, JAX 0.7 to 0.12.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from pallas_lens.model.finding import Severity
from pallas_lens.model.fix import Fix, Replace
from pallas_lens.model.kernel_call import Arity, BlockSpec, Form, IndexMap, KernelCall
from pallas_lens.model.unknown import Unknown

from ..context import Context
from ..example import kernel_file
from ..parts import all_specs, grid_of, grid_related
from ..rule import CallRule, Invalid, Problem, Valid
from ..wording import arity_text, counted


def check(call: KernelCall, context: Context) -> Iterable[Problem]:
    for index_map, arity, rank, prefetch in misfitting_index_maps(call):
        if misses_prefetch_only(arity, rank, prefetch) or index_map.span is None:
            continue
        prefetched = f" and {counted(prefetch, 'prefetched operand')}" if prefetch else ""
        yield Problem(
            index_map.span,
            f"index map takes {arity_text(arity)}, but is called with {rank + prefetch}: "
            f"the grid has {counted(rank, 'dim')}{prefetched}",
            fix=_fix(index_map, arity, rank + prefetch),
            related=grid_related(call),
        )


def misfitting_index_maps(call: KernelCall) -> Iterator[tuple[IndexMap, Arity, int, int]]:
    """Index maps that cannot be called, with what they take, the rank of the grid and the number of prefetched refs."""
    grid = grid_of(call)
    if isinstance(grid, Unknown) or call.form not in (Form.PALLAS_CALL, Form.EMIT_PIPELINE):
        return
    prefetch = call.num_scalar_prefetch if call.form is Form.PALLAS_CALL else 0
    if isinstance(prefetch, Unknown):
        return
    rank = len(grid)
    for spec in all_specs(call):
        index_map = _written_index_map(spec)
        if index_map is None or isinstance(index_map.arity, Unknown):
            continue
        if not index_map.arity.accepts(rank + prefetch):
            yield index_map, index_map.arity, rank, prefetch


def _written_index_map(spec: BlockSpec) -> IndexMap | None:
    index_map = spec.index_map
    if not isinstance(index_map, IndexMap) or index_map.is_default or spec.in_old_order:
        return None
    return index_map


def misses_prefetch_only(arity: Arity, rank: int, prefetch: int) -> bool:
    """Whether an index map would fit if nothing were prefetched."""
    return prefetch > 0 and arity.accepts(rank)


def _fix(index_map: IndexMap, arity: Arity, count: int) -> Fix | None:
    """Takes the rest of the indices by ``*_``; whether the map should use them is the author's to say."""
    span = index_map.parameters_span
    if span is None or arity.maximum is None or arity.minimum != arity.maximum or arity.maximum > count:
        return None
    end = replace(span, start_row=span.end_row, start_column=span.end_column)
    return Fix("Take the other grid indices, unused", (Replace(end, ", *_" if arity.maximum else "*_"),))


RULE = CallRule(
    code="PAL201",
    name="index-map-arity",
    severity=Severity.ERROR,
    summary="An index map takes another number of arguments than the grid has dims.",
    documentation=__doc__ or "",
    every_backend=True,
    check=check,
    valid=(
        Valid(
            kernel_file("""
                def double(x_ref, o_ref):
                    o_ref[...] = x_ref[...] * 2


                # pallas-lens: example a0=f32[32,256]
                def call(a0):
                    return pl.pallas_call(
                        double,
                        grid=(4, 2),
                        in_specs=[pl.BlockSpec((8, 128), lambda i, j: (i, j))],
                        out_specs=pl.BlockSpec((8, 128), lambda *indices: indices),
                        out_shape=jax.ShapeDtypeStruct((32, 256), jnp.float32),
                    )(a0)
            """)
        ),
        Valid(
            # A default argument need not be given.
            kernel_file("""
                def double(x_ref, o_ref):
                    o_ref[...] = x_ref[...] * 2


                # pallas-lens: example a0=f32[32,128]
                def call(a0):
                    block = pl.BlockSpec((8, 128), lambda i, column=0: (i, column))
                    return pl.pallas_call(
                        double,
                        grid=(4,),
                        in_specs=[block],
                        out_specs=block,
                        out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32),
                    )(a0)
            """)
        ),
    ),
    invalid=(
        Invalid(
            kernel_file("""
                def double(x_ref, o_ref):
                    o_ref[...] = x_ref[...] * 2


                # pallas-lens: example a0=f32[32,256]
                def call(a0):
                    return pl.pallas_call(
                        double,
                        grid=(4, 2),
                        in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
                        out_specs=pl.BlockSpec((8, 128), lambda i, j: (i, j)),
                        out_shape=jax.ShapeDtypeStruct((32, 256), jnp.float32),
                    )(a0)
            """),
            at="lambda i: (i, 0)",
            refusal="takes 1 positional argument but 2 were given",
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
                        in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
                        out_specs=pl.BlockSpec((8, 128), lambda i, j: (i, j)),
                        out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32),
                    )(a0)
            """),
            at="lambda i, j: (i, j)",
            refusal="missing 1 required positional argument",
        ),
    ),
)
