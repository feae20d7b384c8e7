"""The chips that findings and hovers speak of, from ``chips.json``."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, Final

from pallas_lens.model.chip import Chip, PeakFlops

NAMES: Final = ("v4", "v5e", "v5p", "v6e", "v7x")
"""Our names, oldest first: the default targets."""


@cache
def all_chips() -> dict[str, Chip]:
    """Every chip by name, oldest first."""
    data = json.loads(Path(__file__).with_name("chips.json").read_text(encoding="utf-8"))
    return {name: _chip(name, **data["chips"][name]) for name in NAMES}


def _chip(name: str, peak_flops: dict[str, int], **figures: Any) -> Chip:
    return Chip(name=name, peak_flops=PeakFlops(**peak_flops), **figures)


def chip(name: str) -> Chip:
    """The chip of that name.

    Raises:
        KeyError: when there is none.
    """
    return all_chips()[name]


CHIPS: Final[dict[str, Chip]] = all_chips()
