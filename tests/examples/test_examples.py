"""The examples are what they say: the good ones are accepted and right, each bad one shows its rule and is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from jax_environments import JaxEnvironment
from kernel_checks import CHIPS, JUDGED_JAX, OLDEST_JAX, compiled, document_at, findings, interpreted, runnables
from pallas_lens.model.module_facts import Runnable
from pallas_lens.model.versions import Version
from pallas_lens.rules.registry import all_rules, find_rule
from pallas_lens.rules.rule import Rule
from pallas_lens.runtime.client import RuntimeClient
from pallas_lens.runtime.protocol import Comparison

FOLDER = Path(__file__).parents[2] / "examples"
GOOD = sorted(FOLDER.glob("*.py"))
BAD = sorted((FOLDER / "bad").glob("*.py"))

good = pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
bad = pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)


def examples_of(path: Path) -> tuple[Runnable, ...]:
    found = runnables(document_at(path))
    assert found, f"{path.name} has no example comment"
    return found


def rule_shown_by(path: Path) -> Rule:
    rule = find_rule(path.stem)
    assert rule is not None, f"{path.name} is named after no rule"
    return rule


def speaks_of(rule: Rule, version: str) -> bool:
    """Whether the rule has something to say to users of that JAX."""
    asked = Version.parse(version)
    assert asked is not None
    bounds = [(Version.parse(one.since or "0"), Version.parse(one.until or "99")) for one in rule.invalid]
    return any(since is not None and until is not None and since <= asked <= until for since, until in bounds)


@pytest.mark.parametrize("version", (OLDEST_JAX, *JUDGED_JAX))
@good
def test_good_example_has_no_findings(path: Path, version: str) -> None:
    assert findings(document_at(path), version) == ()


@good
def test_good_example_is_accepted_by_the_compiler(
    client: RuntimeClient, environment: JaxEnvironment, path: Path
) -> None:
    for example in examples_of(path):
        result = compiled(client, environment, document_at(path), example, CHIPS)
        assert [(each.target, each.verdict) for each in result.results] == [(chip, "accepted") for chip in CHIPS], (
            result
        )


@good
def test_good_example_agrees_with_its_reference(client: RuntimeClient, path: Path) -> None:
    for example in examples_of(path):
        (result,) = interpreted(client, document_at(path), example).results
        assert result.verdict == "accepted", result
        assert isinstance(result.comparison, Comparison), f"{path.name} names no reference"
        assert result.comparison.matches


def test_every_rule_has_a_bad_example() -> None:
    assert {path.stem.replace("_", "-") for path in BAD} == {rule.name for rule in all_rules()}


@pytest.mark.parametrize("version", JUDGED_JAX)
@bad
def test_bad_example_shows_its_rule_and_no_other(path: Path, version: str) -> None:
    rule = rule_shown_by(path)
    shown = {found.name for found in findings(document_at(path), version)}
    assert shown == ({rule.name} if speaks_of(rule, version) else set())


@bad
def test_bad_example_says_on_one_line_what_is_wrong(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert sum(line.lstrip().startswith("# Wrong") for line in lines) == 1


@bad
def test_bad_example_is_refused_for_what_it_shows(
    client: RuntimeClient, environment: JaxEnvironment, path: Path
) -> None:
    rule = rule_shown_by(path)
    (example,) = examples_of(path)
    result = compiled(client, environment, document_at(path), example, CHIPS)
    verdicts = {each.target: each.verdict for each in result.results}
    if rule.confirmed_by == "deprecation":
        assert verdicts == dict.fromkeys(CHIPS, "accepted"), result
        return
    assert verdicts == dict.fromkeys(CHIPS, "refused"), result
    reasons = [part for invalid in rule.invalid for part in invalid.refusal.lower().split("|")]
    for each in result.results:
        said = f"{each.findings[0].message}\n{each.findings[0].original}".lower()
        assert any(reason in said for reason in reasons), said
