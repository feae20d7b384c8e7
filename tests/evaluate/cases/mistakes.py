"""Calls that the TPU compiler refuses, each with a mistake that its facts show."""

import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def add(x_ref, y_ref, o_ref):
    o_ref[...] = x_ref[...] + y_ref[...]


def copy(x_ref, o_ref):
    o_ref[...] = x_ref[...]


def a_ref_too_few(x):
    return pl.pallas_call(
        add,
        #: kernel add takes 3
        #: counts in 1, out 1, given 1
        out_shape=jax.ShapeDtypeStruct((64, 128), x.dtype),
    )(x)


def an_operand_too_many(x, y):
    return pl.pallas_call(
        add,
        out_shape=jax.ShapeDtypeStruct((64, 128), x.dtype),
        grid=(8,),
        in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
        #: counts in 1, out 1, given 2
        out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
    )(x, y)


def grid_of_another_rank(x):
    return pl.pallas_call(
        copy,
        out_shape=jax.ShapeDtypeStruct((64, 128), x.dtype),
        grid=(8, 1),
        in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
        #: in 0 x ?? block (8, 128) at ? taking 1
        out_specs=pl.BlockSpec((8, 128), lambda i, j: (i, 0, 0)),
        #: out 0 outputs[0] ?(64, 128) block (8, 128) at (grid0, 0, 0)
    )(x)


def off_the_tile(x):
    return pl.pallas_call(
        copy,
        out_shape=jax.ShapeDtypeStruct((1000, 512), jnp.float32),
        grid=(10, 4),
        in_specs=[pl.BlockSpec((100, 100), lambda i, j: (i, j))],
        #: in 0 x ?? block (100, 100) at (grid0, grid1)
        out_specs=pl.BlockSpec((100, 128), lambda i, j: (i, j)),
        #: out 0 outputs[0] float32(1000, 512) block (100, 128) at (grid0, grid1)
    )(x)


def semantics_for_another_grid(x):
    return pl.pallas_call(
        copy,
        out_shape=jax.ShapeDtypeStruct((64, 128), jnp.float32),
        grid=(8,),
        in_specs=[pl.BlockSpec((8, 128), lambda i: (i / 2, 0))],
        #: in 0 x ?? block (8, 128) at (float, 0)
        out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("paralel", "arbitrary")),
        #: semantics paralel, arbitrary
    )(x)


def larger_than_the_memory(x, block=8192):
    return pl.pallas_call(
        functools.partial(copy),
        out_shape=jax.ShapeDtypeStruct((65536, 8192), jnp.float32),
        grid=(8,),
        in_specs=[pl.BlockSpec((8192, 8192), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((8192, 8192), lambda i: (i, 0)),
        #: out 0 outputs[0] float32(65536, 8192) block (8192, 8192) at (grid0, 0)
    )(x)


def no_prefetch_ref(indices, x):
    return pl.pallas_call(
        lambda indices_ref, x_ref, o_ref: None,
        out_shape=jax.ShapeDtypeStruct((64, 128), jnp.float32),
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,
            grid=(8,),
            in_specs=[
                pl.BlockSpec(memory_space=pltpu.SMEM),
                pl.BlockSpec((8, 128), lambda i: (i, 0)),
            ],
            out_specs=pl.BlockSpec((8, 128), lambda i, indices_ref: (i, 0)),
        ),
        #: counts in 2, out 1, given 2
        #: in 0 x ?? whole in smem
        #: in 1 inputs[1] ? block (8, 128) at ? taking 1
    )(indices, x)


def wrong_numbers_of_arguments(x):
    return pl.pallas_call(
        lambda x_ref, o_ref: None,
        grid=(len(x, x), divmod(4), isinstance(x)),  #: grid (len(x, x), divmod(4), isinstance(x))
        out_shape=jax.ShapeDtypeStruct((8, 128), x.dtype),
    )(x)
