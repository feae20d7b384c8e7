import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def column_sum_kernel(x_ref, o_ref):
    @pl.when(pl.program_id(0) == 0)
    def _():
        o_ref[...] = jnp.zeros_like(o_ref)

    o_ref[...] += jnp.sum(x_ref[...], axis=0, keepdims=True)


# pallas-lens: example x=f32[1024,256]
def column_sum(x, block_rows=128):
    rows, features = x.shape
    return pl.pallas_call(
        column_sum_kernel,
        grid=(rows // block_rows,),
        in_specs=[pl.BlockSpec((block_rows, features), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((1, features), lambda i: (0, 0)),
        out_shape=jax.ShapeDtypeStruct((1, features), x.dtype),
        # Wrong: an axis whose steps depend on each other is called "arbitrary".
        compiler_params=pltpu.CompilerParams(dimension_semantics=("sequential",)),
    )(x)
