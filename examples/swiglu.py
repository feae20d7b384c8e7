"""SwiGLU's element-wise part, silu(gate) * up, on blocks that do not divide the arrays."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def swiglu_kernel(gate_ref, up_ref, o_ref):
    gate = gate_ref[...].astype(jnp.float32)
    o_ref[...] = (gate * jax.nn.sigmoid(gate) * up_ref[...].astype(jnp.float32)).astype(o_ref.dtype)


def reference(gate, up):
    gate, wide_up = gate.astype(jnp.float32), up.astype(jnp.float32)
    return (jax.nn.silu(gate) * wide_up).astype(up.dtype)


# pallas-lens: example gate=bf16[300,1500], up=bf16[300,1500]
# pallas-lens: reference=reference
def swiglu(gate, up, block_shape=(128, 512)):
    block = pl.BlockSpec(block_shape, lambda i, j: (i, j))
    return pl.pallas_call(
        swiglu_kernel,
        grid=(pl.cdiv(gate.shape[0], block_shape[0]), pl.cdiv(gate.shape[1], block_shape[1])),
        in_specs=[block, block],
        out_specs=block,
        out_shape=jax.ShapeDtypeStruct(gate.shape, gate.dtype),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel")),
    )(gate, up)
