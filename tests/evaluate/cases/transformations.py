"""Calls under vmap, grad, shard_map, core_map, and wrappers that make another kernel of what they are given."""

import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

import another_project


def copy_kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...]


def specs():
    return {"grid": (4,), "in_specs": [pl.BlockSpec((8, 128), lambda i: (i, 0))]}


def copied(x):
    return pl.pallas_call(  #: [many/0] vmapped (6,)
        copy_kernel,
        in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],  #: [many] in 0 inputs[0] float32(32, 128) block (8, 128) at (grid0, 0)
        out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),  #: [gradient] out 0 outputs[0] float32(32, 128) block (8, 128) at (grid0, 0)
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),  #: [in_columns] in 0 inputs[0] float32(16, 128) block (8, 128) at (grid0, 0)
        grid=(4,),  #: [in_columns] vmapped (5,)
    )(x)


# pallas-lens: example x=f32[6,32,128]
def many(x):
    return jax.vmap(copied)(x)


# pallas-lens: example x=f32[16,5,128]
def in_columns(x):
    return jax.jit(jax.vmap(copied, in_axes=1, out_axes=1))(x)


# pallas-lens: example x=f32[32,128]
def gradient(x):
    value, gradient = jax.value_and_grad(lambda y: jnp.sum(copied(y)))(x)
    return gradient


def mapped_twice(x, y):
    b, c, d = x.shape
    call = pl.pallas_call(
        lambda a, b, o: None,
        out_shape=jax.ShapeDtypeStruct((8, 128), x.dtype),  #: counts in 2, out 1, given 2
        #: vmapped (x.shape[0], x.shape[1])
    )
    return jax.vmap(jax.vmap(call, in_axes=(0, None)), in_axes=(0, None))(x, y)


def mapped_often(x):
    call = pl.pallas_call(copy_kernel, out_shape=jax.ShapeDtypeStruct(x.shape[-1:], x.dtype))  #: counts in 1, out 1, given 1
    for _ in range(x.ndim - 1):
        call = jax.vmap(call)
    return call(x)


@functools.partial(jax.vmap, in_axes=(0, None))
def decorated(x, n):
    return pl.pallas_call(copy_kernel, out_shape=x)(x)  #: counts in 1, out 1, given 1


def on_shards(x, mesh, spec):
    m, k = x.shape

    def part(y):
        return pl.pallas_call(
            copy_kernel,
            out_shape=jax.ShapeDtypeStruct(y.shape, y.dtype),
            #: in 0 x[shard] ?(x[shard].shape[0], x[shard].shape[1])
        )(y)

    return jax.shard_map(part, mesh=mesh, in_specs=spec, out_specs=spec)(x)


def on_cores(x):
    mesh = pltpu.create_tensorcore_mesh("core")

    @pl.core_map(
        mesh,
        scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32)],  #: kernel body takes 1
        #: scratch 0 scratch[0] float32(8, 128)
    )
    def body(scratch_ref):
        scratch_ref[...] = jnp.zeros((8, 128))

    return x


def changing_call(kernel, out_shape, *, grid_spec, **options):
    def call(*args):
        def changed(*refs):
            return kernel(*refs)

        return pl.pallas_call(changed, out_shape, grid_spec=another_project.new(grid_spec), **options)(*args)  #: for callers true

    return call


def through_a_wrapper(x, m):
    call = changing_call(  #: wrapper changing_call
        copy_kernel,  #: kernel copy_kernel takes 2
        jax.ShapeDtypeStruct((m, 128), x.dtype),
        grid_spec=pl.GridSpec(
            grid=(pl.cdiv(m, 8),),  #: grid (cdiv(m, 8),)
            in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
            out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
        ),
    )
    return call(x)


def through_a_foreign_wrapper(x):
    return another_project.pallas_call(
        copy_kernel,
        out_shape=x,
        grid=(4,),  #: counts in 1, out 1, given 1
        #: wrapper another_project.pallas_call
    )(x)


def picked(x, tiling=(8, 128)):
    if callable(tiling):
        tiling = tiling(*x.shape)
    return pl.pallas_call(copy_kernel, out_shape=x, grid=(tiling[0],))(x)  #: [defaults] grid (8,)


def with_grid(x, grid=None):
    chosen = grid
    if chosen is None:
        chosen = (4, 4)
    return pl.pallas_call(copy_kernel, out_shape=x, grid=chosen)(x)  #: grid (4, 4)


# pallas-lens: example x=f32[16,5,128]
def stacked_along_another_axis(x):
    y = jax.vmap(lambda row: row, in_axes=1, out_axes=-2)(x)
    same, (both, once) = jax.vmap(lambda a, b: (b, (a, b)), in_axes=(1, None), out_axes=(None, (2, None)))(x, x)
    return pl.pallas_call(
        any_kernel,
        #: [stacked_along_another_axis] in 0 inputs[0] float32(16, 5, 128)
        #: [stacked_along_another_axis] in 1 inputs[1] float32(16, 5, 128)
        #: [stacked_along_another_axis] in 2 inputs[2] float32(16, 128, 5)
        #: [stacked_along_another_axis] in 3 inputs[3] float32(16, 5, 128)
        #: in 0 the results ??
        out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
    )(y, same, both, once)


def any_kernel(*refs):
    pass


# pallas-lens: example x=f32[8,128]
def gradients(x):
    gradient, rest = jax.grad(lambda a: (jnp.sum(a), jnp.zeros((16, 128))), has_aux=True)(x)
    curvature = jax.hessian(lambda a: jnp.sum(a))(x)
    return pl.pallas_call(
        any_kernel,
        #: [gradients] in 0 inputs[0] float32(8, 128)
        #: [gradients] in 1 inputs[1] float32(16, 128)
        #: [gradients] in 2 the second derivatives ??
        #: counts in 3, out 1, given 3
        out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
    )(gradient, rest, curvature)
