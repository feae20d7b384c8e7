"""The modules that can be read: the file analysed, and the project's other files by path."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ..source.document import Document
from .module import IMPORT, Module, Reads
from .source_files import SourceFiles

# What the tables of the library know by name is never read as source.
_KNOWN_PACKAGES: Final = frozenset(
    {"jax", "jaxlib", "numpy", "scipy", "functools", "math", "typing", "dataclasses", "enum", "itertools", "operator"}
    | {"collections", "contextlib", "os", "sys", "re", "abc", "absl", "pytest", "ml_dtypes", "jaxtyping", "torch"}
)
_KERNEL_PACKAGE: Final = "jax.experimental.pallas.ops"


@dataclass(slots=True, eq=False)
class Workspace:
    """Finds and keeps modules. ``files`` holds their texts, those of open editors among them."""

    roots: tuple[Path, ...] = ()
    files: SourceFiles = field(default_factory=SourceFiles)
    _modules: dict[str, Module] = field(default_factory=dict)
    _found: dict[tuple[str, int, str], Path | None] = field(default_factory=dict)
    _main: dict[str, Module] = field(default_factory=dict)

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
        """The module that an import in a file of ``folder`` names; None where it is no file of the project."""
        path = self.path_of(dotted, level, folder)
        return None if path is None else self.module(path)

    def import_fingerprint(self, dotted: str, level: int, folder: str) -> tuple[str, ...]:
        """The file that such an import leads to now; empty for what is never read as source."""
        if level == 0 and is_known(dotted):
            return ()
        return (str(self.path_of(dotted, level, folder) or ""),)

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
            found = _file_of(root, parts)
            if found is not None:
                return found
        return None


def is_known(dotted: str) -> bool:
    """Whether the library's tables know the module, so that it is never read as source."""
    return dotted.partition(".")[0] in _KNOWN_PACKAGES and not dotted.startswith(_KERNEL_PACKAGE)


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
