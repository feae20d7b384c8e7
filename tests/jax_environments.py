"""The Python interpreters with JAX that tests run kernels in.

They are those which the environment variable PALLAS_LENS_JAX_PYTHONS lists, else those of `.environments/*` in the
repository. Under CI=true it is a failure to find none; elsewhere the tests which need one are skipped, and say so.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

_VARIABLE = "PALLAS_LENS_JAX_PYTHONS"
_ROOT = Path(__file__).parents[1]
_ASK_FOR_VERSIONS = """
import importlib.metadata, platform
def version(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "-"
print(platform.python_version(), version("jax"), version("libtpu"))
"""
_NONE = (
    f"no Python with JAX found: set {_VARIABLE} to interpreters, separated by {os.pathsep!r}, or make environments in "
    ".environments/"
)


@dataclass(frozen=True, slots=True)
class JaxEnvironment:
    """An interpreter with JAX; `libtpu` is None where it has no TPU compiler."""

    interpreter: Path
    python: str
    jax: str
    libtpu: str | None


@cache
def jax_environments() -> tuple[JaxEnvironment, ...]:
    """Every interpreter found that has JAX; one listed in the variable without JAX is an error."""
    listed = [Path(entry) for entry in os.environ.get(_VARIABLE, "").split(os.pathsep) if entry]
    interpreters = listed or sorted(
        [*_ROOT.glob(".environments/*/bin/python"), *_ROOT.glob(".environments/*/Scripts/python.exe")]
    )
    found = []
    for interpreter in interpreters:
        environment = _ask(interpreter)
        if environment is not None:
            found.append(environment)
        elif listed:
            raise pytest.UsageError(f"{_VARIABLE} lists {interpreter}, which has no JAX")
    return tuple(found)


def environment_params() -> list[object]:
    """Parameters for pytest, one for each environment, named by its JAX version."""
    environments = jax_environments()
    if environments:
        return [pytest.param(environment, id=f"jax-{environment.jax}") for environment in environments]
    if os.environ.get("CI") == "true":
        raise pytest.UsageError(_NONE)
    return [pytest.param(None, id="no-jax", marks=pytest.mark.skip(reason=_NONE))]


def _ask(interpreter: Path) -> JaxEnvironment | None:
    try:
        answer = subprocess.run(
            [str(interpreter), "-c", _ASK_FOR_VERSIONS], capture_output=True, text=True, check=True, timeout=60
        )
    except (OSError, subprocess.SubprocessError):
        return None
    python, jax, libtpu = answer.stdout.split()
    return None if jax == "-" else JaxEnvironment(interpreter, python, jax, None if libtpu == "-" else libtpu)
