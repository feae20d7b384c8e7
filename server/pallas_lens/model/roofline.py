"""The roofline of a call on a chip: what HBM and each unit need at least, and which of them bounds the call.

Every figure is a lower bound: transfers and units overlap without a gap, HBM and units
run at their peak. What is not known stays out and is named; nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from .chip import Chip
from .core_split import CoreSplit
from .unknown import Unknown


class Unit(StrEnum):
    """What may bound a call: the memory, or a unit of the TensorCore."""

    HBM = "HBM"
    MXU = "MXU"
    VPU = "VPU"
    EUP = "EUP"
    XLU = "XLU"


@dataclass(frozen=True, slots=True)
class Range:
    """A figure that conditions in the kernel leave open: without what stands under them, and with it at every step."""

    least: float = 0.0
    most: float = 0.0

    def __add__(self, other: Range) -> Range:
        return Range(self.least + other.least, self.most + other.most)

    def scaled(self, factor: float) -> Range:
        """Both ends times ``factor``."""
        return Range(self.least * factor, self.most * factor)

    @property
    def is_exact(self) -> bool:
        """Whether nothing is left open."""
        return self.least == self.most


@dataclass(frozen=True, slots=True)
class StepWork:
    """What the kernel does in one step of the grid on one chip, as far as known.

    ``flops``: of its matmuls; ``bundles``: by unit, how many bundles its operations fill
    there at least; ``unknown``: what is left out, and why.
    """

    flops: Range = field(default_factory=Range)
    bundles: Mapping[Unit, Range] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes between HBM and the windows, as if one core did all steps; ``unknown``: what is left out, and why."""

    bytes_in: int
    bytes_out: int
    unknown: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """Both ways together."""
        return self.bytes_in + self.bytes_out


@dataclass(frozen=True, slots=True)
class Roofline:
    """What a call needs on a chip at least.

    ``seconds`` by unit; a unit that nothing is known to use is missing. ``bound``: the
    unit that needs longest whatever is left open; None where that cannot be told.
    ``flops``: of the matmuls of all steps. ``cores``: how many do a part of the steps.
    ``unknown``: what is left out.
    """

    chip: str
    cores: int
    traffic: Traffic
    flops: Range
    seconds: Mapping[Unit, Range]
    bound: Unit | None
    unknown: tuple[str, ...]

    @property
    def at_best(self) -> float:
        """Seconds that the call takes at least."""
        return max((time.least for time in self.seconds.values()), default=0.0)

    @property
    def bounds(self) -> tuple[Unit, ...]:
        """The units that may need longest: ``bound``, or those among which conditions in the kernel decide."""
        return (
            (self.bound,) if self.bound else tuple(u for u, time in self.seconds.items() if time.most >= self.at_best)
        )

    @property
    def intensity(self) -> Range | None:
        """Flops of matmuls for each byte moved; None where nothing is known to be moved."""
        return self.flops.scaled(1 / self.traffic.total) if self.traffic.total and not self.traffic.unknown else None


def roofline(
    chip: Chip, steps: int, split: CoreSplit | Unknown, traffic: Traffic, work: StepWork
) -> Roofline | Unknown:
    """The roofline of a call of that many steps, shared as ``split`` says; Unknown where that is."""
    if isinstance(split, Unknown):
        return split
    busiest = split.steps[0]
    if not isinstance(busiest, int):
        return busiest if isinstance(busiest, Unknown) else Unknown(f"a core does {busiest} steps")
    at_work = sum(1 for count in split.steps if count != 0)
    seconds = {}
    if traffic.total:
        moved = traffic.total / (chip.hbm_bytes_per_second * max(at_work, 1))
        seconds[Unit.HBM] = Range(moved, moved)
    for unit, bundles in work.bundles.items():
        if bundles.most:
            seconds[unit] = bundles.scaled(busiest / chip.bundles_per_second)
    unknown = (*traffic.unknown, *work.unknown)
    bound = None if unknown else _bound(seconds)
    return Roofline(chip.name, max(at_work, 1), traffic, work.flops.scaled(steps), seconds, bound, unknown)


def _bound(seconds: Mapping[Unit, Range]) -> Unit | None:
    for unit, time in seconds.items():
        if all(time.least >= other.most for name, other in seconds.items() if name is not unit):
            return unit
    return None
