"""From a document to its diagnostics: the one way that the editor and the command line share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .evaluate.analyzer import Analyzer
from .evaluate.import_index import ImportIndex
from .evaluate.packages import Packages
from .features.diagnostics import Diagnostic, diagnostics_of
from .file_discovery import is_skipped
from .model.finding import Finding
from .model.module_facts import CallSite, ModuleFacts
from .project import Project
from .rules import engine
from .rules.context import Context
from .source.document import Document, open_document


@dataclass(frozen=True, slots=True)
class _Judged:
    """What the rules said of a site. Holding the site keeps the identities of its parts from being given anew."""

    site: CallSite
    context: Context
    findings: list[Finding]


def _never() -> bool:
    return False


class Checker:
    """Checks the documents of one server or of one run of the command line.

    Keeps what makes the next check of the same document cheap. ``docs`` is the URI of
    the folder with the rules' pages ("" where there is none); ``packages_of`` gives the
    environment of a file, where its packages may be read. Callers in other files under
    ``roots`` count once ``index_imports`` has been called, and is done.
    """

    def __init__(
        self,
        roots: tuple[Path, ...] = (),
        docs: str = "",
        packages_of: Callable[[Path | None], Packages | None] = lambda _: None,
    ) -> None:
        self._imports = ImportIndex(roots, is_skipped)
        self._analyzer = Analyzer(roots, self._imports, packages_of)
        self._docs = docs
        self._judged: dict[str, dict[tuple[int, ...], _Judged]] = {}

    def open(self, path: Path, text: str) -> Document:
        """The document of a file on the disk; statements that were read for other files are not parsed again."""
        return open_document(path, text, known=self._analyzer.workspace.files.known(path))

    def index_imports(self, cancelled: Callable[[], bool] = _never) -> bool:
        """Find out which files import which, until ``cancelled`` says yes; whether that is done."""
        return self._imports.advance(cancelled)

    @property
    def imports_are_indexed(self) -> bool:
        """Whether ``index_imports`` has nothing left to do."""
        return self._imports.is_complete

    def sources_changed(self) -> None:
        """Source files have come, changed or gone on the disk: who imports which is to be asked anew."""
        self._imports.look_again()

    def owes(self, document: Document) -> bool:
        """Whether callers in other files were left out of the last check, to answer soon."""
        return self._analyzer.owes(document)

    def facts(
        self,
        document: Document,
        cancelled: Callable[[], bool] = _never,
        *,
        elsewhere: bool = True,
        all_bodies: bool = True,
    ) -> ModuleFacts:
        """What the evaluator finds in the document; nothing where it does not speak of Pallas.

        ``all_bodies`` False: without the kernel bodies in which rules would find nothing new.
        """
        if not document.mentions_pallas:
            return ModuleFacts()
        return self._analyzer.analyse(document, elsewhere=elsewhere, all_bodies=all_bodies, cancelled=cancelled)

    def diagnostics(
        self, document: Document, project: Project, cancelled: Callable[[], bool] = _never, *, elsewhere: bool = True
    ) -> tuple[Diagnostic, ...]:
        """The findings that are asked for and not silenced, in the order of their places.

        ``elsewhere`` False: without the callers in other files that would have to be followed anew.
        Once ``cancelled`` says yes, only some of them.
        """
        if not document.mentions_pallas:
            return ()
        facts = self.facts(document, cancelled, elsewhere=elsewhere, all_bodies=False)
        wanted = [
            finding
            for finding in self._findings(document.uri, facts, project.context)
            if project.selection.includes(finding.code, finding.name)
        ]
        return diagnostics_of(document, wanted, facts.comment_faults, self._docs)

    def _findings(self, uri: str, facts: ModuleFacts, context: Context) -> list[Finding]:
        """What the rules say; call sites that the evaluator did not touch since the last time are not judged again."""
        context = engine.context_of(facts, context)
        rules = engine.rules_for(facts)
        found = engine.module_findings(facts, rules, context)
        before, now = self._judged.get(uri, {}), {}
        for site in facts.sites:
            key = tuple(map(id, site.specialisations))
            judged = before.get(key)
            if judged is None or judged.context != context:
                judged = _Judged(site, context, engine.site_findings(site, rules, context))
            now[key] = judged
            found += judged.findings
        self._judged[uri] = now
        return found

    def look_again(self) -> None:
        """Other files of the project may have changed since the last check."""
        self._analyzer.look_again()

    def show(self, document: Document) -> None:
        """An editor shows this text of a file; it counts, whatever the disk has."""
        self._analyzer.show(document)

    def is_current(self, document: Document) -> bool:
        """Whether checking ``document`` once more would find the same, whatever happened to other files."""
        return self._analyzer.is_current(document)

    def close(self, document: Document) -> None:
        """Forget a document that is no longer open."""
        self._judged.pop(document.uri, None)
        self._analyzer.close(document)
