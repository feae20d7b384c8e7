"""What we know of Pallas' names, against each JAX that is there, and how versions decide."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pallas_lens.knowledge.api_names as knowledge
import pytest
from jax_environments import JaxEnvironment, environment_params
from pallas_lens.knowledge.api_names import NameState, name_state, removed_parameter, replacement
from pallas_lens.model.finding import Severity
from pallas_lens.model.versions import Version

from .static_findings import findings_of

PROGRAM = Path(knowledge.__file__).parent / "measure" / "api_names.py"
IMPORTS = "from jax.experimental import pallas as pl\nfrom jax.experimental.pallas import tpu as pltpu\n\n"


@pytest.mark.parametrize("environment", environment_params())
def test_names_and_parameters_are_those_of_the_jax_at_hand(environment: JaxEnvironment) -> None:
    answer = subprocess.run([environment.interpreter, PROGRAM], capture_output=True, text=True, timeout=300)
    assert (answer.returncode, answer.stdout) == (0, ""), answer.stderr


def severities(source: str, jax: str, known: bool = True) -> list[tuple[str, Severity]]:
    _, found = findings_of(IMPORTS + source, jax=Version.parse(jax), jax_is_known=known)
    return [(finding.name, finding.severity) for finding in found]


@pytest.mark.parametrize(
    ("jax", "expected"),
    [
        ("0.6.1", []),
        ("0.6.2", [("deprecated-api", Severity.HINT)]),
        ("0.7.2", [("renamed-api", Severity.ERROR)]),
        ("0.12.0.1", [("renamed-api", Severity.ERROR)]),
    ],
)
def test_the_users_version_decides(jax: str, expected: list[tuple[str, Severity]]) -> None:
    assert severities("params = pltpu.TPUCompilerParams()\n", jax) == expected


def test_unknown_version_is_a_warning() -> None:
    source = "params = pltpu.TPUCompilerParams()\n"
    assert severities(source, "0.12.0.1", known=False) == [("renamed-api", Severity.WARNING)]


@pytest.mark.parametrize(
    "source",
    [
        'if hasattr(pltpu, "TPUCompilerParams"):\n    params = pltpu.TPUCompilerParams()\n',
        "try:\n    params = pltpu.TPUCompilerParams()\nexcept AttributeError:\n    params = pltpu.CompilerParams()\n",
    ],
)
def test_guarded_names_are_left_alone(source: str) -> None:
    assert severities(source, "0.12.0.1") == []


def test_import_of_a_name_that_is_gone_is_said_once() -> None:
    source = "from jax.experimental.pallas.tpu import TPUCompilerParams\n\nparams = TPUCompilerParams()\n"
    assert severities(source, "0.12.0.1") == [("renamed-api", Severity.ERROR)]


def test_every_replacement_is_there_now() -> None:
    """A fix must not write a name that is gone itself, at the latest version that took the old one away."""
    newest = Version((0, 12, 0, 1))
    for path in knowledge._replacements()["names"]:
        new = replacement(path)
        if new is not None and new.use is not None:
            state = name_state(new.use, newest)
            assert state is not None and state.state is not NameState.GONE, (path, new.use)


def test_parameters_come_and_go() -> None:
    kernel = "jax.experimental.pallas.kernel"
    assert removed_parameter(kernel, "scratch_shapes", Version((0, 9, 2))) is None
    assert removed_parameter(kernel, "scratch_shapes", Version((0, 10, 1))) == Version((0, 10, 1))
    assert removed_parameter(kernel, "never_heard_of", Version((0, 12, 0))) is None
