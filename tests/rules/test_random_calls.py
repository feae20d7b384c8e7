"""On random calls the rules and JAX's TPU lowering agree: refused where one of them does, accepted where none."""

from __future__ import annotations

from random import Random

import pytest
from pallas_lens.model.finding import Severity
from pallas_lens.model.versions import Version

from .judge import SEED, Judge
from .random_calls import random_call
from .static_findings import findings_of

CALLS = 90
BY_LIBTPU_ALONE = {"vmem-windows-exceed-limit", "smem-exceeds-limit", "rank-zero-block-with-grid"}


@pytest.mark.parametrize("part", range(3))
def test_rules_and_lowering_agree(judge: Judge, part: int) -> None:
    random = Random(f"{SEED} {part}")
    sources = [random_call(random) for _ in range(CALLS // 3)]
    accepted = 0
    for source, verdict in zip(sources, judge.lowered(sources, "v5e"), strict=True):
        _, findings = findings_of(source, jax=Version.parse(judge.environment.jax), chips=("v5e",))
        found = [
            f"{one.name}: {one.message}"
            for one in findings
            if one.severity is Severity.ERROR and one.name not in BY_LIBTPU_ALONE
        ]
        assert verdict.verdict == ("refused" if found else "accepted"), f"{found}\n{verdict}\n{source}"
        accepted += verdict.verdict == "accepted"
    assert 0 < accepted < len(sources)
