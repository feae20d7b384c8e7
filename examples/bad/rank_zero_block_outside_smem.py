import jax
from jax.experimental import pallas as pl


def temperature_kernel(temperature_ref, x_ref, o_ref):
    o_ref[...] = x_ref[...] / temperature_ref[()]


# pallas-lens: example temperature=f32[], logits=f32[512,256]
def apply_temperature(temperature, logits):
    rows, features = logits.shape
    block = pl.BlockSpec((128, features), lambda i: (i, 0))
    return pl.pallas_call(
        temperature_kernel,
        grid=(pl.cdiv(rows, 128),),
        # Wrong: a scalar does not live in VMEM, which is where a spec without memory_space puts it.
        in_specs=[pl.BlockSpec((), lambda i: ()), block],
        out_specs=block,
        out_shape=jax.ShapeDtypeStruct(logits.shape, logits.dtype),
    )(temperature, logits)
