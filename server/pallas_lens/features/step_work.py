"""What a kernel does in one step, for the roofline: the bundles that its operations fill of each unit of a chip."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from math import isqrt, prod

from pallas_lens.knowledge.op_costs import cost_of, matmul_rows, slots
from pallas_lens.model.chip import Chip
from pallas_lens.model.dtypes import short_name
from pallas_lens.model.kernel_body import BodyOperation, KernelBody, OperationKind
from pallas_lens.model.kernel_call import ArrayType
from pallas_lens.model.op_cost import Figure, vregs
from pallas_lens.model.roofline import Range, StepWork, Unit
from pallas_lens.model.span import Span
from pallas_lens.model.unknown import Unknown

from .hover_op import is_numeric, is_scalar, measured_rows, measured_value, readable, wide_reduction

_NOWHERE = Span("", 0, 0, 0, 0)
_UNITS = {"VALU": Unit.VPU, "EUP": Unit.EUP, "XLU": Unit.XLU}
_FOLLOWED = ("jax.lax.cond", "jax.lax.scan")
"""What their functions do is recorded by itself."""
_NO_WORK = (OperationKind.LOAD, OperationKind.STORE, OperationKind.LOOP, OperationKind.WHEN, OperationKind.DMA)
_CONSTANT_MAKERS = ("zeros", "zeros_like", "ones", "ones_like", "full", "full_like", "empty", "empty_like")
_CONSTANTS = tuple(f"jax.numpy.{name}" for name in _CONSTANT_MAKERS)
"""They make the same number everywhere, which is kept in a register."""


def step_work(body: KernelBody | None, chips: Sequence[Chip]) -> dict[str, StepWork]:
    """The work of one step on each chip; what cannot be told is named in ``unknown``, each once."""
    if body is None:
        return {chip.name: StepWork(unknown=("the kernel's body is not known",)) for chip in chips}
    # An unrolled loop has the same operation many times, at several places.
    alike = Counter(
        replace(one, span=_NOWHERE, callee_span=_NOWHERE, ref=None) for one in body.operations if _has_work(one)
    )
    left_out = () if body.is_whole else ("not all of the kernel's body could be followed",)
    return {
        chip.name: _sum([(_in_step(operation, chip.name), count) for operation, count in alike.items()], left_out)
        for chip in chips
    }


def _sum(works: Sequence[tuple[StepWork, int]], left_out: tuple[str, ...]) -> StepWork:
    flops = Range()
    bundles: dict[Unit, Range] = {}
    unknown = dict.fromkeys(left_out)
    for work, count in works:
        flops += work.flops.scaled(count)
        for unit, filled in work.bundles.items():
            bundles[unit] = bundles.get(unit, Range()) + filled.scaled(count)
        unknown.update(dict.fromkeys(work.unknown))
    return StepWork(flops, bundles, tuple(unknown))


def _has_work(operation: BodyOperation) -> bool:
    if operation.kind in _NO_WORK or operation.name in (*_CONSTANTS, *_FOLLOWED) or is_scalar(operation):
        return False
    return operation.kind is OperationKind.DOT or cost_of(operation.name) is not None or is_numeric(operation.name)


@lru_cache(maxsize=4096)
def _in_step(operation: BodyOperation, chip: str) -> StepWork:
    """The work of an operation in a whole step, by the loops and conditions around it."""
    work, turns = _in_turn(operation, chip), operation.turns
    if isinstance(work, str):
        return StepWork(unknown=(f"{readable(operation.name)}: {work}",))
    if not isinstance(turns, int):
        why = turns.reason if isinstance(turns, Unknown) else f"a loop turns {turns} times"
        return StepWork(unknown=(f"{readable(operation.name)}: {why}",))

    def of_step(turn: Range) -> Range:
        return Range(0.0 if operation.is_conditional else turn.least * turns, turn.most * turns)

    return StepWork(of_step(work.flops), {unit: of_step(turn) for unit, turn in work.bundles.items()})


def _in_turn(operation: BodyOperation, chip: str) -> StepWork | str:
    """The work of one turn of an operation, or why it is not known."""
    cost = cost_of(operation.name)
    if operation.kind is OperationKind.DOT or (cost is not None and cost.kind == "matmul"):
        return _in_matmul(operation, chip)
    if cost is None:
        return "not measured"
    value = measured_value(operation, cost)
    if value is None or isinstance(value.dtype, Unknown):
        return "the type of its operand is not known"
    rows = tuple(row for row in measured_rows(operation, cost, value.dtype) if row.dtype == value.dtype)
    if not rows:
        return f"not measured for {short_name(value.dtype)}"
    readings: list[dict[Unit, float]] = []
    wide = wide_reduction(rows, value)
    for row in rows:
        counted = operation.result if row.per == "out" else value
        count = None if counted is None else _vregs(counted)
        figure = row.figures.get(chip)
        if count is None:
            return "the shape of its operand is not known"
        if figure is None or figure.bundles is None:
            return f"not measured on {chip}"
        if wide is not None:
            count = wide[0] if row is rows[0] else count - wide[0]
        readings.append(_filled(figure, count, chip))
    units = dict.fromkeys(unit for reading in readings for unit in reading)
    each = {unit: [reading.get(unit, 0.0) for reading in readings] for unit in units}
    if wide is not None:
        return StepWork(bundles={unit: _exactly(sum(counts)) for unit, counts in each.items()})
    # Where several measurements fit, the work lies between them.
    return StepWork(bundles={unit: Range(min(counts), max(counts)) for unit, counts in each.items()})


def _exactly(count: float) -> Range:
    return Range(count, count)


def _filled(figure: Figure, count: int, chip: str) -> dict[Unit, float]:
    """Bundles by unit: the slots that ``count`` vregs fill, over those that a bundle has."""
    room = slots(chip)
    return {
        unit: count * figure.units[name] / room[name]
        for name, unit in _UNITS.items()
        if name in figure.units and name in room
    }


def _vregs(value: ArrayType) -> int | None:
    shape = _concrete(value)
    return None if shape is None or isinstance(value.dtype, Unknown) else vregs(shape, value.dtype)


def _concrete(value: ArrayType) -> tuple[int, ...] | None:
    if isinstance(value.shape, Unknown):
        return None
    shape = tuple(dim for dim in value.shape if isinstance(dim, int))
    return shape if len(shape) == len(value.shape) else None


def _in_matmul(operation: BodyOperation, chip: str) -> StepWork | str:
    flops = matmul_flops(operation)
    if flops is None:
        return "the shapes of its operands or its result are not known"
    if operation.precision is None:
        return "its precision is not known"
    dtypes = {operand.dtype for operand in operation.operands[:2]}
    rates = [
        figure.flops_per_bundle
        for row in matmul_rows()
        if {row.dtype} == dtypes and row.precision == (operation.precision or "DEFAULT")
        if (figure := row.figures.get(chip)) is not None and figure.flops_per_bundle is not None
    ]
    if not rates:
        kinds = " × ".join(sorted(short_name(dtype) for dtype in dtypes if isinstance(dtype, str)))
        return f"not measured for {kinds or 'its types'} on {chip}"
    return StepWork(_exactly(flops), {Unit.MXU: _exactly(flops / max(rates))})


def matmul_flops(operation: BodyOperation) -> int | None:
    """Two for each product that is added, told from the shapes of the operands and of the result; None: not known.

    With K the size that is summed over and B that of batch dims, operands and result have
    B·M·K, B·K·N and B·M·N elements; B stands in front in the result.
    """
    if len(operation.operands) < 2 or operation.result is None:
        return None
    left, right, result = (_concrete(one) for one in (*operation.operands[:2], operation.result))
    if left is None or right is None or result is None:
        return None
    products = prod(left) * prod(right)
    readings: set[int] = set()
    for summed in range(1, min(len(left), len(right)) + 1):
        batch = len(left) + len(right) - len(result) - 2 * summed
        if not 0 <= batch <= len(result) or not prod(result):
            continue
        shared = Counter(result[:batch])
        if shared - Counter(left) or shared - Counter(right):
            continue
        squared, rest = divmod(products, prod(result) * prod(result[:batch]))
        if not rest and isqrt(squared) ** 2 == squared:
            readings.add(2 * prod(result) * isqrt(squared))
    return readings.pop() if len(readings) == 1 else None
