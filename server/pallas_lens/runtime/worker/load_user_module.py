"""Imports the user's file, saved or not, the way the user's own program would."""

from __future__ import annotations

import importlib
import linecache
import sys
import types
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import module_from_spec
from pathlib import Path


class _BufferLoader(SourceFileLoader):
    """Loads a module from text instead of the file's saved content."""

    def __init__(self, name: str, path: str, source: str) -> None:
        super().__init__(name, path)
        self._source = source

    def get_code(self, fullname: str) -> types.CodeType:
        code = compile(self._source, self.path, "exec", dont_inherit=True)
        return code


def read_source(path: str, source: str | None) -> str:
    """The text of the file: the unsaved buffer where there is one. Raises OSError or SyntaxError (bad encoding)."""
    if source is not None:
        return source
    return importlib.util.decode_source(Path(path).read_bytes())


def load_user_module(
    path: str, source: str, import_roots: tuple[str, ...] = (), as_main: bool = False
) -> types.ModuleType:
    """Execute the file as a module and return it. Raises whatever the user's code raises.

    A file inside a package is imported under its dotted name, with the folder above the package on `sys.path`, so that
    relative imports work; another file under its own name with its folder on `sys.path`, as a script would be.
    """
    file = Path(path)
    folder = file.parent
    package_parts: list[str] = []
    while (folder / "__init__.py").is_file() and folder.name.isidentifier():
        package_parts.insert(0, folder.name)
        folder = folder.parent
    for root in reversed((str(folder), *import_roots)):
        if root not in sys.path:
            sys.path.insert(0, root)
    name = "__main__" if as_main else _module_name(file, package_parts)
    if package_parts:
        importlib.import_module(".".join(package_parts))
    loader = _BufferLoader(name, path, source)
    spec = ModuleSpec(name, loader, origin=path, is_package=file.name == "__init__.py")
    spec.has_location = True
    module = module_from_spec(spec)
    module.__file__ = path
    if package_parts:
        module.__package__ = ".".join(package_parts)
    sys.modules[name] = module
    # A traceback and inspect.getsource should show the text which runs, not what is on disk.
    linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)
    loader.exec_module(module)
    return module


def _module_name(file: Path, package_parts: list[str]) -> str:
    if package_parts:
        stem = [] if file.name == "__init__.py" else [file.stem]
        return ".".join(package_parts + stem)
    taken = file.stem in sys.modules or file.stem in sys.stdlib_module_names
    # A file called types.py or jax.py must not replace the module which everything else uses.
    return f"user_file_{file.stem}" if taken or not file.stem.isidentifier() else file.stem
