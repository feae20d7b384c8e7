"""Hover on a grid axis, and the line about the grid that other hovers show."""

from __future__ import annotations

from pallas_lens.model.grid import step_count
from pallas_lens.model.kernel_call import BlockSpec, KernelCall, Role, Semantics
from pallas_lens.model.unknown import Unknown

from .core_split_text import asks_for_a_split, lone_cores, split_clauses
from .hover_text import Seen, code, dim_text, dims_text, name_code, number_text, ref_name
from .index_map_axes import moving_axes


def grid_line(seen: Seen) -> str:
    """Grid, steps, order of the walk, semantics."""
    call = seen.call
    if isinstance(call.grid, Unknown):
        return f"grid not known: {call.grid.reason}"
    if not call.grid:
        return "no grid: one step, operands whole"
    steps = step_count(call.grid)
    written = dims_text(call.grid)
    general = seen.generic.grid if seen.generic is not None else None
    if isinstance(general, tuple) and dims_text(general) != written:
        written = f"{code(dims_text(general))} = {written}"
    if isinstance(steps, Unknown):
        told = "steps not known"
    else:
        told = "1 step" if steps == 1 else f"{number_text(steps) if isinstance(steps, int) else code(str(steps))} steps"
    parts = [f"grid {written}", told]
    if len(call.grid) > 1:
        parts.append("last axis fastest")
    parts += _semantics(seen)
    return " · ".join(parts)


def _semantics(seen: Seen) -> list[str]:
    call = seen.call
    if not isinstance(call.semantics, Semantics) or isinstance(call.semantics.entries, Unknown):
        return []
    entries = call.semantics.entries
    parts = [", ".join("?" if isinstance(entry, Unknown) else entry or "arbitrary" for entry in entries)]
    return [*parts, *split_clauses(seen)] if asks_for_a_split(seen) else parts


def axis_markdown(axis: int, seen: Seen) -> str:
    """One axis: its steps, its semantics, which operands it moves."""
    call = seen.call
    assert not isinstance(call.grid, Unknown)
    dim = call.grid[axis]
    parts = [f"**grid axis {axis}**", f"{dim_text(dim)} steps"]
    if len(call.grid) > 1:
        if axis == len(call.grid) - 1:
            parts.append("fastest")
        elif axis == 0:
            parts.append("slowest")
    if isinstance(call.semantics, Semantics) and not isinstance(call.semantics.entries, Unknown):
        entries = call.semantics.entries
        if axis < len(entries):
            entry = entries[axis]
            parts.append("?" if isinstance(entry, Unknown) else entry or "arbitrary")
    lines = [" · ".join(parts), _moved(call, axis, len(call.grid))]
    if isinstance(dim, Unknown):
        lines.append(f"?: {dim.reason}")
    if asks_for_a_split(seen):
        lines += [*split_clauses(seen), lone_cores(seen)]
    lines.append(seen.reading)
    return "\n\n".join(line for line in lines if line)


def _moved(call: KernelCall, axis: int, rank: int) -> str:
    if isinstance(call.operands, Unknown):
        return ""
    moved: list[str] = []
    still: list[str] = []
    open_ones: list[str] = []
    for operand in call.operands:
        if operand.role not in (Role.INPUT, Role.OUTPUT) or operand.spec is None:
            continue
        name = name_code(ref_name(call, operand))
        axes = moving_axes(operand.spec.index_map, rank) if isinstance(operand.spec, BlockSpec) else operand.spec
        if isinstance(axes, Unknown):
            open_ones.append(name)
        else:
            (moved if axis in axes else still).append(name)
    parts = [
        f"{word} {', '.join(names)}"
        for word, names in (("moves", moved), ("keeps", still), ("not known for", open_ones))
        if names
    ]
    return " · ".join(parts)
