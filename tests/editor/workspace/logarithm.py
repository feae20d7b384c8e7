import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def logarithm_kernel(x_ref, o_ref):
    o_ref[...] = jnp.log(x_ref[...] - x_ref[...] - 1.0)


# pallas-lens: example x=f32[64,128]
def logarithm(x):
    return pl.pallas_call(
        logarithm_kernel,
        grid=(8,),
        in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((64, 128), jnp.float32),
    )(x)
