"""Random calls, most of them sound, some with a fault or two: what tests compare the rules and JAX on."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

_DTYPES = {"float32": "f32", "bfloat16": "bf16", "int8": "i8", "int32": "i32"}
_FAULT = 0.015
"""How likely each part is to be written wrong."""

_FILE = """\
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel({parameters}):
    pass


# pallas-lens: example {example}
def call({names}):
    return {call}({names})
"""


@dataclass(frozen=True, slots=True)
class _Array:
    shape: tuple[int, ...]
    dtype: str


def random_call(random: Random) -> str:
    """The source of a file with one call."""
    inputs = [_array(random) for _ in range(random.choice((1, 1, 2)))]
    outputs = [_array(random) for _ in range(random.choice((1, 1, 2)))]
    prefetched = random.choice((0, 0, 0, 1))
    axes = random.choice((0, 1, 1, 2))
    in_specs = [_spec(random, array, axes, prefetched) for array in inputs]
    out_specs = [_spec(random, array, axes, prefetched) for array in outputs]
    if _is_wrong(random):
        in_specs.append("pl.BlockSpec()")
    if _is_wrong(random):
        out_specs.append("pl.BlockSpec()")
    single = len(outputs) == 1 and random.random() < 0.7
    parts = [f"in_specs=[{', '.join(in_specs)}]", f"out_specs={_one_or_list(out_specs, single != _is_wrong(random))}"]
    scratch = random.random() < 0.5
    if scratch:
        parts.append("scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32)]")
    grid = _tuple([str(random.choice((1, 2, 4))) for _ in range(axes)])
    others = [f"out_shape={_one_or_list([_struct(array) for array in outputs], single)}", *_semantics(random, axes)]
    if prefetched or random.random() < 0.3:
        inside = ", ".join([f"num_scalar_prefetch={prefetched}", f"grid={grid}", *parts])
        arguments = [f"grid_spec=pltpu.PrefetchScalarGridSpec({inside})", *others]
    else:
        arguments = [*([f"grid={grid}"] if axes else []), *parts, *others]
    refs = prefetched + len(inputs) + len(outputs) + scratch + (random.choice((-1, 1)) if _is_wrong(random) else 0)
    avals = ["i32[4]"] * prefetched + [f"{_DTYPES[one.dtype]}[{','.join(map(str, one.shape))}]" for one in inputs]
    return _FILE.format(
        parameters="*refs" if random.random() < 0.2 else ", ".join(f"ref{number}" for number in range(refs)),
        example=", ".join(f"a{number}={aval}" for number, aval in enumerate(avals)),
        names=", ".join(f"a{number}" for number in range(len(avals))),
        call=f"pl.pallas_call(kernel, {', '.join(arguments)})",
    )


def _is_wrong(random: Random) -> bool:
    return random.random() < _FAULT


def _array(random: Random) -> _Array:
    rank = random.choice((1, 2, 2, 2, 2, 3, 3))
    leading = [random.choice((2, 8, 12, 32)) for _ in range(rank - 1)]
    return _Array((*leading, random.choice((64, 100, 128, 256, 1024))), random.choice(list(_DTYPES)))


def _spec(random: Random, array: _Array, axes: int, prefetched: int) -> str:
    if random.random() < 0.08:
        return f"pl.BlockSpec({random.choice(('', 'memory_space=pl.ANY', 'memory_space=pltpu.SMEM'))})"
    rank = len(array.shape) + (random.choice((-1, 1)) if _is_wrong(random) else 0)
    block = [_block_dim(random, array, position, rank, axes) for position in range(rank)]
    taken = axes + prefetched + (random.choice((-1, 1)) if _is_wrong(random) else 0)
    names = ["i", "j", "k", "l"][: max(taken, 0)]
    returned = rank + (random.choice((-1, 1)) if _is_wrong(random) else 0)
    indices = ["0", "0", *names[:axes], *(["i // 2"] if names and axes else [])]
    results = [random.choice(indices) for _ in range(returned)]
    if results and names and axes and _is_wrong(random):
        results[0] = "i / 2"
    index_map = f"{' '.join(['lambda', ', '.join(names)]).rstrip()}: {_tuple(results)}"
    arguments = [_tuple(block), index_map]
    if random.random() < 0.1:
        arguments.append(f"memory_space={random.choice(('pl.ANY', 'pltpu.SMEM', 'pltpu.VMEM'))}")
    if random.random() < 0.1:
        arguments.append(f"pipeline_mode=pl.Buffered({3 if random.random() < 0.3 else 1})")
    return f"pl.BlockSpec({', '.join(arguments)})"


def _block_dim(random: Random, array: _Array, position: int, rank: int, axes: int) -> str:
    whole = str(array.shape[min(position, len(array.shape) - 1)])
    if random.random() < 3 * _FAULT:
        return random.choice(("64", "None", "12", "4", "1", "200", "512"))
    if axes == 0 or random.random() < 0.5:
        return whole
    if rank == 1:
        return random.choice(("1024", "2048"))
    from_last = rank - 1 - position
    return random.choice({0: ("128", "256"), 1: ("8", "16")}.get(from_last, ("1", "None", "pl.Squeezed()")))


def _semantics(random: Random, axes: int) -> list[str]:
    if random.random() < 0.7:
        return []
    values = ["paralel" if _is_wrong(random) else random.choice(("parallel", "arbitrary")) for _ in range(axes)]
    if _is_wrong(random):
        values.append("arbitrary")
    entries = _tuple([f'"{value}"' for value in values])
    return [f"compiler_params=pltpu.CompilerParams(dimension_semantics={entries})"]


def _struct(array: _Array) -> str:
    return f"jax.ShapeDtypeStruct({array.shape}, jnp.{array.dtype})"


def _one_or_list(items: list[str], single: bool) -> str:
    return items[0] if single and items else f"[{', '.join(items)}]"


def _tuple(items: list[str]) -> str:
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
