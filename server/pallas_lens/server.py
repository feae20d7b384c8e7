"""The language server: routes LSP's messages to the session, and keeps the answers for the latest text only."""

from __future__ import annotations

import asyncio
import functools
import logging
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any, Final

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method

from . import __version__, lsp_convert
from .config import SECTION
from .environment.lookup import Documentation, EnvironmentLookup
from .features.hover_documentation import with_documentation
from .features.run import summary
from .lsp_convert import FIX_ALL, RUN_COMMAND, View
from .message_queue import MessageQueue
from .runner import Runner
from .runtime.protocol import Progress
from .runtime.unavailable import RuntimeUnavailable
from .session import CannotRun, Run, Session, Start
from .source.positions import Units

_log = logging.getLogger("pallas_lens")

NAME: Final = "pallas-lens"
_STATUS: Final = "pallasLens/status"
_STATUS_VERSION: Final = 1
_SLOW_SECONDS: Final = 0.2
_LONGEST_LOOK_SECONDS: Final = 10.0
_DOCUMENTATION_SECONDS: Final = 0.2
"""A hover waits so long for the documentation of a name; what comes later is there the next time."""
_QUIET_SECONDS: Final = 0.05
"""What is not for the text that the user types begins after so long without a message."""
_PAUSE_SECONDS: Final = 0.4
"""And what would cost more than a key may, after so long without a change."""
_LOG_LEVELS: Final = {
    "error": logging.ERROR,
    "warning": logging.WARNING,
    "info": logging.INFO,
    "debug": logging.DEBUG,
}
_NOTEBOOKS: Final = types.NotebookDocumentSyncOptions(
    notebook_selector=[
        types.NotebookDocumentFilterWithCells(
            cells=[types.NotebookCellLanguage(language="python")],
            notebook=types.NotebookDocumentFilterNotebookType(notebook_type="jupyter-notebook"),
        )
    ]
)


class _Protocol(LanguageServerProtocol):
    """pygls's protocol without its own copy of each text, which would cost a pass over the file a keystroke."""

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> Any:
        yield self.fm.features[types.TEXT_DOCUMENT_DID_OPEN], (params,), None

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> Any:
        yield self.fm.features[types.TEXT_DOCUMENT_DID_CHANGE], (params,), None

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> Any:
        yield self.fm.features[types.TEXT_DOCUMENT_DID_CLOSE], (params,), None

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    def lsp_notebook_document__did_open(self, params: types.DidOpenNotebookDocumentParams) -> Any:
        yield self.fm.features[types.NOTEBOOK_DOCUMENT_DID_OPEN], (params,), None

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def lsp_notebook_document__did_change(self, params: types.DidChangeNotebookDocumentParams) -> Any:
        yield self.fm.features[types.NOTEBOOK_DOCUMENT_DID_CHANGE], (params,), None

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def lsp_notebook_document__did_close(self, params: types.DidCloseNotebookDocumentParams) -> Any:
        yield self.fm.features[types.NOTEBOOK_DOCUMENT_DID_CLOSE], (params,), None


class PallasLensServer(LanguageServer):
    """The server of one editor window."""

    def __init__(self) -> None:
        super().__init__(NAME, __version__, notebook_document_sync=_NOTEBOOKS, protocol_cls=_Protocol)
        self.queue: MessageQueue | None = None
        self._session: Session | None = None
        self._pulls = False
        self._scheduled: set[str] = set()
        self._published: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._catching_up: asyncio.Task[None] | None = None
        self._is_closing = threading.Event()
        self._runs = 0
        self._changes = 0
        self._looking: asyncio.Future[Documentation | None] | None = None
        self._runner = Runner()
        self._has_complained = False
        self._status: tuple[str | None, tuple[str, ...]] | None = None
        self._register()

    @property
    def session(self) -> Session:
        """The session, which begins with ``initialize``."""
        if self._session is None:
            raise RuntimeError("a request came before initialize")
        return self._session

    def report_server_error(self, error: Exception, source: Any) -> None:
        """To the log only: nobody waits for an answer, so nobody needs a message on the screen."""
        _log.error("%s: %s", getattr(source, "__name__", source), error, exc_info=error)

    # Registration

    def _register(self) -> None:
        add = self._add
        add(types.INITIALIZE, self._initialize)
        add(types.INITIALIZED, self._initialized)
        add(types.SHUTDOWN, self._shut_down)
        add(types.TEXT_DOCUMENT_DID_OPEN, self._did_open)
        add(types.TEXT_DOCUMENT_DID_CHANGE, self._did_change)
        add(types.TEXT_DOCUMENT_DID_CLOSE, self._did_close)
        add(types.NOTEBOOK_DOCUMENT_DID_OPEN, self._notebook_did_open)
        add(types.NOTEBOOK_DOCUMENT_DID_CHANGE, self._notebook_did_change)
        add(types.NOTEBOOK_DOCUMENT_DID_CLOSE, self._notebook_did_close)
        add(types.WORKSPACE_DID_CHANGE_CONFIGURATION, self._did_change_configuration)
        add(types.WORKSPACE_DID_CHANGE_WATCHED_FILES, self._did_change_watched_files)
        add(types.TEXT_DOCUMENT_HOVER, self._hover)
        kinds = [types.CodeActionKind.QuickFix, FIX_ALL]
        add(types.TEXT_DOCUMENT_CODE_ACTION, self._code_actions, types.CodeActionOptions(code_action_kinds=kinds))
        add(types.TEXT_DOCUMENT_CODE_LENS, self._code_lenses, types.CodeLensOptions(resolve_provider=False))
        self.command(RUN_COMMAND)(self._guarded_async(RUN_COMMAND, self._run))

    def _add(self, method: str, handler: Callable[[Any], Any], options: Any = None) -> None:
        guard = self._guarded_async if asyncio.iscoroutinefunction(handler) else self._guarded
        self.feature(method, options)(guard(method, handler))

    def _guarded(self, method: str, handler: Callable[..., Any]) -> Callable[..., Any]:
        """``handler``, with whatever it raises sent to the log, and its time when it is slow."""

        def answer(*arguments: Any) -> Any:
            start = time.perf_counter()
            try:
                return handler(*arguments)
            except Exception:
                self._complain(method)
                return None
            finally:
                _log_slow(method, start)

        return answer

    def _guarded_async(self, method: str, handler: Callable[..., Any]) -> Callable[..., Any]:
        async def answer(*arguments: Any) -> Any:
            try:
                return await handler(*arguments)
            except Exception:
                self._complain(method)
                return None

        return answer

    def _complain(self, method: str) -> None:
        """The traceback goes to the log each time, a word to the user once."""
        _log.exception("%s failed", method)
        if not self._has_complained:
            self._has_complained = True
            self.window_log_message(
                types.LogMessageParams(
                    types.MessageType.Error,
                    f"Pallas Lens could not answer {method}; some findings or hovers may be missing.",
                )
            )

    # Start and settings

    def _initialize(self, params: types.InitializeParams) -> None:
        options = params.initialization_options if isinstance(params.initialization_options, dict) else {}
        interpreter, docs = options.get("interpreter"), options.get("docs")
        self._session = Session(
            Start(
                trusted=options.get("trusted", True) is not False,
                interpreter=interpreter if isinstance(interpreter, str) else "",
                settings=options.get("settings"),
                docs=docs if isinstance(docs, str) else "",
                shows_images=options.get("showsImages") is True,
                roots=lsp_convert.roots(params),
            )
        )
        text_document = params.capabilities.text_document
        self._pulls = text_document is not None and text_document.diagnostic is not None
        if self._pulls:
            self._add(
                types.TEXT_DOCUMENT_DIAGNOSTIC,
                self._pull,
                types.DiagnosticOptions(inter_file_dependencies=True, workspace_diagnostics=False, identifier=NAME),
            )

    async def _initialized(self, _: types.InitializedParams) -> None:
        workspace = self.client_capabilities.workspace
        watched = workspace.did_change_watched_files if workspace is not None else None
        if watched is not None and watched.dynamic_registration:
            self._watch_project_files()
        self._tell_status()

    def _watch_project_files(self) -> None:
        watchers = [types.FileSystemWatcher("**/pyproject.toml"), types.FileSystemWatcher("**/*.py")]
        options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
        registration = types.Registration(
            "pallas-lens-project-files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options
        )
        self.client_register_capability(types.RegistrationParams([registration]))

    async def _did_change_configuration(self, params: types.DidChangeConfigurationParams) -> None:
        settings = params.settings.get(SECTION) if isinstance(params.settings, dict) else None
        workspace = self.client_capabilities.workspace
        if workspace is not None and workspace.configuration:
            # Not every editor sends the settings with the notification; asked for, they come.
            items = [types.ConfigurationItem(section=SECTION)]
            answers = await self.workspace_configuration_async(types.ConfigurationParams(items))
            settings = answers[0] if answers and isinstance(answers[0], dict) else settings
        self.session.configure(settings)
        self._answers_changed()

    def _did_change_watched_files(self, params: types.DidChangeWatchedFilesParams) -> None:
        if all(change.uri.endswith(".py") for change in params.changes):
            self.session.sources_changed()
            self._catch_up()
            return
        self.session.files_changed()
        self._answers_changed()

    def _answers_changed(self) -> None:
        """Have all findings and lenses fetched or sent anew."""
        self._tell_status()
        workspace = self.client_capabilities.workspace
        if workspace is not None and workspace.code_lens is not None and workspace.code_lens.refresh_support:
            self.workspace_code_lens_refresh(None)
        self._diagnostics_changed(self.session.uris)

    def _tell_status(self) -> None:
        """Tell the status item which JAX and chips findings are made for, and the user what settings are wrong."""
        uris = self.session.uris
        project = self.session.project(uris[-1] if uris else "")
        logging.getLogger("pallas_lens").setLevel(_LOG_LEVELS[project.settings.log_level])
        context = project.context
        status = (str(context.jax_version) if context.jax_version_is_known else None, context.target_names)
        if status != self._status:
            self._status = status
            self.protocol.notify(_STATUS, {"version": _STATUS_VERSION, "jax": status[0], "targets": list(status[1])})
        for problem in self.session.take_problems():
            _log.warning("%s", problem)
            self.window_show_message(types.ShowMessageParams(types.MessageType.Warning, problem))

    def _shut_down(self, _: None) -> None:
        self.close()

    def close(self) -> None:
        """End what runs."""
        self._is_closing.set()
        self._runner.close()
        if self._session is not None:
            self._session.close_environments()

    # Documents

    def _did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        item = params.text_document
        self.session.open(item.uri, lsp_convert.path_of(item.uri), item.text, item.version)
        self._tell_status()
        self._changed(item.uri)

    def _did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        item = params.text_document
        self.session.change(item.uri, lsp_convert.changes(params.content_changes), item.version, self._units)
        self._changed(item.uri)

    def _did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        self._closed(params.text_document.uri)

    def _notebook_did_open(self, params: types.DidOpenNotebookDocumentParams) -> None:
        uri = params.notebook_document.uri
        self.session.open_notebook(uri, lsp_convert.path_of(uri), lsp_convert.cells(params))
        self._tell_status()
        self._changed(uri)

    def _notebook_did_change(self, params: types.DidChangeNotebookDocumentParams) -> None:
        uri = params.notebook_document.uri
        for cell in self.session.change_notebook(uri, *lsp_convert.cell_changes(params.change), self._units):
            self._withdraw(cell)
        self._changed(uri)

    def _notebook_did_close(self, params: types.DidCloseNotebookDocumentParams) -> None:
        self._closed(params.notebook_document.uri)

    def _changed(self, uri: str) -> None:
        self._changes += 1
        if not self._pulls:
            self._schedule(uri)

    def _closed(self, uri: str) -> None:
        for part in self.session.parts(uri):
            self._withdraw(part.uri)
        self.session.close(uri)
        self._catch_up()

    def _withdraw(self, uri: str) -> None:
        if uri in self._published:
            self._published.discard(uri)
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    # Findings

    @property
    def _units(self) -> Units:
        return lsp_convert.units_of(self.server_capabilities.position_encoding)

    def _view(self, uri: str) -> View | None:
        """The document that holds ``uri``, seen from there; None where it is not open."""
        document = self.session.document(uri)
        return View(document, self.session.parts(uri), uri, self._units) if document is not None else None

    def _is_stale(self, uris: frozenset[str]) -> bool:
        """Whether a change waits that makes what is being worked out for these documents out of date."""
        return self.queue is not None and self.queue.holds_change_of(uris)

    async def _pull(self, params: types.DocumentDiagnosticParams) -> types.RelatedFullDocumentDiagnosticReport:
        """Answered when no message waits any more, and so for the newest text."""
        uri = params.text_document.uri
        while True:
            view = self._view(uri)
            if view is None:
                return types.RelatedFullDocumentDiagnosticReport([])
            names = frozenset({uri, view.document.uri})
            start = time.perf_counter()
            found = self.session.diagnostics(uri, functools.partial(self._is_stale, names))
            _log_slow(types.TEXT_DOCUMENT_DIAGNOSTIC, start)
            if not self._is_stale(names):
                shown = [lsp_convert.diagnostic(one, view) for one in found if view.holds(one.range)]
                self._catch_up()
                return types.RelatedFullDocumentDiagnosticReport(shown)
            await asyncio.sleep(0)

    def _schedule(self, uri: str) -> None:
        """Send findings once no message waits any more."""
        if uri not in self._scheduled:
            self._scheduled.add(uri)
            self._start_task(self._publish(uri))

    async def _publish(self, uri: str) -> None:
        self._scheduled.discard(uri)
        start = time.perf_counter()
        try:
            self._publish_now(uri)
        except Exception:
            self._complain(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        _log_slow(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, start)

    def _publish_now(self, uri: str) -> None:
        names = frozenset({uri})
        found = self.session.diagnostics(uri, lambda: self._is_stale(names))
        if self.session.document(uri) is None or self._is_stale(names):
            # The change that waits schedules this anew.
            return
        for part in self.session.parts(uri):
            view = self._view(part.uri)
            if view is None:
                continue
            shown = [lsp_convert.diagnostic(one, view) for one in found if view.holds(one.range)]
            if shown or part.uri in self._published or part.uri == uri:
                self._published.add(part.uri)
                self.text_document_publish_diagnostics(
                    types.PublishDiagnosticsParams(part.uri, shown, version=part.version)
                )
        self._catch_up()

    def _catch_up(self) -> None:
        """Look again, when the user pauses, at the open files that used what has changed in others."""
        if self._catching_up is None or self._catching_up.done():
            self._catching_up = self._start_task(self._check_outdated())

    async def _check_outdated(self) -> None:
        try:
            await self._quiet()
            while not self.session.index_imports(self._is_busy):
                await self._quiet()
            while True:
                uri = self.session.outdated()
                if uri is None and self.session.awaits_environment:
                    await asyncio.get_running_loop().run_in_executor(
                        None, self.session.look_into_environment, self._is_closing.is_set
                    )
                    self.session.environment_was_read()
                elif uri is None:
                    await self._pause()
                    if self.session.owed() is None and self.session.follow_bodies(self._is_busy):
                        return
                    uri = self.session.outdated() or self.session.owed()
                if uri is not None and self.session.check_again(uri, self._is_busy):
                    self._diagnostics_changed((uri,))
                await self._quiet()
        except Exception:
            self._complain("looking again at open files")

    def _is_busy(self) -> bool:
        return self.queue is not None and not self.queue.is_empty

    async def _pause(self) -> None:
        """Wait until the user has not typed for a while: callers cost too much to be followed at every key."""
        changes = -1
        while changes != self._changes:
            changes = self._changes
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _quiet(self) -> None:
        """Wait until no message waits and none comes for a moment."""
        await asyncio.sleep(_QUIET_SECONDS)
        while self._is_busy():
            await asyncio.sleep(_QUIET_SECONDS)

    def _diagnostics_changed(self, uris: tuple[str, ...]) -> None:
        """Findings have changed without the text: send them, or ask the editor to fetch them."""
        if not self._pulls:
            for uri in uris:
                self._schedule(uri)
            return
        workspace = self.client_capabilities.workspace
        if workspace is not None and workspace.diagnostics is not None and workspace.diagnostics.refresh_support:
            self.workspace_diagnostic_refresh(None)

    # Features

    async def _hover(self, params: types.HoverParams) -> types.Hover | None:
        uri = params.text_document.uri
        view = self._view(uri)
        if view is None:
            return None
        row, column = view.row_and_column(params.position)
        found = self.session.hover(uri, row, column)
        if found is None:
            return None
        source = self.session.documentation_source(uri, row, column)
        documentation = None if source is None else await self._documentation(*source)
        if documentation is not None:
            found = with_documentation(found, documentation.signature, documentation.text)
        return lsp_convert.hover(found, view)

    async def _documentation(self, name: str, lookup: EnvironmentLookup) -> Documentation | None:
        """What the user's JAX says of ``name``, where that is known or comes soon."""
        if not lookup.has_looked_for(name) and (self._looking is None or self._looking.done()):
            # Only the hover that begins to look waits: a slow answer must not slow every hover until it comes.
            loop = asyncio.get_running_loop()
            self._looking = loop.run_in_executor(None, lookup.documentation, name, _LONGEST_LOOK_SECONDS)
            await asyncio.wait({self._looking}, timeout=_DOCUMENTATION_SECONDS)
        return lookup.known_documentation(name)

    def _code_actions(self, params: types.CodeActionParams) -> list[types.CodeAction | types.Command]:
        uri = params.text_document.uri
        view = self._view(uri)
        if view is None:
            return []
        only = params.context.only
        versioned = lsp_convert.takes_document_changes(self.client_capabilities)
        actions: list[types.CodeAction | types.Command] = []
        place = view.place(params.range)
        if lsp_convert.wants(only, types.CodeActionKind.QuickFix):
            actions += [
                lsp_convert.quick_fix(action, view, params.context.diagnostics, versioned=versioned)
                for action in self.session.quick_fixes(uri, place)
            ]
        if lsp_convert.wants(only, FIX_ALL) and (edits := self.session.fix_all(uri)):
            actions.append(
                types.CodeAction(
                    "Apply all safe fixes of Pallas Lens",
                    kind=FIX_ALL,
                    edit=view.workspace_edit(edits, versioned=versioned),
                )
            )
        if not only and (offer := self.session.run_offer(uri, place.start_row)) is not None:
            actions.append(lsp_convert.run_command(offer, view.document.uri))
        return actions

    def _code_lenses(self, params: types.CodeLensParams) -> list[types.CodeLens]:
        uri = params.text_document.uri
        view = self._view(uri)
        if view is None:
            return []
        return [lsp_convert.run_lens(lens, view) for lens in self.session.lenses(uri) if view.holds(lens.range)]

    # Running

    async def _run(self, *arguments: Any) -> Any:
        """The command ``pallasLens.run``: {uri, function, mode, example}. Its result is what ``run`` prints as JSON."""
        request = arguments[0] if arguments and isinstance(arguments[0], dict) else {}
        self._runs += 1
        try:
            run = self.session.prepare_run(
                str(request.get("uri", "")),
                str(request.get("function", "")),
                str(request.get("example") or ""),
                str(request.get("mode") or "interpret"),
                str(self._runs),
            )
        except CannotRun as error:
            self.window_show_message(types.ShowMessageParams(types.MessageType.Warning, str(error)))
            return None
        return await self._follow(run)

    async def _follow(self, run: Run) -> Any:
        loop = asyncio.get_running_loop()
        cancel = threading.Event()
        progress = await self._begin_progress(run, cancel)

        def on_progress(event: Progress) -> None:
            loop.call_soon_threadsafe(progress.report, f"{event.stage} for {event.target}")

        try:
            result = await loop.run_in_executor(None, self._runner.run, run.interpreter, run.job, on_progress, cancel)
        except RuntimeUnavailable as error:
            self.window_show_message(
                types.ShowMessageParams(types.MessageType.Error, f"{error.message} {error.remedy}")
            )
            return None
        finally:
            cancel.set()
            progress.end()
        self.session.finish_run(run, result)
        self._diagnostics_changed((run.uri,))
        fine = all(target.verdict == "accepted" for target in result.results)
        kind = types.MessageType.Info if fine else types.MessageType.Warning
        self.window_show_message(types.ShowMessageParams(kind, summary(result)))
        return result.to_json()

    async def _begin_progress(self, run: Run, cancel: threading.Event) -> _Progress:
        window = self.client_capabilities.window
        if window is None or not window.work_done_progress:
            return _Progress(self, None)
        token = f"pallas-lens-run-{run.job.id}"
        await self.work_done_progress.create_async(token)
        self.work_done_progress.tokens[token].add_done_callback(lambda _: cancel.set())
        title = f"Running {run.function} in {run.job.mode} mode"
        self.work_done_progress.begin(
            token, types.WorkDoneProgressBegin(title=title, cancellable=True, message="starting Python with JAX")
        )
        return _Progress(self, token)

    def _start_task(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        # The event loop keeps no reference of its own.
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


class _Progress:
    """Progress of one run, where the editor shows any (``token`` None: it does not)."""

    def __init__(self, server: PallasLensServer, token: str | None) -> None:
        self._server = server
        self._token = token

    def report(self, message: str) -> None:
        if self._token is not None:
            self._server.work_done_progress.report(self._token, types.WorkDoneProgressReport(message=message))

    def end(self) -> None:
        if self._token is not None:
            self._server.work_done_progress.end(self._token, types.WorkDoneProgressEnd())
            self._server.work_done_progress.tokens.pop(self._token, None)
            self._token = None


def _log_slow(method: str, start: float) -> None:
    seconds = time.perf_counter() - start
    if seconds > _SLOW_SECONDS:
        _log.info("%s took %.0f ms", method, seconds * 1000)
    else:
        _log.debug("%s took %.1f ms", method, seconds * 1000)
