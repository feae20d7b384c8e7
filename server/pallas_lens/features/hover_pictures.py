"""The pictures of hovers and of the command line: the walk of a window, and the VMEM of a call."""

from __future__ import annotations

from collections.abc import Iterable

from pallas_lens.model.kernel_call import KernelCall, Operand
from pallas_lens.model.unknown import Unknown
from pallas_lens.model.vmem import MemoryUse

from .hover_text import Seen, ref_name
from .pictures.block_map import block_map
from .pictures.blocks_svg import blocks_svg
from .pictures.blocks_text import blocks_text
from .pictures.memory_bar import Bar, Part, memory_picture
from .pictures.picture import Picture, PictureForm
from .window_walk import block_walk


def walk_markdown(operand: Operand, seen: Seen) -> str:
    """The picture of the operand's walk in the form that the editor takes; "" where there is none."""
    if seen.pictures is PictureForm.NONE:
        return ""
    picture = walk_picture(operand, seen.call)
    return "" if picture is None else picture.markdown(seen.pictures)


def vmem_markdown(uses: Iterable[MemoryUse], seen: Seen) -> str:
    """The picture of the call's VMEM in the form that the editor takes; "" where there is none."""
    if seen.pictures is PictureForm.NONE:
        return ""
    picture = vmem_picture(uses, seen.call)
    return "" if picture is None else picture.markdown(seen.pictures)


def walk_picture(operand: Operand, call: KernelCall) -> Picture | None:
    """The array of an input or output cut into blocks; None where grid, shapes or index map are no numbers."""
    walk = block_walk(operand, call)
    plane = None if walk is None else block_map(walk)
    if plane is None:
        return None
    return Picture(f"walk of {ref_name(call, operand)}", blocks_svg(plane), blocks_text(plane))


def vmem_picture(uses: Iterable[MemoryUse], call: KernelCall) -> Picture | None:
    """What the call uses on each chip against its limit; None where no size or no limit is a number."""
    return memory_picture([bar for use in uses if (bar := _bar(call, use)) is not None])


def _bar(call: KernelCall, use: MemoryUse) -> Bar | None:
    if isinstance(use.limit, Unknown) or use.limit <= 0:
        return None
    parts = tuple(
        Part(ref_name(call, item.operand), item.bytes)
        for item in use.items
        if isinstance(item.bytes, int) and item.bytes
    )
    return Bar((use.chip,), parts, use.limit, all(isinstance(item.bytes, int) for item in use.items))
