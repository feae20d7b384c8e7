"""``pallas-lens kernels``: the model of each call, to the contract."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .command_line import pallas_lens
from .kernel_texts import GOOD, at

ENTRY = {
    "id",
    "filename",
    "row",
    "column",
    "form",
    "name",
    "kernel",
    "kernel_arity",
    "specialisation",
    "grid",
    "num_scalar_prefetch",
    "dimension_semantics",
    "aliases",
    "operands",
    "vmem",
    "smem",
    "unknown",
}
OPERAND = {"name", "role", "array", "block_shape", "memory_space", "index_map", "buffers", "bytes"}

MATMUL = """\
import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def matmul_kernel(x_ref, y_ref, o_ref, acc_ref, *, steps):
    acc_ref[...] += jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32)


def matmul(x, y, *, block_m, block_n=256):
    m, k = x.shape
    _, n = y.shape
    return pl.pallas_call(
        functools.partial(matmul_kernel, steps=4),
        grid=(m // block_m, n // block_n, 4),
        in_specs=[
            pl.BlockSpec((block_m, 128), lambda i, j, k: (i, k)),
            pl.BlockSpec((128, block_n), lambda i, j, k: (k, j), pipeline_mode=pl.Buffered(3)),
        ],
        out_specs=pl.BlockSpec((block_m, block_n), lambda i, j, k: (i, j)),
        scratch_shapes=[pltpu.VMEM((512, block_n), jnp.float32)],
        out_shape=jax.ShapeDtypeStruct((m, n), jnp.float32),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel", "arbitrary")),
    )(x, y)
"""


def entries(folder: Path, text: str, *flags: str) -> list[dict[str, Any]]:
    (folder / "kernel.py").write_text(text, encoding="utf-8")
    ended = pallas_lens("kernels", "kernel.py", "--output-format", "json", *flags, folder=folder)
    assert (ended.code, ended.err) == (0, "")
    found: list[dict[str, Any]] = ended.json
    for entry in found:
        assert set(entry) == ENTRY
        for operand in entry["operands"] or ():
            assert set(operand) == OPERAND
    return found


def test_generic_comes_first_and_the_example_has_numbers(tmp_path: Path) -> None:
    generic, example = entries(tmp_path, GOOD, "--target", "v5e,v7x")
    assert generic["specialisation"] == "generic"
    assert example["specialisation"].startswith("example")
    assert generic["id"] != example["id"]
    place = at(GOOD, "pl.pallas_call")["location"]
    for entry in (generic, example):
        assert (entry["filename"], entry["row"], entry["column"]) == ("kernel.py", place["row"], place["column"])
        assert (entry["form"], entry["name"], entry["kernel"], entry["kernel_arity"]) == (
            "pallas_call",
            "call",
            "double",
            [2, 2],
        )
        assert entry["grid"] == [4]
        assert entry["num_scalar_prefetch"] == 0
    given, output = example["operands"]
    assert [given["role"], output["role"]] == ["input", "output"]
    assert given["array"] == {"shape": [512, 256], "dtype": "float32"}
    assert given["block_shape"] == [128, 256]
    assert given["memory_space"] == "vmem"
    assert given["index_map"] == {"text": "lambda i: (i, 0)", "arity": [1, 1]}
    # Two buffers of 128 x 256 float32 for each.
    assert given["bytes"] == {"v5e": 2 * 128 * 256 * 4, "v7x": 2 * 128 * 256 * 4}
    assert example["vmem"]["v5e"] == {
        "windows": 4 * 128 * 256 * 4,
        "scratch": 0,
        "limit": 16 * 1024 * 1024,
        "windows_exceed_limit": False,
    }
    assert set(example["smem"]) == {"v5e", "v7x"}
    assert set(example["smem"]["v5e"]) == {"bytes", "limit"}


def test_unknown_dims_are_their_expressions(tmp_path: Path) -> None:
    generic, *others = entries(tmp_path, MATMUL, "--target", "v5e")
    assert generic["grid"] == ["x.shape[0] // block_m", "y.shape[1] // block_n", 4]
    assert generic["dimension_semantics"] == ["parallel", "parallel", "arbitrary"]
    assert [operand["role"] for operand in generic["operands"]] == ["input", "input", "output", "scratch"]
    assert [operand["buffers"] for operand in generic["operands"]][1] == 3
    assert generic["operands"][0]["block_shape"] == ["block_m", 128]
    assert generic["vmem"]["v5e"]["windows_exceed_limit"] in (None, False)
    assert others, "block_n has a default"
    assert others[0]["specialisation"] == "defaults"
    assert others[0]["operands"][2]["block_shape"] == ["block_m", 256]
    assert others[0]["vmem"]["v5e"]["scratch"] == 512 * 256 * 4


def test_what_is_not_known_has_its_reason(tmp_path: Path) -> None:
    text = GOOD.replace("grid=(4,)", "grid=make_grid(x)").replace(
        "import jax\n", "import jax\nfrom nowhere import make_grid\n", 1
    )
    generic = entries(tmp_path, text)[0]
    assert generic["grid"] is None
    (reason,) = [one["why"] for one in generic["unknown"] if one["what"] == "grid"]
    assert "make_grid" in reason or "nowhere" in reason


def test_a_call_without_grid_has_an_empty_one(tmp_path: Path) -> None:
    text = "\n".join(line for line in GOOD.splitlines() if "Spec(" not in line and "grid=" not in line) + "\n"
    generic = entries(tmp_path, text)[0]
    assert generic["grid"] == []
    assert [operand["block_shape"] for operand in generic["operands"]] == [None, None]


def test_full_is_for_people(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(GOOD, encoding="utf-8")
    ended = pallas_lens("kernels", folder=tmp_path)
    assert ended.code == 0
    place = at(GOOD, "pl.pallas_call")["location"]
    assert ended.lines[0].startswith(f"kernel.py:{place['row']}:{place['column']}: call: pallas_call, kernel double")
    assert "256 KiB" in ended.out
    assert "VMEM: windows 512 KiB, scratch 0 B of 16 MiB" in ended.out
