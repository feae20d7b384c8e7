"""Hover on a matmul: floating-point operations per bundle of the MXU, by type and precision."""

from __future__ import annotations

from pallas_lens.knowledge.op_costs import matmul_rows, versions
from pallas_lens.model.chip import Chip
from pallas_lens.model.dtypes import short_name
from pallas_lens.model.kernel_body import BodyOperation
from pallas_lens.model.kernel_call import ArrayType
from pallas_lens.model.op_cost import MatmulRow
from pallas_lens.model.unknown import Unknown

from .hover_text import array_text, number_text, table

_WHERE_NAME_ALONE = ("float32", "bfloat16")
_USUAL_SIZE = 256


def matmul_markdown(name: str, operation: BodyOperation, chips: tuple[Chip, ...]) -> str:
    """flop per bundle, and the bundles of this matmul where its shape is known."""
    arrays = operation.operands[:2]
    dtypes = {array.dtype for array in arrays if not isinstance(array.dtype, Unknown)}
    shape = _two_dimensional(name, arrays)
    size = _measured_size(shape)
    wanted = _WHERE_NAME_ALONE if len(dtypes) != 1 else tuple(dtypes)
    rows = [row for row in matmul_rows() if row.contracting == size and row.transposed is None and row.dtype in wanted]
    head = [f"**{name}**", "MXU"]
    operands = " × ".join(f"`{array_text(array.shape, array.dtype)}`" for array in arrays if _is_array(array))
    if operands:
        head.append(operands)
    if not rows:
        kinds = " × ".join(short_name(dtype) for dtype in sorted(dtypes) if isinstance(dtype, str))
        return " · ".join([*head, f"not measured for {kinds}"])
    header = ("flop per bundle", *(chip.name for chip in chips))
    lines = [(_label(row), *(_rate(row, chip) for chip in chips)) for row in rows]
    if shape is not None and len(dtypes) == 1:
        rows_of, depth, columns = shape
        flops = 2 * rows_of * depth * columns
        first = rows[0]
        lines.append(
            (f"bundles, {rows_of}×{depth}×{columns} {_label(first)}", *(_time(first, chip, flops) for chip in chips))
        )
    jax, libtpu = versions()
    note = f"measured with {size} contracting and {size} columns · jax {jax}, libtpu {libtpu}"
    return "\n\n".join((" · ".join(head), table(header, lines, right=range(1, len(header))), note))


def _is_array(array: ArrayType) -> bool:
    return not (isinstance(array.shape, Unknown) and isinstance(array.dtype, Unknown))


def _two_dimensional(name: str, arrays: tuple[ArrayType, ...]) -> tuple[int, int, int] | None:
    """(rows, contracting, columns) of a plain product of two matrices; None for any other."""
    if len(arrays) != 2 or name.endswith(("dot_general", "einsum", "tensordot")):
        return None
    left, right = arrays[0].shape, arrays[1].shape
    if isinstance(left, Unknown) or isinstance(right, Unknown) or len(left) != 2 or len(right) != 2:
        return None
    rows, depth, columns = left[0], left[1], right[1]
    if not (isinstance(rows, int) and isinstance(depth, int) and isinstance(columns, int)):
        return None
    return rows, depth, columns


def _measured_size(shape: tuple[int, int, int] | None) -> int:
    """The measured size that is nearest from below to the matmul's contracting dim and columns."""
    sizes = sorted({row.contracting for row in matmul_rows()})
    if shape is None:
        return _USUAL_SIZE
    smallest = min(shape[1], shape[2])
    return max((size for size in sizes if size <= smallest), default=sizes[0])


def _label(row: MatmulRow) -> str:
    precision = "" if row.precision == "DEFAULT" else f" {row.precision}"
    return f"{short_name(row.dtype)}{precision}"


def _rate(row: MatmulRow, chip: Chip) -> str:
    figure = row.figures.get(chip.name)
    if figure is None:
        return "not measured"
    if figure.flops_per_bundle is None:
        return "refused"
    return number_text(figure.flops_per_bundle)


def _time(row: MatmulRow, chip: Chip, flops: int) -> str:
    figure = row.figures.get(chip.name)
    if figure is None or figure.flops_per_bundle is None:
        return ""
    return number_text(flops / figure.flops_per_bundle)
