"""Column sums of an array that stays in HBM: chunks are copied by hand, one ahead of the one that is summed."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def column_sums_kernel(x_ref, o_ref, chunks_ref, semaphores, *, chunk_rows):
    chunk_count = x_ref.shape[0] // chunk_rows

    def copy(chunk):
        slot = jax.lax.rem(chunk, 2)
        start = pl.multiple_of(chunk * chunk_rows, chunk_rows)
        return pltpu.make_async_copy(
            x_ref.at[pl.ds(start, chunk_rows)],
            chunks_ref.at[slot],
            semaphores.at[slot],
        )

    copy(0).start()
    o_ref[...] = jnp.zeros_like(o_ref)

    @pl.loop(0, chunk_count)
    def _(chunk):
        @pl.when(chunk + 1 < chunk_count)
        def _():
            copy(chunk + 1).start()

        copy(chunk).wait()
        o_ref[...] += jnp.sum(chunks_ref[jax.lax.rem(chunk, 2)], axis=0, keepdims=True)


def reference(x):
    return jnp.sum(x, axis=0, keepdims=True)


# pallas-lens: example x=f32[1024,512]
# pallas-lens: reference=reference
def column_sums(x, chunk_rows=128):
    rows, columns = x.shape
    assert rows % chunk_rows == 0

    def kernel(x_ref, o_ref, chunks_ref, semaphores):
        column_sums_kernel(x_ref, o_ref, chunks_ref, semaphores, chunk_rows=chunk_rows)

    return pl.pallas_call(
        kernel,
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        out_specs=pl.BlockSpec(memory_space=pltpu.VMEM),
        out_shape=jax.ShapeDtypeStruct((1, columns), x.dtype),
        scratch_shapes=[
            pltpu.VMEM((2, chunk_rows, columns), x.dtype),
            pltpu.SemaphoreType.DMA((2,)),
        ],
    )(x)
