"""Where the modules of an environment are, by files alone: nothing is imported and no interpreter runs."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

_MAPPING: Final = re.compile(r"^MAPPING\b[^=\n]*=\s*(\{.*?\})", re.MULTILINE | re.DOTALL)
_FINDER: Final = re.compile(r"import\s+(__editable__\w+)")
_LARGEST_PTH: Final = 200_000


@dataclass(slots=True, eq=False)
class PackageFiles:
    """Finds modules in ``folders``, site-packages and the like, in order.

    Their ``.pth`` files are read for further folders, and for the finders of editable
    installs, which name the folder of each package; the code in them is not run.
    """

    folders: tuple[Path, ...]
    _expanded: tuple[Path, ...] | None = None
    _mapping: dict[str, Path] = field(default_factory=dict)
    _tops: dict[str, bool] = field(default_factory=dict)

    @property
    def search_path(self) -> tuple[Path, ...]:
        """All folders in which top-level modules are looked for."""
        if self._expanded is None:
            self._expanded = tuple(dict.fromkeys(self._expand()))
        return self._expanded

    @property
    def mapped(self) -> tuple[Path, ...]:
        """The folders of the packages that editable installs name one by one."""
        return tuple(self._mapping.values()) if self.search_path else ()

    def find(self, module: str) -> Path | None:
        """The source file of a module, the ``__init__.py`` of a package; None where there is none."""
        parts = module.split(".")
        if not all(part.isidentifier() for part in parts) or not self.has(parts[0]):
            return None
        mapped = self._mapping.get(parts[0])
        if mapped is not None:
            return source_file(mapped.parent, [mapped.name, *parts[1:]])
        for folder in self.search_path:
            found = source_file(folder, parts)
            if found is not None:
                return found
        return None

    def has(self, top: str) -> bool:
        """Whether there is a top-level module or package of that name, with source or without."""
        if top not in self._tops:
            folders = self.search_path
            self._tops[top] = top in self._mapping or any(_is_top_level(folder, top) for folder in folders)
        return self._tops[top]

    def _expand(self) -> Iterator[Path]:
        for folder in self.folders:
            yield folder
            try:
                names = sorted(name for name in os.listdir(folder) if name.endswith(".pth"))
            except OSError:
                continue
            for name in names:
                for line in _text(folder / name).splitlines():
                    yield from self._from_line(folder, line.strip())

    def _from_line(self, folder: Path, line: str) -> Iterator[Path]:
        if not line or line.startswith("#"):
            return
        if not line.startswith(("import ", "import\t")):
            named = folder / line
            if named.is_dir():
                yield named
            return
        for finder in _FINDER.findall(line):
            match = _MAPPING.search(_text(folder / f"{finder}.py"))
            for name, place in _literal(match[1]).items() if match else ():
                self._mapping.setdefault(name, Path(place))


def source_file(base: Path, parts: list[str]) -> Path | None:
    """The file of the module ``parts`` below ``base``."""
    target = base.joinpath(*parts)
    try:
        package = target / "__init__.py"
        if package.is_file():
            return package
        plain = target.with_name(target.name + ".py")
        return plain if plain.is_file() else None
    except (OSError, ValueError):
        return None


def _is_top_level(folder: Path, name: str) -> bool:
    try:
        return (folder / name).is_dir() or (folder / f"{name}.py").is_file()
    except (OSError, ValueError):
        return False


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > _LARGEST_PTH:
            return ""
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _literal(text: str) -> dict[str, str]:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return {}
    if not isinstance(value, dict):
        return {}
    return {key: place for key, place in value.items() if isinstance(key, str) and isinstance(place, str)}
