"""What every rule must declare, and that what is generated from the rules is up to date."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pallas_lens.generate.__main__ import is_current
from pallas_lens.generate.rule_docs import generate
from pallas_lens.rules import catalog
from pallas_lens.rules.page import documentation_sections, page
from pallas_lens.rules.registry import all_rules, find_rule
from pallas_lens.rules.rule import Rule

ROOT = Path(__file__).parents[2]
FAMILIES = {"1", "2", "3", "4", "5", "6", "9"}


def test_every_file_of_the_folder_is_a_rule() -> None:
    files = {path.stem for path in Path(catalog.__path__[0]).glob("*.py")} - {"__init__"}
    assert {rule.name.replace("-", "_") for rule in all_rules()} == files


def test_codes_are_given_once() -> None:
    codes = [rule.code for rule in all_rules()]
    assert len(set(codes)) == len(codes)


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.name)
def test_declaration_is_complete(rule: Rule) -> None:
    assert re.fullmatch(r"PAL\d{3}", rule.code) and rule.code[3] in FAMILIES
    assert rule.valid and rule.invalid
    assert rule.summary.endswith(".") and len(rule.summary) < 120
    title, sections = documentation_sections(rule)
    assert title.endswith(".") and all(sections.values())
    assert rule.invalid[0].source.strip() in page(rule)
    assert rule.valid[0].source.strip() in page(rule)
    for example in rule.invalid:
        assert example.source.count(example.at) > example.occurrence
        assert example.refusal or rule.confirmed_by != "compiler"


def test_rules_are_found_by_code_and_by_name() -> None:
    for rule in all_rules():
        assert find_rule(rule.code.lower()) is rule
        assert find_rule(rule.name.replace("-", "_")) is rule
    assert find_rule("PAL000") is None


def test_pages_are_up_to_date() -> None:
    stale = [file.path.name for file in generate(ROOT) if not is_current(file)]
    assert stale == [], "run `python -m pallas_lens.generate`"
