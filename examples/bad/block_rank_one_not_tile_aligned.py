import functools

import jax
from jax.experimental import pallas as pl


def sgd_kernel(parameter_ref, gradient_ref, o_ref, *, rate):
    o_ref[...] = parameter_ref[...] - rate * gradient_ref[...]


# pallas-lens: example parameters=f32[50000], gradients=f32[50000]
def sgd(parameters, gradients, rate=1e-3):
    # Wrong: a block of rank 1 takes a multiple of 1024 here, or a power of two from 128 on.
    block = pl.BlockSpec((5000,), lambda i: (i,))
    return pl.pallas_call(
        functools.partial(sgd_kernel, rate=rate),
        grid=(10,),
        in_specs=[block, block],
        out_specs=block,
        out_shape=jax.ShapeDtypeStruct(parameters.shape, parameters.dtype),
    )(parameters, gradients)
