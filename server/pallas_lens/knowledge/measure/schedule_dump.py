"""The schedule that libtpu makes of a kernel: bundles, and the slots they fill.

Import this before anything imports jax: the dump is asked for in the environment, which
libtpu reads once a process.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pallas_lens.knowledge.measure.compiler_dump import dump_folder

_LABEL = "pre-delay_hlo-static-per-bundle-utilization"
_FOLDER = dump_folder(_LABEL)

from pallas_lens.knowledge.measure.ahead_of_time import Refused, compile_for  # noqa: E402

_KERNEL = "measured_kernel"


@dataclass(frozen=True, slots=True)
class Schedule:
    """Bundles of a whole kernel, and how many slots of each unit they fill."""

    bundles: int
    units: dict[str, int]


def schedule(chip: str, body: Callable[..., Any], inputs: list[tuple[tuple[int, ...], str]]) -> Schedule | Refused:
    """The schedule of a kernel without a grid that stores ``body`` of its inputs' values; inputs are (shape, dtype)."""
    import jax
    import jax.numpy as jnp
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import tpu as pltpu

    avals = [jax.ShapeDtypeStruct(shape, jnp.dtype(dtype)) for shape, dtype in inputs]

    def kernel(*refs: Any) -> None:
        refs[-1][...] = body(*(ref[...] for ref in refs[:-1]))

    def call(*arrays: Any) -> Any:
        return pl.pallas_call(
            kernel,
            out_shape=result,
            in_specs=[pl.BlockSpec(memory_space=pltpu.VMEM)] * len(inputs),
            out_specs=pl.BlockSpec(memory_space=pltpu.VMEM),
            name=_KERNEL,
        )(*arrays)

    for old in _FOLDER.iterdir():
        old.unlink()
    try:
        result = _shape_of_result(body, avals)
    except Exception as error:
        return Refused("lower", str(error))
    outcome = compile_for(chip, call, *((aval.shape, aval.dtype) for aval in avals))
    if isinstance(outcome, Refused):
        return outcome
    dumps = [path for path in sorted(_FOLDER.iterdir()) if _KERNEL in path.name and _LABEL in path.name]
    if not dumps:
        raise RuntimeError(f"libtpu wrote no schedule; it wrote {sorted(path.name for path in _FOLDER.iterdir())}")
    return _read(dumps[-1].read_text())


def _shape_of_result(body: Callable[..., Any], avals: list[Any]) -> Any:
    import jax

    # Primitives of Pallas have no meaning outside of a kernel for eval_shape's evaluation rules,
    # but their abstract shapes are all that is asked for here.
    return jax.eval_shape(body, *avals)


def _read(text: str) -> Schedule:
    """The utilisation table: a header line of unit names, capacities, then one line a bundle."""
    lines = text.splitlines()
    names = [name.strip() for name in lines[1].split(",")]
    rows = [list(map(int, re.findall(r"\d+", line))) for line in lines[4:] if line.strip()]
    return Schedule(len(rows), {name: sum(row[column] for row in rows) for column, name in enumerate(names)})
