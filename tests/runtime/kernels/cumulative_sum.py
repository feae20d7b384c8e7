import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def sum_kernel(x_ref, o_ref):
    o_ref[...] = jnp.cumsum(x_ref[...], axis=0)  # lower: refused; compile: refused


# pallas-lens: example x=f32[8,128]
def call(x):
    return pl.pallas_call(sum_kernel, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))(x)
