"""What is known of a call although much of it comes from the caller: counts, ranks, and what JAX would refuse otherwise."""

import dataclasses
import functools
from typing import NamedTuple

import jax
from jaxtyping import Array, Float, Int
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Params:
    scale: jax.Array
    bias: jax.Array


@jax.named_scope("any")
def any_kernel(*refs):
    pass


def leaves_of_a_registered_class(x, params: Params):
    count = len(jax.tree.leaves(params))
    return pl.pallas_call(
        any_kernel,
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)] * (count + 1),  #: counts in 3, out 1, given 3
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x, *jax.tree.leaves(params))


def whole_arrays(x):
    return pl.pallas_call(
        any_kernel,
        grid=(4,),
        in_specs=[pl.BlockSpec(x.shape, lambda i: (0, 0))],  #: in 0 x ?? whole at (0, 0)
        out_specs=pl.BlockSpec(x.shape, lambda i: (0, 0)),  #: out 0 outputs[0] float32? whole at (0, 0)
        out_shape=jax.ShapeDtypeStruct(x.shape, jnp.float32),
    )(x)


def the_index_map_tells_the_rank(x, grid, block):
    return pl.pallas_call(
        any_kernel,
        grid=grid,  #: grid ?
        in_specs=[pl.BlockSpec(block, lambda i, j: (i, j, 0))],  #: in 0 x ?? block (?, ?, ?) at (grid0, grid1, 0)
        out_shape=jax.ShapeDtypeStruct((8, 128), x.dtype),
    )(x)


def index_maps_that_differ_tell_nothing(x, grid):
    return pl.pallas_call(
        any_kernel,
        grid=grid,  #: unknown grid `grid` comes from the caller
        in_specs=[pl.BlockSpec((8, 128), lambda i, j: (i, j)), pl.BlockSpec((8, 128), lambda i: (i, 0))],
        out_shape=jax.ShapeDtypeStruct((8, 128), x.dtype),
    )(x, x)


def a_shape_beside_a_known_list(x):
    blocks = [min(size, least) for size, least in zip(x.shape, (8, 128))]
    return pl.pallas_call(
        any_kernel,
        grid=(4,),
        in_specs=[pl.BlockSpec(blocks, lambda i: (i, 0))],
        #: in 0 x ?? block (min(x.shape[0], 8), min(x.shape[1], 128)) at (grid0, 0)
        out_shape=jax.ShapeDtypeStruct((8, 128), x.dtype),
    )(x)


class Maker:
    @classmethod
    def shape(cls):
        return jax.ShapeDtypeStruct((16, 128), jnp.float32)


def a_class_by_default(x, maker=Maker):
    return pl.pallas_call(any_kernel, out_shape=maker.shape())(x)  #: out 0 outputs[0] float32(16, 128)


class Specs(NamedTuple):
    left: pl.BlockSpec
    right: pl.BlockSpec


def a_tree_is_one_argument(x, y):
    spec = pl.BlockSpec((8, 128), lambda i: (i, 0))
    return pl.pallas_call(
        any_kernel,
        grid=(2,),
        in_specs=[Specs(spec, spec)],  #: counts in 1, out 1, given 1
        out_specs=spec,
        out_shape=jax.ShapeDtypeStruct((16, 128), x.dtype),
    )((x, y))


def scratch_from_the_caller(x, scratch):
    return pl.pallas_call(
        any_kernel,
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        out_shape=jax.ShapeDtypeStruct((16, 128), x.dtype),
        scratch_shapes=scratch,  #: unknown scratch `scratch` comes from the caller
    )(x)


def one_body_for_each_mesh(x, meshes):
    return pl.kernel(
        body=[any_kernel, functools.partial(any_kernel)],  #: kernel any_kernel, any_kernel takes 0 or more
        out_type=jax.ShapeDtypeStruct((16, 128), x.dtype),
        mesh=meshes,
        scratch_types=[pltpu.VMEM((8, 128), jnp.float32)],
    )(x)


def annotated(x: "Float[Array, 'm k']", y: Float[Array, "m k"], z: Float[Array, "k 128"], w: Int[Array, "*b m"]):
    m, n = y.shape
    return pl.pallas_call(
        any_kernel,
        grid=(z.shape[0] // 8,),  #: grid (k // 8,)
        #: in 1 z ?(k, 128)
        #: in 2 w ??
        out_shape=jax.ShapeDtypeStruct((m, n), y.dtype),  #: in 0 y ?(m, k)
        #: out 0 outputs[0] ?(m, k)
    )(y, z, w)


def a_block_of_another_arrays_shape(tile):
    x = jnp.zeros((65536, 1024), jnp.float32)
    return pl.pallas_call(
        any_kernel,
        grid=(128,),
        in_specs=[pl.BlockSpec(tile.shape, lambda i: (i, 0))],
        #: in 0 inputs[0] float32(65536, 1024) block (?, ?) at (grid0, 0)
        out_shape=jax.ShapeDtypeStruct((65536, 1024), jnp.float32),
    )(x)
