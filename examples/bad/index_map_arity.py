import jax
from jax.experimental import pallas as pl


def bias_kernel(x_ref, bias_ref, o_ref):
    o_ref[...] = x_ref[...] + bias_ref[...]


# pallas-lens: example x=f32[512,1024], bias=f32[1,1024]
def add_bias(x, bias):
    block = pl.BlockSpec((128, 256), lambda i, j: (i, j))
    return pl.pallas_call(
        bias_kernel,
        grid=(4, 4),
        # Wrong: the grid has two axes, so an index map takes two indices, used or not.
        in_specs=[block, pl.BlockSpec((1, 256), lambda j: (0, j))],
        out_specs=block,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x, bias)
