import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def row_kernel(row_ref, x_ref, o_ref):
    o_ref[...] = jnp.zeros_like(o_ref)
    row = row_ref[0] + 40
    o_ref[0] = x_ref[row]  # interpret: out-of-bounds


# pallas-lens: example row=i32[1], x=f32[32,128]
def call(row, x):
    return pl.pallas_call(
        row_kernel,
        in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec(memory_space=pltpu.VMEM)],
        out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
    )(row, x)
