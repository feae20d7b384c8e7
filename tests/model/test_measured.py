"""The measuring programs, run on a sample: what the compiler says today is what the model and the data say."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from jax_environments import JaxEnvironment, environment_params

SERVER = Path(__file__).parents[2] / "server"


def run(environment: JaxEnvironment, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    if environment.libtpu is None:
        pytest.skip(f"{environment.interpreter} has no libtpu")
    return subprocess.run(
        [str(environment.interpreter), "-m", f"pallas_lens.knowledge.measure.{program}", *arguments],
        env={**os.environ, "PYTHONPATH": str(SERVER)},
        capture_output=True,
        text=True,
        timeout=600,
    )


@pytest.mark.parametrize("environment", environment_params())
def test_generated_kernels_take_the_bytes_that_the_model_says(environment: JaxEnvironment) -> None:
    done = run(environment, "vmem_allocations", "--count", "8", "--seed", "3", "--chip", "v5e", "--chip", "v5p")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "v5e: " in done.stdout and " 0 refused" in done.stdout


@pytest.mark.parametrize("environment", environment_params())
def test_every_allocation_of_generated_modules_is_the_compilers(environment: JaxEnvironment) -> None:
    done = run(environment, "allocations", "--count", "10", "--seed", "3")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(" equal, ") == 5


@pytest.mark.parametrize("environment", environment_params())
def test_no_error_near_the_limit_on_what_the_compiler_accepts(environment: JaxEnvironment) -> None:
    done = run(environment, "near_limit", "--count", "6", "--chip", "v5e", "--chip", "v6e")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(" accepted with nothing") == 2 and done.stdout.count(" refused with error") == 2


@pytest.mark.parametrize("environment", environment_params())
def test_a_sample_of_costs_is_measured_again(environment: JaxEnvironment) -> None:
    done = run(environment, "op_bundles", "--chip", "v5e", "--dtype", "float32", "exp", "add", "sum over lanes")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("file") == 3


@pytest.mark.parametrize("environment", environment_params())
def test_the_limits_of_a_chip_are_measured_again(environment: JaxEnvironment) -> None:
    done = run(environment, "chip_limits", "--chip", "v5p")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("file") == 4


@pytest.mark.parametrize("environment", environment_params())
def test_the_cores_of_a_chip_share_grids_as_the_model_says(environment: JaxEnvironment) -> None:
    done = run(environment, "core_split", "--chip", "v4")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("v4 ") == 21
