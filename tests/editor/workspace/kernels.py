import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def softmax_kernel(x_ref, o_ref):
    weights = jnp.exp(x_ref[...])
    o_ref[...] = weights / jnp.sum(weights, axis=1, keepdims=True)


# pallas-lens: example x=f32[512,512]
def softmax(x):
    rows, columns = x.shape
    return pl.pallas_call(
        softmax_kernel,
        grid=(rows // 100,),
        in_specs=[pl.BlockSpec((100, columns), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((128, columns), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x)
