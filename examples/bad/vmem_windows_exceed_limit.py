import jax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def embed_kernel(tokens_ref, table_ref, o_ref):
    token = tokens_ref[pl.program_id(0)]
    o_ref[...] = table_ref[pl.ds(token, 1), :]


# pallas-lens: example tokens=i32[1024], table=f32[65536,256]
def embed(tokens, table):
    count, features = tokens.shape[0], table.shape[1]
    grid_spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=(count,),
        # Wrong: the whole table is one window of 64 MiB. A block of one row, chosen by its index map, would do.
        in_specs=[pl.BlockSpec(table.shape, lambda i, tokens_ref: (0, 0))],
        out_specs=pl.BlockSpec((None, 1, features), lambda i, tokens_ref: (i, 0, 0)),
    )
    return pl.pallas_call(
        embed_kernel,
        grid_spec=grid_spec,
        out_shape=jax.ShapeDtypeStruct((count, 1, features), table.dtype),
    )(tokens, table)
