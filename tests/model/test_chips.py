"""The chips' data: what JAX says of each, what Google's pages say, and what follows from them."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from jax_environments import JaxEnvironment, environment_params
from pallas_lens.knowledge import chips as knowledge
from pallas_lens.knowledge.chips import CHIPS
from pallas_lens.model.chip import Chip

DATA = json.loads(Path(knowledge.__file__).with_name("chips.json").read_text(encoding="utf-8"))

ASK_JAX = """
import json, sys
from jax._src.pallas.mosaic import tpu_info

def told(kind):
    version = tpu_info.chip_version_from_device_kind(kind)
    info = tpu_info.get_tpu_info_for_chip(version, 1)
    return {
        "generation": info.generation,
        "cores_of_chip": version.num_physical_tensor_cores_per_chip,
        "supports_megacore": version.supports_megacore,
        "lanes": info.num_lanes,
        "sublanes": info.num_sublanes,
        "mxus": info.num_mxus,
        "mxu_size": info.mxu_column_size,
        "vmem_capacity": info.vmem_capacity_bytes,
        "smem_capacity": info.smem_capacity_bytes,
        "hbm_bytes": info.hbm_capacity_bytes,
        "hbm_bytes_per_second": info.mem_bw_bytes_per_second,
        "peak_flops": {
            "bfloat16": info.bf16_ops_per_second or None,
            "int8": info.int8_ops_per_second or None,
            "float8": info.fp8_ops_per_second or None,
            "int4": info.int4_ops_per_second or None,
        },
    }

print(json.dumps({kind: told(kind) for kind in sys.argv[1:]}))
"""


def ours(chip: Chip) -> dict[str, object]:
    peak = chip.peak_flops
    return {
        "generation": chip.generation,
        "cores_of_chip": chip.cores_of_chip,
        "supports_megacore": chip.supports_megacore,
        "lanes": chip.lanes,
        "sublanes": chip.sublanes,
        "mxus": chip.mxus,
        "mxu_size": chip.mxu_size,
        "vmem_capacity": chip.vmem_capacity,
        "smem_capacity": chip.smem_capacity,
        "hbm_bytes": chip.hbm_bytes,
        "hbm_bytes_per_second": chip.hbm_bytes_per_second,
        "peak_flops": {
            "bfloat16": peak.bfloat16,
            "int8": peak.int8,
            "float8": peak.float8,
            "int4": peak.int4,
        },
    }


@pytest.mark.parametrize("environment", environment_params())
def test_figures_are_those_of_jax(environment: JaxEnvironment) -> None:
    kinds = {name: chip.device_kind for name, chip in CHIPS.items()}
    done = subprocess.run(
        [str(environment.interpreter), "-c", ASK_JAX, *kinds.values()],
        env={**os.environ, "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert {name: ours(chip) for name, chip in CHIPS.items()} == {name: told[kind] for name, kind in kinds.items()}


def test_every_figure_has_a_source() -> None:
    for name, chip in DATA["chips"].items():
        assert set(chip) == set(DATA["figures"]), name
    assert set(DATA["figures"].values()) <= set(DATA["sources"])


DIFFERS = {("v5p", "hbm_gigabytes_per_second")}
"""JAX has 2460 GB/s for v5p, Google's page 2765."""


@pytest.mark.parametrize("name", CHIPS)
def test_figures_agree_with_the_public_documents(name: str) -> None:
    chip, page = CHIPS[name], DATA["documented"][name]
    figures = {
        "bfloat16_teraflops": chip.peak_flops.bfloat16 / 1e12,
        "hbm_gigabytes_per_second": chip.hbm_bytes_per_second / 1e9,
        "hbm_gibibytes": chip.hbm_bytes / 2**30,
    }
    for figure, of_one_core in figures.items():
        agrees = of_one_core * chip.cores_of_chip == pytest.approx(page[figure], rel=0.03)
        assert agrees is ((name, figure) not in DIFFERS), figure


@pytest.mark.parametrize(
    ("name", "gigahertz"), [("v4", 1.05), ("v5e", 1.50), ("v5p", 1.75), ("v6e", 1.75), ("v7x", 2.20)]
)
def test_the_clock_follows_from_the_peak(name: str, gigahertz: float) -> None:
    assert CHIPS[name].bundles_per_second / 1e9 == pytest.approx(gigahertz, abs=0.01)


@pytest.mark.parametrize(("name", "cores"), [("v4", 2), ("v5e", 1), ("v5p", 2), ("v6e", 1), ("v7x", 1)])
def test_cores_share_a_call_where_the_chip_supports_megacore(name: str, cores: int) -> None:
    assert CHIPS[name].cores_of_call == cores


def test_the_flops_of_a_bundle_are_those_measured() -> None:
    from pallas_lens.knowledge.op_costs import matmul_rows

    for name, chip in CHIPS.items():
        measured = [
            figure.flops_per_bundle
            for row in matmul_rows()
            if row.dtype == "bfloat16" and (figure := row.figures.get(name)) and figure.flops_per_bundle
        ]
        assert chip.bfloat16_flops_per_bundle == max(measured)
