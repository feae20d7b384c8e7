"""libtpu's compiler on the user's function for a chip; needs libtpu, but no TPU."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import jax
from jax.experimental import topologies

from ..protocol import Vmem
from .abstract_chip import AbstractChip, on_chip
from .arguments import Arguments
from .traceable import traceable

_USED_SCOPED_VMEM = re.compile(r'"used_scoped_memory_configs":\[\{"memory_space":"1","offset":"\d+","size":"(\d+)"')
_OVER_LIMIT = re.compile(
    r"Scoped allocation with size (?P<used>[\d.]+[KMG]?) and limit (?P<limit>[\d.]+[KMG]?)"
    r"|Used (?P<used_all>[\d.]+[KMG]?) of (?P<limit_all>[\d.]+[KMG]?) vmem"
)
_UNITS = {"K": 1024, "M": 1024**2, "G": 1024**3}


class NoTopology(Exception):
    """libtpu does not know the chip, or cannot be loaded."""


def compile_for_chip(
    function: Callable[..., Any], arguments: Arguments, chip: AbstractChip, enter_stage: Callable[[str], None]
) -> Vmem | None:
    """Trace, lower and compile the function; returns the scoped VMEM it uses, None where it has no Pallas kernel.

    Raises what JAX, the compiler or the user's code raises, and NoTopology.
    """
    device = _device(chip)
    of_device = AbstractChip(device.device_kind, getattr(device, "num_cores", None) or chip.cores, chip.topology)
    sharding = jax.sharding.SingleDeviceSharding(device)
    with on_chip(of_device):
        of_arrays, shapes = traceable(function, arguments)
        placed = [jax.ShapeDtypeStruct(shape.shape, shape.dtype, sharding=sharding) for shape in shapes]
        enter_stage("trace")
        traced = jax.jit(of_arrays, out_shardings=sharding).trace(*placed)
        enter_stage("lower")
        lowered = traced.lower(lowering_platforms=("tpu",))
        enter_stage("compile")
        compiled = lowered.compile()
    used = [int(size) for size in _USED_SCOPED_VMEM.findall(compiled.as_text() or "")]
    return Vmem(max(used), None) if used else None


def _device(chip: AbstractChip) -> Any:
    try:
        return topologies.get_topology_desc(platform="tpu", topology_name=chip.topology).devices[0]
    except Exception as error:
        raise NoTopology(f"libtpu cannot compile for {chip.topology}: {error}") from error


def vmem_of_refusal(error: BaseException) -> Vmem | None:
    """The VMEM figures in the compiler's out-of-memory message, None where it is another message."""
    match = _OVER_LIMIT.search(str(error))
    if match is None:
        return None
    used = match["used"] or match["used_all"]
    limit = match["limit"] or match["limit_all"]
    return Vmem(_bytes(used), _bytes(limit))


def _bytes(text: str) -> int:
    unit = _UNITS.get(text[-1])
    return int(float(text)) if unit is None else int(float(text[:-1]) * unit)
