import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def softcap_kernel(x_ref, o_ref, *, cap):
    o_ref[...] = cap * jnp.tanh(x_ref[...] / cap)


# pallas-lens: example scores=f32[8,256,512]
def softcap(scores, cap=50.0):
    heads, rows, columns = scores.shape
    # Wrong: a block of three dims needs three block indices, one for the None dim too.
    block = pl.BlockSpec((None, 128, columns), lambda h, i: (i, 0))
    return pl.pallas_call(
        functools.partial(softcap_kernel, cap=cap),
        grid=(heads, pl.cdiv(rows, 128)),
        in_specs=[block],
        out_specs=block,
        out_shape=jax.ShapeDtypeStruct(scores.shape, scores.dtype),
    )(scores)
