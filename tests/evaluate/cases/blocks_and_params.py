"""Block dims, memory spaces, buffers, scratch of every kind, aliases, compiler params, interpret."""

import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from jax.experimental.pallas.tpu import CompilerParams


def any_kernel(*refs, **named):
    pass


def special_dims(x, batch):
    return pl.pallas_call(
        any_kernel,
        out_shape=x,
        grid=(4, 4),
        in_specs=[
            pl.BlockSpec((None, pl.Squeezed(), 8, 128), lambda i, j: (i, j, 0, 0)),
            #: in 0 x ?? block (None, None, 8, 128) at (grid0, grid1, 0, 0)
            pl.BlockSpec((pl.squeezed, pl.Element(8), pl.Blocked(128)), lambda i, j: (i, j * 8, 0)),
            #: in 1 x ?? block (None, element:8, 128) at (grid0, 8 * grid1, 0)
            pl.BlockSpec((pl.BoundedSlice(16), 128), lambda i, j: (pl.ds(i, 8), j)),
            #: in 2 x ?? block (bounded_slice:16, 128) at (slice, grid1)
            pl.BlockSpec(x.shape, lambda i, j: (0, 0)),
            #: in 3 x ?? whole at (0, 0)
            pl.BlockSpec((x.shape[0] // 4, *x.shape[1:]), lambda i, j: (i, 0)),
            #: in 4 x ?? block (?, ?) at (grid0, 0)
            pl.BlockSpec((batch, 128), lambda i, j: (i, 0), memory_space=pltpu.VMEM),
            #: in 5 x ?? block (batch, 128) at (grid0, 0)
        ],
        out_specs=pl.BlockSpec((8, 128), lambda i, j: (i, j), pipeline_mode=pl.Buffered(3)),
        #: out 0 outputs[0] ?? block (8, 128) at (grid0, grid1) buffers 3
    )(x, x, x, x, x, x)


def shapes_of_known_rank(x):
    batch, rows, columns = x.shape
    return pl.pallas_call(
        any_kernel,
        out_shape=x,
        grid=(batch,),
        in_specs=[
            pl.BlockSpec((None, *x.shape[1:]), lambda i: (i, 0, 0)),
            #: in 0 x ?(x.shape[0], x.shape[1], x.shape[2]) block (None, x.shape[1], x.shape[2]) at (grid0, 0, 0)
            pl.BlockSpec(x.shape, lambda i: (0, 0, 0)),
            #: in 1 x ?(x.shape[0], x.shape[1], x.shape[2]) block (x.shape[0], x.shape[1], x.shape[2]) at (0, 0, 0)
        ],
    )(x, x)


def buffers(x, n_buffers):
    in_place = pl.Buffered(buffer_count=2, use_lookahead=True)
    return pl.pallas_call(
        any_kernel,
        out_shape=x,
        grid=(4,),
        in_specs=[
            pl.BlockSpec((8, 128), lambda i: (i, 0), pipeline_mode=in_place),
            #: in 0 x ?? block (8, 128) at (grid0, 0) buffers 2
            pl.BlockSpec((8, 128), lambda i: (i, 0), pipeline_mode=pl.Buffered(n_buffers)),
            #: in 1 x ?? block (8, 128) at (grid0, 0) buffers ?
        ],
    )(x, x)


def scratch(x, rows):
    return pl.pallas_call(
        any_kernel,
        out_shape=x,
        scratch_shapes=[
            pltpu.VMEM((rows, 128), jnp.float32),
            #: scratch 0 scratch[0] float32(rows, 128)
            pltpu.SMEM((1,), jnp.int32),
            #: scratch 1 scratch[1] int32(1,) in smem
            pltpu.SemaphoreType.DMA,
            #: scratch 2 scratch[2] dma semaphore
            pltpu.SemaphoreType.DMA((4,)),
            #: scratch 3 scratch[3] dma semaphore
            pltpu.VMEM(x.shape, x.dtype),
            #: scratch 4 scratch[4] ??
            (pltpu.VMEM((8, 128), x.dtype), pltpu.VMEM((8, 128), x.dtype)),
            #: scratch 5 scratch[5] tree of 2
        ],
        #: counts in 1, out 1, scratch 6, given 1
    )(x)


def scratch_by_name(x):
    def body(x_ref, o_ref, acc_ref, sem):
        pass

    return pl.pallas_call(
        body,
        out_shape=x,
        #: kernel body takes 2
        scratch_shapes=dict(acc_ref=pltpu.VMEM((8, 128), jnp.float32), sem=pltpu.SemaphoreType.REGULAR),
        #: scratch 0 acc_ref float32(8, 128)
        #: scratch 1 sem regular semaphore
        #: counts in 1, out 1, scratch 2, named 2, given 1
    )(x)


def scratch_under_a_condition(x, with_scale):
    shapes = [pltpu.VMEM((8, 128), jnp.float32)]
    if with_scale:
        shapes.append(pltpu.VMEM((8, 1), jnp.float32))
    return pl.pallas_call(
        any_kernel,
        out_shape=x,
        scratch_shapes=shapes,
        #: worlds 2
        #: counts in 1, out 1, scratch 2, given 1
        #: [generic/1] counts in 1, out 1, scratch 1, given 1
    )(x)


def semantics_as_strings(x):
    return pl.pallas_call(
        any_kernel,
        out_shape=x,
        grid=(4, 4),
        compiler_params=CompilerParams(dimension_semantics=("parallel", "arbitrary")),  #: semantics parallel, arbitrary
    )(x)


def semantics_as_members(x):
    params = pltpu.CompilerParams(
        dimension_semantics=(pltpu.PARALLEL, pltpu.GridDimensionSemantics.ARBITRARY, None), vmem_limit_bytes=1 << 24
    )
    return pl.pallas_call(
        any_kernel,
        out_shape=x,
        grid=(4, 4, 2),
        compiler_params=params,
        #: semantics parallel, arbitrary, None
        #: vmem limit 16777216
    )(x)


def semantics_computed(x, grid_rank=3):
    grid = (x.shape[0] // 8, 4, 2)
    return pl.pallas_call(
        any_kernel,
        out_shape=x,
        grid=grid,
        compiler_params=pltpu.CompilerParams(
            dimension_semantics=("parallel",) * (len(grid) - 1)
            + ("arbitrary",),  #: semantics parallel, parallel, arbitrary
        ),
    )(x)


def semantics_of_unknown_length(x, grid):
    return pl.pallas_call(
        any_kernel,
        out_shape=x,
        grid=grid,
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel",) * len(grid)),  #: semantics ?
    )(x)


def params_under_a_condition(x, megacore):
    params = pltpu.CompilerParams(dimension_semantics=("parallel",)) if megacore else None
    return pl.pallas_call(
        any_kernel,
        out_shape=x,
        grid=(4,),
        compiler_params=params,
        #: semantics parallel
        #: [generic/1] semantics None
        #: worlds 2
    )(x)


def params_with_more(x, **more):
    return pl.pallas_call(
        any_kernel,
        out_shape=x,
        grid=(4,),
        compiler_params=pltpu.CompilerParams(**more),
        #: semantics ?
    )(x)


def aliases(x, scalars):
    operands = (scalars, scalars)
    return pl.pallas_call(
        any_kernel,
        out_shape=x,
        input_output_aliases={len(operands): 0},
        #: aliases ((2, 0),)
    )(*operands, x)


def interpreted(x, interpret=False):
    return pl.pallas_call(any_kernel, out_shape=x, interpret=True)(x)  #: interpreted true


def perhaps_interpreted(x, interpret=False):
    return pl.pallas_call(any_kernel, out_shape=x, interpret=interpret)(x)  #: interpreted false
