"""Index maps: lambdas, nested functions, defaults, stars, factories, closures, methods, partials."""

import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def any_kernel(*refs):
    pass


def module_map(i, j):
    return i, j


def nested(q, k, group):
    def q_map(b, h, i):
        return b, h, i, 0

    def kv_map(b, h, i, *_):
        head = h // group
        return (b, head, i, 0)

    return pl.pallas_call(
        any_kernel,
        out_shape=q,
        grid=(2, 8, 4),
        in_specs=[
            pl.BlockSpec((None, None, 128, 64), q_map),
            #: in 0 q ?? block (None, None, 128, 64) at (grid0, grid1, grid2, 0)
            pl.BlockSpec((1, 1, 128, 64), kv_map),
            #: in 1 k ?? block (1, 1, 128, 64) at (grid0, grid1 // group, grid2, 0)
        ],
    )(q, k)


def defaults_and_stars(table, lengths, x, causal):
    def kv_map(i, j, table_ref, lengths_ref=None):
        return (i, 0)

    return pl.pallas_call(
        any_kernel,
        out_shape=x,
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=2,
            grid=(2, 4),
            in_specs=[
                pl.BlockSpec((8, 128), kv_map),
                #: in 0 x ?? block (8, 128) at (grid0, 0)
                pl.BlockSpec((8, 128), lambda i, j, *refs: (j, i)),
                #: in 1 x ?? block (8, 128) at (grid1, grid0)
            ],
            out_specs=pl.BlockSpec((8, 128), lambda *args: (args[0], args[1])),
            #: out 0 outputs[0] ?? block (8, 128) at (grid0, grid1)
        ),
    )(table, lengths, x, x)


def map_for(axis, *, offset=0):
    def index_map(*grid):
        return (grid[axis] + offset, 0)

    return index_map


def factories_and_closures(x):
    shift = x.shape[0] // 8
    maps = {"row": lambda i, j: (i + shift, 0), "column": lambda i, j: (0, j)}
    return pl.pallas_call(
        any_kernel,
        out_shape=x,
        grid=(4, 4),
        in_specs=[
            pl.BlockSpec((8, 128), map_for(1, offset=2)),
            #: in 0 x ?? block (8, 128) at (grid1 + 2, 0)
            pl.BlockSpec((8, 128), maps["row"]),
            #: in 1 x ?? block (8, 128) at (grid0 + x.shape[0] // 8, 0)
            pl.BlockSpec((8, 128), module_map),
            #: in 2 x ?? block (8, 128) at (grid0, grid1)
        ],
    )(x, x, x)


class Layout:
    def __init__(self, heads):
        self.heads = heads

    def index(self, i, j):
        return (i // self.heads, i % self.heads)

    @staticmethod
    def transposed(i, j):
        return (j, i)


def methods_and_partials(x, heads):
    layout = Layout(heads)

    def at(group, i, j):
        return (group * i, j)

    def swapped(i, j, *, by):
        return (j, i + by)

    return pl.pallas_call(
        any_kernel,
        out_shape=x,
        grid=(4, 4),
        in_specs=[
            pl.BlockSpec((8, 128), layout.index),
            #: in 0 x ?? block (8, 128) at (grid0 // heads, grid0 % heads)
            pl.BlockSpec((8, 128), Layout.transposed),
            #: in 1 x ?? block (8, 128) at (grid1, grid0)
            pl.BlockSpec((8, 128), functools.partial(at, 3)),
            #: in 2 x ?? block (8, 128) at (3 * grid0, grid1)
            pl.BlockSpec((8, 128), index_map=functools.partial(swapped, by=1)),
            #: in 3 x ?? block (8, 128) at (grid1, grid0 + 1)
        ],
    )(x, x, x, x)


def several_statements(x, causal: bool):
    def index_map(i, j):
        last = jax.lax.div(i, 2)
        if causal:
            j = jnp.minimum(j, last)
        return i, j

    return pl.pallas_call(
        any_kernel,
        out_shape=x,
        grid=(4, 4),
        in_specs=[pl.BlockSpec((8, 128), index_map)],
        #: worlds 1
        #: in 0 x ?? block (8, 128) at ? taking 2
        out_specs=pl.BlockSpec((8, 128), lambda i, j: (i, *([0] * 1))),
        #: out 0 outputs[0] ?? block (8, 128) at (grid0, 0)
    )(x)


def wrong_ones(x):
    return pl.pallas_call(
        any_kernel,
        out_shape=x,
        grid=(4, 4),
        in_specs=[
            pl.BlockSpec((8, 128), lambda i: (i, 0)),
            #: in 0 x ?? block (8, 128) at ? taking 1
            pl.BlockSpec((8, 128), lambda i, j: (i / 2, 0)),
            #: in 1 x ?? block (8, 128) at (float, 0)
            pl.BlockSpec((8, 128), lambda i, j: i),
            #: in 2 x ?? block (8, 128) at (grid0,)
            pl.BlockSpec((8, 128), lambda i, j: (pl.ds(i, 8), j)),
            #: in 3 x ?? block (8, 128) at (slice, grid1)
        ],
    )(x, x, x, x)


def loop_variable_is_read_late(x):
    specs = []
    for width in (1, 2):
        specs.append(pl.BlockSpec((8, 128), lambda i, j: (i, width)))
    return pl.pallas_call(
        any_kernel,
        out_shape=x,
        grid=(4, 4),
        in_specs=specs,
        #: in 0 x ?? block (8, 128) at (grid0, 2)
        #: in 1 x ?? block (8, 128) at (grid0, 2)
    )(x, x)
