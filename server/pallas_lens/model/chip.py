"""A TPU chip as a target: names and the sizes that rules compute with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Chip:
    """One chip, as one TensorCore sees it. Sizes in bytes.

    ``scoped_vmem_limit``: what a kernel may use by default; ``vmem_capacity``: what
    ``vmem_limit_bytes`` can raise it to; ``vmem_reserved``: what the compiler keeps
    of the capacity; ``smem_reserved``: the same of SMEM.
    """

    name: str
    device_kind: str
    topology: str
    generation: int
    cores: int
    lanes: int
    sublanes: int
    vmem_capacity: int
    scoped_vmem_limit: int
    vmem_reserved: int
    smem_capacity: int
    smem_reserved: int
    hbm_bytes_per_second: int
    may_place_operands_in_vmem: bool
