"""Files that end anywhere: nothing fails, and what stands above the cut is judged as before."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from pallas_lens.model.module_facts import ModuleFacts
from pallas_lens.source.document import Document, open_document

from .kernel_texts import TEXTS, Found, analysed, findings_in, of_calls_above, tokens

CUTS = 300
SEED = 20261


@pytest.fixture(autouse=True)
def _defects_are_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALLAS_LENS_RAISE", "1")


def findings_above(document: Document, facts: ModuleFacts, row: int) -> list[Found]:
    return [one for one in findings_in(document, facts) if one.where.end_row < row]


def test_findings_above_a_cut_stay() -> None:
    chosen = random.Random(SEED)
    wholes: dict[Path, tuple[Document, ModuleFacts]] = {}
    calls = findings = 0
    for _ in range(CUTS):
        path = chosen.choice(list(TEXTS))
        text = TEXTS[path]
        if path not in wholes:
            document = open_document(path, text)
            wholes[path] = (document, analysed(document))
        whole, facts = wholes[path]
        token = chosen.choice(tokens(text))
        end = chosen.randint(token.start, token.end)
        row = text.count("\n", 0, end)
        at_cut = whole.statement_at(row)
        first = at_cut[1] if at_cut is not None else row
        document = open_document(path, text[:end])
        found = of_calls_above(document, analysed(document), first)
        expected = of_calls_above(whole, facts, first)
        assert found.sites == expected.sites, f"{path.name} cut at {end}"
        above = findings_above(document, found, first)
        assert above == findings_above(whole, expected, first), f"{path.name} cut at {end}"
        calls += len(found.sites)
        findings += len(above)
    assert calls > CUTS and findings > CUTS // 6, "too little stands above the cuts for this to mean anything"
