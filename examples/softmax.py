"""Softmax of each row. A row is as wide as its block, so a step needs nothing from another."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def softmax_kernel(x_ref, o_ref):
    x = x_ref[...].astype(jnp.float32)
    weights = jnp.exp(x - jnp.max(x, axis=-1, keepdims=True))
    o_ref[...] = (weights / jnp.sum(weights, axis=-1, keepdims=True)).astype(o_ref.dtype)


def reference(x, block_rows=None):
    return jax.nn.softmax(x.astype(jnp.float32), axis=-1).astype(x.dtype)


# 1000 columns are no multiple of 128, which is legal since the block has all of them.
# pallas-lens: example x=f32[600,1000]
# pallas-lens: reference=reference
def softmax(x, block_rows=128):
    rows, columns = x.shape
    block = pl.BlockSpec((block_rows, columns), lambda i: (i, 0))
    return pl.pallas_call(
        softmax_kernel,
        grid=(pl.cdiv(rows, block_rows),),
        in_specs=[block],
        out_specs=block,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel",)),
    )(x)
