"""Grid specs: in place, in a variable, by position, of another function, with counts that are computed."""

import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def gather_kernel(indices_ref, x_ref, o_ref):
    o_ref[...] = x_ref[...]


def in_place(indices, x):
    return pl.pallas_call(
        gather_kernel,
        #: kernel gather_kernel takes 3
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,
            #: prefetch 1
            #: prefetch 0 indices ??
            grid=(indices.shape[0],),
            #: grid (indices.shape[0],)
            in_specs=[pl.BlockSpec((8, 128), lambda i, indices_ref: (indices_ref[i], 0))],
            #: in 0 x ?? block (8, 128) at (unknown, 0)
            out_specs=pl.BlockSpec((8, 128), lambda i, _: (i, 0)),
            #: out 0 outputs[0] ?(8 * indices.shape[0], 128) block (8, 128) at (grid0, 0)
        ),
        out_shape=jax.ShapeDtypeStruct((8 * indices.shape[0], 128), x.dtype),
        #: counts in 1, out 1, given 2
    )(indices, x)


def in_a_variable(lengths, pages, x):
    scalars = (lengths, pages)
    grid_spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=len(scalars),
        in_specs=[pl.BlockSpec((None, 128, 128), lambda i, j, *_: (i, j, 0))],
        out_specs=pl.BlockSpec((None, 128, 128), lambda i, j, *_: (i, j, 0)),
        grid=(4, 8),
        scratch_shapes=[pltpu.VMEM((128, 128), jnp.float32), pltpu.SemaphoreType.DMA((2,))],
    )
    kernel = pl.pallas_call(
        lambda *refs: None,
        #: kernel <lambda> takes 0 or more
        out_shape=x,
        grid_spec=grid_spec,
        #: grid (4, 8)
        #: prefetch 2
        #: in 0 x ?? block (None, 128, 128) at (grid0, grid1, 0)
        #: scratch 0 scratch[0] float32(128, 128)
        #: scratch 1 scratch[1] dma semaphore
        #: counts in 1, out 1, scratch 2, given 3
    )
    return kernel(*scalars, x)


def by_position(x):
    grid_spec = pl.GridSpec(
        (2, 2), [pl.BlockSpec((8, 128), lambda i, j: (i, j))], pl.BlockSpec(memory_space=pltpu.SMEM)
    )
    return pl.pallas_call(
        lambda x_ref, o_ref: None,
        grid_spec=grid_spec,
        out_shape=x,
        #: grid (2, 2)
        #: in 0 x ?? block (8, 128) at (grid0, grid1)
        #: out 0 outputs[0] ?? whole in smem
        #: prefetch 0
    )(x)


def spec_of(blocks, n_prefetch=0):
    return pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=n_prefetch,
        grid=(blocks,),
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        out_specs=pl.BlockSpec(memory_space=pltpu.HBM),
    )


def of_a_function(x):
    return pl.pallas_call(
        lambda x_ref, o_ref: None,
        grid_spec=spec_of(16),
        #: grid (16,)
        #: prefetch 0
        #: in 0 x ?? whole in any
        #: out 0 outputs[0] ?? whole in hbm
        out_shape=x,
    )(x)


def unknown_count(x, n):
    return pl.pallas_call(
        lambda x_ref, o_ref: None,
        grid_spec=spec_of(16, n),
        #: grid (16,)
        #: prefetch ?
        #: unknown num_scalar_prefetch `n` comes from the caller
        out_shape=x,
    )(x)


def from_the_caller(x, grid_spec):
    return pl.pallas_call(
        lambda x_ref, o_ref: None,
        grid_spec=grid_spec,
        #: grid ?
        #: unknown in_specs `grid_spec` comes from the caller
        out_shape=x,
    )(x)
