"""What files and their imports do not tell, asked of jedi, which infers what names stand for. Imports nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..package_files import PackageFiles


@dataclass(frozen=True, slots=True)
class Inferred:
    """A definition with its documentation, as far as jedi knows."""

    file: Path
    name: str
    line: int
    signature: str
    documentation: str


class JediAnswers:
    """jedi over the folders of an environment, with its own files in ``cache``; imported when first asked."""

    def __init__(self, files: PackageFiles, cache: Path) -> None:
        import jedi
        from jedi.inference.compiled import access

        jedi.settings.cache_directory = str(cache)
        load = access.load_module

        def load_standard_library(state: Any, dotted_name: str, **options: Any) -> Any:
            # jedi imports what has no source; nothing of the user's is ever imported.
            return load(state, dotted_name, **options) if _is_standard(dotted_name) else None

        access.load_module = load_standard_library
        self._script = jedi.Script
        self._environment = jedi.InterpreterEnvironment()
        tops = {str(place.parent) for place in files.mapped}
        folders = [*map(str, files.search_path), *sorted(tops)]
        self._project = jedi.Project(cache, sys_path=folders, smart_sys_path=False)

    def find(self, dotted: str) -> Inferred | None:
        """Where ``dotted`` is defined, at the top level of a module; None where jedi cannot tell."""
        module, _, name = dotted.rpartition(".")
        if not module:
            return None
        script = self._script(
            f"from {module} import {name}\n{name}", project=self._project, environment=self._environment
        )
        for found in self._names(script):
            path = found.module_path
            parent = found.parent()
            if path is None or found.line is None or parent is None or parent.type != "module":
                continue
            if found.type in ("function", "class", "statement", "instance"):
                signatures = found.get_signatures()
                return Inferred(
                    Path(path),
                    found.name,
                    found.line,
                    signatures[0].to_string() if signatures else "",
                    found.docstring(raw=True),
                )
        return None

    @staticmethod
    def _names(script: Any) -> Iterator[Any]:
        yield from script.goto(2, 0, follow_imports=True)
        yield from script.infer(2, 0)


def _is_standard(dotted: str) -> bool:
    return dotted.partition(".")[0] in sys.stdlib_module_names
