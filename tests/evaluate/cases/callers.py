"""Callers in the file: with numbers, keywords, arrays made in place, through a second function, under main."""

import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(x_ref, o_ref):
    o_ref[...] = x_ref[...]


@functools.partial(jax.jit, static_argnames=("block",))
def scale(x, *, block):
    return pl.pallas_call(
        body,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        grid=(x.shape[0] // block,),
        #: grid (x.shape[0] // block,)
        #: [small] grid (4,)
        #: [small] reading as `small` calls it
        #: [twice] grid (16,)
        #: [twice #2] grid (8,)
        #: [module] grid (32,)
        #: [benchmark] grid (1,)
        in_specs=[pl.BlockSpec((block, 128), lambda i: (i, 0))],
        #: [small] in 0 inputs[0] float32(256, 128) block (64, 128) at (grid0, 0)
        #: [twice] in 0 inputs[0] bfloat16(1024, 128) block (64, 128) at (grid0, 0)
        out_specs=pl.BlockSpec((block, 128), lambda i: (i, 0)),
        #: [module] out 0 outputs[0] int32(4096, 128) block (128, 128) at (grid0, 0)
    )(x)


def small():
    return scale(jnp.zeros((256, 128)), block=64)


def twice():
    x = jax.random.normal(jax.random.key(0), (1024, 128), dtype=jnp.bfloat16)
    for block in (64, 128):
        scale(x, block=block)


def through(x):
    return scale(x.reshape(-1, 128), block=256)


def benchmark(n: int = 2048):
    return through(jnp.ones((16, n)))


def not_followed(x, block):
    return scale(x, block=block)


if __name__ == "__main__":
    print(scale(jnp.arange(4096 * 128, dtype=jnp.int32).reshape(4096, 128), block=128))
