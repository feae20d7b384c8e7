"""Measures bundles per vreg of an operation from the schedules that libtpu makes.

    python -m pallas_lens.knowledge.measure.op_bundles [--chip NAME] [--dtype NAME] [--missing] [--write] [OPERATION]...

OPERATION is a key of op_costs.json ("exp", "sum over lanes", "matmul"); default: all of them.
Prints the figure in the file beside the one measured now. With --write the file is
rewritten with the new ones. The method is in op_costs.json.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

from pallas_lens.knowledge.chips import CHIPS
from pallas_lens.knowledge.measure.ahead_of_time import Refused
from pallas_lens.knowledge.measure.schedule_dump import Schedule, schedule
from pallas_lens.knowledge.op_costs_file import PATH, dump, load
from pallas_lens.model.tiling import memory_bits, padded_shape

_VREG_BITS = 8 * 128 * 32
_VREGS = 16


@dataclass(frozen=True, slots=True)
class Subject:
    """One row of the file: ``row`` is its dict, ``measure`` gives its new figure on a chip."""

    label: str
    dtype: str
    row: dict[str, Any]
    measure: Callable[[str], dict[str, Any]]


def _body(expression: str) -> Callable[..., Any]:
    """``expression`` of ``x`` and ``y`` as a function; the expressions are those of op_costs.json, our own file."""
    import jax
    import jax.numpy as jnp
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import tpu as pltpu

    names = {"jax": jax, "jnp": jnp, "pl": pl, "pltpu": pltpu}
    code = compile(expression, "<op_costs.json>", "eval")

    def body(x: Any, y: Any = None) -> Any:
        return eval(code, {**names, "x": x, "y": y})

    return body


def measure_elementwise(row: dict[str, Any], dtype: str, chip: str) -> dict[str, Any]:
    """Bundles per vreg of a chained expression."""
    once = _body(row["expression"])
    bits = memory_bits(dtype)
    assert bits is not None
    shape = (_VREGS * _VREG_BITS // bits // 128, 128)
    first, second = row["chain"]

    def chain(length: int) -> Schedule | Refused:
        def body(x: Any, y: Any) -> Any:
            for _ in range(length):
                x = once(x, y)
            return x

        return schedule(chip, body, [(shape, dtype), (shape, dtype)])

    return _slope(chain(first), chain(second), (second - first) * _VREGS)


def measure_structural(row: dict[str, Any], dtype: str, chip: str) -> dict[str, Any]:
    """Bundles per vreg of inputs or of the output, between two sizes."""
    body = _body(row["expression"])
    small, large = ([(tuple(shape), dtype) for shape in row[size]] for size in ("small", "large"))
    difference = _vregs(row["per"], body, large) - _vregs(row["per"], body, small)
    return _slope(schedule(chip, body, small), schedule(chip, body, large), difference)


def _vregs(per: str, body: Callable[..., Any], inputs: list[tuple[tuple[int, ...], str]]) -> float:
    import jax
    import jax.numpy as jnp

    if per == "out":
        result = jax.eval_shape(body, *(jax.ShapeDtypeStruct(shape, jnp.dtype(dtype)) for shape, dtype in inputs))
        inputs = [(result.shape, result.dtype.name)]
    total = 0.0
    for shape, dtype in inputs:
        bits, padded = memory_bits(dtype), padded_shape(shape, dtype)
        assert bits is not None and padded is not None
        total += prod(padded) * bits / _VREG_BITS
    return total


def measure_matmul(row: dict[str, Any], chip: str) -> dict[str, Any]:
    """Bundles of 256 more rows of a matmul, and the floating-point operations that are in one."""
    import jax
    import jax.numpy as jnp

    depth, columns, transposed = row["contracting"], row["columns"], row["transposed"]
    axes = (((0 if transposed == "left" else 1,), (1 if transposed == "right" else 0,)), ((), ()))
    precision = None if row["precision"] == "DEFAULT" else jax.lax.Precision[row["precision"]]

    def body(x: Any, y: Any) -> Any:
        return jax.lax.dot_general(x, y, axes, precision=precision, preferred_element_type=jnp.dtype(row["result"]))

    def run(rows: int) -> Schedule | Refused:
        left = (depth, rows) if transposed == "left" else (rows, depth)
        right = (columns, depth) if transposed == "right" else (depth, columns)
        return schedule(chip, body, [(left, row["dtype"]), (right, row["dtype"])])

    small, large = run(256), run(512)
    for outcome in (small, large):
        if isinstance(outcome, Refused):
            return _refusal(outcome)
    assert isinstance(small, Schedule) and isinstance(large, Schedule)
    bundles = large.bundles - small.bundles
    return {"bundles_per_256_rows": bundles, "flops_per_bundle": round(2 * 256 * depth * columns / max(bundles, 1))}


def _slope(first: Schedule | Refused, second: Schedule | Refused, count: float) -> dict[str, Any]:
    for outcome in (first, second):
        if isinstance(outcome, Refused):
            return _refusal(outcome)
    assert isinstance(first, Schedule) and isinstance(second, Schedule)
    units = {name: round((second.units[name] - first.units[name]) / count, 3) for name in second.units}
    return {
        "bundles": round((second.bundles - first.bundles) / count, 3),
        "units": {name: value for name, value in units.items() if value > 0.02},
    }


def _refusal(outcome: Refused) -> dict[str, Any]:
    return {"refused": "libtpu" if outcome.stage == "compile" else "JAX"}


def subjects(data: dict[str, Any]) -> Iterator[Subject]:
    """Every row of the file."""
    for name, rows in data["elementwise"].items():
        for dtype, row in rows.items():
            yield Subject(name, dtype, row, partial(measure_elementwise, row, dtype))
    for name, rows in data["structural"].items():
        for dtype, row in rows.items():
            yield Subject(name, dtype, row, partial(measure_structural, row, dtype))
    for row in data["matmul"]:
        yield Subject("matmul", row["dtype"], row, partial(measure_matmul, row))


def main(arguments: list[str]) -> int:
    """Exit code 1 where a figure differs from the file's by more than a tenth."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("operations", nargs="*", metavar="OPERATION")
    parser.add_argument("--chip", action="append", choices=CHIPS)
    parser.add_argument("--dtype", action="append")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--missing", action="store_true", help="measure only what the file has no figure for")
    options = parser.parse_args(arguments)
    data = load()
    different = 0
    for subject in subjects(data):
        if options.operations and subject.label not in options.operations:
            continue
        if options.dtype and subject.dtype not in options.dtype:
            continue
        for chip in options.chip or CHIPS:
            known = subject.row["chips"].get(chip, {})
            if options.missing and known:
                continue
            new = subject.measure(chip)
            differs = not agrees(known, new)
            different += differs
            print(f"{subject.label} {subject.dtype} {chip}: file {_short(known)}, now {_short(new)}{' !' * differs}")
            if options.write:
                subject.row["chips"][chip] = new
    if options.write:
        Path(PATH).write_text(dump(data), encoding="utf-8")
    return 1 if different else 0


def agrees(known: dict[str, Any], new: dict[str, Any]) -> bool:
    """Whether two figures are the same within a tenth, or both a refusal."""
    for key in ("bundles", "bundles_per_256_rows"):
        if key in known and key in new:
            tolerance = max(0.1 * abs(known[key]), 0.1)
            return bool(abs(known[key] - new[key]) <= tolerance)
    return "refused" in known and "refused" in new


def _short(figure: dict[str, Any]) -> str:
    if "refused" in figure:
        return f"refused by {figure['refused']}"
    return str(figure.get("bundles", figure.get("bundles_per_256_rows", "none")))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
