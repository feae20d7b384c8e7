"""RMSNorm: x / sqrt(mean(x**2) + epsilon) * weight, over the last axis, in 32 bits."""

import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def rms_norm_kernel(x_ref, weight_ref, o_ref, *, epsilon):
    x = x_ref[...].astype(jnp.float32)
    mean_square = jnp.mean(x * x, axis=-1, keepdims=True)
    o_ref[...] = (x * jax.lax.rsqrt(mean_square + epsilon) * weight_ref[...]).astype(o_ref.dtype)


def reference(x, weight, epsilon=1e-6):
    wide = x.astype(jnp.float32)
    scale = jax.lax.rsqrt(jnp.mean(wide * wide, axis=-1, keepdims=True) + epsilon)
    return (wide * scale * weight).astype(x.dtype)


# pallas-lens: example x=bf16[4,500,2048], weight=f32[2048]
# pallas-lens: reference=reference
def rms_norm(x, weight, epsilon=1e-6, block_rows=128):
    batch, rows, features = x.shape
    # None: the kernel sees no batch dim, and each step has one element of it.
    block = pl.BlockSpec((None, block_rows, features), lambda b, i: (b, i, 0))
    return pl.pallas_call(
        functools.partial(rms_norm_kernel, epsilon=epsilon),
        grid=(batch, pl.cdiv(rows, block_rows)),
        # The weight's block never moves: it is fetched once.
        in_specs=[block, pl.BlockSpec((1, features), lambda b, i: (0, 0))],
        out_specs=block,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel")),
    )(x, weight.reshape(1, features))
