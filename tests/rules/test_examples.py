"""Every example of every rule, judged twice: by the rules, and by the compilers of all chips."""

from __future__ import annotations

import pytest
from pallas_lens.knowledge.chips import NAMES
from pallas_lens.model.finding import Severity
from pallas_lens.rules.registry import all_rules
from pallas_lens.rules.rule import Invalid, Rule, Valid

from .judge import Judge, digest_of, remembered
from .static_findings import findings_of, fixed, judged_sources, newest, place_of, speaks_of, with_fix

VALID = [
    pytest.param(rule, example, id=f"{rule.name}-{number}")
    for rule in all_rules()
    for number, example in enumerate(rule.valid)
]
INVALID = [
    pytest.param(rule, example, id=f"{rule.name}-{number}")
    for rule in all_rules()
    for number, example in enumerate(rule.invalid)
]


@pytest.mark.parametrize(("rule", "example"), VALID)
def test_valid_is_silent(rule: Rule, example: Valid) -> None:
    _, found = findings_of(example.source, jax=newest(example))
    assert [(finding.name, finding.message) for finding in found] == []


@pytest.mark.parametrize(("rule", "example"), INVALID)
def test_invalid_is_found_at_its_place(rule: Rule, example: Invalid) -> None:
    document, found = findings_of(example.source, jax=newest(example))
    assert [finding.name for finding in found] == [rule.name], [finding.message for finding in found]
    (finding,) = found
    assert document.locate(finding.span) == place_of(example.source, example.at, example.occurrence)
    assert finding.code == rule.code
    partly = example.chips and rule.severity is Severity.ERROR
    assert finding.severity is (Severity.WARNING if partly else rule.severity)
    assert finding.chips == (example.chips or NAMES)


@pytest.mark.parametrize(("rule", "example"), [one for one in INVALID if one.values[1].chips])
def test_invalid_on_some_chips_alone(rule: Rule, example: Invalid) -> None:
    for chip in NAMES:
        _, found = findings_of(example.source, jax=newest(example), chips=(chip,))
        expected = [(rule.name, rule.severity)] if chip in example.chips else []
        assert [(finding.name, finding.severity) for finding in found] == expected, chip


@pytest.mark.parametrize(("rule", "example"), INVALID)
def test_fix_leaves_nothing_to_find(rule: Rule, example: Invalid) -> None:
    document, (finding,) = findings_of(example.source, jax=newest(example))
    source = with_fix(document, finding)
    if source is not None:
        assert source != example.source
        assert [other.message for other in findings_of(source, jax=newest(example))[1]] == []


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.name)
def test_compilers_accept_valid(judge: Judge, rule: Rule) -> None:
    for example in rule.valid:
        if speaks_of(example, judge.environment.jax):
            for chip, verdict in judge.verdicts(example.source).items():
                assert verdict.verdict == "accepted", (chip, verdict, example.source)


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.name)
def test_compilers_refuse_invalid(judge: Judge, rule: Rule) -> None:
    for example in rule.invalid:
        # Where chips differ, it is libtpu that refuses.
        if not speaks_of(example, judge.environment.jax) or (example.chips and judge.environment.libtpu is None):
            continue
        for chip, verdict in judge.verdicts(example.source).items():
            refused = rule.confirmed_by == "compiler" and (not example.chips or chip in example.chips)
            assert verdict.verdict == ("refused" if refused else "accepted"), (chip, verdict, example.source)
            if refused:
                assert any(part in verdict.message for part in example.refusal.split("|")), (chip, verdict)


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.name)
def test_compilers_accept_what_fixes_make(judge: Judge, rule: Rule) -> None:
    for example in rule.invalid:
        if not speaks_of(example, judge.environment.jax):
            continue
        source = fixed(example, judge.environment.jax)
        if source is not None:
            for chip, verdict in judge.verdicts(source).items():
                assert verdict.verdict == "accepted", (chip, verdict, source)


def test_nothing_else_is_remembered() -> None:
    """Verdicts on examples that are gone, or were written otherwise, leave the file."""
    verdicts = remembered()
    versions = {key.split()[0] for by_chip in verdicts.values() for key in by_chip}
    assert set(verdicts) <= {digest_of(source) for jax in versions for source in judged_sources(jax)}
