"""Mean of (x - y)**2: element-wise, then summed, with the rows beyond the array masked out.

What an edge block holds beyond its array is not defined. Stores there are dropped, so that element-wise kernels need
no mask; a sum does.
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def squared_error_kernel(x_ref, y_ref, o_ref, acc_ref, *, rows):
    step = pl.program_id(0)

    @pl.when(step == 0)
    def _():
        acc_ref[...] = jnp.zeros_like(acc_ref)

    difference = x_ref[...] - y_ref[...]
    row = step * x_ref.shape[0] + jax.lax.broadcasted_iota(jnp.int32, difference.shape, 0)
    # Chosen, not multiplied by zero: zero times NaN is NaN.
    squares = jnp.where(row < rows, difference * difference, 0.0)
    acc_ref[...] += jnp.sum(squares, axis=0, keepdims=True)

    @pl.when(step == pl.num_programs(0) - 1)
    def _():
        o_ref[0, 0] = jnp.sum(acc_ref[...]) / (rows * x_ref.shape[1])


def reference(x, y):
    return jnp.mean(jnp.square(x - y)).reshape(1, 1)


# pallas-lens: example x=f32[1000,512], y=f32[1000,512]
# pallas-lens: reference=reference
def squared_error(x, y, block_rows=256):
    rows, columns = x.shape

    def kernel(*refs):
        squared_error_kernel(*refs, rows=rows)

    block = pl.BlockSpec((block_rows, columns), lambda i: (i, 0))
    return pl.pallas_call(
        kernel,
        grid=(pl.cdiv(rows, block_rows),),
        in_specs=[block, block],
        # A scalar result goes to SMEM.
        out_specs=pl.BlockSpec(memory_space=pltpu.SMEM),
        out_shape=jax.ShapeDtypeStruct((1, 1), jnp.float32),
        scratch_shapes=[pltpu.VMEM((1, columns), jnp.float32)],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("arbitrary",)),
    )(x, y)
