"""Compares every VMEM and SMEM allocation of generated kernels with the compiler's own list.

    python -m pallas_lens.knowledge.measure.allocations [--chip NAME]... [--count N] [--seed N]

A kernel is a module's text: libtpu compiles it, the evaluator reads it, and the model's
bytes of each prefetched table, window and scratch stand against those in libtpu's dump,
so that the whole chain is compared. Prints each kernel that differs, and those that libtpu
refuses. Exit code 1: less than 99.5 % of a chip's allocations are equal, or there are none.

With libtpu 0.0.52 and JAX 0.12.0.1, of 200 kernels a chip (seed 4) all are equal: 1137
allocations on v4, 987 on v5e, 1101 on v5p, 987 on v6e and 863 on v7x, besides 0, 150, 36, 150
and 274 windows of operands that XLA placed in VMEM. With other seeds libtpu refuses some 8-bit
kernels on v4, which cannot mask parts of a word.
"""

from __future__ import annotations

import argparse
import itertools
import re
import sys
from collections import Counter
from dataclasses import dataclass

from pallas_lens.knowledge.measure.compiler_dump import dump_folder

_FOLDER = dump_folder("original")

from pallas_lens.knowledge.chips import CHIPS  # noqa: E402
from pallas_lens.knowledge.measure.ahead_of_time import Refused, compile_for  # noqa: E402
from pallas_lens.knowledge.measure.kernel_matrix import generate  # noqa: E402
from pallas_lens.knowledge.measure.kernel_source import NAME, KernelSource, call_in, function_in  # noqa: E402
from pallas_lens.model.chip import Chip  # noqa: E402
from pallas_lens.model.kernel_call import KernelCall, Role, flat  # noqa: E402
from pallas_lens.model.smem import smem_of  # noqa: E402
from pallas_lens.model.symbolic import Integer  # noqa: E402
from pallas_lens.model.unknown import Unknown  # noqa: E402
from pallas_lens.model.vmem import MemoryUse, vmem_of  # noqa: E402

REQUIRED = 0.995
"""The share of allocations that must be equal on each chip."""

_ALLOCATION = re.compile(
    r"#allocation\d+ \[shape = .*?, space=(?P<space>\w+), size = (?P<size>0x[0-9a-f]+),.*?"
    r"tag = '(?P<tag>prefetched SMEM operand \d+|scratch operand"
    r"|(?:input|output) window allocation for operator \w+ \d+)"
)
_OPERAND = re.compile(r"= inlined_call_operand\.(?P<space>\w+) \[.*?kind: (?P<kind>input|output)")
_IN_FAST_MEMORY = ("vmem", "smem")


@dataclass(frozen=True, slots=True)
class Allocation:
    """Bytes in VMEM or SMEM of the operand at ``position`` among those of its role; ``compiler`` None: promoted."""

    role: Role
    position: int
    model: Integer | Unknown
    compiler: int | None

    def __str__(self) -> str:
        return f"{self.role.value} {self.position}: model {self.model}, compiler {self.compiler}"


@dataclass(frozen=True, slots=True)
class Made:
    """What a dump tells by role and position: bytes of each allocation, and the operands that XLA placed in VMEM.

    Semaphores, in neither memory, have 0 bytes.
    """

    sizes: dict[tuple[Role, int], int]
    promoted: frozenset[tuple[Role, int]]


def made_in(dump: str) -> Made:
    """Reads a dump of a kernel as it is before the first pass."""
    sizes: dict[tuple[Role, int], int] = {}
    tables = scratch = 0
    for match in _ALLOCATION.finditer(dump):
        size = int(match["size"], 16) if match["space"] in _IN_FAST_MEMORY else 0
        words = match["tag"].split()
        if words[0] == "scratch":
            sizes[Role.SCRATCH, scratch] = size
            scratch += 1
        elif words[0] == "prefetched":
            sizes[Role.PREFETCH, int(words[-1])] = size
            tables += 1
        else:
            sizes[Role(words[0]), int(words[-1])] = size
    # The compiler counts prefetched tables among the inputs.
    own = {(role, number - tables if role is Role.INPUT else number): size for (role, number), size in sizes.items()}
    places = [(Role(match["kind"]), match["space"]) for match in _OPERAND.finditer(dump)]
    inputs = [space for role, space in places if role is Role.INPUT]
    outputs = [space for role, space in places if role is Role.OUTPUT]
    promoted = {(Role.INPUT, position - tables) for position, space in enumerate(inputs) if space == "vmem"}
    promoted |= {(Role.OUTPUT, position) for position, space in enumerate(outputs) if space == "vmem"}
    return Made(own, frozenset(promoted))


def modelled_bytes(call: KernelCall, chip: Chip) -> dict[tuple[Role, int], Integer | Unknown]:
    """The model's bytes in VMEM and SMEM of each operand by role and position."""
    assert not isinstance(call.operands, Unknown), "a generated call is concrete"
    in_memory = {
        item.operand.name: item.bytes
        for use in (vmem_of(call, chip), smem_of(call, chip))
        if isinstance(use, MemoryUse)
        for item in use.items
    }
    seen: Counter[Role] = Counter()
    found: dict[tuple[Role, int], Integer | Unknown] = {}
    for operand in flat(call.operands):
        found[operand.role, seen[operand.role]] = in_memory.get(operand.name, 0)
        seen[operand.role] += 1
    return found


def compare(source: KernelSource, chip: str) -> list[Allocation] | Refused:
    """Each allocation in VMEM or SMEM that the model or the compiler knows of."""
    for old in _FOLDER.iterdir():
        old.unlink()
    outcome = compile_for(chip, function_in(source.text), *source.inputs)
    if isinstance(outcome, Refused):
        return outcome
    (dump,) = (path for path in _FOLDER.iterdir() if NAME in path.name)
    made = made_in(dump.read_text())
    modelled = modelled_bytes(call_in(source.text), CHIPS[chip])
    compared: list[Allocation] = []
    for key in modelled | made.sizes:
        model = modelled.get(key, 0)
        size = made.sizes.get(key, None if key in made.promoted else 0)
        if model != 0 or size:
            compared.append(Allocation(*key, model, size))
    return compared


def _measure(chip: str, count: int, seed: int) -> bool:
    """Whether enough of the allocations of ``count`` kernels are equal; prints those that are not."""
    equal = different = promoted = refused = 0
    for source in itertools.islice(generate(seed), count):
        outcome = compare(source, chip)
        if isinstance(outcome, Refused):
            refused += 1
            print(f"{chip} refused: {outcome.message[:300]!r}\n{source.text}")
            continue
        made = [allocation for allocation in outcome if allocation.compiler is not None]
        wrong = [allocation for allocation in made if allocation.model != allocation.compiler]
        promoted += len(outcome) - len(made)
        different += len(wrong)
        equal += len(made) - len(wrong)
        if wrong:
            print(f"{chip} {'; '.join(map(str, wrong))}\n{source.text}")
    print(f"{chip}: {equal} of {equal + different} equal, {promoted} placed in VMEM by XLA, {refused} kernels refused")
    return equal > 0 and equal >= REQUIRED * (equal + different)


def main(arguments: list[str]) -> int:
    """Measures the chips asked for; exit code 1 where one falls short."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--chip", action="append", choices=CHIPS)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    print(f"seed {options.seed}, {options.count} kernels a chip")
    good = [_measure(chip, options.count, options.seed) for chip in options.chip or CHIPS]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
