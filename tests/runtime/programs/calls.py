"""Kernels called in all the places that a program has, for mode trace."""

import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def copy_kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...]


def copy(x):
    return pl.pallas_call(
        copy_kernel,
        grid=(x.shape[0] // 8,),
        in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        input_output_aliases={0: 0},
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel",), vmem_limit_bytes=2**22),
    )(x)


def under_vmap(x):
    return jax.vmap(copy)(x)


def under_control_flow(x):
    def body(carry, _):
        return copy(carry), None

    x, _ = jax.lax.scan(body, x, length=3)
    x = jax.lax.cond(x[0, 0] > 0, copy, lambda x: x, x)
    x = jax.lax.while_loop(lambda x: x[0, 0] > 1, lambda x: jax.jit(copy)(x), x)
    return x


@jax.custom_vjp
def with_gradient(x):
    return copy(x)


with_gradient.defvjp(lambda x: (copy(x), None), lambda _, g: (copy(g),))


def under_grad(x):
    return jax.grad(lambda x: with_gradient(x).sum())(x)


def gather_kernel(pages_ref, x_ref, o_ref, acc_ref, sem):
    o_ref[...] = x_ref[...]


def gather(pages, x, count):
    return pl.pallas_call(
        gather_kernel,
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,
            grid=(count, 4),
            in_specs=[
                pl.BlockSpec(
                    (None, 8, 128), lambda i, j, pages: (pages[i], 0, (j + 1) // 2), pipeline_mode=pl.Buffered(3)
                )
            ],
            out_specs=pl.BlockSpec((8, 128), lambda i, j, _: (i, jax.lax.rem(j, 3))),
            scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32), pltpu.SemaphoreType.DMA((2,))],
        ),
        out_shape=jax.ShapeDtypeStruct((64, 512), x.dtype),
    )(pages, x)


def pipeline_kernel(x_ref, o_ref):
    pltpu.emit_pipeline(
        copy_kernel,
        grid=(4,),
        in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
        out_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
    )(x_ref, o_ref)


def pipeline(x):
    return pl.pallas_call(
        pipeline_kernel,
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        out_specs=pl.BlockSpec(memory_space=pl.ANY),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        name="copies_in_a_pipeline",
    )(x)


def pipeline_is_the_kernel(x):
    pipeline = pltpu.emit_pipeline(
        copy_kernel,
        grid=(4,),
        in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
        out_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
    )
    anywhere = pl.BlockSpec(memory_space=pl.ANY)
    return pl.pallas_call(
        pipeline, in_specs=[anywhere], out_specs=anywhere, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype)
    )(x)


def bound_elsewhere(x):
    call = functools.partial(pl.pallas_call, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), interpret=True)
    return call(copy_kernel)(x)
