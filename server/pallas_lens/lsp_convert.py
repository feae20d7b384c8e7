"""Our plain data as LSP's types, and back.

Inside, rows and columns count from 0 and columns are code points; LSP's lines count
from 0 and its characters in the units that client and server agreed on.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from lsprotocol import types
from pygls import uris

from .features.code_actions import Action
from .features.code_lens import RunLens
from .features.diagnostics import Diagnostic, RelatedPlace
from .features.hover import Hover
from .model.finding import Severity
from .notebook_cells import Cell, CellChange, Part, Splice
from .source.document import Document
from .source.edits import TextEdit
from .source.positions import TextRange, Units, from_units, to_units
from .text_sync import Change

RUN_COMMAND: Final = "pallasLens.run"
FIX_ALL: Final = "source.fixAll.pallasLens"

_SEVERITIES: Final = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.INFORMATION: types.DiagnosticSeverity.Information,
    Severity.HINT: types.DiagnosticSeverity.Hint,
}
_TAGS: Final = {
    "deprecated": types.DiagnosticTag.Deprecated,
    "unnecessary": types.DiagnosticTag.Unnecessary,
}


class View:
    """One version of one document as the editor sees it: a file, or one cell of a notebook.

    ``parts`` are the pieces that the editor knows under URIs of their own; ``uri`` is the
    one that is asked about.
    """

    def __init__(self, document: Document, parts: tuple[Part, ...], uri: str, units: Units) -> None:
        self._lines = document.lines
        self._parts = parts
        self._units = units
        self.document = document
        self.part = next((part for part in parts if part.uri == uri), parts[0])

    def holds(self, place: TextRange) -> bool:
        """Whether a place begins in the piece that is asked about."""
        return self._part_of(place) is self.part

    def range(self, place: TextRange) -> types.Range:
        """LSP's range of ours, counted from the start of its piece."""
        first = self._part_of(place).first_row
        return types.Range(
            self._position(first, place.start_row, place.start_column),
            self._position(first, place.end_row, place.end_column),
        )

    def location(self, place: TextRange) -> types.Location:
        """The range with the URI of its piece."""
        return types.Location(self._part_of(place).uri, self.range(place))

    def row_and_column(self, position: types.Position) -> tuple[int, int]:
        """Our row and column of LSP's position."""
        row = self.part.first_row + position.line
        return row, from_units(self._line(row), position.character, self._units)

    def place(self, lsp_range: types.Range) -> TextRange:
        """Our range of LSP's."""
        return TextRange(*self.row_and_column(lsp_range.start), *self.row_and_column(lsp_range.end))

    def workspace_edit(self, edits: tuple[TextEdit, ...], *, versioned: bool) -> types.WorkspaceEdit:
        """The edits; with versions where the editor takes them, so that it refuses edits of text that has changed."""
        by_part: dict[str, list[types.TextEdit]] = {}
        versions: dict[str, int] = {}
        for edit in edits:
            part = self._part_of(edit.range)
            versions[part.uri] = part.version
            by_part.setdefault(part.uri, []).append(types.TextEdit(self.range(edit.range), edit.content))
        if not versioned:
            return types.WorkspaceEdit(changes=by_part)
        return types.WorkspaceEdit(
            document_changes=[
                types.TextDocumentEdit(
                    types.OptionalVersionedTextDocumentIdentifier(uri, versions[uri]), list(converted)
                )
                for uri, converted in by_part.items()
            ]
        )

    def _part_of(self, place: TextRange) -> Part:
        for part in self._parts:
            if part.first_row <= place.start_row < part.first_row + part.row_count:
                return part
        return self._parts[-1]

    def _position(self, first: int, row: int, column: int) -> types.Position:
        return types.Position(max(row - first, 0), to_units(self._line(row), column, self._units))

    def _line(self, row: int) -> str:
        return self._lines[row] if 0 <= row < len(self._lines) else ""


def units_of(encoding: types.PositionEncodingKind | str | None) -> Units:
    """The units of columns that the two sides agreed on."""
    match str(getattr(encoding, "value", encoding)):
        case "utf-8":
            return "utf-8"
        case "utf-32":
            return "utf-32"
        case _:
            return "utf-16"


def path_of(uri: str) -> Path | None:
    """The path of a file on the disk; None for what has not been saved."""
    if not uri.startswith(("file:", "vscode-notebook-cell:")):
        return None
    path = uris.to_fs_path("file:" + uri.partition(":")[2].partition("#")[0])
    return Path(path) if path else None


def changes(content_changes: Any) -> tuple[Change, ...]:
    """The changes of a ``didChange``, in order."""
    return tuple(
        Change(
            (
                (change.range.start.line, change.range.start.character),
                (change.range.end.line, change.range.end.character),
            )
            if isinstance(change, types.TextDocumentContentChangePartial)
            else None,
            change.text,
        )
        for change in content_changes
    )


def roots(params: types.InitializeParams) -> tuple[Path, ...]:
    """The folders that are open in the editor."""
    folders = [folder.uri for folder in params.workspace_folders or ()] or [params.root_uri or ""]
    return tuple(path for uri in folders if (path := path_of(uri)) is not None)


def cells(params: types.DidOpenNotebookDocumentParams) -> tuple[Cell, ...]:
    """The cells of a notebook in order; those that are no Python code without their text."""
    texts = {item.uri: _cell(item) for item in params.cell_text_documents}
    return tuple(_known(cell, texts) for cell in params.notebook_document.cells)


def _cell(item: types.TextDocumentItem) -> Cell:
    return Cell(item.uri, item.text if item.language_id == "python" else "", item.version)


def _known(cell: types.NotebookCell, texts: dict[str, Cell]) -> Cell:
    known = texts.get(cell.document)
    return known if known is not None and cell.kind == types.NotebookCellKind.Code else Cell(cell.document, "", 0)


def cell_changes(change: types.NotebookDocumentChangeEvent) -> tuple[list[Splice], list[CellChange]]:
    """What has become of a notebook's cells: which came and went, and what was typed in which."""
    if change.cells is None:
        return [], []
    splices: list[Splice] = []
    if change.cells.structure is not None:
        array = change.cells.structure.array
        opened = {item.uri: _cell(item) for item in change.cells.structure.did_open or ()}
        new = tuple(cell.document for cell in array.cells or ())
        splices.append(Splice(array.start, array.delete_count, new, opened))
    typed = [
        CellChange(content.document.uri, changes(content.changes), content.document.version)
        for content in change.cells.text_content or ()
    ]
    return splices, typed


def takes_document_changes(capabilities: types.ClientCapabilities) -> bool:
    """Whether the editor takes edits that name the version of the text they are for."""
    workspace = capabilities.workspace
    edit = workspace.workspace_edit if workspace is not None else None
    return bool(edit is not None and edit.document_changes)


def wants(only: Sequence[types.CodeActionKind | str] | None, kind: str) -> bool:
    """Whether an editor that asks for the kinds ``only`` (all, where none are named) wants actions of ``kind``."""
    if not only:
        # What fixes the whole file is offered where the editor asks for it: on save, and in the Source menu.
        return kind != FIX_ALL
    asked = [str(getattr(one, "value", one)) for one in only]
    wanted = str(getattr(kind, "value", kind))
    return any(wanted == one or wanted.startswith(f"{one}.") or one == "" for one in asked)


def hover(found: Hover, view: View) -> types.Hover:
    """A hover in Markdown."""
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, found.markdown), view.range(found.range))


def diagnostic(found: Diagnostic, view: View) -> types.Diagnostic:
    """A finding. Editors show related places below it, and its page behind its code."""
    return types.Diagnostic(
        range=view.range(found.range),
        message=found.message,
        severity=_SEVERITIES[found.severity],
        code=found.code,
        code_description=types.CodeDescription(found.url) if found.url else None,
        source=found.source,
        tags=[_TAGS[tag] for tag in found.tags if tag in _TAGS] or None,
        related_information=[_related(one, view) for one in found.related] or None,
        data={"name": found.name, "chips": list(found.chips), "specialisation": found.specialisation},
    )


def _related(related: RelatedPlace, view: View) -> types.DiagnosticRelatedInformation:
    if related.filename is None:
        return types.DiagnosticRelatedInformation(view.location(related.range), related.message)
    # The other file's lines are not at hand. Code before the column is nearly always ASCII, the same in every unit.
    there = related.range
    start, end = types.Position(there.start_row, there.start_column), types.Position(there.end_row, there.end_column)
    location = types.Location(uris.from_fs_path(related.filename) or view.part.uri, types.Range(start, end))
    return types.DiagnosticRelatedInformation(location, related.message)


def quick_fix(action: Action, view: View, shown: Sequence[types.Diagnostic], *, versioned: bool) -> types.CodeAction:
    """A quick fix, tied to the finding that the editor shows."""
    fixed = diagnostic(action.diagnostic, view) if action.diagnostic else None
    ours = [one for one in shown if fixed and one.range == fixed.range and one.code == fixed.code]
    return types.CodeAction(
        title=action.title,
        kind=types.CodeActionKind.QuickFix,
        diagnostics=ours or ([fixed] if fixed else None),
        is_preferred=action.is_preferred or None,
        edit=view.workspace_edit(action.edits, versioned=versioned),
    )


def run_command(lens: RunLens, uri: str) -> types.Command:
    """The command that a lens or an action sends back."""
    argument = {"uri": uri, "function": lens.function, "example": lens.example, "mode": "interpret"}
    return types.Command(title=lens.title, command=RUN_COMMAND, arguments=[argument])


def run_lens(lens: RunLens, view: View) -> types.CodeLens:
    """A lens above a function."""
    return types.CodeLens(view.range(lens.range), run_command(lens, view.document.uri))
