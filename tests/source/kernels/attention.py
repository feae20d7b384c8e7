"""Attention over blocks of queries, keys and values, with a running softmax.

The module shows what real kernel files hold: constants, a configuration, a cost
estimate, kernels with nested functions, and a wrapper that starts them.
"""

# These forms are here on purpose.
# ruff: noqa: SIM108

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

try:
    import numpy as np
except ImportError:  # a machine without numpy cannot make test inputs
    np = None

LANES = 128
SUBLANES = 8
MASK_VALUE = -0.7 * float(jnp.finfo(jnp.float32).max)
LAYOUTS = {
    "head_major": (0, 1, 2),
    "sequence_major": (1, 0, 2),
}

if hasattr(pltpu, "CompilerParams"):
    CompilerParams = pltpu.CompilerParams
else:
    CompilerParams = pltpu.TPUCompilerParams

USAGE = """\
usage: attention --block-q N --block-k N

def main(  # a line of text that looks like code
# and one that looks like a comment
import nothing
"""


@dataclasses.dataclass(frozen=True)
class BlockSizes:
    """How many rows of each operand a step works on."""

    block_q: int = 512
    block_k: int = 512
    block_k_compute: int | None = None
    layout: str = "head_major"

    def __post_init__(self):
        if self.block_k_compute is None:
            object.__setattr__(self, "block_k_compute", self.block_k)
        if self.block_k % self.block_k_compute:
            raise ValueError(f"block_k={self.block_k} must be a multiple of {self.block_k_compute=}")

    @property
    def rows(self) -> int:
        return self.block_q + self.block_k

    # pallas-lens: example x=f32[8,128]
    @staticmethod
    def transpose(x: jax.Array, layout: str = "head_major") -> jax.Array:
        return jnp.transpose(x, LAYOUTS[layout])


def cost_of(q: jax.Array, k: jax.Array, *, causal: bool) -> pl.CostEstimate:
    """Bytes, flops and exponentials of one call."""
    batch, heads, q_len, head_dim = q.shape
    k_len = k.shape[2]
    pairs = batch * heads * q_len * k_len
    if causal:
        pairs //= 2
    return pl.CostEstimate(
        flops=4 * pairs * head_dim,
        transcendentals=pairs,
        bytes_accessed=2 * (q.size * q.dtype.itemsize + k.size * k.dtype.itemsize),
    )


def _attention_kernel(
    lengths_ref,  # scalar prefetch, one entry a batch element
    q_ref,
    k_ref,
    v_ref,
    o_ref,
    m_scratch,
    l_scratch,
    acc_scratch,
    *,
    sizes: BlockSizes,
    scale: float,
    causal: bool,
):
    batch, head, q_step, k_step = (pl.program_id(axis) for axis in range(4))
    del head
    rows, columns = sizes.block_q, sizes.block_k_compute

    @pl.when(k_step == 0)
    def start():
        m_scratch[...] = jnp.full_like(m_scratch, MASK_VALUE)
        l_scratch[...] = jnp.zeros_like(l_scratch)
        acc_scratch[...] = jnp.zeros_like(acc_scratch)

    def mask_of(step, s):
        """Which pairs count: those inside the length, and below the diagonal."""
        column = k_step * sizes.block_k + step * columns + lax.broadcasted_iota(jnp.int32, s.shape, 1)
        inside = column < lengths_ref[batch]
        if causal:
            row = q_step * rows + lax.broadcasted_iota(jnp.int32, s.shape, 0)
            inside = jnp.logical_and(inside, column <= row)
        return inside

    def body(step, _):
        keys = k_ref[0, 0, pl.ds(step * columns, columns), :]
        values = v_ref[0, 0, pl.ds(step * columns, columns), :]
        s = (
            lax.dot_general(
                q_ref[0, 0],
                keys,
                (((1,), (1,)), ((), ())),
                preferred_element_type=jnp.float32,
            )
            * scale
        )
        s = jnp.where(mask_of(step, s), s, MASK_VALUE)
        m_old, l_old = m_scratch[:, :1], l_scratch[:, :1]
        m_new = jnp.maximum(m_old, s.max(axis=1, keepdims=True))
        p = jnp.exp(s - m_new)
        alpha = jnp.exp(m_old - m_new)
        l_scratch[...] = jnp.broadcast_to(alpha * l_old + p.sum(axis=1, keepdims=True), l_scratch.shape)
        m_scratch[...] = jnp.broadcast_to(m_new, m_scratch.shape)
        acc_scratch[...] = acc_scratch[...] * alpha + jnp.dot(
            p.astype(values.dtype), values, preferred_element_type=jnp.float32
        )

    lax.fori_loop(0, sizes.block_k // columns, body, None, unroll=True)

    @pl.when(k_step == pl.num_programs(3) - 1)
    def finish():
        total = l_scratch[:, :1]
        safe = jnp.where(total == 0.0, 1.0, total)
        o_ref[0, 0] = (acc_scratch[...] / safe).astype(o_ref.dtype)


# pallas-lens: example small: q=bf16[1,2,1024,128], k=bf16[1,2,1024,128], v=bf16[1,2,1024,128], lengths=i32[1]
# pallas-lens: reference=reference_attention


@functools.partial(
    jax.jit,
    static_argnames=("sizes", "causal", "interpret"),
)
def attention(
    q: jax.Array,
    k: jax.Array,
    v: jax.Array,
    lengths: jax.Array,
    *,
    sizes: BlockSizes = BlockSizes(),
    causal: bool = True,
    interpret: Any = False,
) -> jax.Array:
    batch, heads, q_len, head_dim = q.shape
    k_len = k.shape[2]
    assert q_len % sizes.block_q == 0, f"{q_len} rows are no multiple of {sizes.block_q}"
    assert k_len % sizes.block_k == 0

    def q_map(b, h, i, j, lengths_ref):
        del j, lengths_ref
        return b, h, i, 0

    def kv_map(b, h, i, j, lengths_ref):
        del i
        last = pl.cdiv(lengths_ref[b], sizes.block_k) - 1
        return b, h, jnp.minimum(j, last), 0

    kernel = functools.partial(_attention_kernel, sizes=sizes, scale=1.0 / math.sqrt(head_dim), causal=causal)
    grid_spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=(batch, heads, q_len // sizes.block_q, k_len // sizes.block_k),
        in_specs=[
            pl.BlockSpec((1, 1, sizes.block_q, head_dim), q_map),
            pl.BlockSpec((1, 1, sizes.block_k, head_dim), kv_map),
            pl.BlockSpec((1, 1, sizes.block_k, head_dim), kv_map),
        ],
        out_specs=pl.BlockSpec((1, 1, sizes.block_q, head_dim), q_map),
        scratch_shapes=[
            pltpu.VMEM((sizes.block_q, LANES), jnp.float32),
            pltpu.VMEM((sizes.block_q, LANES), jnp.float32),
            pltpu.VMEM((sizes.block_q, head_dim), jnp.float32),
        ],
    )
    return pl.pallas_call(
        kernel,
        grid_spec=grid_spec,
        out_shape=jax.ShapeDtypeStruct(q.shape, q.dtype),
        compiler_params=CompilerParams(
            dimension_semantics=("parallel", "parallel", "parallel", "arbitrary"),
        ),
        cost_estimate=cost_of(q, k, causal=causal),
        interpret=interpret,
        name=f"attention_{'causal' if causal else 'full'}",
    )(lengths, q, k, v)


def reference_attention(q, k, v, lengths):
    """The same in plain JAX; “slow but sure” — für Vergleiche."""
    s = jnp.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(q.shape[-1])  # Größe: (b, h, q, k)
    inside = jnp.arange(k.shape[2])[None, :] < lengths[:, None]
    s = jnp.where(inside[:, None, None, :], s, MASK_VALUE)
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(s, axis=-1), v)


if __name__ == "__main__":
    key = jax.random.key(0)
    operands = [jax.random.normal(k, (1, 2, 1024, 128)) for k in jax.random.split(key, 3)]
    print(attention(*operands, jnp.array([1000])).shape)
    print(USAGE)
