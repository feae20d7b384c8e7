import jax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def gather_kernel(order_ref, x_ref, o_ref):
    o_ref[...] = x_ref[...]


# pallas-lens: example order=i32[8], x=f32[8,64,128]
def permute_blocks(order, x):
    count, rows, features = x.shape
    block = pl.BlockSpec((None, rows, features), lambda i, order_ref: (order_ref[i], 0, 0))
    grid_spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=(count,),
        # Wrong: `order` is prefetched and gets no spec.
        in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), block],
        out_specs=pl.BlockSpec((None, rows, features), lambda i, order_ref: (i, 0, 0)),
    )
    return pl.pallas_call(
        gather_kernel,
        grid_spec=grid_spec,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(order, x)
