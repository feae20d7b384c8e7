import jax
from jax.experimental import pallas as pl


def add_kernel(x_ref, o_ref):
    o_ref[...] += x_ref[...]


# pallas-lens: example x=i32[32,128]
@jax.jit
def call(x):
    return pl.pallas_call(  # interpret: uninitialised
        add_kernel,
        grid=(4,),
        in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((8, 128), lambda i: (0, 0)),
        out_shape=jax.ShapeDtypeStruct((8, 128), x.dtype),
    )(x)
