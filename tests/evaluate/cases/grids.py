"""Grids: in a name, from a shape, by ceiling division, one number, none, an empty one, traced, in a list."""

import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def copy_kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...]


def ceil_div(a, b):
    return (a + b - 1) // b


def in_a_name(x, block):
    grid = (x.shape[0] // block, pl.cdiv(x.shape[1], 128))
    return pl.pallas_call(
        copy_kernel,
        grid=grid,
        #: grid (x.shape[0] // block, cdiv(x.shape[1], 128))
        in_specs=[pl.BlockSpec((block, 128), lambda i, j: (i, j))],
        #: in 0 x ?? block (block, 128) at (grid0, grid1)
        out_specs=pl.BlockSpec((block, 128), lambda i, j: (i, j)),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        #: counts in 1, out 1, given 1
    )(x)


def own_ceiling(x, block=100):
    rows, columns = x.shape
    return pl.pallas_call(
        copy_kernel,
        grid=(ceil_div(rows, block),),
        #: grid ((block + x.shape[0] - 1) // block,)
        #: [defaults] grid ((x.shape[0] + 99) // 100,)
        in_specs=[pl.BlockSpec((block, columns), lambda i: (i, 0))],
        #: in 0 x ?(x.shape[0], x.shape[1]) block (block, x.shape[1]) at (grid0, 0)
        out_specs=pl.BlockSpec((block, columns), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((rows, columns), jnp.float32),
        #: out 0 outputs[0] float32(x.shape[0], x.shape[1]) block (block, x.shape[1]) at (grid0, 0)
    )(x)


def one_number(x):
    return pl.pallas_call(
        copy_kernel,
        grid=8,
        #: grid (8,)
        in_specs=[pl.BlockSpec((128, 128), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((128, 128), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((1024, 128), jnp.float32),
    )(x)


def no_grid(x):
    return pl.pallas_call(
        copy_kernel,
        #: grid none
        #: in 0 x ??
        #: out 0 outputs[0] ??
        #: counts in 1, out 1, given 1
        out_shape=x,
    )(x)


def empty_grid(x):
    return pl.pallas_call(copy_kernel, out_shape=jax.ShapeDtypeStruct((8, 128), x.dtype), grid=())(x)  #: grid ()


def traced_bound(x, steps: jax.Array):
    return pl.pallas_call(
        copy_kernel,
        grid=(jnp.maximum(jnp.int32(3), 1), steps[0], 4),
        #: grid (?, steps[0], 4)
        in_specs=[pl.BlockSpec((8, 128), lambda i, j, k: (i, 0))],
        out_specs=pl.BlockSpec((8, 128), lambda i, j, k: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((64, 128), x.dtype),
    )(x)


def in_a_list(x, splits):
    batch, heads, *rest = x.shape
    dims = [batch, heads]
    if len(rest) > 1:
        dims.append(rest[0] // splits)
    return pl.pallas_call(
        copy_kernel,
        grid=dims,
        #: worlds 2
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x)


def by_augmented_assignment(x):
    grid = (4,)
    grid += (x.shape[0] // 8,)
    grid = grid + (2,) * 2
    return pl.pallas_call(copy_kernel, out_shape=x, grid=grid)(x)  #: grid (4, x.shape[0] // 8, 2, 2)


def from_the_caller(x, grid):
    return pl.pallas_call(copy_kernel, out_shape=x, grid=grid)(x)  #: unknown grid `grid` comes from the caller


def clamped(x, block):
    block = min(block, x.shape[0])
    return pl.pallas_call(
        copy_kernel,
        grid=(pl.cdiv(x.shape[0], block),),
        #: grid (cdiv(x.shape[0], min(block, x.shape[0])),)
        in_specs=[pl.BlockSpec((block, 128), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((block, 128), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x)
