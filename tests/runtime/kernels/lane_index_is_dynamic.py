import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def window_kernel(start_ref, x_ref, o_ref):
    o_ref[...] = x_ref[:, pl.ds(start_ref[0], 128)]  # compile: refused


# pallas-lens: example start=i32[1], x=f32[8,1024]
def call(start, x):
    return pl.pallas_call(
        window_kernel,
        in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec(memory_space=pltpu.VMEM)],
        out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
    )(start, x)
