"""Wheels of public projects with Pallas kernels, to read: fetched once into ``.cache/wheels``, never installed.

``PALLAS_LENS_WHEELS`` may name a folder that has them already. Under CI=true a wheel that cannot be had is a
failure; elsewhere the tests that need it are skipped, and say so.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pytest

VERSIONS = {
    "jax": "0.12.0.1",
    "tokamax": "0.0.17",
    "tpu-inference": "0.32.0",
    "ejkernel": "0.0.80.3",
    "maxtext": "0.2.5",
    "qwix": "0.1.8",
    "aqtp": "0.9.0",
}
_CACHE = Path(__file__).parents[1] / ".cache" / "wheels"
_VARIABLE = "PALLAS_LENS_WHEELS"
# The Python that all of these releases allow; their code is only read, whatever Python runs the tests.
_ALLOWED_PYTHON = "3.13"


def unpacked_wheel(package: str) -> Path:
    """The folder of an unzipped wheel of the pinned version."""
    folder = _CACHE / f"{package}-{VERSIONS[package]}"
    if folder.is_dir():
        return folder
    _CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=_CACHE) as temporary:
        wheel = _found(package, Path(temporary))
        made = Path(temporary) / "unpacked"
        zipfile.ZipFile(wheel).extractall(made)
        try:
            made.rename(folder)
        except OSError:
            # Another process was faster.
            assert folder.is_dir()
    return folder


def _found(package: str, folder: Path) -> Path:
    pattern = f"{package.replace('-', '_')}-{VERSIONS[package]}-*.whl"
    given = os.environ.get(_VARIABLE)
    if given:
        wheels = sorted(Path(given).glob(pattern))
        if wheels:
            return wheels[0]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary", ":all:", "--python-version", _ALLOWED_PYTHON, "--dest", str(folder)]
    outcome = subprocess.run(
        [*command, f"{package}=={VERSIONS[package]}"], capture_output=True, text=True, check=False, timeout=300
    )
    wheels = sorted(folder.glob(pattern))
    if wheels:
        return wheels[0]
    said = (outcome.stderr or outcome.stdout).strip().splitlines()[-1:]
    message = f"the wheel of {package} {VERSIONS[package]} cannot be had: {''.join(said)}"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)
