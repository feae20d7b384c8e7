"""The lens "Run in interpret mode" above each function that has an example."""

from __future__ import annotations

from dataclasses import dataclass

from pallas_lens.model.module_facts import ModuleFacts
from pallas_lens.source.document import Document
from pallas_lens.source.positions import TextRange

RUN_TITLE = "Run in interpret mode"


@dataclass(frozen=True, slots=True)
class RunLens:
    """``title`` shown at ``range`` runs ``function`` with ``example``."""

    range: TextRange
    title: str
    function: str
    example: str


def run_lenses(document: Document, facts: ModuleFacts) -> tuple[RunLens, ...]:
    """One lens for each example; its name joins the title where a function has several."""
    counts: dict[str, int] = {}
    for runnable in facts.runnables:
        counts[runnable.function] = counts.get(runnable.function, 0) + 1
    lenses: list[RunLens] = []
    for runnable in facts.runnables:
        if document.start_row(runnable.span.anchor) is None:
            continue
        several = counts[runnable.function] > 1 and runnable.example
        title = f"{RUN_TITLE}: {runnable.example}" if several else RUN_TITLE
        lenses.append(RunLens(document.locate(runnable.span), title, runnable.function, runnable.example))
    return tuple(lenses)


def runnable_lens_at(lenses: tuple[RunLens, ...], document: Document, row: int) -> RunLens | None:
    """The lens of the function that holds ``row``, for a code action there."""
    place = document.statement_at(row)
    if place is None:
        return None
    statement, first = place
    inside = [lens for lens in lenses if first <= lens.range.start_row < first + len(statement.lines)]
    above = [lens for lens in inside if lens.range.start_row <= row]
    # The nearest definition above the row; on decorators and comments, the first below.
    return above[-1] if above else (inside[0] if inside else None)
