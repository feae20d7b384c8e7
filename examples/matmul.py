"""Tiled matmul: the sum over k is kept in 32 bits, in a scratch that stays in VMEM."""

import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def matmul_kernel(x_ref, y_ref, o_ref, acc_ref):
    @pl.when(pl.program_id(2) == 0)
    def _():
        acc_ref[...] = jnp.zeros_like(acc_ref)

    acc_ref[...] += jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32)

    @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
    def _():
        o_ref[...] = acc_ref[...].astype(o_ref.dtype)


def reference(x, y, **_):
    return jnp.dot(x, y, preferred_element_type=jnp.float32).astype(x.dtype)


# pallas-lens: example x=bf16[512,1024], y=bf16[1024,512]
# pallas-lens: reference=reference
@functools.partial(jax.jit, static_argnames=("block_m", "block_n", "block_k"))
def matmul(x, y, *, block_m=256, block_n=256, block_k=512):
    m, k = x.shape
    _, n = y.shape
    # A partial block of k would add what lies beyond the arrays; partial blocks of m and n do no harm.
    assert k % block_k == 0
    return pl.pallas_call(
        matmul_kernel,
        # The axis that is summed over comes last, so that each output block is visited in consecutive steps.
        grid=(pl.cdiv(m, block_m), pl.cdiv(n, block_n), k // block_k),
        in_specs=[
            pl.BlockSpec((block_m, block_k), lambda i, j, k: (i, k)),
            pl.BlockSpec((block_k, block_n), lambda i, j, k: (k, j)),
        ],
        out_specs=pl.BlockSpec((block_m, block_n), lambda i, j, k: (i, j)),
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
        scratch_shapes=[pltpu.VMEM((block_m, block_n), jnp.float32)],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel", "arbitrary")),
    )(x, y)
