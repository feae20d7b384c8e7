"""Files with accidents in them: nothing fails, and nothing takes long."""

from __future__ import annotations

import random
import time

import pytest
from pallas_lens.source.document import open_document

from .kernel_texts import TEXTS, analysed, findings_in, mutated

MUTATIONS = 300
SECONDS = 2.0


@pytest.mark.parametrize("seed", range(3))
def test_accidents_do_no_harm(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALLAS_LENS_RAISE", "1")
    chosen = random.Random(seed)
    for _ in range(MUTATIONS // 3):
        path = chosen.choice(list(TEXTS))
        text = mutated(TEXTS[path], chosen)
        start = time.process_time()
        document = open_document(path, text)
        findings_in(document, analysed(document))
        assert time.process_time() - start < SECONDS, text
