"""The texts of the program: what an open editor shows of a file, else what is on the disk."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ..source.document import Document, read_document

LARGEST_FILE: Final = 2_000_000
"""Bytes; a longer file is data, or made by a program, and is not read."""

Stamp = tuple[int, int]
"""Time of the last change in nanoseconds, and size in bytes; (0, 0) where there is no file."""


@dataclass(slots=True, eq=False)
class SourceFiles:
    """Documents by path, each read once until ``refresh`` finds that its file has changed."""

    _open: dict[str, Document] = field(default_factory=dict)
    _read: dict[str, tuple[Stamp, Document]] = field(default_factory=dict)
    _real: dict[str, str] = field(default_factory=dict)

    def show(self, path: Path, document: Document) -> None:
        """An editor shows ``document``, whatever the disk has at ``path``."""
        self._open[self.real(path)] = document

    def hide(self, path: Path) -> None:
        """No editor shows the file any more: the disk counts."""
        self._open.pop(self.real(path), None)

    @property
    def shown(self) -> tuple[Path, ...]:
        """The files that editors show, by their real paths."""
        return tuple(map(Path, self._open))

    def real(self, path: Path) -> str:
        """The path without links, by which the same file is the same, however it was reached."""
        key = str(path)
        found = self._real.get(key)
        if found is None:
            found = self._real[key] = os.path.realpath(key)
        return found

    def document(self, path: Path) -> Document | None:
        """The file's text as it was last seen; None where it cannot be read."""
        shown = self._open.get(self.real(path))
        if shown is not None:
            return shown
        kept = self._read.get(str(path))
        return kept[1] if kept is not None else self.refresh(path)

    def known(self, path: Path) -> Document | None:
        """What was read of the file for others, without looking at the disk."""
        kept = self._read.get(str(path)) or self._read.get(self.real(path))
        return None if kept is None else kept[1]

    def refresh(self, path: Path) -> Document | None:
        """The file's text as it is now."""
        shown = self._open.get(self.real(path))
        if shown is not None:
            return shown
        key, stamp = str(path), stamp_of(path)
        kept = self._read.get(key)
        if kept is not None and kept[0] == stamp:
            return kept[1]
        text = read_text(path)
        if text is None:
            self._read.pop(key, None)
            return None
        document = read_document(path, text)
        self._read[key] = (stamp, document)
        return document


def read_text(path: Path) -> str | None:
    """The text of a source file; None where it cannot be read, is no UTF-8, or is too large to be written by hand."""
    try:
        if os.stat(path).st_size > LARGEST_FILE:
            return None
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None


def stamp_of(path: Path) -> Stamp:
    """What changes with the file."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return (0, 0)
    return (status.st_mtime_ns, status.st_size)
