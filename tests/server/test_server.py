"""The server over stdio, as an editor has it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cli.kernel_texts import GOOD, MISSPELT, UNALIGNED
from lsprotocol import types

from .editor import Editor, capabilities, editor

pytestmark = pytest.mark.asyncio


def place(text: str, part: str) -> tuple[int, int, int]:
    """Line, first and last character (from 0) of a part of one line that is all ASCII up to there."""
    start = text.index(part)
    line = text.count("\n", 0, start)
    column = start - (text.rfind("\n", 0, start) + 1)
    return line, column, column + len(part)


def spot(text: str, part: str) -> types.Range:
    line, start, end = place(text, part)
    return types.Range(types.Position(line, start), types.Position(line, end))


def codes(found: list[types.Diagnostic]) -> list[Any]:
    return [one.code for one in found]


async def test_says_who_it_is_and_what_it_can(tmp_path: Path) -> None:
    async with editor(tmp_path) as window:
        assert window.result.server_info is not None
        assert window.result.server_info.name == "pallas-lens"
        can = window.result.capabilities
        assert can.hover_provider
        assert can.notebook_document_sync is not None
        assert isinstance(can.execute_command_provider, types.ExecuteCommandOptions)
        assert list(can.execute_command_provider.commands) == ["pallasLens.run"]
        assert isinstance(can.text_document_sync, types.TextDocumentSyncOptions)
        assert can.text_document_sync.change == types.TextDocumentSyncKind.Incremental
        await window.until(lambda: window.statuses)
        assert window.statuses[0].version == 1
        assert window.statuses[0].jax == "0.12.0.1"
        assert list(window.statuses[0].targets) == ["v4", "v5e", "v5p", "v6e", "v7x"]


async def test_push_where_the_editor_cannot_pull(tmp_path: Path) -> None:
    async with editor(tmp_path, docs="file:///docs/rules") as window:
        assert window.result.capabilities.diagnostic_provider is None
        uri = window.open(UNALIGNED)
        (found,) = await window.pushed(uri)
        assert found.code == "PAL102"
        assert found.source == "pallas-lens"
        assert found.severity == types.DiagnosticSeverity.Error
        assert found.range == spot(UNALIGNED, "100")
        assert found.code_description is not None
        assert found.code_description.href == "file:///docs/rules/block-not-tile-aligned.md"
        (related,) = found.related_information or ()
        assert related.location.uri == uri
        line, start, end = place(UNALIGNED, "100")
        assert await window.pushed(uri, window.replace(uri, line, start, end, "128")) == []


async def test_pull_where_it_can_and_never_both(tmp_path: Path) -> None:
    async with editor(tmp_path, capabilities(pull=True)) as window:
        assert window.result.capabilities.diagnostic_provider is not None
        uri = window.open(UNALIGNED)
        assert codes(await window.pulled(uri)) == ["PAL102"]
        line, start, end = place(UNALIGNED, "100")
        window.replace(uri, line, start, end, "128")
        assert await window.pulled(uri) == []
        assert window.published == []


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
async def test_columns_are_in_the_units_agreed_on(encoding: str, tmp_path: Path) -> None:
    wide = "é𝄞"
    text = UNALIGNED.replace("out_specs=", f'name="{wide}" or "", out_specs=')
    width = {"utf-8": 6, "utf-16": 3, "utf-32": 2}[encoding]
    async with editor(tmp_path, capabilities(encodings=(encoding,))) as window:
        assert window.result.capabilities.position_encoding == encoding
        uri = window.open(text)
        (found,) = await window.pushed(uri)
        line, start, end = place(text, "100")
        shift = width - len(wide)
        assert (found.range.start.line, found.range.start.character, found.range.end.character) == (
            line,
            start + shift,
            end + shift,
        )
        assert await window.pushed(uri, window.replace(uri, line, start + shift, end + shift, "128")) == []


async def test_a_burst_is_answered_for_the_last_version(tmp_path: Path) -> None:
    async with editor(tmp_path) as window:
        uri = window.open(GOOD)
        assert await window.pushed(uri) == []
        line, start, end = place(GOOD, "128")
        for round_number in range(21):
            old = end if round_number == 0 else start + 3
            version = window.replace(uri, line, start, old, str(101 + round_number))
        found = await window.pushed(uri, version)
        assert codes(found) == ["PAL102"]
        assert "121" in found[0].message
        versions = [one.version for one in window.published if one.uri == uri]
        assert versions == sorted(versions)
        assert len(versions) < 21


async def test_a_file_without_pallas_gets_an_empty_list(tmp_path: Path) -> None:
    async with editor(tmp_path) as window:
        uri = window.open("def f(:\n")
        assert await window.pushed(uri) == []


async def test_findings_go_when_the_file_is_closed(tmp_path: Path) -> None:
    async with editor(tmp_path) as window:
        uri = window.open(UNALIGNED)
        assert await window.pushed(uri)
        window.client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))
        assert await window.pushed(uri, None) == []


async def test_hover_tells_grid_and_vmem(tmp_path: Path) -> None:
    async with editor(tmp_path) as window:
        uri = window.open(GOOD)
        line, start, _ = place(GOOD, "pallas_call")
        shown = await window.hover(uri, line, start + 1)
        assert shown is not None
        assert "VMEM" in shown
        assert await window.hover(uri, 0, 0) is None
        assert await window.hover(uri, 9999, 9999) is None


@pytest.mark.parametrize(
    ("options", "form"),
    [
        ({}, "text"),
        ({"showsImages": True}, "image"),
        ({"showsImages": True, "settings": {"pictures": "text"}}, "text"),
        ({"settings": {"pictures": "image"}}, "image"),
        ({"showsImages": True, "settings": {"pictures": "none"}}, "none"),
    ],
)
async def test_pictures_are_what_editor_and_settings_say(options: dict[str, object], form: str, tmp_path: Path) -> None:
    async with editor(tmp_path, **options) as window:
        uri = window.open(GOOD)
        line, start, _ = place(GOOD, "pallas_call")
        shown = await window.hover(uri, line, start + 1)
        assert shown is not None
        assert ("](data:image/svg+xml;base64," in shown) == (form == "image")
        assert ("```text\n" in shown) == (form == "text")


async def test_safe_fix_is_preferred_and_changes_the_file(tmp_path: Path) -> None:
    async with editor(tmp_path) as window:
        uri = window.open(MISSPELT)
        (found,) = await window.pushed(uri)
        actions = await window.edits(uri, found.range, [found])
        fixes = [action for action in actions if action.is_preferred]
        assert len(fixes) == 1
        assert fixes[0].kind == types.CodeActionKind.QuickFix
        assert list(fixes[0].diagnostics or ()) == [found]
        fixed = applied(MISSPELT, fixes[0], uri, 1)
        assert fixed == MISSPELT.replace("paralel", "parallel")
        assert await window.pushed(uri, window.set_text(uri, fixed)) == []


async def test_unsafe_fix_is_offered_only(tmp_path: Path) -> None:
    async with editor(tmp_path) as window:
        uri = window.open(UNALIGNED)
        (found,) = await window.pushed(uri)
        actions = await window.edits(uri, found.range, [found])
        assert [action.title for action in actions][-1] == "Disable PAL102 for this line"
        assert len(actions) == 2
        assert not any(action.is_preferred for action in actions)
        assert await window.edits(uri, found.range, [found], ["source.fixAll"]) == []


async def test_disable_for_this_line(tmp_path: Path) -> None:
    async with editor(tmp_path) as window:
        uri = window.open(UNALIGNED)
        (found,) = await window.pushed(uri)
        (action,) = [
            action
            for action in await window.edits(uri, found.range, [found])
            if action.title == "Disable PAL102 for this line"
        ]
        silenced = applied(UNALIGNED, action, uri, 1)
        assert silenced.splitlines()[found.range.start.line].endswith("  # pallas-lens: ignore[PAL102]")
        assert await window.pushed(uri, window.set_text(uri, silenced)) == []


@pytest.mark.parametrize("kind", ["source.fixAll", "source.fixAll.pallasLens", "source"])
async def test_fix_all_comes_when_asked_for(kind: str, tmp_path: Path) -> None:
    text = MISSPELT + "\n\n" + MISSPELT.partition("\n\n\n")[2].replace("double", "other").replace("call(x)", "again(x)")
    async with editor(tmp_path) as window:
        uri = window.open(text)
        assert codes(await window.pushed(uri)) == ["PAL402", "PAL402"]
        top = types.Range(types.Position(0, 0), types.Position(0, 0))
        (action,) = await window.edits(uri, top, [], [kind])
        assert action.kind == "source.fixAll.pallasLens"
        assert applied(text, action, uri, 1) == text.replace("paralel", "parallel")
        assert await window.edits(uri, top, []) == []


async def test_lens_and_action_run_the_function(tmp_path: Path) -> None:
    async with editor(tmp_path) as window:
        uri = window.open(GOOD)
        (lens,) = await window.lenses(uri)
        line, start, _ = place(GOOD, "call(x)")
        assert lens.range == types.Range(types.Position(line, start), types.Position(line, start + len("call")))
        assert lens.command is not None
        assert (lens.command.title, lens.command.command) == ("Run in interpret mode", "pallasLens.run")
        assert list(lens.command.arguments or ()) == [
            {"uri": uri, "function": "call", "example": "", "mode": "interpret"}
        ]
        assert await window.actions(uri, spot(GOOD, "grid="), []) == [lens.command]


async def test_nothing_runs_in_a_workspace_that_is_not_trusted(tmp_path: Path) -> None:
    async with editor(tmp_path, trusted=False, interpreter=str(tmp_path / "python")) as window:
        uri = window.open(UNALIGNED)
        assert codes(await window.pushed(uri)) == ["PAL102"]
        assert await window.lenses(uri) == []
        assert await window.command(uri=uri, function="call", mode="interpret") is None
        (message,) = await window.until(lambda: window.messages)
        assert "not trusted" in message.message


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ({"function": "nothing"}, "`nothing` has no example"),
        ({"uri": "file:///other.py", "function": "call"}, "not open"),
        ({"function": "call"}, "cannot be started"),
    ],
)
async def test_a_run_that_cannot_be_says_why(argument: dict[str, str], said: str, tmp_path: Path) -> None:
    async with editor(tmp_path, interpreter=str(tmp_path / "no-python")) as window:
        uri = window.open(GOOD)
        assert await window.command(**{"uri": uri, "mode": "interpret", **argument}) is None
        (message,) = await window.until(lambda: window.messages)
        assert said in message.message


class TestSettings:
    async def test_of_the_editor(self, tmp_path: Path) -> None:
        async with editor(tmp_path, settings={"targets": ["v5e"], "codeLens": False}) as window:
            uri = window.open(UNALIGNED)
            (found,) = await window.pushed(uri)
            assert found.data["chips"] == ["v5e"]
            assert await window.lenses(uri) == []

    async def test_bad_ones_are_told_once_and_the_rest_holds(self, tmp_path: Path) -> None:
        async with editor(tmp_path, settings={"targets": ["v1"], "ignore": ["PAL999"]}) as window:
            assert codes(await window.pushed(window.open(UNALIGNED))) == ["PAL102"]
            await window.pushed(window.open(UNALIGNED, "other.py"))
            told = sorted(message.message for message in window.messages)
            assert len(told) == 2
            assert "There is no rule `PAL999`" in told[0]
            assert "`pallasLens.targets` is 'v1', but must be some of v4, v5e" in told[1]

    async def test_changed_ones_change_the_findings(self, tmp_path: Path) -> None:
        async with editor(tmp_path) as window:
            uri = window.open(UNALIGNED)
            assert await window.pushed(uri)
            window.client.set_configuration({"ignore": ["block-not-tile-aligned"]}, section="pallasLens")
            window.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings=None))
            await window.until(lambda: not window.published[-1].diagnostics)

    async def test_the_project_file_is_watched(self, tmp_path: Path) -> None:
        async with editor(tmp_path) as window:
            uri = window.open(UNALIGNED)
            assert await window.pushed(uri)
            await window.until(lambda: types.WORKSPACE_DID_CHANGE_WATCHED_FILES in window.registered)
            project = tmp_path / "pyproject.toml"
            project.write_text('[tool.pallas-lens]\nignore = ["PAL1"]\n')
            event = types.FileEvent(project.as_uri(), types.FileChangeType.Created)
            window.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))
            await window.until(lambda: not window.published[-1].diagnostics)

    async def test_pulling_editors_are_asked_to_pull_again(self, tmp_path: Path) -> None:
        async with editor(tmp_path, capabilities(pull=True)) as window:
            uri = window.open(UNALIGNED)
            assert await window.pulled(uri)
            window.client.set_configuration({"ignore": ["PAL102"]}, section="pallasLens")
            window.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings=None))
            await window.until(lambda: window.refreshes)
            assert await window.pulled(uri) == []


class TestNotebook:
    HEAD, _, TAIL = UNALIGNED.partition("\n\n\n")

    def open(self, window: Editor, *texts: str) -> tuple[str, list[str]]:
        notebook = (window.root / "kernel.ipynb").as_uri()
        cells = [f"{notebook.replace('file:', 'vscode-notebook-cell:')}#{number}" for number in range(len(texts))]
        window.client.notebook_document_did_open(
            types.DidOpenNotebookDocumentParams(
                types.NotebookDocument(
                    notebook,
                    "jupyter-notebook",
                    1,
                    [types.NotebookCell(types.NotebookCellKind.Code, cell) for cell in cells],
                ),
                [
                    types.TextDocumentItem(cell, types.LanguageKind.Python, 1, text)
                    for cell, text in zip(cells, texts, strict=True)
                ],
            )
        )
        return notebook, cells

    async def test_findings_stand_in_their_cell(self, tmp_path: Path) -> None:
        async with editor(tmp_path) as window:
            _, cells = self.open(window, f"%matplotlib inline\n{self.HEAD}", self.TAIL)
            (found,) = await window.pushed(cells[1])
            assert found.range == spot(self.TAIL, "100")
            assert found.related_information is not None
            assert found.related_information[0].location.uri == cells[1]
            line, start, _ = place(self.TAIL, "pallas_call")
            assert "VMEM" in (await window.hover(cells[1], line, start) or "")
            (lens,) = await window.lenses(cells[1])
            assert lens.range.start.line == place(self.TAIL, "def call")[0]
            assert await window.lenses(cells[0]) == []
            (fix, *_) = await window.edits(cells[1], found.range, [found])
            assert fix.edit is not None
            (change,) = fix.edit.document_changes or ()
            assert isinstance(change, types.TextDocumentEdit)
            assert change.text_document.uri == cells[1]

    async def test_cells_that_change_come_and_go(self, tmp_path: Path) -> None:
        async with editor(tmp_path) as window:
            notebook, cells = self.open(window, self.HEAD, self.TAIL)
            assert await window.pushed(cells[1])
            line, start, end = place(self.TAIL, "100")
            where = types.Range(types.Position(line, start), types.Position(line, end))
            self.change(
                window,
                notebook,
                types.NotebookDocumentCellChanges(
                    text_content=[
                        types.NotebookDocumentCellContentChanges(
                            types.VersionedTextDocumentIdentifier(version=2, uri=cells[1]),
                            [types.TextDocumentContentChangePartial(range=where, text="128")],
                        )
                    ]
                ),
            )
            assert await window.pushed(cells[1], 2) == []
            new = f"{cells[0].partition('#')[0]}#new"
            again = self.TAIL.replace("call(x)", "again(x)")
            self.change(
                window,
                notebook,
                types.NotebookDocumentCellChanges(
                    structure=types.NotebookDocumentCellChangeStructure(
                        types.NotebookCellArrayChange(
                            start=1, delete_count=0, cells=[types.NotebookCell(types.NotebookCellKind.Code, new)]
                        ),
                        did_open=[types.TextDocumentItem(new, types.LanguageKind.Python, 1, again)],
                    )
                ),
            )
            (found,) = await window.pushed(new)
            assert found.range == spot(again, "100")
            self.change(
                window,
                notebook,
                types.NotebookDocumentCellChanges(
                    structure=types.NotebookDocumentCellChangeStructure(
                        types.NotebookCellArrayChange(start=1, delete_count=1, cells=[]),
                        did_close=[types.TextDocumentIdentifier(new)],
                    )
                ),
            )
            assert await window.pushed(new, None) == []

    def change(self, window: Editor, notebook: str, cells: types.NotebookDocumentCellChanges) -> None:
        window.client.notebook_document_did_change(
            types.DidChangeNotebookDocumentParams(
                types.VersionedNotebookDocumentIdentifier(version=2, uri=notebook),
                types.NotebookDocumentChangeEvent(cells=cells),
            )
        )


def applied(text: str, action: types.CodeAction, uri: str, version: int) -> str:
    """``text`` after an action, which must be for this version of it."""
    assert action.edit is not None
    (change,) = action.edit.document_changes or ()
    assert isinstance(change, types.TextDocumentEdit)
    assert (change.text_document.uri, change.text_document.version) == (uri, version)
    lines = text.split("\n")
    ordered = sorted(change.edits, key=lambda edit: (edit.range.start.line, edit.range.start.character), reverse=True)
    for edit in ordered:
        assert isinstance(edit, types.TextEdit)
        assert edit.range.start.line == edit.range.end.line
        line = lines[edit.range.start.line]
        lines[edit.range.start.line] = (
            line[: edit.range.start.character] + edit.new_text + line[edit.range.end.character :]
        )
    return "\n".join(lines)
