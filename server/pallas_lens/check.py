"""From a document to its diagnostics: the one way that the editor and the command line share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .evaluate.analyzer import Analyzer
from .features.diagnostics import Diagnostic, diagnostics_of
from .model.module_facts import ModuleFacts
from .project import Project
from .rules import engine
from .source.document import Document


def _never() -> bool:
    return False


class Checker:
    """Checks the documents of one server or of one run of the command line.

    Keeps what makes the next check of the same document cheap. ``docs`` is the URI of
    the folder with the rules' pages ("" where there is none).
    """

    def __init__(self, roots: tuple[Path, ...] = (), docs: str = "") -> None:
        self._analyzer = Analyzer(workspace_roots=roots)
        self._docs = docs

    def facts(self, document: Document, cancelled: Callable[[], bool] = _never) -> ModuleFacts:
        """What the evaluator finds in the document; nothing where it does not speak of Pallas."""
        if not document.mentions_pallas:
            return ModuleFacts()
        return self._analyzer.analyse(document, cancelled=cancelled)

    def diagnostics(
        self, document: Document, project: Project, cancelled: Callable[[], bool] = _never
    ) -> tuple[Diagnostic, ...]:
        """The findings that are asked for and not silenced, in the order of their places.

        Once ``cancelled`` says yes, only some of them.
        """
        if not document.mentions_pallas:
            return ()
        facts = self.facts(document, cancelled)
        wanted = [
            finding
            for finding in engine.findings(facts, project.context)
            if project.selection.includes(finding.code, finding.name)
        ]
        return diagnostics_of(document, wanted, facts.comment_faults, self._docs)

    def close(self, document: Document) -> None:
        """Forget a document that is no longer open."""
        self._analyzer.close(document)
