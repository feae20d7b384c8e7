"""What mode ``trace`` found, in the words of ``pallas-lens kernels``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pallas_lens.features.traced_calls import model_of
from pallas_lens.model.chip import Chip
from pallas_lens.model.module_facts import Specialised
from pallas_lens.runtime.protocol import TracedCall, TracedIndexMap

from .kernels_json import kernel_to_json


def traced_call_to_json(traced: TracedCall, filename: str, chips: Sequence[Chip]) -> dict[str, Any]:
    """An entry as ``pallas-lens kernels`` prints it, and what only a trace can tell.

    ``row`` and ``column`` are None for a call that another file makes; ``inside`` is what the call stands in, ``times``
    how often it occurs, ``vmapped_dims`` the grid axes of ``vmap``; an index map has its ``values`` at some steps.
    """
    named = Specialised("trace", "", (model_of(traced),), (None,))
    entry = kernel_to_json(named, filename, traced.row or 0, traced.column or 0, chips)
    entry |= {"row": traced.row, "column": traced.column}
    entry["unknown"] = [one for one in entry["unknown"] if not one["what"].endswith(".array")]
    for told, operand in zip(entry["operands"], traced.operands, strict=True):
        if told["array"] is None:
            told["array"] = {"shape": list(operand.shape), "dtype": operand.dtype}
        if operand.index_map is not None and told["index_map"] is not None:
            told["index_map"]["values"] = _values(traced, operand.index_map)
    return entry | {
        "vmem_limit_bytes": traced.vmem_limit_bytes,
        "vmapped_dims": list(traced.vmapped_dims),
        "inside": list(traced.inside),
        "times": traced.times,
    }


def _values(traced: TracedCall, index_map: TracedIndexMap) -> list[dict[str, Any]]:
    """The block at each sampled step; null where a prefetched operand decides."""
    return [
        {"step": list(point), "block": [result.values[index] for result in index_map.results]}
        for index, point in enumerate(traced.points)
    ]
