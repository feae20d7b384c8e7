"""The compilers that judge the examples, one worker for each JAX environment."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from jax_environments import JaxEnvironment, environment_params
from pallas_lens.runtime.client import RuntimeClient

from . import judge as judging
from .static_findings import judged_sources

_memories: list[judging.Memory] = []


@pytest.fixture(scope="session")
def memory() -> Iterator[judging.Memory]:
    """The remembered verdicts; what is new is written at the end, except in CI."""
    found = judging.Memory.load()
    _memories.append(found)
    yield found
    if os.environ.get("CI") != "true":
        versions = {key.split()[0] for by_chip in found.verdicts.values() for key in by_chip}
        found.save({judging.digest_of(source) for jax in versions for source in judged_sources(jax)})


@pytest.fixture(scope="session", params=environment_params())
def judge(request: pytest.FixtureRequest, memory: judging.Memory) -> Iterator[judging.Judge]:
    """The compilers of each JAX environment in turn."""
    environment: JaxEnvironment = request.param
    with RuntimeClient(environment.interpreter) as client:
        yield judging.Judge(environment, client, memory)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says how much was compiled, and with which seed that can be had again."""
    for one in _memories:
        terminalreporter.write_line(
            f"rule examples: {one.compiled} verdicts compiled, {one.taken} from verdicts.json; "
            f"PALLAS_LENS_VERDICT_SEED={judging.SEED}"
        )
