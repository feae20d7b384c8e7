"""What the real compiler says of an example, remembered from run to run.

``verdicts.json`` keeps the verdicts by source, JAX, libtpu and chip. What is not in it is compiled; so is a random
tenth of the rest, to see that the memory is true. The seed is the date, or PALLAS_LENS_VERDICT_SEED.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import random
import re
from dataclasses import dataclass
from pathlib import Path

from jax_environments import JaxEnvironment
from pallas_lens.knowledge.chips import NAMES
from pallas_lens.runtime.client import RuntimeClient
from pallas_lens.runtime.protocol import Job, TargetResult

FILE = Path(__file__).with_name("verdicts.json")
SEED = os.environ.get("PALLAS_LENS_VERDICT_SEED") or datetime.date.today().isoformat()
_SHARE_COMPILED_AGAIN = 0.1
_LONGEST_MESSAGE = 300
_EXAMPLE = re.compile(r"^# pallas-lens: example (?P<arguments>.*)\n(?:@.*\n)*def (?P<function>\w+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Verdict:
    """ "accepted" or "refused" (or what the runtime says of its own failures), at which stage, with the message."""

    verdict: str
    stage: str
    message: str = ""


def remembered() -> dict[str, dict[str, list[str]]]:
    """The verdicts of the file: by digest of the source, then by "JAX libtpu chip"."""
    found: dict[str, dict[str, list[str]]] = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    return found


def digest_of(source: str) -> str:
    """What the file calls a source."""
    return hashlib.sha256(source.encode()).hexdigest()[:16]


@dataclass(slots=True)
class Memory:
    """The verdicts of the file, and those that this run has added."""

    verdicts: dict[str, dict[str, list[str]]]
    changed: bool = False
    compiled: int = 0
    taken: int = 0

    @staticmethod
    def load() -> Memory:
        """What earlier runs have found."""
        return Memory(remembered())

    def save(self, kept: set[str]) -> None:
        """Write the file, one source a line, of those whose digest is ``kept``."""
        if self.changed:
            self.verdicts = {digest: by_chip for digest, by_chip in self.verdicts.items() if digest in kept}
            lines = [f" {json.dumps(key)}: {json.dumps(self.verdicts[key])}" for key in sorted(self.verdicts)]
            FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


@dataclass(slots=True)
class Judge:
    """Asks the compilers of one JAX environment."""

    environment: JaxEnvironment
    client: RuntimeClient
    memory: Memory

    def verdicts(self, source: str, chips: tuple[str, ...] = NAMES) -> dict[str, Verdict]:
        """What each chip's compiler says of the function with the example comment.

        Raises:
            AssertionError: when a verdict is not what the file remembers.
        """
        digest = digest_of(source)
        known = self.memory.verdicts.get(digest, {})
        keys = {chip: f"{self.environment.jax} {self.environment.libtpu or '-'} {chip}" for chip in chips}
        wanted = [chip for chip in chips if keys[chip] not in known or _is_drawn(digest + keys[chip])]
        self.memory.taken += len(chips) - len(wanted)
        if wanted:
            for chip, verdict in self._compile(source, tuple(wanted)).items():
                new = [verdict.verdict, verdict.stage, verdict.message]
                old = known.get(keys[chip])
                assert old is None or old[:2] == new[:2], f"verdicts.json remembers {old}, the compiler says {new}"
                if old is None:
                    self.memory.verdicts.setdefault(digest, {})[keys[chip]] = new
                    self.memory.changed = True
        known = self.memory.verdicts[digest]
        return {chip: Verdict(*known[keys[chip]]) for chip in chips}

    def lowered(self, sources: list[str], chip: str) -> list[Verdict]:
        """What JAX's TPU lowering says of each source; not remembered."""
        results = self.client.run_many(_job(source, "lower", (chip,)) for source in sources)
        return [_verdict(result.results[0]) for result in results]

    def _compile(self, source: str, chips: tuple[str, ...]) -> dict[str, Verdict]:
        job = _job(source, "compile" if self.environment.libtpu else "lower", chips)
        self.memory.compiled += len(chips)
        return {result.target: _verdict(result) for result in self.client.run(job).results}


def _job(source: str, mode: str, chips: tuple[str, ...]) -> Job:
    match = _EXAMPLE.search(source)
    assert match is not None, "the example has no comment that gives its arguments"
    return Job(
        id="example",
        mode=mode,
        path="example.py",
        function=match["function"],
        source=source,
        arguments=match["arguments"],
        targets=chips,
    )


def _verdict(result: TargetResult) -> Verdict:
    texts = [finding.message for finding in result.findings]
    return Verdict(result.verdict, result.stage, _short(texts[0]) if texts else "")


def _is_drawn(key: str) -> bool:
    return random.Random(SEED + key).random() < _SHARE_COMPILED_AGAIN


def _short(text: str) -> str:
    """The beginning of a message on one line; what comes later differs from machine to machine."""
    return " ".join(text.split())[:_LONGEST_MESSAGE]
