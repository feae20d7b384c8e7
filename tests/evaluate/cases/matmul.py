"""The tiled matmul of every tutorial: shapes unpacked, asserts, an accumulator, one parameter with a default."""

import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def matmul_kernel(x_ref, y_ref, o_ref, acc_ref, *, steps):
    @pl.when(pl.program_id(2) == 0)
    def _():
        acc_ref[...] = jnp.zeros_like(acc_ref)

    acc_ref[...] += jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32)

    @pl.when(pl.program_id(2) == steps - 1)
    def _():
        o_ref[...] = acc_ref[...].astype(o_ref.dtype)


# pallas-lens: example x=bf16[1024,512], y=bf16[512,2048], bn=256
@functools.partial(jax.jit, static_argnames=("bm", "bk", "bn"))
def matmul(x, y, *, bm=128, bk=128, bn):
    m, k = x.shape
    k2, n = y.shape
    assert k == k2
    assert m % bm == 0 and n % bn == 0
    if k % bk:
        raise ValueError("k has to be a multiple of bk")
    return pl.pallas_call(
        functools.partial(matmul_kernel, steps=k // bk),
        #: kernel matmul_kernel takes 4
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
        grid=(m // bm, n // bn, k // bk),
        #: grid (x.shape[0] // bm, y.shape[1] // bn, x.shape[1] // bk)
        #: [defaults] grid (x.shape[0] // 128, y.shape[1] // bn, x.shape[1] // 128)
        #: [defaults] reading with bm=128, bk=128, the defaults
        #: [matmul] grid (8, 8, 4)
        in_specs=[
            pl.BlockSpec((bm, bk), lambda i, j, k: (i, k)),
            #: in 0 x ?(x.shape[0], x.shape[1]) block (bm, bk) at (grid0, grid2)
            #: [matmul] in 0 inputs[0] bfloat16(1024, 512) block (128, 128) at (grid0, grid2)
            pl.BlockSpec((bk, bn), lambda i, j, k: (k, j)),
            #: in 1 y ?(y.shape[0], y.shape[1]) block (bk, bn) at (grid2, grid1)
            #: [matmul] in 1 inputs[1] bfloat16(512, 2048) block (128, 256) at (grid2, grid1)
        ],
        out_specs=pl.BlockSpec((bm, bn), lambda i, j, k: (i, j)),
        #: out 0 outputs[0] ?(x.shape[0], y.shape[1]) block (bm, bn) at (grid0, grid1)
        #: [matmul] out 0 outputs[0] bfloat16(1024, 2048) block (128, 256) at (grid0, grid1)
        scratch_shapes=[pltpu.VMEM((bm, bn), jnp.float32)],
        #: scratch 0 scratch[0] float32(bm, bn)
        #: counts in 2, out 1, scratch 1, given 2
        compiler_params=pltpu.CompilerParams(
            dimension_semantics=("parallel", "parallel", "arbitrary"),
            vmem_limit_bytes=64 * 1024 * 1024,
        ),
        #: semantics parallel, parallel, arbitrary
        #: vmem limit 67108864
        #: prefetch 0
    )(x, y)
