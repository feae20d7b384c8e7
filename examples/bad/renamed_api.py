import jax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def sigmoid_kernel(x_ref, o_ref):
    o_ref[...] = jax.nn.sigmoid(x_ref[...])


# pallas-lens: example x=f32[512,256]
def sigmoid(x, block_rows=128):
    rows, features = x.shape
    block = pl.BlockSpec((block_rows, features), lambda i: (i, 0))
    return pl.pallas_call(
        sigmoid_kernel,
        grid=(pl.cdiv(rows, block_rows),),
        in_specs=[block],
        out_specs=block,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        # Wrong: it is called pltpu.CompilerParams now.
        compiler_params=pltpu.TPUCompilerParams(dimension_semantics=("parallel",)),
    )(x)
