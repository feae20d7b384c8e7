"""What the rules say of a source, without any compiler: the one way that the tests of this folder ask."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pallas_lens.evaluate.analyzer import Analyzer
from pallas_lens.features.diagnostics import apply_edits
from pallas_lens.knowledge.chips import CHIPS
from pallas_lens.model.finding import Finding
from pallas_lens.model.versions import Version
from pallas_lens.project import NEWEST_JAX
from pallas_lens.rules import engine
from pallas_lens.rules.context import Context
from pallas_lens.rules.registry import all_rules
from pallas_lens.rules.rule import Invalid, Valid
from pallas_lens.source.document import Document, open_document
from pallas_lens.source.edits import text_edits
from pallas_lens.source.positions import TextRange


def findings_of(
    source: str, *, jax: Version = NEWEST_JAX, jax_is_known: bool = True, chips: tuple[str, ...] = tuple(CHIPS)
) -> tuple[Document, list[Finding]]:
    """The document and all findings in it."""
    document = open_document(Path("example.py"), source)
    context = Context(tuple(CHIPS[name] for name in chips), jax, jax_is_known)
    return document, engine.findings(Analyzer().analyse(document), context)


def place_of(source: str, text: str, occurrence: int = 0) -> TextRange:
    """Where ``text`` stands in ``source`` for the ``occurrence``-th time, counted from 0."""
    offset = -1
    for _ in range(occurrence + 1):
        offset = source.index(text, offset + 1)
    before = source[:offset]
    row, column = before.count("\n"), offset - (before.rfind("\n") + 1)
    lines = text.split("\n")
    end_column = column + len(text) if len(lines) == 1 else len(lines[-1])
    return TextRange(row, column, row + len(lines) - 1, end_column)


def with_fix(document: Document, finding: Finding) -> str | None:
    """The source with the finding's fix applied; None where it has none."""
    if finding.fix is None:
        return None
    edits = text_edits(document, finding.fix.edits)
    return None if edits is None else apply_edits("\n".join(document.lines), edits)


def newest(example: Valid | Invalid) -> Version:
    """The newest JAX that an example speaks of."""
    return NEWEST_JAX if example.until is None else Version.parse(example.until)


def speaks_of(example: Valid | Invalid, jax: str) -> bool:
    """Whether an example is to be judged under a version of JAX."""
    version = Version.parse(jax)
    return (example.since is None or Version.parse(example.since) <= version) and version <= newest(example)


def fixed(example: Invalid, jax: str) -> str | None:
    """What the fix of an example's finding makes of it, for a user of that JAX; None where there is no fix."""
    document, (finding,) = findings_of(example.source, jax=Version.parse(jax))
    return with_fix(document, finding)


def judged_sources(jax: str) -> Iterator[str]:
    """Every source that the compilers of one JAX are asked about."""
    for rule in all_rules():
        for example in (*rule.valid, *rule.invalid):
            if speaks_of(example, jax):
                yield example.source
        for example in rule.invalid:
            if speaks_of(example, jax):
                text = fixed(example, jax)
                if text is not None:
                    yield text
