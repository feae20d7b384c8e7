import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def clip_kernel(x_ref, o_ref):
    o_ref[...] = jnp.clip(x_ref[...], -1.0, 1.0)


# pallas-lens: example x=f32[512,256]
def clip(x, block_rows=128):
    rows, features = x.shape
    block = pl.BlockSpec((block_rows, features), lambda i: (i, 0))
    return pl.pallas_call(
        clip_kernel,
        grid=(pl.cdiv(rows, block_rows),),
        in_specs=[block],
        out_specs=block,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        # Wrong: compiler_params says which backend is meant; the keyword is gone since JAX 0.9.1.
        backend="mosaic_tpu",
    )(x)
