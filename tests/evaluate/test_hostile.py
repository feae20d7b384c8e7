"""Programs that grow without end or would do harm: read in little time, never run, and the call is still found."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from pallas_lens.source.document import open_document

from .hostile import PROGRAMS
from .kernel_texts import analysed, findings_in

SECONDS = 2.0


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_a_program_is_only_read(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALLAS_LENS_RAISE", "1")
    trap = tmp_path / "trap"
    start = time.process_time()
    document = open_document(tmp_path / "kernel.py", text.replace("TRAP", trap.as_posix()))
    facts = analysed(document)
    findings_in(document, facts)
    assert time.process_time() - start < SECONDS
    assert facts.sites, "the kernel call is not found"
    assert not trap.exists()
