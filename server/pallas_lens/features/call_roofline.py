"""The roofline of a call on a chip, from its windows' traffic and its kernel's work."""

from __future__ import annotations

from collections.abc import Sequence

from pallas_lens.model.chip import Chip
from pallas_lens.model.core_split import core_split
from pallas_lens.model.grid import step_count
from pallas_lens.model.kernel_body import KernelBody
from pallas_lens.model.kernel_call import KernelCall
from pallas_lens.model.roofline import Range, Roofline, roofline
from pallas_lens.model.unknown import Unknown

from .hover_text import bytes_text, number_text
from .step_work import step_work
from .window_walk import traffic_of

ASSUMED = "at peak rates, transfers and units overlapping without a gap"


def call_rooflines(call: KernelCall, body: KernelBody | None, chips: Sequence[Chip]) -> dict[str, Roofline | Unknown]:
    """What the call needs on each chip at least; Unknown where its steps are not a number."""
    steps = Unknown("`vmap` adds axes to the grid") if call.batch_sizes else step_count(call.grid)
    if not isinstance(steps, int):
        why = steps if isinstance(steps, Unknown) else Unknown(f"the grid has `{steps}` steps")
        return {chip.name: why for chip in chips}
    traffic, works = traffic_of(call), step_work(body, chips)
    return {chip.name: roofline(chip, steps, core_split(call, chip), traffic, works[chip.name]) for chip in chips}


def seconds_text(seconds: float) -> str:
    """A time with two or three digits in the unit that reads best: "5.1 µs", "340 ns"."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def range_text(seconds: Range) -> str:
    """A time, or the two that it lies between."""
    if seconds.is_exact:
        return seconds_text(seconds.least)
    return f"{seconds_text(seconds.least) if seconds.least else '0'} to {seconds_text(seconds.most)}"


def work_text(told: Roofline) -> str:
    """What is moved and multiplied: "4 MiB in, 512 KiB out · 537 Mflop in matmuls · 114 flop a byte"."""
    parts = [f"{bytes_text(told.traffic.bytes_in)} in, {bytes_text(told.traffic.bytes_out)} out"]
    if told.flops.most:
        up_to = "" if told.flops.is_exact else "up to "
        parts.append(f"{up_to}{_flops_text(told.flops.most)} in matmuls")
        if told.intensity is not None:
            parts.append(f"{up_to}{number_text(told.intensity.most)} flop a byte")
    return " · ".join(parts)


def _flops_text(flops: float) -> str:
    """A number of operations: "134 Mflop"."""
    for unit, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if flops >= size:
            return f"{flops / size:.3g} {unit}flop"
    return f"{flops:.0f} flop"


def at_best_text(told: Roofline) -> str:
    """ "5.1 µs, bound by HBM"; "at least" where something is left out."""
    time = seconds_text(told.at_best)
    return f"at least {time}" if told.unknown else f"{time}, bound by {' or '.join(told.bounds)}"
