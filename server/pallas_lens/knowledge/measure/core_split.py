"""Measures how the cores of a chip with megacore share a grid, for model/core_split.py.

    python -m pallas_lens.knowledge.measure.core_split [--chip NAME]...

Compiles a kernel for each grid and prints what one core walks, by the compiler's own
words, beside what the model says. Exit code 1: some differ.
"""

from __future__ import annotations

import argparse
import re
import sys
from typing import Any, Final

from pallas_lens.knowledge.measure.compiler_dump import dump_folder

_FOLDER = dump_folder("original")

# It sets what libtpu reads once a process, as the lines above do.
import pallas_lens.knowledge.measure.ahead_of_time  # noqa: E402, F401
from pallas_lens.knowledge.chips import CHIPS  # noqa: E402
from pallas_lens.model.chip import Chip  # noqa: E402
from pallas_lens.model.core_split import split_of_grid  # noqa: E402
from pallas_lens.model.unknown import Unknown  # noqa: E402

_P, _A = "parallel", "arbitrary"
CASES: Final[tuple[tuple[tuple[int, ...], tuple[str, ...]], ...]] = (
    ((4,), (_P,)),
    ((5,), (_P,)),
    ((1,), (_P,)),
    ((4, 6), (_P, _P)),
    ((3, 4), (_P, _P)),
    ((3, 5), (_P, _P)),
    ((4, 6), (_A, _P)),
    ((1, 4), (_P, _P)),
    ((3, 1), (_P, _P)),
    ((1, 5), (_P, _A)),
    ((7, 3), (_P, _A)),
    ((8, 2), (_A, _A)),
    ((1, 1, 3), (_P, _P, _A)),
    ((3, 5, 7), (_P, _P, _A)),
    ((3, 5, 7), (_A, _P, _P)),
    ((3, 5, 7), (_P, _A, _P)),
    ((3, 5, 4), (_P, _A, _P)),
    ((5, 7, 9), (_P, _P, _P)),
    ((3, 2, 8), (_P, _P, _P)),
    ((3, 5, 7, 2), (_P, _P, _A, _P)),
    ((5, 3, 7, 9), (_P, _P, _A, _P)),
)


def _device(chip: Chip) -> Any:
    """A device of the chip with all its cores: v4's topology gives one so only when it is asked to."""
    from jax.experimental import topologies

    options = {} if chip.cores == chip.cores_of_chip else {"chip_config_name": "megacore"}
    return topologies.get_topology_desc(platform="tpu", topology_name=chip.topology, **options).devices[0]


def bounds_of_one_core(device: Any, grid: tuple[int, ...], semantics: tuple[str, ...]) -> tuple[int, ...]:
    """The grid that one core walks, as the compiler's dump has it."""
    import jax
    import jax.numpy as jnp
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import tpu as pltpu
    from jax.sharding import AbstractDevice, AbstractMesh, SingleDeviceSharding

    for old in _FOLDER.iterdir():
        old.unlink()

    def kernel(source: Any, target: Any) -> None:
        target[...] = source[...] + 1

    block = pl.BlockSpec((*(1 for _ in grid), 8, 128), lambda *step: (*step, 0, 0))
    array = jax.ShapeDtypeStruct((*grid, 8, 128), jnp.float32, sharding=SingleDeviceSharding(device))
    call = pl.pallas_call(
        kernel,
        grid=grid,
        in_specs=[block],
        out_specs=block,
        out_shape=jax.ShapeDtypeStruct(array.shape, array.dtype),
        compiler_params=pltpu.CompilerParams(dimension_semantics=semantics),
    )
    abstract = AbstractDevice(platform="tpu", device_kind=device.device_kind, num_cores=device.num_cores)
    with jax.sharding.use_abstract_mesh(AbstractMesh((), (), abstract_device=abstract)):
        jax.jit(call).lower(array).compile()
    for path in sorted(_FOLDER.iterdir()):
        found = re.search(r"iteration_bounds: \(([\d, ]+)\)", path.read_text(errors="replace"))
        if found is not None:
            return tuple(int(size) for size in found[1].split(",") if size.strip())
    raise RuntimeError(f"no iteration bounds among {sorted(path.name for path in _FOLDER.iterdir())}")


def main() -> int:
    """Print each case; 1 where the model differs from the compiler."""
    able = [name for name, chip in CHIPS.items() if chip.supports_megacore]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chip", action="append", choices=able)
    differ = 0
    for name in parser.parse_args().chip or able:
        device = _device(CHIPS[name])
        for grid, semantics in CASES:
            walked = bounds_of_one_core(device, grid, semantics)
            split = split_of_grid(grid, semantics, CHIPS[name])
            said = split.reason if isinstance(split, Unknown) else split.grid
            differ += said != walked
            print(f"{name} {grid} {', '.join(semantics)}: {walked}{'' if said == walked else f', the model: {said}'}")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
