"""A kernel call in characters: the walk over each array, VMEM against the limit, the roofline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import indent

from pallas_lens.features.call_roofline import at_best_text, call_rooflines, range_text, work_text
from pallas_lens.features.hover_pictures import vmem_picture, walk_picture
from pallas_lens.model.chip import Chip
from pallas_lens.model.kernel_call import Role
from pallas_lens.model.module_facts import Specialised
from pallas_lens.model.roofline import Roofline
from pallas_lens.model.unknown import Unknown
from pallas_lens.model.vmem import MemoryUse, vmem_of


def kernel_drawing(specialised: Specialised, chips: Sequence[Chip]) -> str:
    """What can be drawn of the likeliest reading; "" where shapes, grid and index maps are no numbers."""
    return "".join(f"{part}\n" for part in _parts(specialised, chips))


def _parts(specialised: Specialised, chips: Sequence[Chip]) -> Iterator[str]:
    call, body = specialised.worlds[0], specialised.bodies[0] if specialised.bodies else None
    for operand in () if isinstance(call.operands, Unknown) else call.operands:
        picture = walk_picture(operand, call) if operand.role in (Role.INPUT, Role.OUTPUT) else None
        if picture is not None:
            yield f"  {picture.title}: {indent(picture.text, '    ').lstrip()}"
    memory = vmem_picture((use for chip in chips if isinstance(use := vmem_of(call, chip), MemoryUse)), call)
    if memory is not None:
        yield indent(memory.text, "  ")
    rooflines = call_rooflines(call, body, chips).values()
    told = [one for one in rooflines if isinstance(one, Roofline) and one.seconds]
    if told:
        yield f"  roofline: {work_text(told[0])}"
    for one in told:
        times = ", ".join(f"{unit} {range_text(seconds)}" for unit, seconds in one.seconds.items())
        yield f"    {one.chip}: {at_best_text(one)} ({times})"
    left_out = dict.fromkeys(reason for one in told for reason in one.unknown)
    if left_out:
        yield f"    left out: {'; '.join(left_out)}"
