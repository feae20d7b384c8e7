"""The modules that can be read: the file analysed, and the project's other files by path."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ..source.document import Document
from .module import IMPORT, Module, Reads
from .packages import NotRead, Packages, is_known, is_worth_reading
from .source_files import SourceFiles

PACKAGE_FILE_LIMIT: Final = 300
"""So many files of the user's environment are read for one project; what lies beyond is unknown."""

_INSTALLED: Final = frozenset({"site-packages", "dist-packages"})
_TOO_MANY: Final = f"{PACKAGE_FILE_LIMIT} files of the environment are read already, and no more are"


@dataclass(slots=True, eq=False)
class Workspace:
    """Finds and keeps modules. ``files`` holds their texts, those of open editors among them."""

    roots: tuple[Path, ...] = ()
    files: SourceFiles = field(default_factory=SourceFiles)
    packages: Packages | None = None
    """The environment of the file being analysed."""
    _modules: dict[str, Module] = field(default_factory=dict)
    _found: dict[tuple[str, int, str], Path | None] = field(default_factory=dict)
    _main: dict[str, Module] = field(default_factory=dict)
    _package_files: set[str] = field(default_factory=set)

    def main_module(self, document: Document) -> Module:
        """The module of the file that is analysed; kept from version to version."""
        key = f"main:{document.uri}"
        module = self._main.get(key)
        if module is None:
            module = Module(key, "", document, self)
            self._main[key] = module
        else:
            module.update(document)
        return module

    def forget(self, uri: str) -> None:
        """Drop what was kept of a file that was closed."""
        self._main.pop(f"main:{uri}", None)

    def new_round(self) -> None:
        """Files may have come or changed: look again when next asked."""
        self._found.clear()
        for key, module in list(self._modules.items()):
            document = self.files.refresh(Path(key))
            if document is None:
                del self._modules[key]
            else:
                module.update(document)

    def still_holds(self, reads: Reads, *, exactly: bool = False) -> bool:
        """Whether every name in ``reads`` is still bound by the same text (or by a function of the same signature)."""
        for (key, name), fingerprint in reads.items():
            if key == IMPORT:
                level, dotted, folder = name.split("\0")
                if self.import_fingerprint(dotted, int(level), folder) != fingerprint:
                    return False
                continue
            module = self._main.get(key)
            if module is None and not key.startswith("main:"):
                module = self.module(Path(key))
            if module is None:
                return False
            if (module.exact_fingerprint(name) if exactly else module.fingerprint(name)) != fingerprint:
                return False
        return True

    def resolve(self, dotted: str, level: int, folder: str) -> Module | None:
        """The module that an import in a file of ``folder`` names; None where it cannot be read."""
        path = self.location(dotted, level, folder)
        return self.module(path) if isinstance(path, Path) else None

    def why_not_read(self, dotted: str, level: int, folder: str) -> str:
        """Why a module of the user's environment is not known; "" for one that is, and for one that is not there."""
        found = self.location(dotted, level, folder)
        return found.why if isinstance(found, NotRead) else ""

    def definition(self, module: str, name: str) -> tuple[Module, str] | NotRead | None:
        """Where a name is defined that ``module``, of the user's environment, has from elsewhere."""
        if self.packages is None or not is_worth_reading(module):
            return None
        found = self.packages.definition(module, name)
        if not isinstance(found, tuple):
            return found
        path, inner = found
        if not self._may_read(path):
            return NotRead(_TOO_MANY)
        source = self.module(path)
        return None if source is None else (source, inner)

    def location(self, dotted: str, level: int, folder: str) -> Path | NotRead | None:
        """The file of the project or of the environment that an import in a file of ``folder`` names."""
        found: Path | NotRead | None = self.path_of(dotted, level, folder)
        if found is None and self.packages is not None and level == 0 and dotted and is_worth_reading(dotted):
            found = self.packages.module(dotted)
        return found if not isinstance(found, Path) or self._may_read(found) else NotRead(_TOO_MANY)

    def _may_read(self, path: Path) -> bool:
        if not _INSTALLED & set(path.parts):
            return True
        key = str(path)
        if key not in self._package_files and len(self._package_files) >= PACKAGE_FILE_LIMIT:
            return False
        self._package_files.add(key)
        return True

    def import_fingerprint(self, dotted: str, level: int, folder: str) -> tuple[str, ...]:
        """The file that such an import leads to now; empty for what is never read as source."""
        if level == 0 and is_known(dotted):
            return ()
        module, of_module, name = dotted.partition(":")
        if of_module:
            return (str(self.packages.definition(module, name)),) if self.packages is not None else ("",)
        return (str(self.location(dotted, level, folder) or ""),)

    def path_of(self, dotted: str, level: int, folder: str) -> Path | None:
        """The project's file that an import in a file of ``folder`` names."""
        if level == 0 and (not dotted or is_known(dotted)):
            return None
        request = (dotted, level, folder)
        if request not in self._found:
            self._found[request] = self._find(dotted, level, Path(folder))
        return self._found[request]

    def module(self, path: Path) -> Module | None:
        """The module of a file of the project; None where it cannot be read."""
        key = str(path)
        module = self._modules.get(key)
        if module is None:
            document = self.files.document(path)
            if document is None:
                return None
            module = Module(key, f"{key}\0", document, self)
            self._modules[key] = module
        return module

    def _find(self, dotted: str, level: int, folder: Path) -> Path | None:
        parts = dotted.split(".") if dotted else []
        if level:
            base = folder
            for _ in range(level - 1):
                base = base.parent
            return _file_of(base, parts)
        for root in (*_package_roots(folder), *self.roots):
            if root.name in _INSTALLED and not is_worth_reading(dotted):
                continue
            found = _file_of(root, parts)
            if found is not None:
                return found
        return None


def _package_roots(folder: Path) -> tuple[Path, ...]:
    """The folder that holds the outermost package of the files in ``folder``, and that folder itself."""
    outermost = folder
    while (outermost / "__init__.py").is_file() and outermost.parent != outermost:
        outermost = outermost.parent
    return (outermost,) if outermost == folder else (outermost, folder)


def _file_of(base: Path, parts: list[str]) -> Path | None:
    target = base.joinpath(*parts)
    try:
        if parts and (plain := target.with_name(target.name + ".py")).is_file():
            return plain
        package = target / "__init__.py"
        return package if package.is_file() else None
    except (OSError, ValueError):
        return None
