import jax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def gather_kernel(pages_ref, x_ref, o_ref):
    o_ref[...] = x_ref[...]


# pallas-lens: example pages=i32[4096,1], x=f32[64,16,128]
def gather_pages(pages, x):
    _, rows, features = x.shape
    grid_spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=(pages.shape[0],),
        in_specs=[pl.BlockSpec((None, rows, features), lambda i, pages_ref: (pages_ref[i, 0], 0, 0))],
        out_specs=pl.BlockSpec((None, rows, features), lambda i, pages_ref: (i, 0, 0)),
    )
    # Wrong: each row of `pages` is padded to 128 words in SMEM, 2 MiB in all. One dim would take 16 KiB.
    return pl.pallas_call(
        gather_kernel,
        grid_spec=grid_spec,
        out_shape=jax.ShapeDtypeStruct((pages.shape[0], rows, features), x.dtype),
    )(pages, x)
