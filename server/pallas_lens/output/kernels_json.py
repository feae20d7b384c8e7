"""The model of a file's kernel calls as JSON, to the contract of ``pallas-lens kernels``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from pallas_lens.model.chip import Chip
from pallas_lens.model.kernel_call import (
    Arity,
    BlockDimension,
    BlockSpec,
    Dim,
    DimensionKind,
    KernelCall,
    KernelFunction,
    Missing,
    Operand,
)
from pallas_lens.model.module_facts import Specialised
from pallas_lens.model.smem import smem_limit, smem_of
from pallas_lens.model.symbolic import Integer
from pallas_lens.model.unknown import Unknown
from pallas_lens.model.vmem import buffer_counts, bytes_on, vmem_limit, vmem_of

NOT_KNOWN = "?"
"""Stands for a dim of which not even an expression is known; ``unknown`` says why."""

_COMPARED = ("kernel", "kernel_arity", "grid", "num_scalar_prefetch", "dimension_semantics", "aliases")


def kernels_json(entries: Iterable[dict[str, Any]]) -> str:
    """All entries as one JSON list."""
    return json.dumps(list(entries), indent=2, ensure_ascii=False) + "\n"


def kernel_to_json(
    specialised: Specialised, filename: str, row: int, column: int, chips: Sequence[Chip]
) -> dict[str, Any]:
    """One call site in one specialisation; ``row`` and ``column`` (from 1) are where the call stands.

    Where conditions of unknown outcome leave several worlds, the likeliest is told, and
    ``unknown`` says what is otherwise in another.
    """
    call, *others = specialised.worlds
    entry = _call_to_json(call, specialised.name, filename, row, column, chips)
    for other in others:
        told = _call_to_json(other, specialised.name, filename, row, column, chips)
        entry["unknown"] += [one for one in _differences(entry, told) if one not in entry["unknown"]]
    return entry


def _call_to_json(
    call: KernelCall, specialisation: str, filename: str, row: int, column: int, chips: Sequence[Chip]
) -> dict[str, Any]:
    unknown = _Unknowns()
    kernel = call.kernel if isinstance(call.kernel, KernelFunction) else None
    if isinstance(call.kernel, Unknown):
        unknown.note("kernel", call.kernel)
    return {
        "id": f"{filename}:{row}:{column}#{specialisation}",
        "filename": filename,
        "row": row,
        "column": column,
        "form": call.form.value,
        "name": call.name,
        "kernel": kernel.name if kernel else None,
        "kernel_arity": _arity(kernel.arity, "kernel_arity", unknown) if kernel else None,
        "specialisation": specialisation,
        "grid": _dims(call.grid, "grid", unknown),
        "num_scalar_prefetch": _plain(call.num_scalar_prefetch, "num_scalar_prefetch", unknown),
        "dimension_semantics": _semantics(call, unknown),
        "aliases": _aliases(call, unknown),
        "operands": _operands(call, chips, unknown),
        **_around(call, unknown),
        "vmem": {chip.name: _vmem(call, chip, unknown) for chip in chips},
        "smem": {chip.name: _smem(call, chip, unknown) for chip in chips},
        "unknown": unknown.listed(call.missing),
    }


def _around(call: KernelCall, unknown: _Unknowns) -> dict[str, Any]:
    """What stands between the program and JAX's function, where something does."""
    told: dict[str, Any] = {}
    if call.wrapper is not None:
        told["wrapper"] = call.wrapper
    if call.batch_sizes:
        told["vmapped"] = [_dim(size, f"vmapped[{index}]", unknown) for index, size in enumerate(call.batch_sizes)]
    return told


class _Unknowns:
    """Gathers what could not be told, each once."""

    def __init__(self) -> None:
        self._found: dict[str, str] = {}

    def note(self, what: str, unknown: Unknown) -> None:
        """Record why ``what`` is not known."""
        self._found.setdefault(what, unknown.reason)

    def listed(self, missing: tuple[Missing, ...]) -> list[dict[str, str]]:
        """What the evaluator missed, and what was noted here."""
        pairs = {(one.what, one.why): None for one in missing}
        pairs |= {(what, why): None for what, why in self._found.items()}
        return [{"what": what, "why": why} for what, why in pairs]


def _integer(value: Integer) -> int | str:
    return value if isinstance(value, int) else str(value)


def _plain(value: int | Unknown | None, what: str, unknown: _Unknowns) -> int | None:
    if isinstance(value, Unknown):
        unknown.note(what, value)
        return None
    return value


def _amount(value: Integer | Unknown, what: str, unknown: _Unknowns) -> int | str | None:
    if isinstance(value, Unknown):
        unknown.note(what, value)
        return None
    return _integer(value)


def _dims(dims: tuple[Dim, ...] | Unknown, what: str, unknown: _Unknowns) -> list[int | str] | None:
    if isinstance(dims, Unknown):
        unknown.note(what, dims)
        return None
    return [_dim(dim, f"{what}[{index}]", unknown) for index, dim in enumerate(dims)]


def _dim(dim: Dim, what: str, unknown: _Unknowns) -> int | str:
    if isinstance(dim, Unknown):
        unknown.note(what, dim)
        return NOT_KNOWN
    return _integer(dim)


def _arity(arity: Arity | Unknown, what: str, unknown: _Unknowns) -> list[int | None] | None:
    if isinstance(arity, Unknown):
        unknown.note(what, arity)
        return None
    return [arity.minimum, arity.maximum]


def _semantics(call: KernelCall, unknown: _Unknowns) -> list[str] | None:
    what = "dimension_semantics"
    if call.semantics is None:
        return None
    entries = call.semantics if isinstance(call.semantics, Unknown) else call.semantics.entries
    if isinstance(entries, Unknown):
        unknown.note(what, entries)
        return None
    told: list[str] = []
    for index, entry in enumerate(entries):
        if isinstance(entry, Unknown):
            unknown.note(f"{what}[{index}]", entry)
            told.append(NOT_KNOWN)
        else:
            told.append("arbitrary" if entry is None else entry)
    return told


def _aliases(call: KernelCall, unknown: _Unknowns) -> list[list[int]] | None:
    """Pairs (index of the input, index of the output)."""
    if isinstance(call.aliases, Unknown):
        unknown.note("aliases", call.aliases)
        return None
    return [list(pair) for pair in call.aliases]


def _operands(call: KernelCall, chips: Sequence[Chip], unknown: _Unknowns) -> list[dict[str, Any]] | None:
    """All operands; where a role is not known, those of the others, None where none is."""
    operands = call.operands
    if isinstance(operands, Unknown):
        unknown.note("operands", operands)
        if not call.some_operands:
            return None
        operands = call.some_operands
    return [_operand(operand, f"operands[{index}]", call, chips, unknown) for index, operand in enumerate(operands)]


def _operand(
    operand: Operand, what: str, call: KernelCall, chips: Sequence[Chip], unknown: _Unknowns
) -> dict[str, Any]:
    """One argument of the kernel; a tree of arrays has them under ``leaves``."""
    if operand.leaves is not None:
        return _tree(operand, operand.leaves, what, call, chips, unknown)
    array: dict[str, Any] | None = None
    if isinstance(operand.array, Unknown):
        unknown.note(f"{what}.array", operand.array)
    else:
        dtype = operand.array.dtype
        if isinstance(dtype, Unknown):
            unknown.note(f"{what}.array.dtype", dtype)
        array = {
            "shape": _dims(operand.array.shape, f"{what}.array.shape", unknown),
            "dtype": None if isinstance(dtype, Unknown) else dtype,
        }
    spec = operand.spec if isinstance(operand.spec, BlockSpec) else None
    if isinstance(operand.spec, Unknown):
        unknown.note(f"{what}.block_shape", operand.spec)
    if isinstance(operand.memory_space, Unknown):
        unknown.note(f"{what}.memory_space", operand.memory_space)
    return {
        "name": operand.name,
        "role": operand.role.value,
        "array": array,
        "block_shape": _block_shape(spec, f"{what}.block_shape", unknown),
        "memory_space": None if isinstance(operand.memory_space, Unknown) else operand.memory_space.value,
        "index_map": _index_map(spec, f"{what}.index_map", unknown),
        "buffers": _buffers(operand, call, f"{what}.buffers", unknown),
        "bytes": {chip.name: _amount(bytes_on(operand, call.grid, chip), f"{what}.bytes", unknown) for chip in chips},
    }


def _tree(
    operand: Operand,
    leaves: tuple[Operand, ...],
    what: str,
    call: KernelCall,
    chips: Sequence[Chip],
    unknown: _Unknowns,
) -> dict[str, Any]:
    told = [_operand(leaf, f"{what}.leaves[{index}]", call, chips, unknown) for index, leaf in enumerate(leaves)]
    spaces = {leaf["memory_space"] for leaf in told}
    return {
        "name": operand.name,
        "role": operand.role.value,
        "array": None,
        "block_shape": None,
        "memory_space": spaces.pop() if len(spaces) == 1 else None,
        "index_map": None,
        "buffers": None,
        "bytes": {chip.name: _sum(leaf["bytes"][chip.name] for leaf in told) for chip in chips},
        "leaves": told,
    }


def _sum(amounts: Iterable[int | str | None]) -> int | None:
    """The sum of what the leaves take; None where one of them is no number."""
    total = 0
    for amount in amounts:
        if not isinstance(amount, int):
            return None
        total += amount
    return total


def _block_shape(spec: BlockSpec | None, what: str, unknown: _Unknowns) -> list[int | str | None] | None:
    if spec is None or spec.block_shape is None:
        return None
    if isinstance(spec.block_shape, Unknown):
        unknown.note(what, spec.block_shape)
        return None
    return [
        _block_dimension(dimension, f"{what}[{index}]", unknown) for index, dimension in enumerate(spec.block_shape)
    ]


def _block_dimension(dimension: BlockDimension, what: str, unknown: _Unknowns) -> int | str | None:
    if dimension.kind is DimensionKind.SQUEEZED:
        return None
    size = _dim(dimension.size, what, unknown)
    if dimension.kind is DimensionKind.BLOCKED:
        return size
    return f"{dimension.kind.value}({size})"


def _index_map(spec: BlockSpec | None, what: str, unknown: _Unknowns) -> dict[str, Any] | None:
    if spec is None or spec.index_map is None:
        return None
    if isinstance(spec.index_map, Unknown):
        unknown.note(what, spec.index_map)
        return None
    return {"text": spec.index_map.text, "arity": _arity(spec.index_map.arity, f"{what}.arity", unknown)}


def _buffers(operand: Operand, call: KernelCall, what: str, unknown: _Unknowns) -> int | None:
    spec = operand.spec
    if isinstance(spec, BlockSpec):
        if isinstance(spec.buffer_count, Unknown):
            unknown.note(what, spec.buffer_count)
            return None
        if spec.buffer_count is not None:
            return spec.buffer_count
    return buffer_counts(operand, call.grid)[0]


def _vmem(call: KernelCall, chip: Chip, unknown: _Unknowns) -> dict[str, Any]:
    limit = _amount(vmem_limit(call, chip), "vmem_limit_bytes", unknown)
    use = vmem_of(call, chip)
    if isinstance(use, Unknown):
        return {"windows": None, "scratch": None, "limit": limit, "windows_exceed_limit": None}
    return {
        "windows": _amount(use.windows, "vmem.windows", unknown),
        "scratch": _amount(use.scratch, "vmem.scratch", unknown),
        "limit": limit,
        "windows_exceed_limit": use.exceeds_limit,
    }


def _smem(call: KernelCall, chip: Chip, unknown: _Unknowns) -> dict[str, Any]:
    use = smem_of(call, chip)
    total = use if isinstance(use, Unknown) else use.total
    return {
        "bytes": None if isinstance(use, Unknown) else _amount(total, "smem.bytes", unknown),
        "limit": smem_limit(chip),
    }


def _differences(entry: dict[str, Any], other: dict[str, Any]) -> list[dict[str, str]]:
    """What ``other``, the same call under other conditions, says otherwise."""
    found = [
        _differs(what, other[what]) for what in _COMPARED if entry[what] != other[what] and other[what] is not None
    ]
    here, there = entry["operands"], other["operands"]
    if here is None or there is None:
        return found
    if len(here) != len(there):
        return [*found, _differs("operands", f"{len(there)} operands")]
    for index, (one, two) in enumerate(zip(here, there, strict=True)):
        found += [
            _differs(f"operands[{index}].{what}", two[what])
            for what in ("name", "role", "array", "block_shape", "memory_space", "index_map", "buffers")
            if one[what] != two[what]
        ]
    return found


def _differs(what: str, other: object) -> dict[str, str]:
    text = other if isinstance(other, str) else json.dumps(other, ensure_ascii=False)
    return {"what": what, "why": f"depends on a condition that is not known; it may also be {text}"}
