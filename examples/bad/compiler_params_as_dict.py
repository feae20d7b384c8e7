import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def exp_kernel(x_ref, o_ref):
    o_ref[...] = jnp.exp(x_ref[...])


# pallas-lens: example x=f32[512,256]
def exp(x, block_rows=128):
    rows, features = x.shape
    block = pl.BlockSpec((block_rows, features), lambda i: (i, 0))
    return pl.pallas_call(
        exp_kernel,
        grid=(pl.cdiv(rows, block_rows),),
        in_specs=[block],
        out_specs=block,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        # Wrong: JAX takes pltpu.CompilerParams(...) here and no dict.
        compiler_params=dict(mosaic=dict(dimension_semantics=("parallel",))),
    )(x)
