import jax
from jax.experimental import pallas as pl


def lerp_kernel(x_ref, y_ref, weight_ref, o_ref):
    o_ref[...] = x_ref[...] + weight_ref[...] * (y_ref[...] - x_ref[...])


# pallas-lens: example x=f32[512,256], y=f32[512,256], weight=f32[512,256]
def lerp(x, y, weight, block_rows=128):
    rows, features = x.shape
    block = pl.BlockSpec((block_rows, features), lambda i: (i, 0))
    return pl.pallas_call(
        lerp_kernel,
        grid=(pl.cdiv(rows, block_rows),),
        # Wrong: three operands, two specs.
        in_specs=[block, block],
        out_specs=block,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x, y, weight)
