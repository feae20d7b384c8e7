"""How much of the call sites of public projects is resolved: the table, by package, and what is not known and why.

    python tests/evaluate/call_sites.py            print the table
    python tests/evaluate/call_sites.py --write    and store it in call_sites.json, with which the tests compare

Each ``pallas_call`` and ``emit_pipeline`` site counts once, by what ``pallas-lens kernels --output-format json``
says of it: a part is known where the generic specialisation has it, or, for what comes from the caller, another one.
A site that only forwards for its callers is none.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    root = Path(__file__).parents[2]
    sys.path[:0] = [str(root / "server"), str(root / "tests")]

from pallas_lens.check import Checker
from pallas_lens.commands.kernels import kernel_entries
from pallas_lens.evaluate.specs import A_TREE
from pallas_lens.knowledge.chips import CHIPS
from pallas_lens.model.kernel_call import BlockSpec, KernelCall, KernelFunction
from pallas_lens.model.module_facts import CallSite
from pallas_lens.model.unknown import Unknown
from pallas_lens.source.document import Document, open_document
from wheels import VERSIONS, unpacked_wheel

_OTHERWISE = "depends on a condition that is not known; it may also be"
"""So begins what is said of a part that is known, and something else under another condition."""
STORED = Path(__file__).parent / "call_sites.json"
FOLDERS = {"jax": "jax/experimental/pallas"}
"""The part of a wheel that is read, where that is not all of it."""
AIMS = {
    "grid": 0.99,
    "inputs": 0.97,
    "outputs": 0.97,
    "index map arity": 0.99,
    "block rank": 0.98,
    "kernel": 0.97,
    "kernel arity": 0.95,
    "mesh kernel": 1.0,
    "mesh scratch": 1.0,
}
"""The least share of each kind of part that has to be known over all packages."""


@dataclass(slots=True)
class Count:
    """How many parts of one kind there are, and how many are known."""

    known: int = 0
    total: int = 0


@dataclass(slots=True)
class Table:
    """The counts of one package, and a line for each part that is not known."""

    counts: dict[str, Count] = field(default_factory=lambda: {name: Count() for name in AIMS})
    unknown: list[str] = field(default_factory=list)
    disagreements: list[str] = field(default_factory=list)

    def count(self, what: str, known: bool, place: str, why: str) -> None:
        """One more part."""
        self.counts[what].total += 1
        self.counts[what].known += known
        if not known:
            self.unknown.append(f"{place}: {what}: {why}")


def table_of(package: str) -> Table:
    """All call sites of one package."""
    root = unpacked_wheel(package)
    checker = Checker((root,))
    table = Table()
    for path in kernel_files(package):
        document = open_document(path, path.read_text(encoding="utf-8"))
        add_file(table, document, checker.facts(document).sites, path.relative_to(root).as_posix())
        checker.close(document)
    return table


def kernel_files(package: str) -> Iterator[Path]:
    """The files of a package that speak of Pallas."""
    for path in sorted((unpacked_wheel(package) / FOLDERS.get(package, "")).rglob("*.py")):
        if "pallas" in path.read_text(encoding="utf-8"):
            yield path


def add_file(table: Table, document: Document, sites: tuple[CallSite, ...], name: str) -> None:
    """Count the call sites of one file."""
    by_site: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for entry in kernel_entries(sites, document, name, (CHIPS["v5e"],)):
        by_site.setdefault((entry["row"], entry["column"]), []).append(entry)
    for entries in by_site.values():
        _count(table, entries)
    for site in sites:
        place = f"{name}:{document.locate(site.span).start_row + 1}"
        told = (
            one for specialised in site.specialisations for call in specialised.worlds for one in _disagreements(call)
        )
        table.disagreements += sorted({f"{place}: {one}" for one in told})


def _count(table: Table, entries: list[dict[str, Any]]) -> None:
    """One site: each part by its generic specialisation, or where that lacks it by one that has it."""
    generic = entries[0]
    place = f"{generic['filename']}:{generic['row']}"
    told = [_parts(entry) for entry in entries]
    for (what, part), why in told[0].items():
        known = any(other.get((what, part), "") is None for other in told)
        table.count(what, known, place, why or "")


def _parts(entry: dict[str, Any]) -> dict[tuple[str, str], str | None]:
    """(kind, part) of everything that is counted: None where it is known, else why it is not."""
    why = {one["what"]: one["why"] for one in reversed(entry["unknown"]) if not one["why"].startswith(_OTHERWISE)}
    parts: dict[tuple[str, str], str | None] = {}
    if entry["form"] in ("kernel", "core_map"):
        return {("mesh kernel", ""): why.get("kernel"), ("mesh scratch", ""): why.get("scratch")}
    for what in ("grid", "inputs", "outputs", "kernel"):
        parts[what, ""] = why.get(what)
    parts["kernel arity", ""] = None if entry["kernel_arity"] is not None else why.get("kernel_arity", "")
    for place, operand in _arrays(entry["operands"] or [], "operands"):
        index_map, block = f"{place}.index_map", f"{place}.block_shape"
        if operand["index_map"] is not None or index_map in why:
            parts["index map arity", place] = why.get(index_map, why.get(f"{index_map}.arity"))
        if operand["block_shape"] is not None or (block in why and why[block] != A_TREE.reason):
            parts["block rank", place] = why.get(block)
    return parts


def _arrays(operands: list[dict[str, Any]], place: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every operand, and the leaves of those that are trees."""
    for index, operand in enumerate(operands):
        yield f"{place}[{index}]", operand
        yield from _arrays(operand.get("leaves", []), f"{place}[{index}].leaves")


def _disagreements(call: KernelCall) -> Iterator[str]:
    """Where two parts of a call do not fit each other; in code that works there is no such place."""
    operands = call.operands
    if isinstance(operands, Unknown) or call.own_buffers or call.wrapper is not None:
        return
    if isinstance(call.kernel, KernelFunction) and not isinstance(call.kernel.arity, Unknown):
        given = len(operands) - call.named_scratch
        if not call.kernel.arity.accepts(given):
            yield f"kernel {call.kernel.name} takes {call.kernel.arity}, gets {given}"
    if isinstance(call.grid, Unknown) or isinstance(call.num_scalar_prefetch, Unknown):
        return
    for operand in operands:
        spec = operand.spec
        if not isinstance(spec, BlockSpec) or spec.index_map is None or isinstance(spec.index_map, Unknown):
            continue
        arity, results = spec.index_map.arity, spec.index_map.results
        given = len(call.grid) + call.num_scalar_prefetch
        if not isinstance(arity, Unknown) and not arity.accepts(given):
            yield f"index map {spec.index_map.text} takes {arity}, gets {given}"
        if isinstance(results, tuple) and isinstance(spec.block_shape, tuple) and len(results) != len(spec.block_shape):
            yield f"index map {spec.index_map.text} gives {len(results)} for {len(spec.block_shape)} dims"


def written(tables: dict[str, Table]) -> str:
    """The table as it is stored."""
    told = {package: asdict(table) for package, table in tables.items()}
    return json.dumps(told, indent=1, ensure_ascii=False) + "\n"


def shown(tables: dict[str, Table]) -> str:
    """The table as people read it, with a line for each part that is not known."""
    rows = [("part", *tables, "all", "aim")]
    for name, aim in AIMS.items():
        counts = [table.counts[name] for table in tables.values()]
        known, total = sum(one.known for one in counts), sum(one.total for one in counts)
        share = f"{known}/{total} {100 * known / total:.1f}%" if total else "0/0"
        rows.append((name, *(f"{one.known}/{one.total}" for one in counts), share, f"{100 * aim:g}%"))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    for table in tables.values():
        lines += ["", *table.unknown, *(f"DISAGREEMENT {one}" for one in table.disagreements)] if table.unknown else []
    return "\n".join(lines)


if __name__ == "__main__":
    made = {package: table_of(package) for package in VERSIONS}
    print(shown(made))
    if "--write" in sys.argv[1:]:
        STORED.write_text(written(made), encoding="utf-8")
