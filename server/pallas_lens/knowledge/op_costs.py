"""Measured costs of operations by their canonical name, from ``op_costs.json`` and ``op_names.json``.

Both files are read when the first cost is asked for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pallas_lens.model.op_cost import CostRow, Figure, MatmulFigure, MatmulRow, Tier

from .op_costs_file import load

_DOCUMENTED = {"cheap": Tier.CHEAP, "medium": Tier.MEDIUM, "expensive": Tier.EXPENSIVE}


@dataclass(frozen=True, slots=True)
class NamedCost:
    """What is known of one name.

    ``kind``: "elementwise", "reduction", "structural", "cast", "matmul". ``rows`` hold the
    measured rows (none for a matmul, see ``matmul_rows``), ``documented`` the tier that
    JAX's documentation gives. ``note`` says what the figures leave open.
    """

    name: str
    kind: str
    rows: tuple[CostRow, ...]
    documented: Tier | None
    note: str = ""

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The dtypes that were measured, in the order of the file."""
        return tuple(dict.fromkeys(row.dtype for row in self.rows))


@cache
def _costs() -> dict[str, Any]:
    return load()


@cache
def _names() -> dict[str, tuple[str, dict[str, Any]]]:
    data = json.loads(Path(__file__).with_name("op_names.json").read_text(encoding="utf-8"))
    return {
        name: (kind, entry) for kind, entries in data["kinds"].items() for entry in entries for name in entry["names"]
    }


def versions() -> tuple[str, str]:
    """The releases of jax and libtpu that were measured."""
    told = _costs()["versions"]
    return told["jax"], told["libtpu"]


def slots(chip: str) -> Mapping[str, int]:
    """How many operations of each unit a bundle of the chip holds."""
    told: dict[str, int] = _costs()["slots"][chip]
    return told


@cache
def cost_of(name: str) -> NamedCost | None:
    """The cost of ``name`` (``jax.numpy.exp``, ``operator.add``, ``jax.Array.sum``); None where there is none."""
    known = _names().get(name)
    if known is None:
        return None
    kind, entry = known
    documented = _DOCUMENTED.get(entry.get("documentation", ""))
    rows = tuple(row for title in entry.get("rows", ()) for row in rows_of(title))
    return NamedCost(name, kind, rows, documented, entry.get("note", ""))


@cache
def rows_of(title: str) -> tuple[CostRow, ...]:
    """The rows of one operation of the file, one a dtype."""
    data = _costs()
    found = data["elementwise"].get(title) or data["structural"].get(title) or {}
    return tuple(
        CostRow(
            title,
            dtype,
            row["expression"],
            row.get("per", "in"),
            {chip: _figure(figure) for chip, figure in row["chips"].items()},
        )
        for dtype, row in found.items()
    )


def _figure(data: dict[str, Any]) -> Figure:
    return Figure(data.get("bundles"), data.get("units", {}), data.get("refused"))


@cache
def matmul_rows() -> tuple[MatmulRow, ...]:
    """Every measured matmul."""
    return tuple(
        MatmulRow(
            row["dtype"],
            row["result"],
            row["precision"],
            row["transposed"],
            row["contracting"],
            row["columns"],
            {
                chip: MatmulFigure(figure.get("flops_per_bundle"), figure.get("refused"))
                for chip, figure in row["chips"].items()
            },
        )
        for row in _costs()["matmul"]
    )
