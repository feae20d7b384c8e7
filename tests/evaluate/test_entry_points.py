"""Kernels of public libraries, called as an example comment says: every number read is the one that JAX traces.

The file of a wheel is copied to a folder of the test's, the comment is put above the function, and what the evaluator
reads in it is compared with the trace of the same call. None of the libraries is installed: the files chosen import
JAX alone, or modules of their own wheel that do. Those are imported without the `__init__.py` of their packages, which
would import the whole library.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from jax_environments import jax_environments
from pallas_lens.evaluate.analyzer import Analyzer
from pallas_lens.runtime.client import RuntimeClient
from wheels import VERSIONS, unpacked_wheel

from .traced import pairs, read, title, trace, with_examples


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """A function of a wheel's file, the arguments of a call, and how many kernels the call starts."""

    package: str
    file: str
    function: str
    example: str
    kernels: int = 1

    def __str__(self) -> str:
        return f"{self.package}:{self.function}"


_JAX = "jax/experimental/pallas/ops/tpu"
_MASK = "mask_info_lib.MaskInfo(i8[4,2,2], i8[4,2,2], i8[4,2,2], bool[1,512,512], None)"
_ATTENTION = "q=f32[4,1024,128], k=f32[4,1024,128], v=f32[4,1024,128], segment_ids=None, mask_value=-1.0, is_mqa=False"
_SPLASH = (
    f"fwd_mask_info={_MASK}, {_ATTENTION}, block_sizes=BlockSizes(block_q=512, block_kv=512, block_kv_compute=256), "
    "residual_checkpoint_name=None, save_residuals=True, mask_function=None"
)
_RAGGED_PAGES = (
    "q=bf16[128,16,128], kv_pages=bf16[64,16,8,128], kv_lens=i32[8], page_indices=i32[8,16], cu_q_lens=i32[9], "
    "num_seqs=i32[1], num_kv_pages_per_block=4, num_queries_per_block=32, vmem_limit_bytes=33554432"
)
_ROPE = "x=bf16[256,16,128], positions=i32[256], cos_sin_cache=f32[4096,64]"
_ROWS = "block_v=1024, block_m=64"

ENTRY_POINTS = [
    EntryPoint("jax", f"{_JAX}/matmul.py", "matmul", "x=bf16[1024,1024], y=bf16[1024,512], block_shape=(256, 256)"),
    EntryPoint(
        "jax",
        f"{_JAX}/flash_attention.py",
        "flash_attention",
        "q=f32[2,4,1024,128], k=f32[2,4,1024,128], v=f32[2,4,1024,128], causal=True",
    ),
    EntryPoint(
        "jax",
        f"{_JAX}/megablox/gmm.py",
        "gmm",
        "lhs=bf16[1024,512], rhs=bf16[8,512,256], group_sizes=i32[8], preferred_element_type=jnp.float32",
    ),
    EntryPoint(
        "jax",
        f"{_JAX}/megablox/gmm.py",
        "tgmm",
        "lhs=bf16[512,1024], rhs=bf16[1024,256], group_sizes=i32[8], tiling=(128, 256, 128)",
    ),
    EntryPoint(
        "jax",
        f"{_JAX}/paged_attention/paged_attention_kernel.py",
        "paged_attention",
        "q=bf16[8,16,128], k_pages=bf16[4,64,16,128], v_pages=bf16[4,64,16,128], lengths=i32[8], "
        "page_indices=i32[8,16], pages_per_compute_block=4",
    ),
    EntryPoint("jax", f"{_JAX}/ragged_paged_attention/kernel.py", "ragged_paged_attention", _RAGGED_PAGES),
    EntryPoint(
        "jax",
        f"{_JAX}/splash_attention/splash_attention_kernel.py",
        "_splash_attention_forward",
        f"{_SPLASH}, sinks=None",
    ),
    EntryPoint(
        "jax", f"{_JAX}/random/threefry.py", "plthreefry_random_bits", "key=u32[2], bit_width=32, shape=(512, 512)"
    ),
    EntryPoint(
        "jax",
        f"{_JAX}/all_gather.py",
        "all_gather",
        "x=f32[64,128], mesh=jax.sharding.AbstractMesh((4,), ('x',), axis_types=(jax.sharding.AxisType.Auto,)), "
        "axis_name='x'",
    ),
    EntryPoint("jax", f"{_JAX}/random/philox.py", "philox_random_bits", "key=u32[2], bit_width=32, shape=(512, 512)"),
    EntryPoint(
        "tokamax",
        "tokamax/_src/ops/router_topk/pallas_mosaic_tpu_kernel.py",
        "select",
        "scores=f32[1024,256], topk=8, interpret=False, block_rows=128",
    ),
    EntryPoint(
        "tokamax",
        "tokamax/_src/ops/experimental/fused_moe/router_ops.py",
        "pallas_select",
        "scores=f32[1024,256], topk=8, block_rows=128, weight_scores=f32[1024,256], interpret=False",
    ),
    EntryPoint(
        "tokamax",
        "tokamax/_src/ops/mhc/pre_kernel.py",
        "mhc_pre",
        "residual=bf16[256,4,1024], fn=f32[24,4096], hc_scale=f32[3], hc_base=f32[24], rms_eps=1e-6, hc_pre_eps=1e-6, "
        "hc_sinkhorn_eps=1e-6, hc_post_mult_value=2.0, sinkhorn_repeat=3",
    ),
    EntryPoint("tokamax", "tokamax/_src/ops/deepseek_rope/pallas_mosaic_tpu_kernel.py", "rope", _ROPE),
    EntryPoint(
        "tpu-inference",
        "tpu_inference/kernels/gdn/triangle_solver.py",
        "decompose_triangular_matrix_inverse_pallas",
        "A=f32[8,4,64,64]",
    ),
    EntryPoint(
        "tpu-inference",
        "tpu_inference/kernels/structured_sparse_matmul/v1/spmm.py",
        "structured_spmm",
        "sparsity=(2, 4), nonzeros=bf16[2,256,512], metadata=i32[2,16,512], matrix=bf16[512,1024], rhs_sparse=True, "
        "contract_sparse=True, stride=128, block_m=128, block_k=1024, block_n=128",
    ),
    EntryPoint(
        "tpu-inference",
        "tpu_inference/kernels/ragged_paged_attention/v2/kernel.py",
        "ragged_paged_attention",
        _RAGGED_PAGES,
    ),
    EntryPoint(
        "tpu-inference",
        "tpu_inference/kernels/ragged_paged_attention/v3/kernel.py",
        "ragged_paged_attention",
        "queries=bf16[64,16,128], keys=bf16[64,8,128], values=bf16[64,8,128], kv_cache=bf16[64,16,8,2,128], "
        "kv_lens=i32[8], page_indices=i32[64], cu_q_lens=i32[9], distribution=i32[3], d_block_sizes=(1, 64, 1, 64), "
        "p_block_sizes=(16, 64, 16, 64), m_block_sizes=(16, 64, 16, 64), vmem_limit_bytes=33554432",
        kernels=2,
    ),
    EntryPoint(
        "tpu-inference",
        "tpu_inference/kernels/experimental/deepseek_v4/mhc/post_kernel.py",
        "mhc_post",
        "x=bf16[256,1024], residual=bf16[256,4,1024], post_layer_mix=f32[256,4,1], comb_res_mix=f32[256,4,4]",
    ),
    EntryPoint("tpu-inference", "tpu_inference/kernels/experimental/deepseek_v4/rope.py", "rope_quant", _ROPE),
    EntryPoint("tpu-inference", "tpu_inference/kernels/experimental/deepseek_v4/rope.py", "qnorm_rope", _ROPE),
    EntryPoint(
        "tpu-inference",
        "tpu_inference/distributed/kv_transfer.py",
        "_start_chunked_copy_kernel",
        "src_offsets=i32[4], dest_offsets=i32[4], chunk_sizes=i32[4], num_chunks=i32[1], src_array=f32[64,8,128], "
        "src_dependency=f32[8,128], dest_array=f32[64,8,128]",
    ),
    EntryPoint(
        "ejkernel",
        "ejkernel/kernels/_pallas/tpu/fused_cross_entropy/_pallas_impl_bwd.py",
        "_ce_bwd_pallas",
        "logits_2d=bf16[256,4096], lse=f32[256], targets_1d=i32[256], weights_1d=f32[256], dy=f32[256], "
        f"ignore_index=-100, label_smoothing=0.0, z_loss=0.0, {_ROWS}",
    ),
    EntryPoint(
        "ejkernel",
        "ejkernel/kernels/_pallas/tpu/fused_kl_divergence/_pallas_impl_bwd.py",
        "_kl_bwd_pallas",
        "student_2d=f32[256,4096], teacher_2d=f32[256,4096], lse_t=f32[256], lse_s=f32[256], acc=f32[256], "
        f"weights_1d=f32[256], dy=f32[256], direction='forward', temperature=1.0, {_ROWS}",
    ),
    EntryPoint(
        "ejkernel",
        "ejkernel/kernels/_pallas/tpu/quantized_matmul/_pallas_impl_core.py",
        "pallas_dense_matmul",
        "lhs=bf16[256,512], rhs=bf16[512,512], transpose_rhs=False, block_m=128, block_n=128, block_k=128",
    ),
    EntryPoint(
        "ejkernel",
        "ejkernel/kernels/_pallas/tpu/ragged_gated_delta_rule/_pallas_impl_fwd.py",
        "run_ragged_gdr_decode_pallas",
        "query=f32[8,4,128], key=f32[8,4,128], value=f32[8,4,128], beta=f32[8,4], decay=f32[8,4], "
        "gathered_state=f32[8,4,128,128]",
    ),
    EntryPoint(
        "maxtext",
        "maxtext/kernels/attention/csa_streamindex.py",
        "_csa_streamindex_score_pallas_fwd",
        "q=f32[2,8,512,128], compressed=f32[2,256,128], weights=f32[2,512,8], softmax_scale=1.0",
    ),
    EntryPoint("maxtext", "maxtext/kernels/attention/splash_attention_kernel.py", "_splash_attention_forward", _SPLASH),
    EntryPoint(
        "maxtext",
        "maxtext/kernels/megablox/pallas_mosaic_tpu_v2_gmm_kernel.py",
        "gmm_v2",
        "lhs=f32[1024,512], rhs=f32[8,512,1024], group_sizes=i32[8], tile_info=TileSizes(128, 512, 512), "
        "vmem_limit_bytes=33554432",
    ),
    EntryPoint(
        "maxtext",
        "maxtext/kernels/mhc/mhc_kernels_fwd.py",
        "_post_apply_fwd",
        "x=bf16[512,4,1024], layer_output=bf16[512,1024], h_post=f32[512,4], residual=f32[512,4,4], "
        "config=common.MhcKernelConfig()",
        kernels=2,
    ),
    EntryPoint(
        "maxtext",
        "maxtext/kernels/megablox/pallas_mosaic_tpu_v2_tgmm_kernel.py",
        "tgmm_v2",
        "lhs=f32[1024,512], rhs=f32[1024,512], group_sizes=i32[8], num_actual_groups=8, vmem_limit_bytes=33554432, "
        "preferred_element_type=jnp.float32, tile_info=gmm_v2.TileSizes(128, 512, 512)",
    ),
]


@pytest.fixture(scope="module")
def modules_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """By package, a folder with the modules of its wheel and no `__init__.py`."""

    @cache
    def folder_of(package: str) -> Path:
        source, folder = unpacked_wheel(package), tmp_path_factory.mktemp(package)
        for module in source.rglob("*.py"):
            if module.name != "__init__.py":
                link = folder / module.relative_to(source)
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(module)
        return folder

    return folder_of


@pytest.fixture(scope="module")
def newest_jax() -> Iterator[RuntimeClient]:
    """The worker of the environment whose JAX is that of the wheel."""
    for environment in jax_environments():
        if environment.jax == VERSIONS["jax"]:
            with RuntimeClient(environment.interpreter) as client:
                yield client
            return
    if os.environ.get("CI") == "true":
        pytest.fail(f"no environment with JAX {VERSIONS['jax']}")
    pytest.skip(f"no environment with JAX {VERSIONS['jax']}")


@pytest.mark.parametrize("entry", ENTRY_POINTS, ids=str)
def test_reading_is_numeric_and_as_traced(
    newest_jax: RuntimeClient, modules_of: Callable[[str], Path], tmp_path: Path, entry: EntryPoint
) -> None:
    root = unpacked_wheel(entry.package)
    path = tmp_path / Path(entry.file).name.lstrip("_")
    text = (root / entry.file).read_text(encoding="utf-8")
    path.write_text(with_examples(text, {entry.function: entry.example}), encoding="utf-8")
    document, facts = read(path, Analyzer((root, unpacked_wheel("jax"))))
    (runnable,) = [one for one in facts.runnables if one.function == entry.function]
    # JAX itself is the environment's own.
    result = trace(newest_jax, path, runnable, () if entry.package == "jax" else (str(modules_of(entry.package)),))
    assert result.calls, [finding.message for finding in result.findings]
    wrong = []
    for pair in pairs(document, facts, runnable, result.calls):
        wrong += [f"{title(pair)}: {text}" for text in (*pair.differences(), *pair.not_numeric())]
    assert not wrong, "\n" + "\n".join(wrong)
    assert sum(call.times for call in result.calls) == entry.kernels


def test_there_are_enough() -> None:
    assert len(ENTRY_POINTS) >= 20 and len({entry.package for entry in ENTRY_POINTS}) >= 5
