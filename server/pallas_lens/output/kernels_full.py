"""The model of a file's kernel calls for people: a table of operands, and memory against its limit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import Any

_UNITS = ("B", "KiB", "MiB", "GiB")


def kernels_full(entries: Iterable[dict[str, Any]], drawings: Iterable[str] = repeat("")) -> str:
    """Every entry (of ``kernels_json``) as a paragraph with a table; ``drawings``: what of each is drawn in it."""
    return "\n".join(_entry(entry, drawing) for entry, drawing in zip(entries, drawings, strict=False))


def byte_size(value: object) -> str:
    """``value`` bytes in the largest unit that leaves at least 1; an expression stays as it is."""
    if value is None:
        return "?"
    if not isinstance(value, int):
        return f"{value} B"
    amount, unit = float(value), 0
    while amount >= 1024 and unit + 1 < len(_UNITS):
        amount, unit = amount / 1024, unit + 1
    return f"{amount:.4g} {_UNITS[unit]}"


def _entry(entry: dict[str, Any], drawing: str) -> str:
    kernel = f", kernel {entry['kernel']}" if entry["kernel"] else ""
    out = [
        f"{entry['filename']}:{entry['row']}:{entry['column']}: {entry['name']}: {entry['form']}{kernel}"
        f" [{entry['specialisation']}]"
    ]
    semantics = entry["dimension_semantics"]
    out.append(
        f"  grid {_tuple(entry['grid'])}" + (f", dimension semantics {', '.join(semantics)}" if semantics else "")
    )
    if "wrapper" in entry:
        out.append(f"  as given to {entry['wrapper']}, which may change the parts")
    if "vmapped" in entry:
        how = "a parallel grid axis more for each, in front"
        if entry["num_scalar_prefetch"] != 0:
            how += ", or a loop where a prefetched operand is mapped"
        out.append(f"  under vmap over {_tuple(entry['vmapped'])}: {how}")
    if entry["operands"]:
        out += _table([_OPERAND_TITLES, *map(_operand_row, _arrays(entry["operands"]))])
    out += _memory("VMEM", {chip: _vmem_text(use) for chip, use in entry["vmem"].items()})
    if any(use["bytes"] for use in entry["smem"].values()):
        out += _memory(
            "SMEM",
            {chip: f"{byte_size(use['bytes'])} of {byte_size(use['limit'])}" for chip, use in entry["smem"].items()},
        )
    out += drawing.splitlines()
    out += [f"  not known: {text}" for text in _unknown(entry["unknown"])]
    return "\n".join(out) + "\n"


def _unknown(unknown: list[dict[str, str]]) -> list[str]:
    """What is not known, each reason once, without the sums that follow from it."""
    parts: dict[str, list[str]] = {}
    for one in unknown:
        if not one["what"].startswith(("vmem.", "smem.")) and not one["what"].endswith(".bytes"):
            parts.setdefault(one["why"], []).append(one["what"])
    return [f"{', '.join(whats)}: {why}" for why, whats in parts.items()]


_OPERAND_TITLES = ("role", "name", "array", "block", "memory", "index map", "buffers", "bytes")


def _arrays(operands: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The operands, trees of arrays given by their leaves."""
    for operand in operands:
        if "leaves" in operand:
            yield from _arrays(operand["leaves"])
        else:
            yield operand


def _operand_row(operand: dict[str, Any]) -> tuple[str, ...]:
    array = operand["array"]
    index_map = operand["index_map"]
    return (
        operand["role"],
        operand["name"],
        f"{array['dtype'] or '?'}{_brackets(array['shape'])}" if array else "?",
        _tuple(operand["block_shape"], none="whole array"),
        operand["memory_space"] or "?",
        " ".join(index_map["text"].split()) if index_map else "",
        "" if operand["buffers"] is None else str(operand["buffers"]),
        ", ".join(_grouped({chip: byte_size(one) for chip, one in operand["bytes"].items()})),
    )


def _vmem_text(use: dict[str, Any]) -> str:
    verdict = {True: ", over the limit", False: "", None: ""}[use["windows_exceed_limit"]]
    return (
        f"windows {byte_size(use['windows'])}, scratch {byte_size(use['scratch'])}"
        f" of {byte_size(use['limit'])}{verdict}"
    )


def _memory(title: str, by_chip: dict[str, str]) -> list[str]:
    return [f"  {title}: {text}" for text in _grouped(by_chip)]


def _grouped(by_chip: dict[str, str]) -> list[str]:
    """The texts, each once, with the chips that it is for unless it is for all."""
    chips: dict[str, list[str]] = {}
    for chip, text in by_chip.items():
        chips.setdefault(text, []).append(chip)
    if len(chips) <= 1:
        return list(chips)
    return [f"{text} ({', '.join(names)})" for text, names in chips.items()]


def _tuple(values: list[object] | None, none: str = "?") -> str:
    if values is None:
        return none
    inner = ", ".join("None" if value is None else str(value) for value in values)
    return f"({inner},)" if len(values) == 1 else f"({inner})"


def _brackets(values: list[object] | None) -> str:
    return "[?]" if values is None else f"[{', '.join(map(str, values))}]"


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    kept = [index for index in range(len(rows[0])) if any(row[index] for row in rows[1:])]
    widths = {index: max(len(row[index]) for row in rows) for index in kept}
    return ["    " + "  ".join(row[index].ljust(widths[index]) for index in kept).rstrip() for row in rows]
