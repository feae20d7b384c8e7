"""What the client says about interpreters that cannot serve, and what it keeps from the worker's environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from jax_environments import JaxEnvironment
from pallas_lens.runtime.client import EnvironmentLacks, InterpreterUnusable, RuntimeClient
from pallas_lens.runtime.protocol import Job

_JOB = Job(id="1", mode="lower", path="kernel.py", function="call", source="def call():\n    return 1\n")


def start(interpreter: Path, packages: Path | None = None, mode: str = "lower") -> None:
    """Run a job, with a folder of packages that hides others."""
    variables = dict(os.environ)
    if packages is not None:
        variables["PYTHONPATH"] = str(packages)
    with RuntimeClient(interpreter, environment=variables) as client:
        client.run(replace(_JOB, mode=mode))


def test_no_such_interpreter(tmp_path: Path) -> None:
    with pytest.raises(InterpreterUnusable, match="cannot be started"):
        start(tmp_path / "python")


@pytest.mark.skipif(shutil.which("true") is None, reason="needs the program `true`")
def test_not_a_python() -> None:
    with pytest.raises(InterpreterUnusable, match="is not a Python interpreter"):
        start(Path(str(shutil.which("true"))))


def test_python_without_jax(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "empty")], check=True)
    interpreter = tmp_path / "empty" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    with pytest.raises(EnvironmentLacks, match="has no JAX") as caught:
        start(interpreter)
    assert caught.value.what == "jax"
    assert f"{interpreter} -m pip install" in caught.value.remedy


def test_jax_too_old(environment: JaxEnvironment, tmp_path: Path) -> None:
    (tmp_path / "jax.py").write_text("__version__ = '0.6.2'\n")
    with pytest.raises(EnvironmentLacks, match=r"JAX 0\.6\.2; running kernels needs 0\.7 or later"):
        start(environment.interpreter, tmp_path)


def test_jax_without_pallas(environment: JaxEnvironment, tmp_path: Path) -> None:
    (tmp_path / "jax.py").write_text("__version__ = '0.9.0'\n")
    with pytest.raises(EnvironmentLacks, match="no Pallas for TPU") as caught:
        start(environment.interpreter, tmp_path)
    assert caught.value.what == "pallas"


def test_jax_that_breaks_on_import(environment: JaxEnvironment, tmp_path: Path) -> None:
    (tmp_path / "jax.py").write_text("raise RuntimeError('this jaxlib is old')\n")
    with pytest.raises(EnvironmentLacks, match="cannot import its JAX: RuntimeError: this jaxlib is old"):
        start(environment.interpreter, tmp_path)


def test_no_libtpu(environment: JaxEnvironment, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['libtpu'] = None\n")
    with pytest.raises(EnvironmentLacks, match="libtpu") as caught:
        start(environment.interpreter, tmp_path, mode="compile")
    assert caught.value.what == "libtpu"
    start(environment.interpreter, tmp_path, mode="lower")


def test_closed(environment: JaxEnvironment) -> None:
    client = RuntimeClient(environment.interpreter)
    client.close()
    with pytest.raises(InterpreterUnusable, match="closed"):
        client.run(_JOB)


def test_versions(client: RuntimeClient, environment: JaxEnvironment) -> None:
    facts = client.facts()
    assert (facts.python, facts.jax) == (environment.python, environment.jax)
    if sys.platform.startswith("linux"):
        assert facts.libtpu == environment.libtpu


def test_packages_of_the_server_stay_with_the_server(environment: JaxEnvironment, tmp_path: Path) -> None:
    bundled = tmp_path / "bundled"
    (bundled / "pygls").mkdir(parents=True)
    (bundled / "pygls" / "__init__.py").touch()
    users = tmp_path / "users"
    users.mkdir()
    (users / "settings_of_mine.py").write_text("WIDTH = 128\n")
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join([str(bundled), str(users)])}
    source = """
import importlib.util
import sys

from settings_of_mine import WIDTH

assert importlib.util.find_spec("pygls") is None or "bundled" not in importlib.util.find_spec("pygls").origin
assert not {"pygls", "lsprotocol", "jedi"} & set(sys.modules)
assert not [entry for entry in sys.path if entry.rstrip("/").endswith(("worker", "server"))], sys.path

def call(x):
    return x * WIDTH
"""
    job = Job(
        id="1", mode="lower", path=str(tmp_path / "kernel.py"), function="call", source=source, arguments="f32[8]"
    )
    with RuntimeClient(environment.interpreter, environment=variables) as client:
        (result,) = client.run(job).results
    assert result.verdict == "accepted", result
