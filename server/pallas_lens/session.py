"""One editor's session: its open documents, settings, and what is known of each. Knows nothing of LSP."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from . import config
from .check import Checker
from .environment.environments import Environments
from .environment.lookup import EnvironmentLookup
from .features.code_actions import Action, fix_all, quick_fixes
from .features.code_lens import RunLens, run_lenses, runnable_lens_at
from .features.dependencies import texts_behind
from .features.diagnostics import Diagnostic
from .features.hover import Hover, hover
from .features.hover_documentation import documented_name
from .features.pictures.picture import PictureForm
from .features.run import Limits, diagnostics_of_run, find_runnable, job_for, targets_for
from .model.module_facts import ModuleFacts
from .model.span import Span
from .notebook_cells import Cell, CellChange, NotebookCells, Part, Splice
from .project import Project, Projects
from .runtime.protocol import Job, Result
from .source.document import Document, open_document, update_document
from .source.edits import TextEdit
from .source.positions import TextRange, Units
from .text_sync import Change, apply_change

_log = logging.getLogger(__name__)


class CannotRun(Exception):
    """A run was asked for that cannot be; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Start:
    """What an editor says when it starts the server.

    ``trusted`` False: nothing of the user's may run. ``interpreter``: the user's Python
    as the editor knows it, ``settings`` its ``pallasLens`` section, ``docs`` the URI of
    the folder with the rules' pages ("" for none). ``shows_images``: its hovers show
    images whose data stand in the text.
    """

    trusted: bool = True
    interpreter: str = ""
    settings: object = None
    docs: str = ""
    shows_images: bool = False
    roots: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """A job with what is needed to show its result where the function then stands."""

    uri: str
    function: str
    example: str
    job: Job
    interpreter: Path
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Ran:
    """What a run found: each finding at a place of a statement, valid as long as ``texts`` are those of the file."""

    function: str
    texts: tuple[str, ...]
    found: tuple[tuple[Span, Diagnostic], ...]


@dataclass(slots=True)
class _Open:
    document: Document
    parts: tuple[Part, ...] = ()
    notebook: NotebookCells | None = None
    checked: tuple[Document, tuple[Diagnostic, ...]] | None = None
    followed: Document | None = None
    """The version of which every kernel body has been followed."""
    is_doubtful: bool = False
    """Another file has changed since it was checked; whether that matters has not been asked."""
    is_outdated: bool = False
    """It has, and it does."""
    is_owed: bool = False
    """Callers in other files were left out of the last check."""
    ran: tuple[_Ran, ...] = ()


class Session:
    """Holds the open documents and answers about them; every answer is for the latest text."""

    def __init__(self, start: Start) -> None:
        self._start = start
        self._open: dict[str, _Open] = {}
        self._notebook_of_cell: dict[str, str] = {}
        self._projects = self._new_projects()
        self._environments = Environments(waits=False, ask_process=start.trusted)
        self._checker = Checker(start.roots, start.docs, self._environment_of)

    @property
    def trusted(self) -> bool:
        """Whether code of the user's may run."""
        return self._start.trusted

    @property
    def uris(self) -> tuple[str, ...]:
        """The open documents."""
        return tuple(self._open)

    def configure(self, settings: object) -> None:
        """Take the editor's ``pallasLens`` section anew."""
        self._start = replace(self._start, settings=settings)
        self._projects = self._new_projects()
        self._environments.forget()
        self._forget_answers()

    def files_changed(self) -> None:
        """A project file has changed: read settings, environment and sources anew."""
        self._projects.forget()
        self._environments.forget()
        self._checker.look_again()
        self._checker.sources_changed()
        self._forget_answers()

    def sources_changed(self) -> None:
        """Python files have changed on the disk: what was read of them is asked anew."""
        self._checker.sources_changed()
        self._others_changed()

    def take_problems(self) -> list[str]:
        """What is wrong with the settings, each told once."""
        return self._projects.take_problems()

    def open(self, uri: str, path: Path | None, text: str, version: int) -> None:
        """The editor shows a document."""
        self._environments.look_again()
        self._open[uri] = _Open(open_document(path, text, version, uri))
        self._shown_anew(uri)

    def change(self, uri: str, changes: tuple[Change, ...], version: int, units: Units) -> None:
        """The user has typed. A document that was never opened is ignored."""
        entry = self._open.get(uri)
        if entry is None:
            return
        text = entry.document.text
        cursor: tuple[int, int] | None = None
        for change in changes:
            text, cursor = apply_change(text, change, units)
        entry.document = update_document(entry.document, text, version, cursor)
        self._shown_anew(uri)

    def open_notebook(self, uri: str, path: Path | None, cells: tuple[Cell, ...]) -> None:
        """The editor shows a notebook."""
        notebook = NotebookCells(uri, path, cells)
        document, parts = notebook.document()
        self._open[uri] = _Open(document, parts, notebook)
        self._notebook_of_cell |= dict.fromkeys(notebook.cell_uris, uri)

    def change_notebook(self, uri: str, splices: list[Splice], typed: list[CellChange], units: Units) -> frozenset[str]:
        """Cells have changed; returns those that are gone."""
        entry = self._open.get(uri)
        if entry is None or entry.notebook is None:
            return frozenset()
        before = entry.notebook.cell_uris
        for splice in splices:
            entry.notebook.splice(splice)
        for change in typed:
            entry.notebook.change(change, units)
        entry.document, entry.parts = entry.notebook.document()
        gone = before - entry.notebook.cell_uris
        for cell in gone:
            self._notebook_of_cell.pop(cell, None)
        self._notebook_of_cell |= dict.fromkeys(entry.notebook.cell_uris, uri)
        return gone

    def close(self, uri: str) -> None:
        """The editor no longer shows a document."""
        entry = self._open.pop(uri, None)
        if entry is None:
            return
        self._checker.close(entry.document)
        self._others_changed()
        if entry.notebook is not None:
            for cell in entry.notebook.cell_uris:
                self._notebook_of_cell.pop(cell, None)

    def document(self, uri: str) -> Document | None:
        """The latest version of an open document; of the notebook, for a cell."""
        entry = self._entry(uri)
        return entry.document if entry else None

    def parts(self, uri: str) -> tuple[Part, ...]:
        """The pieces of a document that the editor knows by URIs: its cells, or itself."""
        entry = self._entry(uri)
        if entry is None:
            return ()
        if entry.notebook is not None:
            return entry.parts
        document = entry.document
        return (Part(document.uri, document.version, 0, len(document.lines)),)

    def project(self, uri: str) -> Project:
        """What holds for a document."""
        document = self.document(uri)
        return self._projects.of(document.path if document else None)

    def facts(
        self, uri: str, *, all_bodies: bool = False, cancelled: Callable[[], bool] = lambda: False
    ) -> ModuleFacts:
        """What the evaluator finds in a document; with ``all_bodies`` also what each call alone makes of its kernel."""
        entry = self._entry(uri)
        if entry is None:
            return ModuleFacts()
        self._settle(entry)
        return self._checker.facts(entry.document, cancelled, elsewhere=False, all_bodies=all_bodies)

    def diagnostics(
        self, uri: str, cancelled: Callable[[], bool] = lambda: False, *, elsewhere: bool = False
    ) -> tuple[Diagnostic, ...]:
        """Static findings, and those of runs whose code has not changed; some of them once ``cancelled`` says yes.

        ``elsewhere`` False: what only callers in other files show may be owed, so that typing does not wait for it;
        ``outdated`` then names the document.
        """
        entry = self._entry(uri)
        if entry is None or not entry.document.mentions_pallas:
            return ()
        if not self._is_checked(entry):
            project = self._projects.of(entry.document.path)
            found = self._checker.diagnostics(entry.document, project, cancelled, elsewhere=elsewhere)
            if cancelled():
                return found
            entry.checked = (entry.document, found)
            entry.is_outdated = False
            entry.is_owed = self._checker.owes(entry.document)
        static = entry.checked[1] if entry.checked is not None else ()
        return (*static, *self._found_by_runs(entry))

    def index_imports(self, cancelled: Callable[[], bool]) -> bool:
        """Find out which files import which, where a document asks for it; whether that is done."""
        if self._checker.imports_are_indexed or not any(one.document.mentions_pallas for one in self._open.values()):
            return True
        if not self._checker.index_imports(cancelled):
            return False
        for entry in self._open.values():
            entry.is_doubtful = True
        return True

    @property
    def awaits_environment(self) -> bool:
        """Whether something of the user's environment was asked for that ``look_into_environment`` would find."""
        return self._environments.is_wanted

    def look_into_environment(self, cancelled: Callable[[], bool]) -> None:
        """Look for what was asked for; may take seconds, and so is called in a thread."""
        self._environments.look(cancelled)

    def environment_was_read(self) -> None:
        """Open files that asked for something of the environment may be told now."""
        self._others_changed()

    def outdated(self) -> str | None:
        """An open document whose findings are not those of its last check any more, since another file changed."""
        return next((uri for uri, entry in self._checked() if not self._is_checked(entry)), None)

    def owed(self) -> str | None:
        """An open document of which callers in other files were left out since it was typed in."""
        return next((uri for uri, entry in self._checked() if entry.is_owed), None)

    def check_again(self, uri: str, cancelled: Callable[[], bool]) -> bool:
        """Check an outdated document; whether its findings have changed. Once ``cancelled`` says yes, ask anew."""
        entry = self._open[uri]
        before = entry.checked
        entry.is_outdated = entry.is_outdated or entry.is_owed
        self.diagnostics(uri, cancelled, elsewhere=True)
        return entry.checked != before

    def follow_bodies(self, cancelled: Callable[[], bool]) -> bool:
        """Follow the kernel bodies that only hovers ask for, until ``cancelled`` says yes; whether that is done."""
        for uri, entry in self._checked():
            if entry.followed is not entry.document:
                self.facts(uri, all_bodies=True, cancelled=cancelled)
                if cancelled():
                    return False
                entry.followed = entry.document
        return True

    def lenses(self, uri: str) -> tuple[RunLens, ...]:
        """The lenses of a document; none where nothing may run or the user wants none."""
        document = self.document(uri)
        if document is None or not self.trusted or not self.project(uri).settings.code_lens:
            return ()
        return run_lenses(document, self.facts(uri))

    def run_offer(self, uri: str, row: int) -> RunLens | None:
        """What can be run of the function at ``row``."""
        document = self.document(uri)
        if document is None or not self.trusted or not document.mentions_pallas:
            return None
        return runnable_lens_at(run_lenses(document, self.facts(uri)), document, row)

    def quick_fixes(self, uri: str, place: TextRange) -> tuple[Action, ...]:
        """What can be done about the static findings at ``place``."""
        document = self.document(uri)
        return () if document is None else quick_fixes(document, self._static(uri), place)

    def fix_all(self, uri: str) -> tuple[TextEdit, ...]:
        """The edits of all safe fixes."""
        return fix_all(self._static(uri))

    def prepare_run(self, uri: str, function: str, example: str, mode: str, identity: str) -> Run:
        """The job that runs a function of an open document.

        Raises:
            CannotRun: with what to do about it.
        """
        if not self.trusted:
            raise CannotRun("Nothing runs in a workspace that is not trusted. Trust it with `Workspaces: Manage …`.")
        document = self.document(uri)
        if document is None:
            raise CannotRun("The file is not open in the editor; open it and try again.")
        runnable = find_runnable(self.facts(uri).runnables, function, example)
        if runnable is None:
            raise CannotRun(
                f"`{function}` has no example. Write one above it, such as `# pallas-lens: example x=f32[1024,128]`."
            )
        project = self.project(uri)
        if project.environment is None:
            raise CannotRun("No Python was found to run it with. Choose one with the setting `pallasLens.interpreter`.")
        settings = project.settings
        job = job_for(
            document,
            runnable,
            mode,
            targets_for(mode, settings.targets),
            Limits(settings.run_timeout, settings.run_memory_limit),
            project.root,
            identity,
        )
        texts = texts_behind(document, runnable.function) or ()
        return Run(uri, runnable.function, runnable.example, job, project.environment.interpreter, texts)

    def finish_run(self, run: Run, result: Result) -> tuple[Diagnostic, ...]:
        """Keep what a run found; what it said of code that has changed since is dropped."""
        entry = self._open.get(run.uri)
        if entry is None or texts_behind(entry.document, run.function) != run.texts:
            return ()
        document = entry.document
        found = diagnostics_of_run(document, result, self._name_range(run), run.example)
        anchored = [(span, one) for one in found if (span := _span(document, one.range)) is not None]
        others = tuple(ran for ran in entry.ran if ran.function != run.function)
        entry.ran = (*others, _Ran(run.function, run.texts, tuple(anchored)))
        return found

    def hover(self, uri: str, row: int, column: int) -> Hover | None:
        """What there is to say about the code at a place."""
        document = self.document(uri)
        if document is None or not document.mentions_pallas:
            return None
        project = self.project(uri)
        facts = self.facts(uri, all_bodies=True)
        return hover(document, facts, row, column, project.context.targets, self._pictures(project.settings))

    def _pictures(self, settings: config.Settings) -> PictureForm:
        if settings.pictures == "auto":
            return PictureForm.IMAGE if self._start.shows_images else PictureForm.TEXT
        return PictureForm(settings.pictures)

    def _shown_anew(self, uri: str) -> None:
        """The editor shows another text of a file: files that import it may read other things."""
        entry = self._open[uri]
        if entry.notebook is None:
            self._checker.show(entry.document)
        self._others_changed(uri)

    def _others_changed(self, uri: str = "") -> None:
        self._checker.look_again()
        for other, entry in self._open.items():
            entry.is_doubtful = entry.is_doubtful or other != uri

    def _is_checked(self, entry: _Open) -> bool:
        """Whether the findings at hand are those of the text, and of what it reads in other files."""
        self._settle(entry)
        return entry.checked is not None and entry.checked[0] is entry.document and not entry.is_outdated

    def _settle(self, entry: _Open) -> None:
        """Ask whether what has changed in other files matters; to be done before anything is evaluated anew."""
        if entry.is_doubtful:
            entry.is_doubtful = False
            entry.is_outdated = entry.is_outdated or not self._checker.is_current(entry.document)

    def documentation_source(self, uri: str, row: int, column: int) -> tuple[str, EnvironmentLookup] | None:
        """The name of JAX at a place, and what can tell its documentation; None where there is either not."""
        document = self.document(uri)
        name = None if document is None else documented_name(document, row, column)
        lookup = None if document is None else self._environment_of(document.path)
        return (name, lookup) if name is not None and lookup is not None else None

    def close_environments(self) -> None:
        """End what reads the user's environment."""
        self._environments.close()

    def _environment_of(self, path: Path | None) -> EnvironmentLookup | None:
        environment = self._projects.of(path).environment
        return None if environment is None else self._environments.of(environment.interpreter)

    def _checked(self) -> Iterator[tuple[str, _Open]]:
        for uri, entry in self._open.items():
            if entry.checked is not None and entry.checked[0] is entry.document:
                yield uri, entry

    def _entry(self, uri: str) -> _Open | None:
        return self._open.get(self._notebook_of_cell.get(uri, uri))

    def _name_range(self, run: Run) -> TextRange:
        document = self.document(run.uri)
        runnable = find_runnable(self.facts(run.uri).runnables, run.function, run.example)
        if document is None or runnable is None or document.start_row(runnable.span.anchor) is None:
            return TextRange(0, 0, 0, 0)
        return document.locate(runnable.span)

    def _found_by_runs(self, entry: _Open) -> list[Diagnostic]:
        if not entry.ran:
            return []
        entry.ran = tuple(ran for ran in entry.ran if texts_behind(entry.document, ran.function) == ran.texts)
        return [
            replace(one, range=entry.document.locate(span))
            for ran in entry.ran
            for span, one in ran.found
            if entry.document.start_row(span.anchor) is not None
        ]

    def _static(self, uri: str) -> tuple[Diagnostic, ...]:
        self.diagnostics(uri)
        entry = self._entry(uri)
        return entry.checked[1] if entry is not None and entry.checked is not None else ()

    def _new_projects(self) -> Projects:
        layer = config.from_editor(self._start.settings)
        return Projects(layer, self._start.interpreter, self._start.roots)

    def _forget_answers(self) -> None:
        for entry in self._open.values():
            entry.checked = None


def _span(document: Document, text_range: TextRange) -> Span | None:
    """The range as a place in its statement; None between statements."""
    place = document.statement_at(text_range.start_row)
    if place is None:
        return None
    statement, first = place
    return Span(
        statement.anchor,
        text_range.start_row - first,
        text_range.start_column,
        text_range.end_row - first,
        text_range.end_column,
    )
