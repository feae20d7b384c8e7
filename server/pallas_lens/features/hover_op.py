"""Hover on an operation of a kernel body: tier, unit, measured bundles per vreg on each chip."""

from __future__ import annotations

from math import prod

from pallas_lens.knowledge.op_costs import NamedCost, cost_of, slots, versions
from pallas_lens.model.chip import Chip
from pallas_lens.model.dtypes import short_name
from pallas_lens.model.kernel_body import BodyOperation, OperationKind
from pallas_lens.model.kernel_call import ArrayType
from pallas_lens.model.op_cost import CostRow, Figure, Tier, bounding_unit, tier, vregs
from pallas_lens.model.tiling import LANES
from pallas_lens.model.unknown import Unknown

from .hover_matmul import matmul_markdown
from .hover_text import array_text, code, number_text, table
from .reduced_axes import reduced_axes

_UNITS = {
    "VALU": "VPU",
    "EUP": "EUP",
    "XLU": "XLU",
    "MATMUL": "MXU",
    "MATPUSH": "MXU",
    "VLOAD": "vector load",
    "VSTORE": "vector store",
    "VPOP": "result queue",
    "SALU": "scalar unit",
}
_WHERE_NAME_ALONE = ("float32", "bfloat16")
_MOST_ROWS = 8
_NO_COST = (OperationKind.LOOP, OperationKind.WHEN, OperationKind.DMA)


def operation_markdown(operation: BodyOperation, chips: tuple[Chip, ...]) -> str:
    """The cost of an operation; "" for what has none of its own (loops, conditions, copies)."""
    if operation.kind in _NO_COST or not operation.name:
        return ""
    name = readable(operation.name)
    if is_scalar(operation):
        return f"**{name}** · scalar core, no vector cost"
    cost = cost_of(operation.name)
    if cost is None:
        return f"**{name}** · not measured" if is_numeric(operation.name) else ""
    if cost.kind == "matmul":
        return matmul_markdown(name, operation, chips)
    return _cost_markdown(name, operation, cost, chips)


_SYMBOLS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "pow": "**",
    "and_": "&",
    "or_": "|",
    "xor": "^",
    "invert": "~",
    "neg": "-",
    "pos": "+",
    "lshift": "<<",
    "rshift": ">>",
    "matmul": "@",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "eq": "==",
    "ne": "!=",
}


def readable(name: str) -> str:
    """An operation's name as people write it: "jnp.exp", "`+`"."""
    if name.startswith("operator."):
        return code(_SYMBOLS.get(name.removeprefix("operator."), name))
    short = {
        "jax.numpy.": "jnp.",
        "jax.lax.": "lax.",
        "jax.experimental.pallas.tpu.": "pltpu.",
        "jax.experimental.pallas.": "pl.",
        "jax.Array.": ".",
    }
    for long, abbreviated in short.items():
        if name.startswith(long):
            return abbreviated + name[len(long) :]
    return name


def is_numeric(name: str) -> bool:
    """Whether the name is of an operation on values, which has a cost."""
    return name.startswith(("jax.numpy.", "jax.lax.", "jax.nn.", "jax.scipy.", "jax.Array.", "operator."))


def is_scalar(operation: BodyOperation) -> bool:
    """Whether every shape that is known is (), at least one is, and so is the result: 0-d values live in scalars."""
    result = operation.result
    if result is None or result.shape != ():
        return False
    return all(operand.shape == () or _is_number(operand) for operand in operation.operands)


def _is_number(operand: ArrayType) -> bool:
    return isinstance(operand.shape, Unknown) and operand.shape.reason == "is not an array"


def _cost_markdown(name: str, operation: BodyOperation, cost: NamedCost, chips: tuple[Chip, ...]) -> str:
    value = measured_value(operation, cost)
    dtype = None if value is None or isinstance(value.dtype, Unknown) else value.dtype
    rows = measured_rows(operation, cost, dtype)
    unmeasured = dtype is not None and not any(row.dtype == dtype for row in rows)
    head = [f"**{name}**"]
    if unmeasured:
        assert dtype is not None
        head.append(f"not measured for {short_name(dtype)}")
    else:
        worst = _worst(rows, chips)
        head = [f"{worst.value} **{name}**" if worst else f"**{name}**", *_unit(rows, chips)]
        if worst is None:
            head.append(_refusal(rows, chips))
        if worst is not None and cost.documented not in (None, worst):
            assert cost.documented is not None
            head.append(f"documentation: {cost.documented.value}")
    parts = [" · ".join(part for part in head if part), _table(rows, value, cost, chips)]
    notes = [cost.note] if cost.note and len(rows) > 1 else []
    expressions = dict.fromkeys(row.expression for row in rows)
    jax, libtpu = versions()
    measured = ", ".join(f"`{expression}`" for expression in list(expressions)[:2])
    notes.append(f"measured as {measured}{' …' if len(expressions) > 2 else ''} · jax {jax}, libtpu {libtpu}")
    parts.append("  \n".join(notes))
    return "\n\n".join(part for part in parts if part)


def measured_value(operation: BodyOperation, cost: NamedCost) -> ArrayType | None:
    """The array whose type and size the cost goes by: the largest operand with a known dtype, else the result."""
    arrays = [one for one in operation.operands if one.shape != () and not isinstance(one.dtype, Unknown)]
    if operation.result is not None and not isinstance(operation.result.dtype, Unknown):
        if cost.kind in ("elementwise", "structural") and operation.result.shape != ():
            same = [one for one in arrays if one.dtype == operation.result.dtype]
            if cost.kind == "elementwise" and (same or not arrays):
                return operation.result
        if not arrays:
            return operation.result
    return max(arrays, key=_size, default=None)


def _size(array: ArrayType) -> int:
    if isinstance(array.shape, Unknown):
        return 0
    return prod(dim if isinstance(dim, int) else 1 for dim in array.shape)


def measured_rows(operation: BodyOperation, cost: NamedCost, dtype: str | None) -> tuple[CostRow, ...]:
    """The rows that speak of this operation: of its dtype, its axis, its cast; f32 and bf16 where no dtype is known."""
    if dtype is None:
        wanted = [row for row in cost.rows if row.dtype in _WHERE_NAME_ALONE]
        return _of_axis(operation, cost, tuple(wanted) or cost.rows)
    rows = tuple(row for row in cost.rows if row.dtype == dtype)
    if not rows:
        rows = tuple(row for row in cost.rows if row.dtype in _WHERE_NAME_ALONE)
    if cost.kind == "cast":
        return _of_cast(operation, rows)
    return _of_axis(operation, cost, rows)


def _of_cast(operation: BodyOperation, rows: tuple[CostRow, ...]) -> tuple[CostRow, ...]:
    target = operation.result.dtype if operation.result is not None else None
    if not isinstance(target, str):
        return rows
    chosen = tuple(row for row in rows if target in row.title.split(" ")[1:] or row.title.endswith(f"to {target}"))
    return chosen or rows


def _of_axis(operation: BodyOperation, cost: NamedCost, rows: tuple[CostRow, ...]) -> tuple[CostRow, ...]:
    if cost.kind != "reduction" or not operation.operands:
        return rows
    source = operation.operands[0]
    axes = reduced_axes(source, operation.result)
    if axes is None or isinstance(source.shape, Unknown):
        return rows
    rank = len(source.shape)
    words = {"over lanes" if axis == rank - 1 else "over sublanes" if axis == rank - 2 else "leading" for axis in axes}
    chosen = tuple(row for row in rows if any(word in row.title for word in words))
    columns = source.shape[-1]
    if isinstance(columns, int) and columns <= 128:
        chosen = tuple(row for row in chosen if "wide rows" not in row.title)
    return chosen or rows


def _worst(rows: tuple[CostRow, ...], chips: tuple[Chip, ...]) -> Tier | None:
    dearest = [
        figure.bundles
        for row in rows
        for figure in _figures(row, chips)
        if figure is not None and figure.bundles is not None
    ]
    return tier(max(dearest)) if dearest else None


def _figures(row: CostRow, chips: tuple[Chip, ...]) -> list[Figure | None]:
    return [row.figures.get(chip.name) for chip in chips]


def _unit(rows: tuple[CostRow, ...], chips: tuple[Chip, ...]) -> list[str]:
    """ "vector unit, bound by EUP": the unit that the first row fills most, by chip where they differ."""
    units: dict[str, None] = {}
    for chip in chips:
        figure = rows[0].figures.get(chip.name) if rows else None
        unit = bounding_unit(figure, slots(chip.name)) if figure is not None else None
        if unit is not None:
            units[_UNITS.get(unit.split(":")[0], unit)] = None
    return [f"vector unit, bound by {' or '.join(units)}"] if units else []


def _refusal(rows: tuple[CostRow, ...], chips: tuple[Chip, ...]) -> str:
    by = {figure.refused_by for row in rows for figure in _figures(row, chips) if figure is not None}
    names = sorted(name for name in by if name)
    return f"refused by {' and '.join(names)}" if names else "not measured"


def _table(rows: tuple[CostRow, ...], value: ArrayType | None, cost: NamedCost, chips: tuple[Chip, ...]) -> str:
    several = len({row.title for row in rows}) > 1
    lines: list[tuple[str, ...]] = []
    for row in rows[:_MOST_ROWS]:
        label = f"{short_name(row.dtype)} {row.title}" if several else short_name(row.dtype)
        lines.append((label, *(_cell(figure) for figure in _figures(row, chips))))
    count = _vregs(value)
    if count and not several and len(rows) == 1 and rows[0].per == "in":
        assert value is not None
        totals = tuple(
            "" if figure is None or figure.bundles is None else number_text(figure.bundles * count)
            for figure in _figures(rows[0], chips)
        )
        lines.append((f"`{array_text(value.shape, value.dtype)}` × {count} vregs", *totals))
    elif count and value is not None and (wide := wide_reduction(rows, value)):
        groups, lanes, further = wide
        totals = tuple(
            _total(groups, lanes.figures.get(chip.name), count - groups, further.figures.get(chip.name))
            for chip in chips
        )
        lines.append((f"`{array_text(value.shape, value.dtype)}` {groups} + {count - groups} vregs", *totals))
    elif count and value is not None:
        lines.append((f"`{array_text(value.shape, value.dtype)}` {count} vregs", *("" for _ in chips)))
    header = ("bundles per vreg", *(chip.name for chip in chips))
    return table(header, lines, right=range(1, len(header))) if lines else ""


def wide_reduction(rows: tuple[CostRow, ...], value: ArrayType) -> tuple[int, CostRow, CostRow] | None:
    """For a reduction over more than 128 lanes: row groups, the cost of the first vreg of each, of each further one."""
    if len(rows) != 2 or not rows[0].title.endswith("over lanes") or not rows[1].title.endswith("wide rows"):
        return None
    if isinstance(value.shape, Unknown) or isinstance(value.dtype, Unknown):
        return None
    concrete = [dim for dim in value.shape if isinstance(dim, int)]
    if len(concrete) < len(value.shape) or concrete[-1] <= LANES:
        return None
    groups = vregs((*concrete[:-1], LANES), value.dtype)
    return None if groups is None else (groups, rows[0], rows[1])


def _total(first_count: int, first: Figure | None, further_count: int, further: Figure | None) -> str:
    if first is None or further is None or first.bundles is None or further.bundles is None:
        return ""
    return number_text(first_count * first.bundles + further_count * further.bundles)


def _cell(figure: Figure | None) -> str:
    if figure is None:
        return "not measured"
    if figure.bundles is None:
        return "refused"
    return f"{tier(figure.bundles).value} {number_text(figure.bundles)}"


def _vregs(value: ArrayType | None) -> int | None:
    if value is None or isinstance(value.shape, Unknown) or isinstance(value.dtype, Unknown):
        return None
    concrete = tuple(dim for dim in value.shape if isinstance(dim, int))
    return vregs(concrete, value.dtype) if len(concrete) == len(value.shape) else None
