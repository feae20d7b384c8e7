"""An analyzer that is kept from version to version says the same as a new one."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from pallas_lens.evaluate.analyzer import Analyzer
from pallas_lens.model.module_facts import ModuleFacts
from pallas_lens.source.document import Document, open_document, update_document

from .kernel_texts import TEXTS, mutated, tokens

EDITS = 40


def test_a_helper_file_that_changed_is_read_anew(tmp_path: Path) -> None:
    sizes = tmp_path / "sizes.py"
    sizes.write_text("BLOCKS = 8\n")
    text = """from jax.experimental import pallas as pl
from sizes import BLOCKS


def double(x, o):
    o[...] = x[...] * 2


def call(x):
    return pl.pallas_call(double, grid=(BLOCKS,), out_shape=x)(x)
"""
    analyzer = Analyzer()
    document = open_document(tmp_path / "kernel.py", text)

    def grid() -> object:
        return analyzer.analyse(document).sites[0].specialisations[0].worlds[0].grid

    assert grid() == (8,)
    sizes.write_text("BLOCKS = 160\n")
    analyzer.look_again()
    assert grid() == (160,)
    sizes.unlink()
    analyzer.look_again()
    assert grid() not in ((8,), (160,))


def test_what_an_open_editor_shows_counts_until_it_is_closed(tmp_path: Path) -> None:
    sizes = tmp_path / "sizes.py"
    sizes.write_text("BLOCKS = 8\nOTHER = 1\n")
    text = """import sizes
from jax.experimental import pallas as pl


def double(x, o):
    o[...] = x[...] * 2


def call(x):
    return pl.pallas_call(double, grid=(sizes.BLOCKS,), out_shape=x)(x)
"""
    analyzer = Analyzer()
    document = open_document(tmp_path / "kernel.py", text)

    def grid() -> object:
        return analyzer.analyse(document).sites[0].specialisations[0].worlds[0].grid

    assert grid() == (8,)
    for shown, is_current in (("BLOCKS = 8\nOTHER = 2\n", True), ("BLOCKS = 16\nOTHER = 2\n", False)):
        other = open_document(sizes, shown)
        analyzer.show(other)
        analyzer.look_again()
        assert analyzer.is_current(document) is is_current
    assert grid() == (16,)
    assert analyzer.is_current(document)
    analyzer.close(other)
    analyzer.look_again()
    assert grid() == (8,)


def edited(text: str, original: str, chosen: random.Random) -> str:
    """A next version: an accident, a line more or less, two statements swapped, or the file as it was."""
    lines = text.split("\n")
    row = chosen.randrange(len(lines))
    match chosen.choice(("accident", "accident", "new line", "lose line", "double line", "swap", "undo", "type")):
        case "accident":
            return mutated(text, chosen)
        case "new line":
            return "\n".join([*lines[:row], "", *lines[row:]])
        case "lose line":
            return "\n".join([*lines[:row], *lines[row + 1 :]])
        case "double line":
            return "\n".join([*lines[:row], lines[row], *lines[row:]])
        case "swap":
            parts = text.split("\n\n\n")
            one, two = chosen.randrange(len(parts)), chosen.randrange(len(parts))
            parts[one], parts[two] = parts[two], parts[one]
            return "\n\n\n".join(parts)
        case "undo":
            return original
    found = tokens(text)
    if not found:
        return original
    at = chosen.choice(found).end
    return text[:at] + chosen.choice("abc1(, ") + text[at:]


def row_of_change(before: str, after: str) -> int:
    common = next(
        (i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), min(len(before), len(after))
    )
    return after.count("\n", 0, common)


def check_same(kept: Analyzer, document: Document) -> None:
    needed = kept.analyse(document, all_bodies=False)
    check_needed(needed, Analyzer().analyse(document, all_bodies=False))
    facts = kept.analyse(document)
    assert facts == Analyzer().analyse(document)
    if not any(statement.broken for statement in document.statements):
        # A newly opened file has the same statements, so that even the spans are the same.
        fresh = open_document(document.path, document.text)
        assert facts == Analyzer().analyse(fresh)
        for site in facts.sites:
            assert document.locate(site.span) == fresh.locate(site.span)


def check_needed(kept: ModuleFacts, new: ModuleFacts) -> None:
    """Kernel bodies that a new analyzer leaves out may be there from an earlier version; all else is the same."""
    assert [site.span for site in kept.sites] == [site.span for site in new.sites]
    for one, other in zip(kept.sites, new.sites, strict=True):
        for seen, expected in zip(one.specialisations, other.specialisations, strict=True):
            assert replace(seen, bodies=()) == replace(expected, bodies=())
            assert all(body is None or body == mine for body, mine in zip(expected.bodies, seen.bodies, strict=True))


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_edits_are_followed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALLAS_LENS_RAISE", "1")
    chosen = random.Random(path.stem)
    text = TEXTS[path]
    kept = Analyzer()
    document = open_document(path, text)
    check_same(kept, document)
    for version in range(1, EDITS if "evaluate" in path.parts else EDITS // 4):
        changed = edited(text, TEXTS[path], chosen)
        document = update_document(document, changed, version, (row_of_change(text, changed), 0))
        text = changed
        check_same(kept, document)


def test_once_cancelled_no_more_is_evaluated() -> None:
    path = next(path for path in TEXTS if path.stem == "kernels")
    document = open_document(path, TEXTS[path])
    analyzer = Analyzer()
    asked = 0

    def cancelled() -> bool:
        nonlocal asked
        asked += 1
        return asked > 3

    some, everything = analyzer.analyse(document, cancelled=cancelled), Analyzer().analyse(document)
    assert 0 < len(some.sites) < len(everything.sites)
    assert set(some.sites) <= set(everything.sites)
    assert analyzer.analyse(document) == everything
