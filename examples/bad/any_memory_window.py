import jax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def copy_kernel(x_ref, o_ref):
    pltpu.sync_copy(x_ref, o_ref)


# pallas-lens: example x=f32[1024,256]
def copy(x, block_rows=128):
    rows, features = x.shape
    return pl.pallas_call(
        copy_kernel,
        grid=(pl.cdiv(rows, block_rows),),
        # Wrong: what stays in HBM comes whole; the kernel takes its part with x_ref.at[pl.ds(...)].
        in_specs=[pl.BlockSpec((block_rows, features), lambda i: (i, 0), memory_space=pl.ANY)],
        out_specs=pl.BlockSpec((block_rows, features), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x)
