import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def copy_kernel(index_ref, x_ref, o_ref):
    o_ref[...] = x_ref[...]


def make_inputs():
    return {"index": jnp.array([3, 1, 0, 2], jnp.int32), "x": jnp.arange(32.0 * 128).reshape(32, 128)}


def expected(index, x):
    return x.reshape(4, 8, 128)[index].reshape(32, 128)


# pallas-lens: inputs=make_inputs
# pallas-lens: reference=expected
def call(index, x):
    return pl.pallas_call(
        copy_kernel,
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,
            grid=(4,),
            in_specs=[pl.BlockSpec((8, 128), lambda i, index_ref: (index_ref[i], 0))],
            out_specs=pl.BlockSpec((8, 128), lambda i, index_ref: (i, 0)),
        ),
        out_shape=jax.ShapeDtypeStruct((32, 128), x.dtype),
    )(index, x)
