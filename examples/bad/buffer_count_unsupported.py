import jax
from jax.experimental import pallas as pl


def scale_kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 0.5


# pallas-lens: example x=f32[1024,256]
def halve(x, block_rows=128):
    rows, features = x.shape
    return pl.pallas_call(
        scale_kernel,
        grid=(pl.cdiv(rows, block_rows),),
        # Wrong: pallas_call has one or two buffers; more has only emit_pipeline.
        in_specs=[pl.BlockSpec((block_rows, features), lambda i: (i, 0), pipeline_mode=pl.Buffered(3))],
        out_specs=pl.BlockSpec((block_rows, features), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x)
