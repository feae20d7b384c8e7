"""One worker for each JAX environment, for the tests that ask JAX and the TPU compiler."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from jax_environments import JaxEnvironment, environment_params
from pallas_lens.runtime.client import RuntimeClient


@pytest.fixture(scope="session", params=environment_params())
def environment(request: pytest.FixtureRequest) -> JaxEnvironment:
    """Each JAX environment in turn."""
    found: JaxEnvironment = request.param
    return found


@pytest.fixture(scope="session")
def client(environment: JaxEnvironment) -> Iterator[RuntimeClient]:
    """The worker of the environment, warm from one test to the next."""
    with RuntimeClient(environment.interpreter) as started:
        yield started
