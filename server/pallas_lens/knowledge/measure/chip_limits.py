"""Measures the memory limits in chips.json: what a kernel may use by default, at most, and of SMEM.

    python -m pallas_lens.knowledge.measure.chip_limits [--chip NAME]...

Prints each figure beside the file's.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from typing import Any

from pallas_lens.knowledge.chips import CHIPS
from pallas_lens.knowledge.measure.ahead_of_time import Compiled, Refused, compile_for

_ROW_BYTES = 512
_NO_LIMIT = 1 << 30


def _with_scratch(chip: str, space: str, rows: int, vmem_limit: int | None) -> Compiled | Refused:
    """A kernel whose scratch of ``rows`` times 512 bytes cannot be optimised away: its rows are chosen at run time."""
    import jax
    import jax.numpy as jnp
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import tpu as pltpu

    def in_vmem(source: Any, target: Any, scratch: Any) -> None:
        step = pl.program_id(0)
        scratch[pl.ds(pl.multiple_of(step * 8, 8), 8), :] = source[...]
        target[...] = scratch[pl.ds(pl.multiple_of(step * 16, 8), 8), :]

    def in_smem(source: Any, target: Any, scratch: Any) -> None:
        step = pl.program_id(0)
        value = scratch[step]
        scratch[step + 1] = value + 1
        target[...] = source[...] + value.astype(jnp.float32)

    block = pl.BlockSpec((8, 128), lambda step: (step, 0))
    elements = rows * _ROW_BYTES // 4
    shape = pltpu.VMEM((rows, 128), jnp.float32) if space == "vmem" else pltpu.SMEM((elements,), jnp.int32)
    call = pl.pallas_call(
        in_vmem if space == "vmem" else in_smem,
        grid=(8,),
        in_specs=[block],
        out_specs=block,
        out_shape=jax.ShapeDtypeStruct((64, 128), jnp.float32),
        scratch_shapes=[shape],
        compiler_params=pltpu.CompilerParams(vmem_limit_bytes=vmem_limit),
    )
    return compile_for(chip, call, ((64, 128), jnp.float32))


def _largest(accepts: Callable[[int], bool], accepted: int, refused: int, step: int) -> int:
    """The largest multiple of ``step`` that ``accepts``, between one that it does and one that it does not."""
    while refused - accepted > step:
        middle = (accepted + refused) // 2 // step * step
        if accepts(middle):
            accepted = middle
        else:
            refused = middle
    return accepted


def largest_vmem(chip: str, limit: int | None) -> int:
    """The most bytes of VMEM with which a kernel compiles under ``vmem_limit_bytes``, to 4 KiB."""
    used = 0

    def accepts(rows: int) -> bool:
        nonlocal used
        outcome = _with_scratch(chip, "vmem", rows, limit)
        if isinstance(outcome, Compiled):
            used = max(used, outcome.scoped_vmem_bytes or 0)
        return isinstance(outcome, Compiled)

    _largest(accepts, 1024, 2 * CHIPS[chip].vmem_capacity // _ROW_BYTES, 8)
    return used


def largest_smem(chip: str) -> int:
    """The most bytes of a scratch in SMEM with which a kernel compiles, to 512 bytes."""
    accepts = lambda rows: isinstance(_with_scratch(chip, "smem", rows, None), Compiled)  # noqa: E731
    return _largest(accepts, 64, 2 * CHIPS[chip].smem_capacity // _ROW_BYTES, 1) * _ROW_BYTES


def capacity(chip: str) -> int | None:
    """The size of VMEM that the compiler names when one allocation is larger."""
    rows = (CHIPS[chip].vmem_capacity + (1 << 20)) // _ROW_BYTES
    outcome = _with_scratch(chip, "vmem", rows, _NO_LIMIT)
    named = re.search(r"would exceed memory \(size=(\d+)\)", outcome.message) if isinstance(outcome, Refused) else None
    return int(named[1]) if named else None


def main(arguments: list[str]) -> int:
    """Exit code 1 where a figure is not the file's."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--chip", action="append", choices=CHIPS)
    options = parser.parse_args(arguments)
    different = 0
    for name in options.chip or CHIPS:
        chip = CHIPS[name]
        measured = {
            "scoped_vmem_limit": (chip.scoped_vmem_limit, largest_vmem(name, None)),
            "vmem_capacity": (chip.vmem_capacity, capacity(name)),
            "vmem_capacity less vmem_reserved": (
                chip.vmem_capacity - chip.vmem_reserved,
                largest_vmem(name, _NO_LIMIT),
            ),
            "smem_capacity less smem_reserved": (chip.smem_capacity - chip.smem_reserved, largest_smem(name)),
        }
        for figure, (known, new) in measured.items():
            different += known != new
            print(f"{name} {figure}: file {known}, now {new}{' !' * (known != new)}")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
