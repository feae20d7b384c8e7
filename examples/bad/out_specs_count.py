import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def standardise_kernel(x_ref, o_ref, mean_ref):
    mean = jnp.mean(x_ref[...], axis=-1, keepdims=True)
    o_ref[...] = x_ref[...] - mean
    mean_ref[...] = mean


# pallas-lens: example x=f32[512,256]
def centre_rows(x, block_rows=128):
    rows, features = x.shape
    block = pl.BlockSpec((block_rows, features), lambda i: (i, 0))
    return pl.pallas_call(
        standardise_kernel,
        grid=(pl.cdiv(rows, block_rows),),
        in_specs=[block],
        # Wrong: two outputs, and a spec for the first alone.
        out_specs=[block],
        out_shape=[jax.ShapeDtypeStruct(x.shape, x.dtype), jax.ShapeDtypeStruct((rows, 1), x.dtype)],
    )(x)
