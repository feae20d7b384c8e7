"""Flash attention, forward: softmax(q k^T) v without ever holding all of q k^T.

The softmax is computed as the blocks of k and v pass by. Three scratches go from one of them to the next: the largest
score so far of each query, the sum of its weights, and the weighted sum of the values, both relative to that largest
score. When it grows, what was summed is scaled down.
"""

import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

MASKED = -1e30


def flash_attention_kernel(q_ref, k_ref, v_ref, o_ref, largest_ref, total_ref, acc_ref, *, scale, causal):
    block_q, block_k = q_ref.shape[0], k_ref.shape[0]
    first_query = pl.program_id(1) * block_q
    k_step = pl.program_id(2)
    first_key = k_step * block_k

    @pl.when(k_step == 0)
    def _():
        largest_ref[...] = jnp.full_like(largest_ref, MASKED)
        total_ref[...] = jnp.zeros_like(total_ref)
        acc_ref[...] = jnp.zeros_like(acc_ref)

    # With a causal mask, keys after the last query of the block do not count.
    @pl.when(jnp.logical_or(not causal, first_key < first_query + block_q))
    def _():
        contract_last = (((1,), (1,)), ((), ()))
        scores = jax.lax.dot_general(q_ref[...], k_ref[...], contract_last, preferred_element_type=jnp.float32) * scale
        if causal:
            query = first_query + jax.lax.broadcasted_iota(jnp.int32, scores.shape, 0)
            key = first_key + jax.lax.broadcasted_iota(jnp.int32, scores.shape, 1)
            scores = jnp.where(key <= query, scores, MASKED)
        largest = jnp.maximum(largest_ref[...], jnp.max(scores, axis=1, keepdims=True))
        shrink = jnp.exp(largest_ref[...] - largest)
        weights = jnp.exp(scores - largest)
        largest_ref[...] = largest
        total_ref[...] = total_ref[...] * shrink + jnp.sum(weights, axis=1, keepdims=True)
        values = jnp.dot(weights.astype(v_ref.dtype), v_ref[...], preferred_element_type=jnp.float32)
        acc_ref[...] = acc_ref[...] * shrink + values

    @pl.when(k_step == pl.num_programs(2) - 1)
    def _():
        o_ref[...] = (acc_ref[...] / total_ref[...]).astype(o_ref.dtype)


def reference(q, k, v, *, causal=True):
    scores = jnp.einsum("hqd,hkd->hqk", q, k, preferred_element_type=jnp.float32) / q.shape[-1] ** 0.5
    if causal:
        scores = jnp.where(jnp.tri(q.shape[1], k.shape[1], dtype=bool), scores, MASKED)
    weights = jax.nn.softmax(scores, axis=-1)
    return jnp.einsum("hqk,hkd->hqd", weights, v, preferred_element_type=jnp.float32).astype(q.dtype)


# pallas-lens: example causal: q=bf16[2,512,128], k=bf16[2,512,128], v=bf16[2,512,128]
# pallas-lens: example full: q=bf16[2,256,128], k=bf16[2,512,128], v=bf16[2,512,128], causal=False
# pallas-lens: reference=reference
@functools.partial(jax.jit, static_argnames=("causal", "block_q", "block_k"))
def flash_attention(q, k, v, *, causal=True, block_q=256, block_k=256):
    heads, queries, features = q.shape
    keys = k.shape[1]
    assert queries % block_q == 0 and keys % block_k == 0
    q_block = pl.BlockSpec((None, block_q, features), lambda h, i, j: (h, i, 0))
    kv_block = pl.BlockSpec((None, block_k, features), lambda h, i, j: (h, j, 0))
    return pl.pallas_call(
        functools.partial(flash_attention_kernel, scale=features**-0.5, causal=causal),
        grid=(heads, queries // block_q, keys // block_k),
        in_specs=[q_block, kv_block, kv_block],
        out_specs=q_block,
        out_shape=jax.ShapeDtypeStruct(q.shape, q.dtype),
        scratch_shapes=[
            pltpu.VMEM((block_q, 1), jnp.float32),
            pltpu.VMEM((block_q, 1), jnp.float32),
            pltpu.VMEM((block_q, features), jnp.float32),
        ],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel", "arbitrary")),
    )(q, k, v)
