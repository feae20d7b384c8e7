"""What the user's interpreter has: Python, JAX, libtpu."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
import platform
import re
import sys

from ..protocol import PROTOCOL_VERSION, Ready, Unavailable

_OLDEST_JAX = (0, 7)

# Imported before the first job, so that each job finds them loaded.
_WARM = (
    "jax.numpy",
    "jax.experimental.pallas",
    "jax.experimental.pallas.tpu",
    "jax.experimental.topologies",
    "jax._src.pallas.mosaic.lowering",
    "jax._src.pallas.mosaic.pallas_call_registration",
    "jax._src.pallas.mosaic.interpret.interpret_pallas_call",
    "numpy.random",
)


def import_jax(parallel: bool) -> Ready | Unavailable:
    """Import JAX and its TPU Pallas, without making a backend."""
    try:
        jax = importlib.import_module("jax")
        version = str(jax.__version__)
    except ModuleNotFoundError as error:
        return Unavailable("jax" if error.name == "jax" else "working jax", None, str(error))
    except Exception as error:
        return Unavailable("working jax", None, f"{type(error).__name__}: {error}")
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < _OLDEST_JAX:
        return Unavailable("jax", version, f"JAX {version} is older than 0.7")
    for name in _WARM:
        try:
            importlib.import_module(name)
        except Exception as error:
            if name.startswith("jax.experimental.pallas"):
                return Unavailable("pallas", version, f"{type(error).__name__}: {error}")
    return Ready(PROTOCOL_VERSION, platform.python_version(), version, libtpu_version(), parallel)


def libtpu_version() -> str | None:
    """The version of libtpu, `unknown` for one without package metadata, None where there is none."""
    if not sys.platform.startswith("linux") or platform.machine() != "x86_64":
        return None
    path = os.environ.get("TPU_LIBRARY_PATH")
    if importlib.util.find_spec("libtpu") is None and not (path and os.path.exists(path)):
        return None
    try:
        return importlib.metadata.version("libtpu")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"
