"""What an operation costs: bundles per vreg as measured, its tier, and how many vregs a value fills."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import prod

from .tiling import LANES, SUBLANES, memory_bits, padded_shape

VREG_BITS = SUBLANES * LANES * 32
"""Bits of a vector register: (8, 128) words of 32 bits, 4 KiB."""


class Tier(StrEnum):
    """By measured bundles per vreg: up to 1, up to 10, above."""

    CHEAP = "🟢"
    MEDIUM = "🌕"
    EXPENSIVE = "🔴"


def tier(bundles: float) -> Tier:
    """The tier of a cost in bundles per vreg."""
    if bundles <= 1:
        return Tier.CHEAP
    return Tier.MEDIUM if bundles <= 10 else Tier.EXPENSIVE


@dataclass(frozen=True, slots=True)
class Figure:
    """One measurement on one chip.

    ``bundles`` per vreg; None where the operation is refused, by ``refused_by``
    ("JAX" or "libtpu"). ``units``: slots per vreg of each unit, by the compiler's names.
    """

    bundles: float | None
    units: Mapping[str, float]
    refused_by: str | None = None


@dataclass(frozen=True, slots=True)
class CostRow:
    """An operation on one dtype. ``expression`` is what was measured; ``per``: vregs of the "in"put or the "out"put."""

    title: str
    dtype: str
    expression: str
    per: str
    figures: Mapping[str, Figure]


@dataclass(frozen=True, slots=True)
class MatmulFigure:
    """A matmul on one chip; None where it is refused."""

    flops_per_bundle: int | None
    refused_by: str | None = None


@dataclass(frozen=True, slots=True)
class MatmulRow:
    """Matmuls of one type and precision at one size of the contracting dim and the columns.

    ``transposed``: None, "left" or "right" operand.
    """

    dtype: str
    result: str
    precision: str
    transposed: str | None
    contracting: int
    columns: int
    figures: Mapping[str, MatmulFigure]


def vregs(shape: tuple[int, ...], dtype: str) -> int | None:
    """How many vregs a value fills with its padding; 0 for a scalar, None for a dtype that is not known."""
    bits = memory_bits(dtype)
    if bits is None:
        return None
    if not shape:
        return 0
    padded = padded_shape(shape, dtype)
    assert padded is not None
    # A row of fewer than 8 sublanes still takes a whole register.
    rows = padded[-2] if len(padded) > 1 else 1
    share = max(32 // bits, 1)
    words = -(-rows // share)
    registers = -(-words // SUBLANES) * -(-padded[-1] // LANES)
    if len(padded) == 1:
        registers = -(-padded[0] * bits // VREG_BITS)
    return prod(padded[:-2]) * registers


def bounding_unit(figure: Figure, slots: Mapping[str, int]) -> str | None:
    """The unit whose slots the operation fills most, given how many each bundle has."""
    loads = {name: used / slots[name] for name, used in figure.units.items() if slots.get(name)}
    return max(loads, key=lambda name: loads[name]) if loads else None
