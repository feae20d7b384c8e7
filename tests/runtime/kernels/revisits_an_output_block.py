import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def copy_kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...]


# pallas-lens: example x=f32[32,256]
@jax.jit
def call(x):
    return pl.pallas_call(  # interpret: revisit
        copy_kernel,
        grid=(4, 2),
        in_specs=[pl.BlockSpec((8, 128), lambda r, c: (r, c))],
        out_specs=pl.BlockSpec((8, 128), lambda r, c: (0, c)),
        out_shape=jax.ShapeDtypeStruct((8, 256), jnp.float32),
    )(x)
