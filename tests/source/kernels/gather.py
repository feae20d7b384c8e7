"""Rows of a table gathered by scalar prefetch, and the same by hand-made copies."""

import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

ROWS, WIDTH = 8, 128


def gather_kernel(indices_ref, table_ref, o_ref):
    del indices_ref
    o_ref[...] = table_ref[...]


def gather(table, indices):
    return pl.pallas_call(
        gather_kernel,
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,
            grid=(indices.shape[0],),
            in_specs=[pl.BlockSpec((ROWS, WIDTH), lambda i, indices_ref: (indices_ref[i], 0))],
            out_specs=pl.BlockSpec((ROWS, WIDTH), lambda i, indices_ref: (i, 0)),
        ),
        out_shape=jax.ShapeDtypeStruct((indices.shape[0] * ROWS, table.shape[1]), table.dtype),
    )(indices, table)


def copy_kernel(table_hbm, o_ref, buffer, sem, *, steps: int):
    """Two buffers, one filled while the other is read."""

    def copy(slot, step):
        return pltpu.make_async_copy(table_hbm.at[pl.ds(step * ROWS, ROWS)], buffer.at[slot], sem.at[slot])

    copy(0, 0).start()

    def body(step, total):
        slot = step % 2

        @pl.when(step + 1 < steps)
        def _():
            copy(1 - slot, step + 1).start()

        copy(slot, step).wait()
        return total + buffer[slot]

    o_ref[...] = jax.lax.fori_loop(0, steps, body, jnp.zeros(o_ref.shape, o_ref.dtype))


def sum_rows(table):
    steps = pl.cdiv(table.shape[0], ROWS)
    return pl.pallas_call(
        functools.partial(copy_kernel, steps=steps),
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        out_specs=pl.BlockSpec(memory_space=pltpu.VMEM),
        out_shape=jax.ShapeDtypeStruct((ROWS, table.shape[1]), table.dtype),
        scratch_shapes=[
            pltpu.VMEM((2, ROWS, WIDTH), table.dtype),
            pltpu.SemaphoreType.DMA((2,)),
        ],
    )(table)
