import jax
from jax.experimental import pallas as pl


def square_kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...] * x_ref[...]


# pallas-lens: example x=f32[512,256]
def square(x, block_rows=128):
    rows, features = x.shape
    block = pl.BlockSpec((block_rows, features), lambda i: (i, 0))
    return pl.pallas_call(
        square_kernel,
        # Wrong: the grid belongs into the grid spec, or the specs beside the grid.
        grid=(pl.cdiv(rows, block_rows),),
        grid_spec=pl.GridSpec(in_specs=[block], out_specs=block),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x)
