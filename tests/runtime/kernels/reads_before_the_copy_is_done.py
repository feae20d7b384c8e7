import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def copy_kernel(x_ref, o_ref, buffer_ref, semaphore):
    copy = pltpu.make_async_copy(x_ref, buffer_ref, semaphore)
    copy.start()
    o_ref[...] = buffer_ref[...]
    copy.wait()  # interpret: race


# pallas-lens: example x=f32[8,128]
def call(x):
    return pl.pallas_call(
        copy_kernel,
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
        scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32), pltpu.SemaphoreType.DMA(())],
    )(x)
