"""Which files of the workspace import a file: an index of their import statements, by text alone."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from .packages import is_known
from .source_files import Stamp
from .workspace import Workspace

FILE_LIMIT: Final = 4_000
FOLDER_LIMIT: Final = 4_000
BYTE_LIMIT: Final = 64_000_000
LARGEST_FILE: Final = 400_000
"""Bytes; a longer file was made by a program, and its calls are not looked for."""

Import = tuple[str, tuple[str, ...]]
"""The module as written, its leading dots among it, and the names taken from it (none for ``import MODULE``)."""

_IMPORT: Final = re.compile(
    rb"^[ \t]*(?:from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]*(\([^)]*\)|[^\n#]*)|import[ \t]+([^\n#]+))", re.MULTILINE
)
_COMMENT: Final = re.compile(rb"#[^\n]*")


@dataclass(slots=True, eq=False)
class ImportIndex:
    """The imports of the Python files under ``roots``; made piece by piece, and anew for files that changed.

    ``is_skipped`` says of a folder and the name of one inside it that nothing there is the project's.
    """

    roots: tuple[Path, ...]
    is_skipped: Callable[[Path, str], bool]
    is_complete: bool = False
    _files: dict[str, tuple[Stamp, tuple[Import, ...]]] = field(default_factory=dict)
    _by_word: dict[str, list[str]] = field(default_factory=dict)
    _reading: Iterator[None] | None = None

    def look_again(self) -> None:
        """Files may have come, changed or gone. Until ``advance`` has seen to it, the last answers stand."""
        self.is_complete = False
        self._reading = None

    def advance(self, cancelled: Callable[[], bool] = lambda: False) -> bool:
        """Read on, until all is read or ``cancelled`` says yes; whether all is."""
        if self.is_complete:
            return True
        if self._reading is None:
            self._reading = self._read_all()
        for _ in self._reading:
            if cancelled():
                return False
        self._reading = None
        self.is_complete = True
        return True

    def importers(self, path: Path, workspace: Workspace) -> tuple[Path, ...]:
        """The files that import the module at ``path``, or something of it, or a package's ``__init__`` that does."""
        direct = self._importers_of(path, workspace)
        found = dict.fromkeys(direct)
        for package in direct:
            if package.name == "__init__.py":
                found |= dict.fromkeys(self._importers_of(package, workspace))
        return tuple(found)

    def _importers_of(self, path: Path, workspace: Workspace) -> list[Path]:
        word = path.parent.name if path.name == "__init__.py" else path.stem
        wanted = workspace.files.real(path)
        found: list[Path] = []
        for key in self._by_word.get(word, ()):
            kept = self._files.get(key)
            file = Path(key)
            if kept is not None and _lead_to(kept[1], word, wanted, file.parent, workspace) and key != wanted:
                found.append(file)
        return found

    def _read_all(self) -> Iterator[None]:
        now: dict[str, tuple[Stamp, tuple[Import, ...]]] = {}
        budget = BYTE_LIMIT
        for path, stamp in self._walk():
            kept = self._files.get(path)
            if kept is None or kept[0] != stamp:
                kept = (stamp, _imports_in(path))
            now[path] = kept
            budget -= stamp[1]
            if len(now) >= FILE_LIMIT or budget <= 0:
                break
            yield
        by_word: dict[str, list[str]] = {}
        for path, (_, imports) in now.items():
            for word in {word for dotted, names in imports for word in (*dotted.split("."), *names)}:
                by_word.setdefault(word, []).append(path)
        self._files, self._by_word = now, by_word

    def _walk(self) -> Iterator[tuple[str, Stamp]]:
        """The Python files by their real paths, with their stamps."""
        queue = [os.path.realpath(root) for root in self.roots]
        seen: set[str] = set()
        while queue and len(seen) < FOLDER_LIMIT:
            folder = queue.pop(0)
            if folder in seen:
                continue
            seen.add(folder)
            try:
                entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
            except OSError:
                continue
            for entry in entries:
                try:
                    if entry.is_dir(follow_symlinks=False):
                        if not self.is_skipped(Path(folder), entry.name):
                            queue.append(entry.path)
                    elif entry.name.endswith(".py") and entry.is_file(follow_symlinks=False):
                        status = entry.stat()
                        if status.st_size <= LARGEST_FILE:
                            yield entry.path, (status.st_mtime_ns, status.st_size)
                except OSError:
                    continue


def _imports_in(path: str) -> tuple[Import, ...]:
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError:
        return ()
    found: dict[Import, None] = {}
    for match in _IMPORT.finditer(content):
        dotted, names, plain = match.groups()
        if plain is not None:
            for one in plain.decode(errors="replace").split(","):
                words = one.split()
                if words and _is_projects(words[0]):
                    found[(sys.intern(words[0]), ())] = None
            continue
        module = dotted.decode(errors="replace")
        if _is_projects(module):
            text = _COMMENT.sub(b"", names).decode(errors="replace").strip("() \t\r\n\\")
            taken = tuple(sys.intern(words[0]) for one in text.split(",") if (words := one.split()))
            found[(sys.intern(module), taken)] = None
    return tuple(found)


def _is_projects(dotted: str) -> bool:
    """Whether the module may be one of the project."""
    return dotted.startswith(".") or not (is_known(dotted) or dotted.partition(".")[0] in sys.stdlib_module_names)


def _lead_to(imports: tuple[Import, ...], word: str, wanted: str, folder: Path, workspace: Workspace) -> bool:
    """Whether one of ``imports``, in a file of ``folder``, names the file ``wanted``, of which ``word`` is the name."""
    real = workspace.files.real
    for written, names in imports:
        dotted = written.lstrip(".")
        level = len(written) - len(dotted)
        requests = [dotted] if dotted.rpartition(".")[2] == word or (level and not dotted) else []
        if word in names:
            requests.append(f"{dotted}.{word}" if dotted else word)
        for request in requests:
            path = workspace.location(request, level, str(folder))
            if isinstance(path, Path) and real(path) == wanted:
                return True
    return False
