import jax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def double_body(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2


def double_kernel(x_ref, o_ref):
    # Wrong: the pipeline's DMA moves whole tiles, and 192 lanes are one and a half.
    block = pl.BlockSpec((64, 192), lambda i: (0, i))
    pipeline = pltpu.emit_pipeline(double_body, grid=(4,), in_specs=[block], out_specs=[block])
    pipeline(x_ref, o_ref)


# pallas-lens: example x=f32[64,768]
def double(x):
    in_hbm = pl.BlockSpec(memory_space=pl.ANY)
    return pl.pallas_call(
        double_kernel,
        in_specs=[in_hbm],
        out_specs=in_hbm,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x)
