import jax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def copy_block(x_ref, o_ref):
    o_ref[...] = x_ref[...]


def outer_kernel(x_ref, o_ref):
    pltpu.emit_pipeline(
        copy_block,
        grid=(4,),
        in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
        out_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
    )(x_ref, o_ref)


def same(x):
    return x


# pallas-lens: example x=f32[32,128]
# pallas-lens: reference=same
def call(x):
    return pl.pallas_call(
        outer_kernel,
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        out_specs=pl.BlockSpec(memory_space=pl.ANY),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x)
