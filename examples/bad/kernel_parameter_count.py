import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


# Wrong: the call below has a scratch, whose ref the kernel would receive after its output's.
def sum_rows_kernel(x_ref, o_ref):
    o_ref[...] = jnp.sum(x_ref[...], axis=-1, keepdims=True)


# pallas-lens: example x=f32[512,1024]
def sum_rows(x, block_rows=128):
    rows, features = x.shape
    return pl.pallas_call(
        sum_rows_kernel,
        grid=(pl.cdiv(rows, block_rows),),
        in_specs=[pl.BlockSpec((block_rows, features), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((block_rows, 1), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((rows, 1), jnp.float32),
        scratch_shapes=[pltpu.VMEM((block_rows, 1), jnp.float32)],
    )(x)
