"""Gather of pages by a table: the index map reads the table, which is prefetched into SMEM."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def gather_kernel(table_ref, page_ref, o_ref):
    del table_ref  # Only the index map needs it.
    o_ref[...] = page_ref[...]


def make_inputs():
    table = np.random.default_rng(0).permutation(32)[:8].reshape(2, 4).astype(np.int32)
    pages = jnp.arange(32 * 16 * 128, dtype=jnp.float32).reshape(32, 16, 128)
    return {"table": jnp.asarray(table), "pages": pages}


def reference(table, pages):
    batch, length = table.shape
    return pages[table].reshape(batch, length * pages.shape[1], pages.shape[2])


# pallas-lens: example table=i32[2,4], pages=f32[32,16,128]
# pallas-lens: inputs=make_inputs
# pallas-lens: reference=reference
def gather_pages(table, pages):
    """The rows of the pages which each row of `table` names: `[batch, length * rows, features]`."""
    batch, length = table.shape
    _, rows, features = pages.shape
    grid_spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=(batch, length),
        in_specs=[pl.BlockSpec((None, rows, features), lambda b, i, table_ref: (table_ref[b, i], 0, 0))],
        out_specs=pl.BlockSpec((None, rows, features), lambda b, i, table_ref: (b, i, 0)),
    )
    return pl.pallas_call(
        gather_kernel,
        grid_spec=grid_spec,
        out_shape=jax.ShapeDtypeStruct((batch, length * rows, features), pages.dtype),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "arbitrary")),
    )(table, pages)
