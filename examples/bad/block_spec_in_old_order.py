import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def relu_kernel(x_ref, o_ref):
    o_ref[...] = jnp.maximum(x_ref[...], 0)


# pallas-lens: example x=f32[1024,512]
def relu(x, block_rows=256):
    rows, features = x.shape
    # Wrong: since JAX 0.4.31 the block shape comes first.
    block = pl.BlockSpec(lambda i: (i, 0), (block_rows, features))
    return pl.pallas_call(
        relu_kernel,
        grid=(pl.cdiv(rows, block_rows),),
        in_specs=[block],
        out_specs=block,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x)
