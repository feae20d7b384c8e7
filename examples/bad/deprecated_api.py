import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def normalise_kernel(x_ref, o_ref):
    total = jnp.sum(x_ref[...], axis=-1, keepdims=True)
    # Wrong from JAX 0.11.2 on, which warns: the name has moved to pltpu.
    o_ref[...] = x_ref[...] * pl.reciprocal(total, approx=True)


# pallas-lens: example x=f32[512,256]
def normalise(x, block_rows=128):
    rows, features = x.shape
    block = pl.BlockSpec((block_rows, features), lambda i: (i, 0))
    return pl.pallas_call(
        normalise_kernel,
        grid=(pl.cdiv(rows, block_rows),),
        in_specs=[block],
        out_specs=block,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x)
