"""Pipelines inside kernels, ``pl.kernel`` with a mesh, and functions that hand on to ``pallas_call``."""

import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def add_body(a_ref, b_ref, o_ref):
    o_ref[...] = a_ref[...] + b_ref[...]


def outer_kernel(a_hbm, b_hbm, o_hbm):
    block = pl.BlockSpec((128, 128), lambda i, j: (i, j))
    pltpu.emit_pipeline(
        add_body,
        grid=(4, 8),
        #: grid (4, 8)
        in_specs=[block, block],
        out_specs=[block],
        #: counts in 2, out 1, given 3
        #: kernel add_body takes 3
        #: in 0 a_hbm ?? block (128, 128) at (grid0, grid1)
        dimension_semantics=(pltpu.PARALLEL, pltpu.ARBITRARY),
        #: semantics parallel, arbitrary
    )(a_hbm, b_hbm, o_hbm)


def with_pipeline(a, b):
    anywhere = pl.BlockSpec(memory_space=pl.ANY)
    return pl.pallas_call(
        outer_kernel,
        out_shape=a,
        in_specs=[anywhere] * 2,
        out_specs=anywhere,
        #: in 1 b ?? whole in any
        #: kernel outer_kernel takes 3
        #: grid none
    )(a, b)


def pallas_call(*args, **kwargs):
    kwargs.setdefault("interpret", False)
    return pl.pallas_call(*args, **kwargs)


def handed_on(x):
    return pallas_call(lambda x_ref, o_ref: None, out_shape=x, grid=(4,))(x)  #: grid (4,)


def run_kernel(body, x, *, grid, in_specs, **params):
    return pl.pallas_call(
        body,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        grid=grid,
        in_specs=in_specs,
        #: grid ?
        #: [uses_the_wrapper] grid (2, 4)
        #: [uses_the_wrapper] in 0 x ?? block (8, 128) at (grid0, grid1)
        #: [uses_the_wrapper] semantics parallel, parallel
        compiler_params=pltpu.CompilerParams(**params),
    )(x)


def uses_the_wrapper(x):
    return run_kernel(
        lambda x_ref, o_ref: None,
        x,
        grid=(2, 4),
        in_specs=[pl.BlockSpec((8, 128), lambda i, j: (i, j))],
        dimension_semantics=("parallel", "parallel"),
    )


def forward(*args, **kwargs):
    return pl.pallas_call(*args, **kwargs)


class TestBase:
    interpret = False

    def pallas_call(self, *args, **kwargs):
        return forward(*args, **kwargs, interpret=self.interpret)

    def test_add(self, x):
        return self.pallas_call(
            lambda x_ref, o_ref: None,
            out_shape=x,
            #: kernel <lambda> takes 2
            #: counts in 1, out 1, given 1
        )(x)
