import jax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def scatter_kernel(page_ref, update_ref, cache_ref, o_ref):
    o_ref[...] = update_ref[...]


# pallas-lens: example page=i32[4], update=f32[32,128], cache=f32[512,128]
def write_pages(page, update, cache):
    grid_spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=(4,),
        in_specs=[pl.BlockSpec((8, 128), lambda i, page: (i, 0)), pl.BlockSpec(memory_space=pl.ANY)],
        out_specs=pl.BlockSpec((8, 128), lambda i, page: (page[i], 0)),
    )
    return pl.pallas_call(
        scatter_kernel,
        grid_spec=grid_spec,
        out_shape=jax.ShapeDtypeStruct(cache.shape, cache.dtype),
        # Wrong: prefetched operands are counted too, so that the cache is number 2.
        input_output_aliases={1: 0},
    )(page, update, cache)
