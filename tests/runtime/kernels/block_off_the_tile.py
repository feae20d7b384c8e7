import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def copy_kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...]


# pallas-lens: example x=f32[32,512]
@jax.jit
def call(x):
    return pl.pallas_call(  # lower: refused; compile: refused
        copy_kernel,
        grid=(4, 8),
        in_specs=[pl.BlockSpec((8, 64), lambda i, j: (i, j))],
        out_specs=pl.BlockSpec((8, 64), lambda i, j: (i, j)),
        out_shape=jax.ShapeDtypeStruct((32, 512), jnp.float32),
    )(x)
