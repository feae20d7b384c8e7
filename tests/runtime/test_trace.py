"""Mode trace finds every kernel of a program, wherever it stands, with all that JAX decided about it."""

from __future__ import annotations

from pathlib import Path

import pytest
from jax_environments import JaxEnvironment
from pallas_lens.runtime.client import RuntimeClient
from pallas_lens.runtime.protocol import Job, TracedCall, TracedDim, TracedOperand

PROGRAM = Path(__file__).parent / "programs" / "calls.py"
LINES = PROGRAM.read_text(encoding="utf-8").splitlines()


def trace(client: RuntimeClient, function: str, arguments: str) -> tuple[TracedCall, ...]:
    (result,) = client.run(Job(function, "trace", str(PROGRAM), function, arguments=arguments)).results
    assert (result.verdict, result.stage) == ("accepted", "trace"), result
    assert result.calls is not None
    return result.calls


def window(operand: TracedOperand) -> tuple[object, ...]:
    assert operand.index_map is not None
    values = [result.values for result in operand.index_map.results]
    return operand.role, operand.dtype, operand.shape, operand.block, values


def test_all_of_a_call(client: RuntimeClient) -> None:
    (call,) = trace(client, "copy", "x=bf16[32,128]")
    assert (call.form, call.kernel, call.grid, call.num_scalar_prefetch) == ("pallas_call", "copy_kernel", (4,), 0)
    assert (call.dimension_semantics, call.vmem_limit_bytes, call.aliases) == (("parallel",), 2**22, ((0, 0),))
    assert (call.points, call.times, call.inside, call.vmapped_dims) == (((0,), (2,), (3,)), 1, (), ())
    block = (TracedDim("blocked", 8), TracedDim("blocked", 128))
    assert [window(operand) for operand in call.operands] == [
        (role, "bfloat16", (32, 128), block, [(0, 2, 3), (0, 0, 0)]) for role in ("input", "output")
    ]
    assert [operand.name for operand in call.operands] == ["x_ref", "o_ref"]
    assert call.row is not None and LINES[call.row - 1].strip() == "return pl.pallas_call("
    assert call.kernel_row is not None and LINES[call.kernel_row - 1] == "def copy_kernel(x_ref, o_ref):"


def test_a_dim_that_vmap_adds(client: RuntimeClient) -> None:
    (call,) = trace(client, "under_vmap", "x=f32[3,32,128]")
    assert (call.grid, call.vmapped_dims) == ((3, 4), (0,))
    assert call.operands[0].block == (TracedDim("squeezed", 1), TracedDim("blocked", 8), TracedDim("blocked", 128))
    assert call.operands[0].shape == (3, 32, 128)


@pytest.mark.parametrize(
    ("function", "places"),
    [
        ("under_control_flow", [("scan",), ("cond",), ("while", "jit copy")]),
        ("under_grad", [(), ()]),
    ],
)
def test_calls_inside_others(client: RuntimeClient, function: str, places: list[tuple[str, ...]]) -> None:
    calls = trace(client, function, "x=f32[32,128]")
    # Equal calls in one place are told once; forward and backward here only differ in where they stand.
    assert sum(call.times for call in calls) == len(places)
    if any(places):
        assert [call.inside for call in calls] == places
    assert {call.kernel for call in calls} == {"copy_kernel"}


def test_prefetch_scratch_and_dynamic_grid(client: RuntimeClient) -> None:
    (call,) = trace(client, "gather", "pages=i32[8], x=f32[16,8,256], count=i32[]")
    assert (call.grid, call.num_scalar_prefetch) == ((None, 4), 1)
    assert [operand.role for operand in call.operands] == ["prefetch", "input", "output", "scratch", "scratch"]
    pages, x, out, scratch, semaphore = call.operands
    assert (pages.shape, pages.dtype, pages.memory_space) == ((8,), "int32", "smem")
    assert x.block is not None and x.block[0] == TracedDim("squeezed", 1)
    assert x.buffers == 3 and x.index_map is not None and out.index_map is not None
    assert (x.index_map.arity, x.index_map.results[0].reads_prefetch, x.index_map.results[0].axes) == (3, True, (0,))
    assert [result.values for result in x.index_map.results] == [(None,) * 3, (0,) * 3, (0, 1, 2)]
    assert call.points == ((0, 0), (1, 2), (2, 3))
    assert out.index_map.results[1].values == (0, 2, 0)
    assert (scratch.shape, scratch.dtype, scratch.memory_space) == ((8, 128), "float32", "vmem")
    assert (semaphore.shape, semaphore.dtype, semaphore.memory_space) == ((2,), "dma_sem", "semaphore_mem")


def test_a_static_argument_makes_the_grid_known(client: RuntimeClient) -> None:
    (call,) = trace(client, "gather", "pages=i32[8], x=f32[16,8,256], count=8")
    assert call.grid == (8, 4)


def test_a_pipeline_inside_a_kernel(client: RuntimeClient, environment: JaxEnvironment) -> None:
    kernel, *pipelines = trace(client, "pipeline", "x=f32[32,128]")
    if int(environment.jax.split(".")[1]) < 10 and not pipelines:
        pytest.skip("early JAX writes a pipeline as loops, of which nothing can be told")
    (pipeline,) = pipelines
    assert (kernel.name, kernel.grid, pipeline.form, pipeline.grid) == (
        "copies_in_a_pipeline", (), "emit_pipeline", (4,)
    )  # fmt: skip
    assert [operand.memory_space for operand in kernel.operands] == ["any", "any"]
    assert pipeline.inside == ("pallas_call",) and pipeline.kernel == "copy_kernel"
    assert [operand.role for operand in pipeline.operands] == ["input", "output"]
    assert pipeline.row is not None and LINES[pipeline.row - 1].strip() == "pltpu.emit_pipeline("


def test_a_pipeline_that_is_the_kernel(client: RuntimeClient, environment: JaxEnvironment) -> None:
    kernel, *pipelines = trace(client, "pipeline_is_the_kernel", "x=f32[32,128]")
    assert (kernel.form, kernel.grid, len(kernel.operands)) == ("pallas_call", (), 2)
    if int(environment.jax.split(".")[1]) < 10 and not pipelines:
        pytest.skip("early JAX writes a pipeline as loops, of which nothing can be told")
    assert [(call.form, call.grid, call.inside) for call in pipelines] == [("emit_pipeline", (4,), ("pallas_call",))]


def test_a_call_that_asks_for_the_interpreter(client: RuntimeClient) -> None:
    (call,) = trace(client, "bound_elsewhere", "x=f32[32,128]")
    assert (call.grid, call.operands[0].block) == ((), (TracedDim("blocked", 32), TracedDim("blocked", 128)))
