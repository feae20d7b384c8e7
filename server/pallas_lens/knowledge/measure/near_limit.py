"""Compares "windows and scratch exceed the limit" with libtpu on generated kernels near the limit.

    python -m pallas_lens.knowledge.measure.near_limit [--chip NAME]... [--count N] [--seed N]

Windows and scratch are within 20 % of the limit on either side. Exit code 1: the rule calls
an error what libtpu accepts. Prints those, and the kernels that libtpu refuses for want of
VMEM without our foreseeing it, whose temporaries decided.

With libtpu 0.0.52 and JAX 0.12.0.1, of 100 kernels on v7x (seed 0) none has an error that
libtpu does not share: 48 accepted with nothing, 41 accepted with a warning, 11 refused with one.
On v5e 48 refused with an error, 42 accepted and 9 refused with nothing, whose sums and maxima
took up to 7.7 MB for themselves; one was accepted in spite of an error, with a scratch of 1 MiB
that its body never uses: libtpu drops it, and refuses the same kernel where it is used.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Final

from pallas_lens.knowledge.chips import CHIPS
from pallas_lens.knowledge.measure.ahead_of_time import Refused, compile_for
from pallas_lens.knowledge.measure.kernel_source import NAME, KernelSource, call_in, function_in
from pallas_lens.model.chip import Chip
from pallas_lens.model.finding import Severity
from pallas_lens.model.vmem import MemoryUse, vmem_of
from pallas_lens.project import NEWEST_JAX
from pallas_lens.rules.catalog.vmem_windows_exceed_limit import check
from pallas_lens.rules.context import Context
from pallas_lens.runtime.worker.compile import vmem_of_refusal

_STEPS: Final = 4
_BODIES: Final = {
    "copy": "{source}[...]",
    "exp": "jnp.exp({source}[...])",
    "less its maximum over lanes": "{source}[...] - jnp.max({source}[...], axis=1, keepdims=True)",
    "less its sum over sublanes": "{source}[...] - jnp.sum({source}[...], axis=0, keepdims=True)",
}


def generate(seed: int, default_limit: int) -> Iterator[tuple[str, KernelSource]]:
    """Endless (what the body does, module) with windows and scratch of 0.8 to 1.2 times the limit in bytes.

    Of each three kernels about one asks for a limit of its own, below ``default_limit``.
    """
    draw = random.Random(seed)
    while True:
        asked = draw.choice((None, None, default_limit // 2, default_limit * 3 // 4))
        aim = (asked or default_limit) * draw.uniform(0.8, 1.2)
        yield _module(draw, aim, asked)


def _module(draw: random.Random, aim: float, asked: int | None) -> tuple[str, KernelSource]:
    streams = draw.choice((1, 2, 3))
    dtype, short, width = draw.choice((("float32", "f32", 4), ("bfloat16", "bf16", 2)))
    columns = draw.choice((256, 512, 1024))
    scratch_rows = draw.choice((0, 0, 8, 256))
    windows = aim - scratch_rows * columns * width
    # An input and an output with two buffers each.
    rows = max(int(windows / (4 * streams * columns * width)) // 8 * 8, 8)
    shape = (rows * _STEPS, columns)
    spec = f"pl.BlockSpec(({rows}, {columns}), lambda i: (i, 0))"
    scratch = f"pltpu.VMEM(({scratch_rows}, {columns}), jnp.{dtype})" if scratch_rows else ""
    what = draw.choice(tuple(_BODIES))
    positions = range(streams)
    arguments = ", ".join(f"x{position}" for position in positions)
    example = ", ".join(f"x{position}={short}[{shape[0]},{shape[1]}]" for position in positions)
    limit = f"vmem_limit_bytes={asked}" if asked else ""
    body = "\n".join(f"    refs[{streams + k}][...] = " + _BODIES[what].format(source=f"refs[{k}]") for k in positions)
    text = f"""\
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(*refs):
{body}


# pallas-lens: example {example}
def call({arguments}):
    return pl.pallas_call(
        kernel,
        name={NAME!r},
        grid=({_STEPS},),
        in_specs=[{spec}] * {streams},
        out_specs=[{spec}] * {streams},
        out_shape=[jax.ShapeDtypeStruct({shape}, jnp.{dtype})] * {streams},
        scratch_shapes=[{scratch}],
        compiler_params=pltpu.CompilerParams({limit}),
    )({arguments})
"""
    return what, KernelSource(text, ((shape, dtype),) * streams)


def _foreseen(source: KernelSource, chip: Chip) -> str:
    """What the rule says on one chip: "error", "warning" or "" for nothing."""
    context = Context((chip,), NEWEST_JAX, jax_version_is_known=False)
    severities = [problem.severity for problem in check(call_in(source.text), context)]
    if not severities:
        return ""
    return "warning" if severities[0] is Severity.WARNING else "error"


def _measure(chip: Chip, count: int, seed: int) -> bool:
    """Whether no error was on a kernel that libtpu accepts; prints the kernels that are not as foreseen."""
    outcomes: Counter[tuple[str, str]] = Counter()
    wrong = 0
    for what, source in itertools.islice(generate(seed, chip.scoped_vmem_limit), count):
        use = vmem_of(call_in(source.text), chip)
        assert isinstance(use, MemoryUse) and isinstance(use.limit, int), "a generated call is concrete"
        foreseen = _foreseen(source, chip)
        outcome = compile_for(chip.name, function_in(source.text), *source.inputs)
        refused = isinstance(outcome, Refused)
        outcomes["refused" if refused else "accepted", foreseen or "nothing"] += 1
        ours = f"windows and scratch {use.at_least} of {use.limit}"
        if foreseen == "error" and not refused:
            wrong += 1
            print(f"{chip.name} accepted in spite of the error, {ours}\n{source.text}")
        elif isinstance(outcome, Refused) and not foreseen:
            figures = vmem_of_refusal(Exception(outcome.message))
            needed = f"the compiler needs {figures.used}" if figures else outcome.message[:300]
            print(f"{chip.name} refused and not foreseen ({what}): {ours}, {needed}")
    parts = [f"{number} {verdict} with {foreseen}" for (verdict, foreseen), number in sorted(outcomes.items())]
    print(f"{chip.name}: {', '.join(parts)}")
    return wrong == 0


def main(arguments: list[str]) -> int:
    """Measures the chips asked for; exit code 1 where an error is on a kernel that libtpu accepts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--chip", action="append", choices=CHIPS)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    print(f"seed {options.seed}, {options.count} kernels a chip")
    good = [_measure(CHIPS[name], options.count, options.seed) for name in options.chip or CHIPS]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
