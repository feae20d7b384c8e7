"""Which files the command line checks, and their text."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

_SUFFIXES = (".py", ".ipynb")
_SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__", "site-packages", "venv", "__pypackages__"})


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file's text as it stands on the disk (line ends included, the byte order mark not)."""

    path: Path
    text: str
    has_byte_order_mark: bool


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file that cannot be checked, and why."""

    path: Path
    reason: str


def files_under(paths: Iterable[Path]) -> Iterator[Path]:
    """The files named, and those of the folders named, sorted; each once, however it is spelt.

    A folder gives its regular .py and .ipynb files at any depth, without hidden folders,
    virtual environments and folders of installed packages.
    """
    seen: set[Path] = set()
    for path in paths:
        for file in _walk(path) if path.is_dir() else [path]:
            resolved = Path(os.path.realpath(file))
            if resolved not in seen:
                seen.add(resolved)
                yield file


def _walk(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not is_skipped(Path(parent), name))
        for name in sorted(names):
            path = Path(parent, name)
            # A link that leads nowhere is told of when it is read; a pipe, a socket or a device is no source.
            if name.endswith(_SUFFIXES) and not name.startswith(".") and (path.is_file() or not path.exists()):
                yield path


def is_skipped(parent: Path, name: str) -> bool:
    """Whether the folder ``name`` in ``parent`` is hidden, a virtual environment, or one of installed packages."""
    return name.startswith(".") or name in _SKIPPED_FOLDERS or (parent / name / "pyvenv.cfg").is_file()


def read_source(path: Path) -> SourceFile | Unreadable | None:
    """The text of ``path``; None where it does not speak of Pallas, so that there is nothing to check."""
    try:
        if path.exists() and not path.is_file():
            # Reading a pipe or a device could wait for ever.
            return Unreadable(path, "not a regular file")
        content = path.read_bytes()
    except OSError as error:
        return Unreadable(path, error.strerror or str(error))
    if b"pallas" not in content:
        return None
    has_mark = content.startswith(b"\xef\xbb\xbf")
    try:
        text = content[3 if has_mark else 0 :].decode("utf-8")
    except UnicodeDecodeError as error:
        row = content.count(b"\n", 0, error.start) + 1
        return Unreadable(path, f"not UTF-8 (line {row}); save it as UTF-8 to have it checked")
    if path.suffix == ".ipynb" and not _is_notebook(text):
        return Unreadable(path, "no notebook: it is not JSON with cells; save it anew from the editor")
    return SourceFile(path, text, has_mark)


def _is_notebook(text: str) -> bool:
    from .source.notebook import is_notebook

    return is_notebook(text)
