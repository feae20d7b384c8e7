import jax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def negate_kernel(x_ref, o_ref):
    o_ref[...] = -x_ref[...]


# pallas-lens: example x=f32[512,1024]
def negate(x):
    block = pl.BlockSpec((128, 256), lambda i, j: (i, j))
    return pl.pallas_call(
        negate_kernel,
        grid=(4, 4),
        in_specs=[block],
        out_specs=block,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        # Wrong: the grid has two axes.
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel",)),
    )(x)
