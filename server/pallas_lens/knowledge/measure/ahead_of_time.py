"""Compiles a Pallas call for a chip that is not there, and reads what the compiler says of it.

Import this before anything imports jax: libtpu reads its environment once a process.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TPU_SKIP_MDS_QUERY", "1")
os.environ.setdefault("TPU_WORKER_HOSTNAMES", "localhost")
# Without it a second process that loads libtpu aborts on a lock file.
os.environ.setdefault("ALLOW_MULTIPLE_LIBTPU_LOAD", "1")

import jax
from jax.experimental import topologies
from jax.sharding import AbstractDevice, AbstractMesh, SingleDeviceSharding

from pallas_lens.knowledge.chips import CHIPS


@dataclass(frozen=True, slots=True)
class Compiled:
    """An accepted program: the optimised HLO as text."""

    text: str

    @property
    def scoped_vmem_bytes(self) -> int | None:
        """Bytes of VMEM that the kernel's own allocations take; None where no kernel is left in the program."""
        calls = [line for line in self.text.splitlines() if "tpu_custom_call" in line]
        if not calls:
            return None
        configured = re.search(r'"used_scoped_memory_configs":\[(.*?)\]', calls[0])
        if configured is None:
            return 0
        size = re.search(r'"memory_space":"1","offset":"0","size":"(\d+)"', configured[1])
        return int(size[1]) if size else 0

    @property
    def operands_in_vmem(self) -> bool:
        """Whether XLA placed a whole operand in VMEM, whose window then costs nothing."""
        return "S(1)" in self.text


@dataclass(frozen=True, slots=True)
class Refused:
    """A program that JAX (``stage`` "lower") or libtpu ("compile") refuses."""

    stage: str
    message: str


@cache
def _device(chip: str) -> Any:
    return topologies.get_topology_desc(platform="tpu", topology_name=CHIPS[chip].topology).devices[0]


@cache
def _mesh(chip: str) -> Any:
    device = _device(chip)
    abstract = AbstractDevice(platform="tpu", device_kind=device.device_kind, num_cores=getattr(device, "num_cores", 1))
    return AbstractMesh((), (), abstract_device=abstract)


def compile_for(chip: str, function: Callable[..., Any], *arguments: tuple[tuple[int, ...], Any]) -> Compiled | Refused:
    """Compiles ``function`` for one chip; ``arguments`` are (shape, dtype)."""
    sharding = SingleDeviceSharding(_device(chip))
    avals = [jax.ShapeDtypeStruct(shape, dtype, sharding=sharding) for shape, dtype in arguments]
    try:
        with jax.sharding.use_abstract_mesh(_mesh(chip)):
            lowered = jax.jit(function).lower(*avals)
    except Exception as error:
        return Refused("lower", str(error))
    try:
        return Compiled(lowered.compile().as_text() or "")
    except Exception as error:
        return Refused("compile", str(error))
