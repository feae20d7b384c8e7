"""What hovers say of the cores that share a call: which axes are split, steps of each core, idle time."""

from __future__ import annotations

from pallas_lens.model.chip import Chip
from pallas_lens.model.core_split import PARALLEL, CoreSplit, core_split
from pallas_lens.model.kernel_call import Form, Semantics
from pallas_lens.model.unknown import Unknown

from .hover_text import Seen, number_text


def split_clauses(seen: Seen) -> list[str]:
    """How chips with two cores share the call: "v4, v5p: axis 0 is split, 4 steps a core"."""
    told: dict[str, list[Chip]] = {}
    for chip in seen.chips:
        if chip.cores_of_call > 1:
            split = core_split(seen.call, chip)
            if isinstance(split, CoreSplit):
                told.setdefault(_split_text(split), []).append(chip)
            elif asks_for_a_split(seen):
                told.setdefault(f"what its cores share is not known: {split.reason}", []).append(chip)
    return [f"{', '.join(map(_name, chips))}: {text}" for text, chips in told.items()]


def lone_cores(seen: Seen) -> str:
    """Why the other core of a chip takes no part although an axis is parallel; "" where there is no such chip."""
    names = [chip.name for chip in seen.chips if chip.cores_of_chip > chip.cores_of_call]
    if not names or not asks_for_a_split(seen):
        return ""
    return f"{', '.join(names)}: each of the chip's two cores is a device of its own, and a call runs on one"


def asks_for_a_split(seen: Seen) -> bool:
    """Whether an axis is ``parallel``."""
    semantics = seen.call.semantics
    return (
        seen.call.form is Form.PALLAS_CALL
        and isinstance(semantics, Semantics)
        and not isinstance(semantics.entries, Unknown)
        and PARALLEL in semantics.entries
    )


def _name(chip: Chip) -> str:
    return chip.name if chip.cores == chip.cores_of_call else f"{chip.name} as one device"


def _split_text(split: CoreSplit) -> str:
    if not split.axes:
        return f"one core of {split.cores} does all steps"
    if split.merges_axes:
        axes = f"axes {', '.join(map(str, split.axes))} are made one, the slowest, and split"
    else:
        axes = f"axis {split.axes[0]} is split"
    steps = [
        ("?" if isinstance(count, Unknown) else number_text(count) if isinstance(count, int) else f"`{count}`")
        for count in split.steps
    ]
    each = f"{steps[0]} steps a core" if len(set(steps)) == 1 else f"{' and '.join(steps)} steps"
    idle = split.idle_share
    return f"{axes}, {each}" + (f", {100 * idle:.0f} % idle" if idle else "")
