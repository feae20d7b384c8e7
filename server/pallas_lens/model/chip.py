"""A TPU chip as a target: names and the sizes that rules compute with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PeakFlops:
    """Floating-point or integer operations a second of one TensorCore's MXUs, by operand type; None: not told."""

    bfloat16: int
    int8: int | None = None
    float8: int | None = None
    int4: int | None = None


@dataclass(frozen=True, slots=True)
class Chip:
    """One chip, as one TensorCore sees it. Sizes in bytes, rates for one TensorCore.

    ``cores``: TensorCores of one JAX device where a program is compiled ahead of time for
    ``topology``; ``cores_of_chip``: those that the chip has. With ``supports_megacore``
    the chip can be one device whose TensorCores share a call; v4 is so in use, though its
    topology lists its cores as two devices. ``mxu_size``: rows and columns of one MXU.

    ``scoped_vmem_limit``: what a kernel may use by default; ``vmem_capacity``: what
    ``vmem_limit_bytes`` can raise it to; ``vmem_reserved``: what the compiler keeps
    of the capacity; ``smem_reserved``: the same of SMEM.
    """

    name: str
    device_kind: str
    topology: str
    generation: int
    cores: int
    cores_of_chip: int
    supports_megacore: bool
    lanes: int
    sublanes: int
    mxus: int
    mxu_size: int
    vmem_capacity: int
    scoped_vmem_limit: int
    vmem_reserved: int
    smem_capacity: int
    smem_reserved: int
    hbm_bytes: int
    hbm_bytes_per_second: int
    peak_flops: PeakFlops
    bfloat16_flops_per_bundle: int
    may_place_operands_in_vmem: bool

    @property
    def cores_of_call(self) -> int:
        """TensorCores that may share one call."""
        return self.cores_of_chip if self.supports_megacore else 1

    @property
    def bundles_per_second(self) -> float:
        """The clock of a TensorCore: it issues one bundle a cycle."""
        return self.peak_flops.bfloat16 / self.bfloat16_flops_per_bundle
