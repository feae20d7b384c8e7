"""Compares the VMEM model with libtpu on generated kernels.

    python -m pallas_lens.knowledge.measure.vmem_allocations [--chip NAME]... [--count N] [--seed N]

Each kernel copies blocks from inputs to outputs, some through a scratch that carries
the block of the step before, so that nothing is spilled and every byte that libtpu
reports is a window or a scratch. Prints one line for each kernel that differs. It compares
totals, with index maps that divide or do not move; ``allocations.py`` compares item by item.

Of 250 kernels (seed 7) none differs on v5e, v5p, v6e and v7x but those with operands that
XLA placed in VMEM; on v4 one does, where a float8 copy takes 4 KiB for itself.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

from pallas_lens.knowledge.chips import CHIPS
from pallas_lens.knowledge.measure.ahead_of_time import Compiled, Refused, compile_for
from pallas_lens.model.grid import axis_symbol
from pallas_lens.model.kernel_call import (
    Arity,
    ArrayType,
    BlockDimension,
    BlockSpec,
    DimensionKind,
    IndexMap,
    IndexMapResult,
    MemorySpace,
    Operand,
    Role,
)
from pallas_lens.model.symbolic import Integer, floor_divide, symbol
from pallas_lens.model.vmem import memory_use, usable_vmem

_DTYPES = ("float32", "bfloat16", "int8", "int32", "int16", "float8_e4m3fn", "bool")
_LIMIT = 14 << 20


@dataclass(frozen=True, slots=True)
class BlockIndex:
    """One result of an index map: ``constant`` or the index along grid axis ``axis``, floor-divided by ``divisor``."""

    axis: int | None = None
    constant: int = 0
    divisor: int = 1

    def traced(self, indices: tuple[Any, ...]) -> Any:
        """The value in a traced index map."""
        if self.axis is None:
            return self.constant
        index = indices[self.axis]
        return index if self.divisor == 1 else index // self.divisor

    @property
    def symbolic(self) -> Integer:
        """The value in the model."""
        if self.axis is None:
            return self.constant
        index = symbol(axis_symbol(self.axis), 0)
        return index if self.divisor == 1 else floor_divide(index, self.divisor)


@dataclass(frozen=True, slots=True)
class Stream:
    """An input that is copied to an output of the same block and index map; a block dim None is squeezed."""

    dtype: str
    block: tuple[int | None, ...]
    array: tuple[int, ...]
    index: tuple[BlockIndex, ...]
    buffer_count: int | None = None
    through_scratch: bool = False

    @property
    def buffer_shape(self) -> tuple[int, ...]:
        """The shape of the ref: the block without its squeezed dims."""
        return tuple(size for size in self.block if size is not None)


@dataclass(frozen=True, slots=True)
class Kernel:
    """A generated call: its grid and streams."""

    grid: tuple[int, ...]
    streams: tuple[Stream, ...]

    def operands(self) -> tuple[Operand, ...]:
        """The call's refs in the model: inputs, outputs, scratch."""
        inputs = [self._operand(stream, Role.INPUT) for stream in self.streams]
        outputs = [self._operand(stream, Role.OUTPUT) for stream in self.streams]
        scratch = [
            Operand("scratch", Role.SCRATCH, ArrayType(stream.buffer_shape, stream.dtype), None, MemorySpace.VMEM, None)
            for stream in self.streams
            if stream.through_scratch
        ]
        return (*inputs, *outputs, *scratch)

    def _operand(self, stream: Stream, role: Role) -> Operand:
        block = tuple(
            BlockDimension(DimensionKind.SQUEEZED if size is None else DimensionKind.BLOCKED, size or 1)
            for size in stream.block
        )
        results = tuple(IndexMapResult("integer", index.symbolic) for index in stream.index)
        rank = len(self.grid)
        index_map = IndexMap("", Arity(rank, rank), results, None)
        spec = BlockSpec(block, index_map, None, stream.buffer_count, None)
        return Operand(role.value, role, ArrayType(stream.array, stream.dtype), spec, MemorySpace.VMEM, None)

    def compile(self, chip: str) -> Compiled | Refused:
        """What libtpu makes of the call."""
        # Imported here so that the cases can be read without jax.
        import jax
        import jax.numpy as jnp
        from jax.experimental import pallas as pl
        from jax.experimental.pallas import tpu as pltpu

        count = len(self.streams)
        carried = [position for position, stream in enumerate(self.streams) if stream.through_scratch]

        def kernel(*refs: Any) -> None:
            for position in range(count):
                source, target = refs[position], refs[count + position]
                if position in carried:
                    scratch = refs[2 * count + carried.index(position)]
                    target[...] = scratch[...]
                    scratch[...] = source[...]
                else:
                    target[...] = source[...]

        def spec(stream: Stream) -> Any:
            mode = {} if stream.buffer_count is None else {"pipeline_mode": pl.Buffered(stream.buffer_count)}
            index = stream.index
            return pl.BlockSpec(stream.block, lambda *indices: tuple(i.traced(indices) for i in index), **mode)

        specs = [spec(stream) for stream in self.streams]
        call = pl.pallas_call(
            kernel,
            grid=self.grid,
            in_specs=specs,
            out_specs=specs,
            out_shape=[jax.ShapeDtypeStruct(stream.array, jnp.dtype(stream.dtype)) for stream in self.streams],
            scratch_shapes=[
                pltpu.VMEM(self.streams[position].buffer_shape, jnp.dtype(self.streams[position].dtype))
                for position in carried
            ],
            compiler_params=pltpu.CompilerParams(vmem_limit_bytes=_LIMIT),
        )
        return compile_for(chip, call, *((stream.array, jnp.dtype(stream.dtype)) for stream in self.streams))


def generate(seed: int) -> Iterator[Kernel]:
    """Endless kernels, the same for the same seed."""
    draw = random.Random(seed)
    while True:
        grid = tuple(draw.choice((1, 2, 16, 64)) for _ in range(draw.choice((1, 1, 2, 2, 3))))
        streams = tuple(_stream(draw, grid) for _ in range(draw.choice((1, 1, 2))))
        small = sum(prod(size or 1 for size in stream.block) for stream in streams) <= 1 << 17
        arrays = [prod(stream.array) for stream in streams]
        if small and all(1 << 16 <= size < 1 << 28 for size in arrays):
            yield Kernel(grid, streams)


def _stream(draw: random.Random, grid: tuple[int, ...]) -> Stream:
    rank = draw.choice((1, 2, 2, 2, 3, 3))
    dtype = draw.choice(_DTYPES)
    block: list[int | None] = []
    array: list[int] = []
    index: list[BlockIndex] = []
    for position in range(rank):
        where = draw.choice((*range(len(grid)), None))
        from_last = rank - 1 - position
        whole = where is None and draw.random() < 0.7
        if whole:
            size = draw.choice(((128, 200, 384, 1), (1, 2, 3, 5, 8, 20, 64), (1, 2, 3))[from_last])
            if rank == 1:
                size = draw.choice((128, 1024, 3072))
            block.append(size)
            array.append(size)
            index.append(BlockIndex())
            continue
        size = draw.choice(((128, 256, 512), (8, 16, 24, 64), (1, 2, 3))[from_last])
        if rank == 1:
            size = draw.choice((1024, 2048, 5120))
        squeezed = from_last >= 2 and draw.random() < 0.4
        block.append(None if squeezed else size)
        if where is None:
            constant = draw.choice((0, 1, 2))
            index.append(BlockIndex(constant=constant))
            count = constant + 2
        else:
            index.append(BlockIndex(where, divisor=draw.choice((1, 1, 1, 16))))
            count = grid[where]
        array.append((1 if squeezed else size) * count)
    scratch = draw.random() < 0.3 and dtype != "bool"
    return Stream(dtype, tuple(block), tuple(array), tuple(index), draw.choice((None, None, None, 1, 2)), scratch)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The model's bytes and the compiler's for one kernel on one chip; ``refusal`` where it was not compiled."""

    kernel: Kernel
    model: int
    compiler: int | None
    refusal: str = ""
    promoted: bool = False


def compare(kernel: Kernel, chip_name: str) -> Comparison:
    """Compiles ``kernel`` and computes the same from the model."""
    chip = CHIPS[chip_name]
    use = memory_use(kernel.operands(), kernel.grid, chip, MemorySpace.VMEM, _LIMIT, ceiling=usable_vmem(chip))
    assert isinstance(use.total, int), "a generated kernel is concrete"
    result = kernel.compile(chip_name)
    if isinstance(result, Refused):
        return Comparison(kernel, use.total, None, result.message)
    return Comparison(kernel, use.total, result.scoped_vmem_bytes, promoted=result.operands_in_vmem)


def main(arguments: list[str]) -> int:
    """Exit code 1 where model and compiler differ on a kernel with no operand that XLA placed in VMEM."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--chip", action="append", choices=CHIPS)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    wrong = 0
    for chip in options.chip or CHIPS:
        agreed = promoted = refused = 0
        kernels = generate(options.seed)
        for _ in range(options.count):
            outcome = compare(next(kernels), chip)
            if outcome.compiler is None:
                refused += 1
                print(f"{chip} refused {outcome.kernel}: {outcome.refusal[:200]!r}")
            elif outcome.compiler == outcome.model:
                agreed += 1
            elif outcome.promoted:
                promoted += 1
            else:
                wrong += 1
                print(f"{chip} model {outcome.model} compiler {outcome.compiler} {outcome.kernel}")
        print(f"{chip}: {agreed} agree, {promoted} with operands placed in VMEM, {refused} refused")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
