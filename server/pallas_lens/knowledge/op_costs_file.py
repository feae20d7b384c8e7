"""``op_costs.json`` as it is on disk: read it, and write it with one line for each measured figure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

PATH: Final = Path(__file__).with_name("op_costs.json")


def load() -> dict[str, Any]:
    """The file's content."""
    data: dict[str, Any] = json.loads(PATH.read_text(encoding="utf-8"))
    return data


def dump(data: dict[str, Any]) -> str:
    """``data`` as the file's text: everything indented but what describes one figure."""
    lines = _lines(data, 0)
    return "\n".join(lines) + "\n"


def _lines(value: Any, depth: int) -> list[str]:
    inline = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or _is_leaf(value):
        return [inline]
    pairs = (
        [(f"{json.dumps(key)}: ", item) for key, item in value.items()]
        if isinstance(value, dict)
        else [("", item) for item in value]
    )
    opening, closing = ("{", "}") if isinstance(value, dict) else ("[", "]")
    lines = [opening]
    for position, (prefix, item) in enumerate(pairs):
        inner = _lines(item, depth + 1)
        inner[0] = prefix + inner[0]
        if position < len(pairs) - 1:
            inner[-1] += ","
        lines += [f" {line}" for line in inner]
    return [*lines, closing]


def _is_leaf(value: dict[str, Any] | list[Any]) -> bool:
    """Whether ``value`` is a figure or a list of numbers, which stay on one line."""
    if isinstance(value, dict):
        return "bundles" in value or "refused" in value or "bundles_per_256_rows" in value
    return all(not isinstance(item, dict) for item in value)
