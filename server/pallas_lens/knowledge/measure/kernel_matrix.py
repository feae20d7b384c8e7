"""Generated modules with one ``pallas_call`` each, as text: what an author could have written.

The kernels copy input blocks to output blocks and leave the rest of their refs alone, so
that the compiler has nothing to spill.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from pallas_lens.knowledge.measure.kernel_source import NAME, KernelSource

_DTYPES = ("float32", "bfloat16", "int32", "int16", "int8", "float8_e4m3fn", "bool")
_SHORT = {
    "float32": "f32",
    "bfloat16": "bf16",
    "int32": "i32",
    "int16": "i16",
    "int8": "i8",
    "float8_e4m3fn": "float8_e4m3fn",
    "bool": "bool",
}


@dataclass(frozen=True, slots=True)
class _Operand:
    """One argument with its spec, and the spec of the output that receives its blocks ("" for none)."""

    shape: tuple[int, ...]
    dtype: str
    spec: str
    output_spec: str = ""


def generate(seed: int) -> Iterator[KernelSource]:
    """Endless modules, the same for the same seed."""
    draw = random.Random(seed)
    while True:
        yield _module(draw)


def _module(draw: random.Random) -> KernelSource:
    grid = tuple(draw.choice((1, 2, 3, 16)) for _ in range(draw.choice((1, 1, 2, 2, 3))))
    prefetched = draw.choice((0, 0, 0, 1, 2))
    tables = [_Operand((draw.choice((3, 8, 200)),), "int32", "") for _ in range(prefetched)]
    operands = [_copied(draw, grid, prefetched) for _ in range(draw.choice((1, 1, 2, 3)))]
    operands += [_left_alone(draw, grid, prefetched) for _ in range(draw.choice((0, 0, 1, 2)))]
    draw.shuffle(operands)
    scratch = [_scratch(draw) for _ in range(draw.choice((0, 1, 2, 3)))]
    arguments = tables + operands
    copied = [position for position, operand in enumerate(arguments) if operand.output_spec]
    semantics = tuple(draw.choice(("arbitrary", "arbitrary", "parallel")) for _ in grid)
    refs = [f"in{position}" for position in range(len(arguments))]
    refs += [f"out{position}" for position in copied] + [f"scratch{position}" for position in range(len(scratch))]
    names = [f"x{position}" for position in range(len(arguments))]
    example = ", ".join(
        f"{name}={_SHORT[operand.dtype]}[{','.join(map(str, operand.shape))}]"
        for name, operand in zip(names, arguments, strict=True)
    )
    lines = [
        "import jax",
        "import jax.numpy as jnp",
        "from jax.experimental import pallas as pl",
        "from jax.experimental.pallas import tpu as pltpu",
        "",
        "",
        f"def kernel({', '.join(refs)}):",
        *(f"    out{position}[...] = in{position}[...]" for position in copied),
        "",
        "",
        f"# pallas-lens: example {example}",
        f"def call({', '.join(names)}):",
        "    return pl.pallas_call(",
        "        kernel,",
        f"        name={NAME!r},",
        "        grid_spec=pltpu.PrefetchScalarGridSpec(",
        f"            num_scalar_prefetch={prefetched},",
        f"            grid={grid!r},",
        "            in_specs=[",
        *(f"                {operand.spec}," for operand in operands),
        "            ],",
        "            out_specs=[",
        *(f"                {arguments[position].output_spec}," for position in copied),
        "            ],",
        "            scratch_shapes=[",
        *(f"                {text}," for text in scratch),
        "            ],",
        "        ),",
        "        out_shape=[",
        *(
            f"            jax.ShapeDtypeStruct({arguments[position].shape!r}, {_dtype(arguments[position].dtype)}),"
            for position in copied
        ),
        "        ],",
        f"        compiler_params=pltpu.CompilerParams(dimension_semantics={semantics!r}),",
        f"    )({', '.join(names)})",
    ]
    text = "\n".join(lines) + "\n"
    return KernelSource(text, tuple((operand.shape, operand.dtype) for operand in arguments))


def _index_map(grid: tuple[int, ...], prefetched: int, results: list[str]) -> str:
    names = [f"i{axis}" for axis in range(len(grid))] + (["*_"] if prefetched else [])
    return f"lambda {', '.join(names)}: ({', '.join(results)},)"


def _copied(draw: random.Random, grid: tuple[int, ...], prefetched: int) -> _Operand:
    rank = draw.choice((1, 2, 2, 2, 3, 3, 4))
    in_elements = draw.random() < 0.15
    block: list[str] = []
    shape: list[int] = []
    results: list[str] = []
    for from_last in reversed(range(rank)):
        size = draw.choice(((128, 256, 512), (8, 16, 24, 64), (1, 2, 3), (1, 2))[from_last])
        if rank == 1:
            size = draw.choice((1024, 2048, 5120))
        axis = draw.choice((*range(len(grid)), None, None))
        if axis is None:
            if draw.random() < 0.6:
                size = draw.choice(((128, 200, 1), (1, 2, 3, 5, 8, 20), (1, 2, 3), (1, 2))[from_last])
                if rank == 1:
                    size = draw.choice((128, 200, 1024, 3072))
                count = 1
            else:
                count = 2
            result = "0"
        else:
            count = grid[axis]
            result = f"i{axis}"
        if from_last >= 2 and not in_elements and draw.random() < 0.3:
            block.append("None")
            size = 1
        elif in_elements:
            # Pallas takes either Element in every dim or in none.
            block.append(f"pl.Element({size})")
            result = result if result == "0" or size == 1 else f"{result} * {size}"
        else:
            block.append(str(size))
        shape.append(size * count)
        results.append(result)
    # pallas_call takes no more than two buffers.
    buffered = draw.choice(("", "", "", "1", "2"))
    mode = f", pipeline_mode=pl.Buffered({buffered})" if buffered else ""
    body = f"pl.BlockSpec(({', '.join(block)},), {_index_map(grid, prefetched, results)}"
    spec = f"{body}{mode})"
    return _Operand(tuple(shape), draw.choice(_DTYPES), spec, spec)


def _left_alone(draw: random.Random, grid: tuple[int, ...], prefetched: int) -> _Operand:
    shape = (draw.choice((8, 16, 40)), draw.choice((128, 256)))
    dtype = draw.choice(("float32", "int32"))
    if draw.random() < 0.3:
        index_map = _index_map(grid, prefetched, ["i0", "0"])
        spec = f"pl.BlockSpec((8, {shape[1]}), {index_map}, memory_space=pltpu.SMEM)"
        return _Operand((8 * grid[0], shape[1]), dtype, spec)
    space = draw.choice(("pl.ANY", "pltpu.HBM", "pltpu.SMEM"))
    return _Operand(shape, dtype, f"pl.BlockSpec(memory_space={space})")


def _scratch(draw: random.Random) -> str:
    space = draw.choice(("VMEM", "VMEM", "SMEM", "semaphore"))
    if space == "semaphore":
        kind = draw.choice(("DMA", "REGULAR"))
        return f"pltpu.SemaphoreType.{kind}" + draw.choice(("", "((2,))", "((3, 2))"))
    rank = draw.choice((1, 2, 2, 3))
    sizes = ((1, 100, 128, 256, 300), (1, 2, 3, 5, 8, 20, 64), (1, 2, 3)) if space == "VMEM" else ((1, 5, 128),) * 3
    shape = tuple(draw.choice(sizes[from_last]) for from_last in reversed(range(rank)))
    if space == "SMEM":
        shape = shape[-2:]
    dtype = draw.choice(_DTYPES[:-1] if space == "VMEM" else ("float32", "int32"))
    return f"pltpu.{space}({shape!r}, {_dtype(dtype)})"


def _dtype(name: str) -> str:
    return "jnp.bool_" if name == "bool" else f"jnp.{name}"
