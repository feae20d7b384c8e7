import jax
from jax.experimental import pallas as pl


def add_kernel(x_ref, y_ref, o_ref):
    o_ref[...] = x_ref[...] + y_ref[...]


# pallas-lens: example x=f32[8192,8192], y=f32[8192,8192]
def add(x, y):
    # Wrong: three windows of 6 MiB, each held twice, are 36 MiB.
    block = pl.BlockSpec((1536, 1024), lambda i, j: (i, j))
    return pl.pallas_call(
        add_kernel,
        grid=(pl.cdiv(x.shape[0], 1536), pl.cdiv(x.shape[1], 1024)),
        in_specs=[block, block],
        out_specs=block,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x, y)
