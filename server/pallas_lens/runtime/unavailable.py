"""Why the runtime cannot serve, and what to do about it."""

from __future__ import annotations

import platform
import sys
from pathlib import Path

from .protocol import Unavailable


class RuntimeUnavailable(Exception):
    """The runtime cannot serve. `message` says why, `remedy` what to do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(f"{message} {remedy}")
        self.message = message
        self.remedy = remedy


class EnvironmentLacks(RuntimeUnavailable):
    """The user's interpreter lacks something: `what` is `python`, `jax`, `pallas` or `libtpu`."""

    def __init__(self, what: str, message: str, remedy: str) -> None:
        super().__init__(message, remedy)
        self.what = what


class InterpreterUnusable(RuntimeUnavailable):
    """The interpreter does not start, or does not speak the protocol."""


def lacks(interpreter: Path, unavailable: Unavailable) -> EnvironmentLacks:
    """What the worker said at its start, in words for people."""
    install = f"Install it with `{interpreter} -m pip install -U jax`, or choose another Python interpreter."
    if unavailable.lacks == "python":
        message = f"{interpreter} is Python {unavailable.found}, which has no JAX that is recent enough."
        return EnvironmentLacks("python", message, "Choose an interpreter of Python 3.10 or later.")
    if unavailable.lacks == "working jax":
        return EnvironmentLacks("jax", f"{interpreter} cannot import its JAX: {unavailable.detail}.", install)
    if unavailable.lacks == "jax" and unavailable.found is None:
        return EnvironmentLacks("jax", f"{interpreter} has no JAX: {unavailable.detail}.", install)
    if unavailable.lacks == "jax":
        message = f"{interpreter} has JAX {unavailable.found}; running kernels needs 0.7 or later."
        return EnvironmentLacks("jax", message, install)
    message = f"The JAX {unavailable.found} of {interpreter} has no Pallas for TPU: {unavailable.detail}."
    return EnvironmentLacks("pallas", message, install)


def lacks_libtpu(interpreter: Path) -> EnvironmentLacks:
    """There is no TPU compiler: none in the environment, or none for this system."""
    if sys.platform.startswith("linux") and platform.machine() == "x86_64":
        remedy = f"Install it with `{interpreter} -m pip install libtpu`; it needs no TPU."
        return EnvironmentLacks("libtpu", f"{interpreter} has no libtpu, which holds the TPU compiler.", remedy)
    return EnvironmentLacks(
        "libtpu",
        "The TPU compiler, libtpu, exists for Linux on x86-64 only.",
        "Use mode `lower`, which needs no libtpu, or open the folder on such a machine (Remote - SSH).",
    )
