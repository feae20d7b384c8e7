import jax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def scale_kernel(factor_ref, x_ref, o_ref):
    o_ref[...] = x_ref[...] * factor_ref[()]


# pallas-lens: example factor=f32[], x=f32[1024,256]
def scale(factor, x):
    block = pl.BlockSpec((256, 256), lambda i: (i, 0))
    return pl.pallas_call(
        scale_kernel,
        grid=(4,),
        # Wrong: with a grid a scalar has no window, not even in SMEM; pass factor.reshape(1).
        in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), block],
        out_specs=block,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(factor, x)
