import jax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def row_kernel(row_ref, x_ref, o_ref):
    # Wrong: pl.load is gone; refs are indexed: x_ref[pl.ds(row_ref[0], 1), :].
    o_ref[...] = pl.load(x_ref, (pl.ds(row_ref[0], 1), slice(None)))


# pallas-lens: example row=i32[1], x=f32[64,128]
def take_row(row, x):
    return pl.pallas_call(
        row_kernel,
        in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec(memory_space=pltpu.VMEM)],
        out_shape=jax.ShapeDtypeStruct((1, x.shape[1]), x.dtype),
    )(row, x)
