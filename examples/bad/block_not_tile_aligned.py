import jax
from jax.experimental import pallas as pl


def scale_kernel(x_ref, scale_ref, o_ref):
    o_ref[...] = x_ref[...] * scale_ref[...]


# pallas-lens: example x=f32[500,1024], scale=f32[1,1024]
def scale_features(x, scale):
    rows, features = x.shape
    # Wrong: 100 rows divide the 500, but are no multiple of the 8 sublanes.
    block = pl.BlockSpec((100, features), lambda i: (i, 0))
    return pl.pallas_call(
        scale_kernel,
        grid=(rows // 100,),
        in_specs=[block, pl.BlockSpec((1, features), lambda i: (0, 0))],
        out_specs=block,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x, scale)
