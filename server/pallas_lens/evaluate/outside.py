"""Names from outside the workspace: what stands behind their dotted paths."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from ..model.dtypes import from_short_name
from ..model.kernel_call import MemorySpace
from . import library
from .values import Dtype, External, MemorySpaceValue, Value

_SPACES: Final = {
    "VMEM": MemorySpace.VMEM,
    "SMEM": MemorySpace.SMEM,
    "ANY": MemorySpace.ANY,
    "HBM": MemorySpace.HBM,
    "HOST": MemorySpace.HOST,
    "CMEM": MemorySpace.CMEM,
    "VMEM_SHARED": MemorySpace.VMEM_SHARED,
    "SEMAPHORE": MemorySpace.SEMAPHORE,
}
_SPACE_OWNERS: Final = frozenset(
    {
        "jax.experimental.pallas",
        "jax.experimental.pallas.tpu",
        "jax.experimental.pallas.MemorySpace",
        "jax.experimental.pallas.tpu.MemorySpace",
        "jax.experimental.pallas.tpu.TPUMemorySpace",
    }
)
_REAL_PATHS: Final = {
    "jax._src.pallas.core": "jax.experimental.pallas",
    "jax._src.pallas.pallas_call": "jax.experimental.pallas",
    "jax._src.pallas.primitives": "jax.experimental.pallas",
    "jax._src.pallas.mosaic.core": "jax.experimental.pallas.tpu",
    "jax._src.pallas.mosaic.primitives": "jax.experimental.pallas.tpu",
    "jax._src.pallas.mosaic.pipeline": "jax.experimental.pallas.tpu",
    "jax._src.pallas.mosaic.tpu_info": "jax.experimental.pallas.tpu",
    "jax._src.shard_map": "jax.experimental.shard_map",
    "jax._src.lax.lax": "jax.lax",
    "jax._src.numpy": "jax.numpy",
}


@lru_cache(maxsize=4096)
def external(path: str) -> Value:
    """The value of a name outside the workspace: a dtype, a memory space, or the name itself."""
    owner, _, name = path.rpartition(".")
    owner = _REAL_PATHS.get(owner, owner)
    if owner.startswith("pallas_lens."):
        found = library.fact(path)
        if found is not None:
            return found
    if owner in ("jax.numpy", "numpy", "ml_dtypes"):
        plain = "bool" if name == "bool_" else name
        if name != "bool" and from_short_name(plain) == plain:
            return Dtype(plain)
        if name == "newaxis":
            return None
        if name == "inf":
            return float("inf")
        if name == "pi":
            return 3.141592653589793
    if owner in _SPACE_OWNERS and name in _SPACES:
        return MemorySpaceValue(_SPACES[name])
    if owner == "math" and name in ("inf", "pi"):
        return float("inf") if name == "inf" else 3.141592653589793
    return External(f"{owner}.{name}" if owner else name)
