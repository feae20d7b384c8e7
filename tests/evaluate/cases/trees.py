"""Arguments that are trees: None, tuples, dicts and named tuples of arrays, specs and scratch; shapes of what is put together."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jax.sharding import PartitionSpec as P


class Pair(NamedTuple):
    values: jax.Array
    scales: jax.Array


def any_kernel(*refs):
    pass


def copy_kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...]


def kernel_of_optional_parts(x_ref, bias_ref, o_ref, residual_ref, acc_ref, flag_ref):
    pass


def row(block, axis=0):
    return pl.BlockSpec((block, 128), lambda i: (i, axis))


# pallas-lens: example x=f32[64,256]
def nothing_is_no_array(x, bias=None, save=False):
    return pl.pallas_call(
        kernel_of_optional_parts,
        #: [nothing_is_no_array] kernel kernel_of_optional_parts takes 6
        grid=(4,),
        in_specs=[row(8), None if bias is None else row(8)],
        #: [nothing_is_no_array] in 1 inputs[1] tree of 0
        out_specs=[row(8), row(8) if save else None],
        #: [nothing_is_no_array] out 1 outputs[1] tree of 0
        out_shape=[x, x if save else None],
        scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32), None],
    )(x, bias)


# pallas-lens: example x=f32[64,256], pair=Pair(i8[64,256], f32[64,128])
def named_tuple(x, pair):
    return pl.pallas_call(
        any_kernel,
        grid=(4,),
        in_specs=[row(8), Pair(row(16), row(16, 1))],
        #: [named_tuple] in 1.0 inputs[1].values int8(64, 256) block (16, 128) at (grid0, 0)
        #: [named_tuple] in 1.1 inputs[1].scales float32(64, 128) block (16, 128) at (grid0, 1)
        out_specs=row(8),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x, pair)


# pallas-lens: example x=f32[64,256], table=(i32[4], i32[8])
def prefetched_tuple(x, table):
    def index_map(i, table_ref):
        starts_ref, _ = table_ref
        return starts_ref[i], 0

    return pl.pallas_call(
        any_kernel,
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,
            grid=(4,),
            in_specs=[pl.BlockSpec((8, 128), index_map)],
            #: [prefetched_tuple] prefetch 0.1 prefetch[0][1] int32(8,)
            #: [prefetched_tuple] in 0 inputs[0] float32(64, 256) block (8, 128) at (integer, 0)
            out_specs=pl.BlockSpec((8, 128), index_map),
        ),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(table, x)


# pallas-lens: example x=f32[60,256]
def put_together(x):
    rows, columns = x.shape
    x = jnp.pad(x, ((0, -rows % 64), (0, 0)))
    both = jnp.concatenate([x, x[:, :128]], axis=1)
    ids = jnp.repeat(jnp.arange(4), 2, total_repeat_length=10)
    stacked = jnp.stack([x, x]).reshape(2, -1)
    tiled = jnp.tile(x[0], (8, 2)).squeeze().swapaxes(0, 1)
    extremes = jnp.array([x.min(), x.max()])
    bits = jnp.iinfo(jnp.int8).bits * jnp.finfo(jnp.bfloat16).bits // 16
    return pl.pallas_call(
        any_kernel,
        grid=(bits,),
        #: [put_together] grid (8,)
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)] * 5,
        #: [put_together] in 0 inputs[0] float32(64, 384) whole in any
        #: [put_together] in 1 inputs[1] int32(10,) whole in any
        #: [put_together] in 2 inputs[2] float32(2, 16384) whole in any
        #: [put_together] in 3 inputs[3] float32(512, 8) whole in any
        #: [put_together] in 4 inputs[4] float32(2,) whole in any
        out_specs=pl.BlockSpec(memory_space=pl.ANY),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(both, ids, stacked, tiled, extremes)


# pallas-lens: example x=f32[64,256], limit=20000
def chosen_by_loops(x, limit, block=64):
    while block > 8 and block * 128 * 4 > limit:
        block //= 2
    divisor = next(one for one in (128, 48, 32) if x.shape[0] % one == 0)
    return pl.pallas_call(
        any_kernel,
        grid=(divisor,),
        #: [chosen_by_loops] grid (32,)
        in_specs=[row(block)],
        #: [chosen_by_loops] in 0 inputs[0] float32(64, 256) block (32, 128) at (grid0, 0)
        out_specs=row(block),
        out_shape=pltpu.HBM(x.shape, x.dtype),
    )(x)


# pallas-lens: example x=f32[64,256]
def pipeline_is_the_kernel(x):
    pipeline = pltpu.emit_pipeline(
        copy_kernel,
        grid=(8, 2),
        in_specs=[pl.BlockSpec((8, 128), lambda i, j: (i, j))],
        #: [pipeline_is_the_kernel] in 0 inputs[0] float32(64, 256) block (8, 128) at (grid0, grid1)
        out_specs=[pl.BlockSpec((8, 128), lambda i, j: (i, j))],
        #: [pipeline_is_the_kernel] out 0 outputs[0] float32(64, 256) block (8, 128) at (grid0, grid1)
    )
    return pl.pallas_call(
        pipeline,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        out_specs=pl.BlockSpec(memory_space=pl.ANY),
        #: [pipeline_is_the_kernel] counts in 1, out 1, given 1
    )(x)


# pallas-lens: example x=f32[64,256]
def cut_by_a_mesh(x):
    mesh = jax.sharding.AbstractMesh((4, 2), ("x", "y"), axis_types=(jax.sharding.AxisType.Auto,) * 2)

    def local(x):
        return pl.pallas_call(
            any_kernel,
            grid=(jax.lax.axis_size("y"), jax.lax.psum(1, "x")),
            #: [cut_by_a_mesh] grid (2, 4)
            in_specs=[pl.BlockSpec((8, 128), lambda i, j: (0, 0))],
            #: [cut_by_a_mesh] in 0 inputs[0] float32(16, 128) block (8, 128) at (0, 0)
            out_specs=pl.BlockSpec((8, 128), lambda i, j: (0, 0)),
            out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        )(x)

    return jax.shard_map(local, mesh=mesh, in_specs=P("x", "y"), out_specs=P("x", "y"), check_vma=False)(x)


# pallas-lens: example x=f32[64,256]
def output_type_with_a_memory_space(x):
    # The type says where the array is; the kernel gets a window of it in VMEM all the same.
    return pl.pallas_call(
        any_kernel,
        out_shape=pltpu.HBM(x.shape, x.dtype),
        #: [output_type_with_a_memory_space] out 0 outputs[0] float32(64, 256)
    )(x)
