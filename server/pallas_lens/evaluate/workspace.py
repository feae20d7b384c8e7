"""The modules that can be read: the file analysed, and the project's other files by path."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ..source.document import Document, open_document
from .module import Module, Reads

# What the tables of the library know by name is never read as source.
_KNOWN_PACKAGES: Final = frozenset(
    {"jax", "jaxlib", "numpy", "scipy", "functools", "math", "typing", "dataclasses", "enum", "itertools", "operator"}
    | {"collections", "contextlib", "os", "sys", "re", "abc", "absl", "pytest", "ml_dtypes", "jaxtyping", "torch"}
)
_KERNEL_PACKAGE: Final = "jax.experimental.pallas.ops"
_LARGEST_FILE: Final = 2_000_000


@dataclass(slots=True, eq=False)
class Workspace:
    """Finds and keeps modules. ``overlay`` holds the open editors' versions of files."""

    roots: tuple[Path, ...] = ()
    overlay: dict[Path, Document] = field(default_factory=dict)
    _modules: dict[str, Module] = field(default_factory=dict)
    _stamps: dict[str, tuple[int, int]] = field(default_factory=dict)
    _found: dict[tuple[str, int, Path | None], Path | None] = field(default_factory=dict)
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
            path = Path(key)
            document = self.overlay.get(path)
            if document is not None:
                module.update(document)
            elif self._stamps.get(key) != _stamp(path):
                text = _read(path)
                if text is None:
                    del self._modules[key]
                else:
                    module.update(open_document(path, text))
                    self._stamps[key] = _stamp(path)

    def still_holds(self, reads: Reads, *, exactly: bool = False) -> bool:
        """Whether every name in ``reads`` is still bound by the same text (or by a function of the same signature)."""
        for (key, name), fingerprint in reads.items():
            module = self._main.get(key) or self._modules.get(key)
            if module is None:
                return False
            if (module.exact_fingerprint(name) if exactly else module.fingerprint(name)) != fingerprint:
                return False
        return True

    def resolve(self, dotted: str | None, level: int, importer: Path | None) -> Module | None:
        """The project's module that an import names, None where it is not a file of the project."""
        if importer is None or (dotted is None and level == 0):
            return None
        if level == 0:
            assert dotted is not None
            top = dotted.partition(".")[0]
            if top in _KNOWN_PACKAGES and not dotted.startswith(_KERNEL_PACKAGE):
                return None
        request = (dotted or "", level, importer.parent)
        if request not in self._found:
            self._found[request] = self._find(dotted, level, importer)
        path = self._found[request]
        return None if path is None else self._module(path)

    def _find(self, dotted: str | None, level: int, importer: Path) -> Path | None:
        parts = dotted.split(".") if dotted else []
        if level:
            base = importer.parent
            for _ in range(level - 1):
                base = base.parent
            return _file_of(base, parts)
        for root in (*_package_roots(importer), *self.roots):
            found = _file_of(root, parts)
            if found is not None:
                return found
        return None

    def _module(self, path: Path) -> Module | None:
        key = str(path)
        module = self._modules.get(key)
        if module is None:
            document = self.overlay.get(path)
            if document is None:
                text = _read(path)
                if text is None:
                    return None
                document = open_document(path, text)
                self._stamps[key] = _stamp(path)
            module = Module(key, f"{key}\0", document, self)
            self._modules[key] = module
        return module


def _package_roots(importer: Path) -> tuple[Path, ...]:
    """The folder that holds the importing file's outermost package, and the file's own folder."""
    folder = importer.parent
    while (folder / "__init__.py").is_file() and folder.parent != folder:
        folder = folder.parent
    return (folder,) if folder == importer.parent else (folder, importer.parent)


def _file_of(base: Path, parts: list[str]) -> Path | None:
    target = base.joinpath(*parts)
    try:
        if parts and (plain := target.with_name(target.name + ".py")).is_file():
            return plain
        package = target / "__init__.py"
        return package if package.is_file() else None
    except (OSError, ValueError):
        return None


def _read(path: Path) -> str | None:
    try:
        if path.stat().st_size > _LARGEST_FILE:
            return None
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def _stamp(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return (0, 0)
    return (status.st_mtime_ns, status.st_size)
