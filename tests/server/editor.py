"""A small editor for the tests: starts the server over stdio, keeps texts, waits for what the server sends."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.protocol import default_converter
from pytest_lsp import LanguageClient
from pytest_lsp.client import DEFAULT_CLIENT_FEATURES, register_lsp_features

SERVER = Path(__file__).parents[2] / "server"
_SECONDS = 60.0


def capabilities(*, pull: bool = False, encodings: tuple[str, ...] = ("utf-16",)) -> types.ClientCapabilities:
    """What the editor can do: all that the server makes use of."""
    return types.ClientCapabilities(
        general=types.GeneralClientCapabilities(
            position_encodings=[types.PositionEncodingKind(encoding) for encoding in encodings]
        ),
        text_document=types.TextDocumentClientCapabilities(
            synchronization=types.TextDocumentSyncClientCapabilities(dynamic_registration=False),
            publish_diagnostics=types.PublishDiagnosticsClientCapabilities(
                version_support=True,
                related_information=True,
                code_description_support=True,
                data_support=True,
                tag_support=types.ClientDiagnosticsTagOptions(
                    [types.DiagnosticTag.Deprecated, types.DiagnosticTag.Unnecessary]
                ),
            ),
            hover=types.HoverClientCapabilities(content_format=[types.MarkupKind.Markdown]),
            code_action=types.CodeActionClientCapabilities(
                is_preferred_support=True,
                code_action_literal_support=types.ClientCodeActionLiteralOptions(
                    types.ClientCodeActionKindOptions(
                        [types.CodeActionKind.QuickFix, types.CodeActionKind.SourceFixAll]
                    )
                ),
            ),
            code_lens=types.CodeLensClientCapabilities(),
            diagnostic=types.DiagnosticClientCapabilities(related_document_support=True) if pull else None,
        ),
        notebook_document=types.NotebookDocumentClientCapabilities(
            types.NotebookDocumentSyncClientCapabilities(dynamic_registration=False)
        ),
        window=types.WindowClientCapabilities(work_done_progress=True),
        workspace=types.WorkspaceClientCapabilities(
            configuration=True,
            workspace_edit=types.WorkspaceEditClientCapabilities(document_changes=True),
            code_lens=types.CodeLensWorkspaceClientCapabilities(refresh_support=True),
            diagnostics=types.DiagnosticWorkspaceClientCapabilities(refresh_support=True),
            did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True),
            execute_command=types.ExecuteCommandClientCapabilities(),
        ),
    )


class Editor:
    """One window. ``published`` holds each ``publishDiagnostics`` in order, ``messages`` what was shown."""

    def __init__(self, client: LanguageClient, root: Path) -> None:
        self.client = client
        self.root = root
        self.published: list[types.PublishDiagnosticsParams] = []
        self.messages: list[types.ShowMessageParams] = []
        self.statuses: list[Any] = []
        self.progress: list[types.ProgressParams] = []
        self.refreshes = 0
        self.registered: list[str] = []
        self.result: types.InitializeResult
        self._versions: dict[str, int] = {}
        self._news = asyncio.Condition()

    async def noticed(self) -> None:
        async with self._news:
            self._news.notify_all()

    async def until(self, holds: Callable[[], Any]) -> Any:
        """Wait for something that ``holds`` sees, and return it."""
        async with self._news:
            async with asyncio.timeout(_SECONDS):
                while not (found := holds()):
                    await self._news.wait()
        return found

    def open(self, text: str, name: str = "kernel.py") -> str:
        """Open a file with ``text`` and return its URI."""
        uri = (self.root / name).as_uri()
        self._versions[uri] = 1
        item = types.TextDocumentItem(uri, types.LanguageKind.Python, 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return uri

    def replace(self, uri: str, line: int, start: int, end: int, text: str) -> int:
        """Type over characters of one line; returns the new version."""
        where = types.Range(types.Position(line, start), types.Position(line, end))
        return self._change(uri, types.TextDocumentContentChangePartial(range=where, text=text))

    def set_text(self, uri: str, text: str) -> int:
        """Put a new text in the place of the whole; returns the new version."""
        return self._change(uri, types.TextDocumentContentChangeWholeDocument(text=text))

    def _change(self, uri: str, change: types.TextDocumentContentChangeEvent) -> int:
        self._versions[uri] += 1
        identifier = types.VersionedTextDocumentIdentifier(uri=uri, version=self._versions[uri])
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, [change]))
        return self._versions[uri]

    async def pushed(self, uri: str, version: int | None = 1) -> list[types.Diagnostic]:
        """The findings that are pushed for a version."""
        found = await self.until(lambda: [one for one in self.published if one.uri == uri and one.version == version])
        return list(found[-1].diagnostics)

    async def pulled(self, uri: str) -> list[types.Diagnostic]:
        """The findings that are answered."""
        report = await self.client.text_document_diagnostic_async(
            types.DocumentDiagnosticParams(types.TextDocumentIdentifier(uri))
        )
        assert isinstance(report, types.RelatedFullDocumentDiagnosticReport)
        return list(report.items)

    async def actions(
        self, uri: str, where: types.Range, shown: list[types.Diagnostic], only: list[str] | None = None
    ) -> list[types.CodeAction | types.Command]:
        """What the light bulb offers at a place."""
        kinds: Any = only
        answer = await self.client.text_document_code_action_async(
            types.CodeActionParams(types.TextDocumentIdentifier(uri), where, types.CodeActionContext(shown, only=kinds))
        )
        return list(answer or [])

    async def edits(
        self, uri: str, where: types.Range, shown: list[types.Diagnostic], only: list[str] | None = None
    ) -> list[types.CodeAction]:
        """What it offers that changes the text."""
        return [one for one in await self.actions(uri, where, shown, only) if isinstance(one, types.CodeAction)]

    async def lenses(self, uri: str) -> list[types.CodeLens]:
        """The code lenses of a document."""
        answer = await self.client.text_document_code_lens_async(
            types.CodeLensParams(types.TextDocumentIdentifier(uri))
        )
        return list(answer or [])

    async def hover(self, uri: str, line: int, character: int) -> str | None:
        """The Markdown of the hover at a place."""
        answer = await self.client.text_document_hover_async(
            types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(line, character))
        )
        if answer is None:
            return None
        assert isinstance(answer.contents, types.MarkupContent)
        return answer.contents.value

    async def command(self, **argument: Any) -> Any:
        """Run ``pallasLens.run``."""
        return await self.client.workspace_execute_command_async(
            types.ExecuteCommandParams("pallasLens.run", arguments=[argument])
        )


@asynccontextmanager
async def editor(
    root: Path,
    client_capabilities: types.ClientCapabilities | None = None,
    **options: Any,
) -> AsyncIterator[Editor]:
    """An editor with ``root`` open and these initialisation options; ends the server as editors do."""
    client = LanguageClient(converter_factory=default_converter)
    window = Editor(client, root)
    _listen(client, window)
    environment = {
        **os.environ,
        "PYTHONPATH": str(SERVER),
        "PALLAS_LENS_JAX_VERSION": "0.12.0.1",
        "PALLAS_LENS_RAISE": "1",
    }
    await client.start_io(sys.executable, "-m", "pallas_lens", "server", env=environment, cwd=str(root))
    window.result = await client.initialize_session(
        types.InitializeParams(
            capabilities=client_capabilities or capabilities(),
            workspace_folders=[types.WorkspaceFolder(root.as_uri(), root.name)],
            initialization_options={"trusted": True, **options},
        )
    )
    try:
        yield window
    finally:
        await client.shutdown_session()
        process = client._server
        await client.stop()
    assert process is not None
    assert process.returncode == 0


def _listen(client: LanguageClient, window: Editor) -> None:
    async def published(params: types.PublishDiagnosticsParams) -> None:
        window.published.append(params)
        await window.noticed()

    async def message(params: types.ShowMessageParams) -> None:
        window.messages.append(params)
        await window.noticed()

    async def status(params: Any) -> None:
        window.statuses.append(params)
        await window.noticed()

    async def progress(params: types.ProgressParams) -> None:
        window.progress.append(params)
        await window.noticed()

    async def refresh(_: None) -> None:
        window.refreshes += 1
        await window.noticed()

    async def register(params: types.RegistrationParams) -> None:
        window.registered += [one.method for one in params.registrations]
        await window.noticed()

    async def lens_refresh(_: None) -> None:
        await window.noticed()

    ours: dict[str, Any] = {
        types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS: published,
        types.WINDOW_SHOW_MESSAGE: message,
        types.PROGRESS: progress,
        types.WORKSPACE_DIAGNOSTIC_REFRESH: refresh,
        types.WORKSPACE_CODE_LENS_REFRESH: lens_refresh,
        types.CLIENT_REGISTER_CAPABILITY: register,
        "pallasLens/status": status,
    }
    register_lsp_features(client, {**DEFAULT_CLIENT_FEATURES, **ours})
