"""What the evaluator says of the kernel files in ``cases/``, each in forms that people write, marked with the facts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from pallas_lens.evaluate.analyzer import Analyzer
from pallas_lens.model.module_facts import CallSite
from pallas_lens.source.document import open_document

from .rendered import rendered

CASES = sorted((Path(__file__).parent / "cases").glob("*.py"))
_MARK = re.compile(r"\s*(?:.*\s)?#:\s+(?:\[(?P<name>[^\]/]+)(?:/(?P<world>\d+))?\]\s+)?(?P<text>.*\S)\s*")


@dataclass(frozen=True, slots=True)
class Mark:
    """One stated fact: in which specialisation and world, and its text."""

    row: int
    specialisation: str
    world: int
    text: str


def marks_in(text: str) -> list[Mark]:
    found = []
    for row, line in enumerate(text.splitlines()):
        if match := _MARK.fullmatch(line):
            found.append(Mark(row, match["name"] or "generic", int(match["world"] or 0), match["text"]))
    return found


def said_of(site: CallSite, mark: Mark) -> list[str]:
    """All that is said of ``site`` in the specialisation and world of ``mark``."""
    named = {one.name.removeprefix("example ").removeprefix("call "): one for one in site.specialisations}
    if mark.text.startswith("worlds "):
        return [f"worlds {len(named[mark.specialisation].worlds)}"]
    if mark.text.startswith("reading "):
        return [f"reading {named[mark.specialisation].reading}"]
    if mark.specialisation not in named:
        return [f"there is no {mark.specialisation}, only {', '.join(named)}"]
    worlds = named[mark.specialisation].worlds
    if mark.world >= len(worlds):
        return [f"there are only {len(worlds)} worlds"]
    return [f"{key} {text}" for key, text in rendered(worlds[mark.world])]


def check(path: Path) -> None:
    """Every site of the file has marks in its rows, every mark belongs to a site, and holds."""
    text = path.read_text(encoding="utf-8")
    document = open_document(path, text)
    marks = marks_in(text)
    unclaimed = set(marks)
    wrong: list[str] = []
    for site in Analyzer().analyse(document).sites:
        where = document.locate(site.span)
        own = [mark for mark in marks if where.start_row <= mark.row <= where.end_row]
        assert own, f"{path.name}:{where.start_row + 1}: a site without marks"
        unclaimed -= set(own)
        for mark in own:
            said = said_of(site, mark)
            if mark.text not in said:
                key = re.match(r"(unknown )?\w+( \d+)?", mark.text)
                near = [one for one in said if key and one.startswith(key[0])] or said
                wrong.append(f"{path.name}:{mark.row + 1}: {mark.text}\n  but: " + "\n       ".join(near))
    assert not wrong, "\n" + "\n".join(wrong)
    assert marks and not unclaimed, f"{path.name}: no site at rows {[mark.row + 1 for mark in unclaimed]}"


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_the_facts_of_a_kernel_file(path: Path) -> None:
    check(path)


def test_there_are_cases() -> None:
    assert sum(len(marks_in(path.read_text(encoding="utf-8"))) for path in CASES) > 250
