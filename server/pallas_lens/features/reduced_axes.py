"""Which axes a reduction takes away, told from the shapes before and after."""

from __future__ import annotations

from pallas_lens.model.kernel_call import ArrayType
from pallas_lens.model.unknown import Unknown


def reduced_axes(before: ArrayType, after: ArrayType | None) -> tuple[int, ...] | None:
    """The axes, counted from the front; None where the shapes do not tell (or allow two readings)."""
    if after is None or isinstance(before.shape, Unknown) or isinstance(after.shape, Unknown):
        return None
    if any(isinstance(dim, Unknown) for dim in (*before.shape, *after.shape)):
        return None
    source, target = before.shape, after.shape
    if target == () and source:
        return tuple(range(len(source)))
    if len(source) == len(target):
        kept = tuple(axis for axis, (old, new) in enumerate(zip(source, target, strict=True)) if old != new)
        return kept if kept and all(target[axis] == 1 for axis in kept) else None
    if len(source) == len(target) + 1:
        fits = [axis for axis in range(len(source)) if source[:axis] + source[axis + 1 :] == target]
        return (fits[0],) if len(fits) == 1 else None
    return None
