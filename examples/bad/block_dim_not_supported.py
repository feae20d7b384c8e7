import jax
from jax.experimental import pallas as pl


def shifted_kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0


# pallas-lens: example x=f32[512,256]
def shifted(x, block_rows=64):
    rows, features = x.shape
    return pl.pallas_call(
        shifted_kernel,
        grid=(rows // block_rows,),
        # Wrong: once a dim is an Element, all are: (pl.Element(block_rows), pl.Element(features)).
        in_specs=[pl.BlockSpec((pl.Element(block_rows), features), lambda i: (i * block_rows, 0))],
        out_specs=pl.BlockSpec((block_rows, features), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x)
