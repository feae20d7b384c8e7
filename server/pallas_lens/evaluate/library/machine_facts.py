"""What JAX tells of dtypes and chips: ``iinfo``, ``finfo``, ``itemsize_bits``, ``pltpu.get_tpu_info``."""

from __future__ import annotations

from typing import Final

from ...model.dtypes import BITS, is_floating
from ...model.tiling import LANES, SUBLANES
from ..arguments import Arguments
from ..array_types import dtype_name
from ..machine import Machine
from ..values import Dtype, External, Opaque, Value
from .python import TableFunction, unknown_call

_DTYPE_FACTS: Final = "pallas_lens.dtype_facts"
_CHIP_FACTS: Final = "pallas_lens.chip_facts"
_SAME_ON_ALL: Final = {"num_lanes": LANES, "num_sublanes": SUBLANES}


def _dtype_facts(machine: Machine, arguments: Arguments) -> Value:
    dtype = _dtype(machine, arguments)
    if dtype is None:
        return unknown_call(machine, "dtype info", arguments)
    return External(f"{_DTYPE_FACTS}.{dtype}")


def _bits(machine: Machine, arguments: Arguments) -> Value:
    dtype = _dtype(machine, arguments)
    return unknown_call(machine, "itemsize_bits", arguments) if dtype is None else BITS[dtype]


def _dtype(machine: Machine, arguments: Arguments) -> str | None:
    value = machine.settled(arguments.get(0, "dtype", arguments.get(0, "type")))
    named = dtype_name(value)
    return named if isinstance(named, str) and named in BITS else None


def _tpu_info(machine: Machine, arguments: Arguments) -> Value:
    return External(_CHIP_FACTS)


def _sublane_tiling(machine: Machine, arguments: Arguments) -> Value:
    dtype = _dtype(machine, arguments)
    if dtype is None:
        return unknown_call(machine, "get_sublane_tiling", arguments)
    if BITS[dtype] == 16:
        reason = f"the tiling of {dtype} is {SUBLANES} rows before v7x and {2 * SUBLANES} from there on"
        return machine.fresh(f"get_sublane_tiling({dtype})", reason)
    return SUBLANES * max(32 // BITS[dtype], 1)


def fact(path: str) -> Value | None:
    """The value of an attribute of one of these objects, None where ``path`` is none."""
    owner, _, name = path.rpartition(".")
    if owner == _CHIP_FACTS:
        if name == "get_sublane_tiling":
            return External(path)
        return _SAME_ON_ALL.get(name, Opaque(f"get_tpu_info().{name}", f"`{name}` differs from chip to chip"))
    if owner.startswith(f"{_DTYPE_FACTS}."):
        return _of_dtype(owner.rpartition(".")[2], name)
    return None


def _of_dtype(dtype: str, name: str) -> Value:
    if name == "bits":
        return BITS[dtype]
    if name == "dtype":
        return Dtype(dtype)
    if is_floating(dtype):
        return Opaque(f"finfo({dtype}).{name}", "a float that is not followed", is_float=True)
    unsigned = dtype.startswith("uint")
    if name == "max":
        return int(2 ** (BITS[dtype] - (0 if unsigned else 1)) - 1)
    if name == "min":
        return 0 if unsigned else int(-(2 ** (BITS[dtype] - 1)))
    return Opaque(f"iinfo({dtype}).{name}", "it is not followed")


FUNCTIONS: Final[dict[str, TableFunction]] = {
    **{
        f"{module}.{name}": _dtype_facts
        for module in ("jax.numpy", "numpy", "ml_dtypes")
        for name in ("iinfo", "finfo")
    },
    "jax.dtypes.finfo": _dtype_facts,
    "jax.dtypes.iinfo": _dtype_facts,
    **{
        f"{module}.{name}": _bits
        for module in ("jax.dtypes", "jax._src.dtypes")
        for name in ("itemsize_bits", "bit_width")
    },
    "jax.experimental.pallas.tpu.get_tpu_info": _tpu_info,
    f"{_CHIP_FACTS}.get_sublane_tiling": _sublane_tiling,
}
