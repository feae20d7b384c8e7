"""One worker for each JAX environment, shared by the tests of this folder."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from jax_environments import JaxEnvironment, environment_params
from pallas_lens.runtime.client import RuntimeClient

MARK = "PALLAS_LENS_TEST_MARK"


class MarkedClient(RuntimeClient):
    """A client whose worker, and all that it starts, can be told from other processes by a variable."""

    def __init__(self, interpreter: Path) -> None:
        self.mark = uuid.uuid4().hex
        super().__init__(interpreter, environment={**os.environ, MARK: self.mark})

    def living_processes(self) -> set[int]:
        """The processes with the mark, ended ones that are not yet collected left out."""
        found = set()
        for status in Path("/proc").glob("[0-9]*/environ"):
            try:
                if f"{MARK}={self.mark}".encode() in status.read_bytes().split(b"\0"):
                    found.add(int(status.parent.name))
            except OSError:
                continue
        return found


@pytest.fixture(scope="session", params=environment_params())
def environment(request: pytest.FixtureRequest) -> JaxEnvironment:
    """Each JAX environment in turn."""
    found: JaxEnvironment = request.param
    return found


@pytest.fixture(scope="session")
def client(environment: JaxEnvironment) -> Iterator[MarkedClient]:
    """The worker of the environment, warm from one test to the next."""
    with MarkedClient(environment.interpreter) as started:
        yield started
