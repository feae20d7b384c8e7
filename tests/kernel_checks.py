"""What a person would do with a kernel file, for tests: check it, compile it, run it in interpret mode."""

from __future__ import annotations

from pathlib import Path

import pytest
from jax_environments import JaxEnvironment
from pallas_lens.check import Checker
from pallas_lens.features.diagnostics import Diagnostic
from pallas_lens.features.run import Limits, job_for
from pallas_lens.knowledge.chips import all_chips
from pallas_lens.model.module_facts import Runnable
from pallas_lens.project import Projects
from pallas_lens.runtime.client import RuntimeClient
from pallas_lens.runtime.protocol import Result
from pallas_lens.source.document import Document, open_document

CHIPS = tuple(all_chips())
JUDGED_JAX = ("0.10.2", "0.12.0.1")
"""The releases whose compiler judges the rules."""
OLDEST_JAX = "0.7.0"
"""The oldest that the runtime takes."""

_LIMITS = Limits(timeout_seconds=300, memory_mebibytes=8192)


def document_at(path: Path, text: str | None = None) -> Document:
    """The file as the server would hold it; ``text`` in the place of what is on the disk."""
    return open_document(path, path.read_text(encoding="utf-8") if text is None else text)


def findings(document: Document, jax_version: str) -> tuple[Diagnostic, ...]:
    """What ``pallas-lens check`` finds, all chips being targets."""
    project = Projects(variables={"PALLAS_LENS_JAX_VERSION": jax_version}).of(document.path)
    return Checker((project.root,)).diagnostics(document, project)


def runnables(document: Document) -> tuple[Runnable, ...]:
    """The functions with an example comment, once for each example."""
    return Checker().facts(document).runnables


def compiled(
    client: RuntimeClient, environment: JaxEnvironment, document: Document, runnable: Runnable, chips: tuple[str, ...]
) -> Result:
    """What the TPU compiler says for each chip; skips the test where the environment has none."""
    if environment.libtpu is None:
        pytest.skip(f"{environment.interpreter} has no libtpu")
    return _run(client, document, runnable, "compile", chips)


def interpreted(client: RuntimeClient, document: Document, runnable: Runnable) -> Result:
    """What a run in TPU interpret mode shows."""
    return _run(client, document, runnable, "interpret", CHIPS[1:2])


def _run(client: RuntimeClient, document: Document, runnable: Runnable, mode: str, chips: tuple[str, ...]) -> Result:
    assert document.path is not None
    name = f"{document.path.name}::{runnable.function} {runnable.example}"
    return client.run(job_for(document, runnable, mode, chips, _LIMITS, document.path.parent, name))
