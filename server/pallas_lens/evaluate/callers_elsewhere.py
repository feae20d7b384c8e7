"""Callers in other files of the project, tests among them, that give a file's functions known arguments."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ..source.document import Document
from ..source.statements import Statement
from .entries import Entry
from .import_index import ImportIndex
from .lexical import Lexical, only_defines, outline
from .module import Module, Reads
from .packages import NotRead
from .parametrized import is_parametrized
from .workspace import Workspace

FILES_READ: Final = 6
"""Of the files that import one, so many are read for callers, tests first."""
CALLERS_ELSEWHERE: Final = 3
"""So many callers in other files are followed, the most telling first."""
_FILES_KEPT: Final = 64
"""So many analysed files keep their view of the others; of the rest it is made anew when it is asked for."""
_LEVELS: Final = 3
_REFUSALS: Final = frozenset({"raises", "assertRaises", "assertRaisesRegex", "assertRaisesRegexp"})
"""A test that uses one of these calls kernels wrongly on purpose."""


@dataclass(slots=True, eq=False)
class CallersView:
    """The modules as a caller in another file sees them: the file analysed is the same module to it as to itself.

    The files in ``importers`` are evaluated apart from what the file analysed reads of
    them, since a name of the file analysed means another value in each.
    """

    main: Module
    workspace: Workspace
    importers: frozenset[str]
    _modules: dict[str, Module] = field(default_factory=dict)

    def module(self, path: Path) -> Module | None:
        """The module of a file; None where it cannot be read."""
        real = self.workspace.files.real
        main = self.main.document.path
        if main is not None and real(path) == real(main):
            return self.main
        plain = self.workspace.module(path)
        if plain is None or real(path) not in self.importers:
            return plain
        kept = self._modules.get(plain.key)
        if kept is None:
            kept = self._modules[plain.key] = Module(plain.key, plain.anchor_prefix, plain.document, self)
        else:
            kept.update(plain.document)
        return kept

    def still_holds(self, reads: Reads, *, exactly: bool = False) -> bool:
        """Whether every name in ``reads`` is still bound by the same text."""
        return self.workspace.still_holds(reads, exactly=exactly)

    def resolve(self, dotted: str, level: int, folder: str) -> Module | None:
        """The module that an import in a file of ``folder`` names; None where it cannot be read."""
        path = self.workspace.location(dotted, level, folder)
        return self.module(path) if isinstance(path, Path) else None

    def why_not_read(self, dotted: str, level: int, folder: str) -> str:
        """Why a module of the user's environment is not known; "" for one that is, and for one that is not there."""
        return self.workspace.why_not_read(dotted, level, folder)

    def definition(self, module: str, name: str) -> tuple[Module, str] | NotRead | None:
        """Where a name is defined that ``module``, of the user's environment, has from elsewhere."""
        return self.workspace.definition(module, name)

    def import_fingerprint(self, dotted: str, level: int, folder: str) -> tuple[str, ...]:
        """What such an import leads to now; empty where that cannot change."""
        return self.workspace.import_fingerprint(dotted, level, folder)


@dataclass(slots=True, eq=False)
class CallersElsewhere:
    """Finds the callers of one file in others; keeps what it found while nothing that it looked at changes."""

    index: ImportIndex
    workspace: Workspace
    _views: dict[str, CallersView] = field(default_factory=dict)
    _found: dict[str, tuple[tuple[object, ...], list[Entry]]] = field(default_factory=dict)

    def entries(self, document: Document) -> list[Entry]:
        """The callers of the functions of ``document`` that lead to a call site, tests first."""
        if document.path is None or document.path.suffix != ".py" or not self.index.is_complete:
            return []
        wanted = _reaching(document)
        if not wanted:
            return []
        importers = self.index.importers(document.path, self.workspace)
        files = sorted(importers, key=lambda path: (not _is_test(path), path))[:FILES_READ]
        texts = [(path, text) for path in files if (text := self.workspace.files.document(path)) is not None]
        seen = (wanted, *(text for _, text in texts))
        kept = self._found.get(document.uri)
        if kept is None or kept[0] != seen:
            view = CallersView(
                self.workspace.main_module(document),
                self.workspace,
                frozenset(self.workspace.files.real(path) for path in (*importers, *_packages_of(document.path))),
            )
            self._views[document.uri] = view
            kept = self._found[document.uri] = (seen, _callers(texts, wanted))
            while len(self._found) > _FILES_KEPT:
                self.forget(next(iter(self._found)))
        return kept[1]

    def module(self, document: Document, entry: Entry) -> Module | None:
        """The module of the file that ``entry`` stands in, as a caller of ``document`` sees it."""
        view = self._views.get(document.uri)
        return None if view is None or entry.file is None else view.module(entry.file)

    def forget(self, uri: str) -> None:
        """Drop what was kept of a file that was closed."""
        self._views.pop(uri, None)
        self._found.pop(uri, None)


def _packages_of(path: Path) -> Iterator[Path]:
    """The ``__init__`` files on the way to a module: ``import a.b.c`` and ``a.b.c.f`` lead through them."""
    for folder in path.parents:
        package = folder / "__init__.py"
        if not package.is_file():
            return
        yield package


def _reaching(document: Document) -> frozenset[str]:
    """The names of the file's functions and classes that lead to a call site."""
    functions = [function for statement in document.statements for function in outline(statement).functions]
    found = {name for one in functions if one.holds_site for name in (one.node.name, *one.classes)}
    level = found
    for _ in range(_LEVELS):
        level = {name for one in functions if one.names & level for name in (one.node.name, *one.classes)} - found
        if not level:
            break
        found |= level
    return frozenset(name for name in found if not name.startswith("__"))


def _is_test(path: Path) -> bool:
    return path.stem.startswith("test") or path.stem.endswith("_test")


def _callers(texts: list[tuple[Path, Document]], wanted: frozenset[str]) -> list[Entry]:
    """The most telling callers: those first that know their own arguments."""
    telling: list[Entry] = []
    others: list[Entry] = []
    for entry in _all_callers(texts, wanted):
        (others if entry.needs_arguments else telling).append(entry)
        if len(telling) == CALLERS_ELSEWHERE:
            break
    return [*telling, *others][:CALLERS_ELSEWHERE]


def _all_callers(texts: list[tuple[Path, Document]], wanted: frozenset[str]) -> Iterator[Entry]:
    stems = [path.stem for path, _ in texts]
    for path, document in texts:
        if not any(name in document.text for name in wanted):
            continue
        label = path.stem if stems.count(path.stem) == 1 else f"{path.parent.name}.{path.stem}"
        used = wanted | _other_names(document, wanted)
        for statement in document.statements:
            # Most statements of a test file say nothing of the kernel, and their outlines would take long.
            if any(name in statement.parsed for name in used):
                yield from _callers_in(statement, outline(statement), used, path, label)


def _other_names(document: Document, wanted: frozenset[str]) -> frozenset[str]:
    """What a file calls by names of its own: ``from kernel import call as run``."""
    return frozenset(
        alias.asname
        for statement in document.statements
        if "import" in statement.parsed
        for node in statement.tree
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname is not None and alias.name in wanted
    )


def _callers_in(statement: Statement, lexical: Lexical, wanted: frozenset[str], path: Path, label: str) -> list[Entry]:
    if not lexical.names & wanted:
        return []
    if not lexical.functions:
        if only_defines(statement):
            return []
        return [Entry(statement, None, "call", file=path, module_name=label)]
    return [
        Entry(statement, function, "call", file=path, module_name=label)
        for function in lexical.functions
        if function.names & wanted
        and not function.names & _REFUSALS
        and (function.gives_known_arguments(wanted) or is_parametrized(function.node))
    ]
