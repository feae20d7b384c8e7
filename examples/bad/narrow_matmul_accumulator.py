import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def project_kernel(x_ref, weight_ref, o_ref):
    # Wrong: the MXU sums in 32 bits. Ask for that with preferred_element_type, and convert the sum.
    o_ref[...] = jnp.dot(x_ref[...], weight_ref[...])


# pallas-lens: example x=bf16[512,256], weight=bf16[256,128]
def project(x, weight, block_rows=128):
    rows, features = x.shape
    outputs = weight.shape[1]
    return pl.pallas_call(
        project_kernel,
        grid=(pl.cdiv(rows, block_rows),),
        in_specs=[
            pl.BlockSpec((block_rows, features), lambda i: (i, 0)),
            pl.BlockSpec((features, outputs), lambda i: (0, 0)),
        ],
        out_specs=pl.BlockSpec((block_rows, outputs), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((rows, outputs), x.dtype),
    )(x, weight)
