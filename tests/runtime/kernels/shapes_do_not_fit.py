import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def product_kernel(x_ref, o_ref):
    größe = 1
    value = größe * (x_ref[...] @ x_ref[...])  # interpret: exception; trace: refused; lower: refused; compile: refused
    o_ref[...] = value


# pallas-lens: example x=f32[8,128]
@jax.jit
def call(x):
    return pl.pallas_call(product_kernel, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))(x)
