"""Follows a dotted name through the imports of source files to the statement that defines it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ...source.document import open_document
from ..package_files import PackageFiles

_DEEPEST: Final = 12
_MOST_TREES: Final = 60
_LARGEST_FILE: Final = 2_000_000
_LONGEST_SIGNATURE: Final = 400

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign


@dataclass(frozen=True, slots=True)
class Found:
    """The statement ``node`` of ``file`` binds ``name`` to something that is no import."""

    file: Path
    name: str
    node: Definition


@dataclass(slots=True, eq=False)
class Definitions:
    """Reads the files of an environment. The last trees are kept, by path and by the state of the file."""

    files: PackageFiles
    _trees: dict[Path, tuple[int, ast.Module | None]] = field(default_factory=dict)

    def find(self, dotted: str, depth: int = 0) -> Found | None:
        """Where ``dotted``, a module's name and one of its own, is defined; None where files do not tell."""
        if depth > _DEEPEST:
            return None
        module, _, name = dotted.rpartition(".")
        path = self.files.find(module) if module else None
        if path is None:
            return None
        return self._in_module(module, path, name, depth)

    def _in_module(self, module: str, path: Path, name: str, depth: int) -> Found | None:
        tree = self._tree(path)
        if tree is None:
            return None
        stars: list[ast.ImportFrom] = []
        for node in reversed(list(_statements(tree.body))):
            match node:
                case ast.FunctionDef(name=bound) | ast.AsyncFunctionDef(name=bound) | ast.ClassDef(name=bound):
                    if bound == name:
                        return Found(path, name, node)
                case ast.Assign(targets=targets, value=value):
                    if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                        return self._behind(module, path, value, depth) or Found(path, name, node)
                case ast.AnnAssign(target=ast.Name(id=bound), value=ast.expr() as value) if bound == name:
                    return self._behind(module, path, value, depth) or Found(path, name, node)
                case ast.ImportFrom(names=aliases):
                    for alias in aliases:
                        if alias.name == "*":
                            stars.append(node)
                        elif (alias.asname or alias.name) == name:
                            found = self.find(f"{_source(node, module, path)}.{alias.name}", depth + 1)
                            if found is not None:
                                return found
                case _:
                    pass
        for star in stars:
            found = self.find(f"{_source(star, module, path)}.{name}", depth + 1)
            if found is not None:
                return found
        return None

    def _behind(self, module: str, path: Path, value: ast.expr, depth: int) -> Found | None:
        """What a name stands for that is only another name: ``cdiv = pallas_utils.cdiv``."""
        match value:
            case ast.Name(id=other):
                return self._in_module(module, path, other, depth + 1) if depth < _DEEPEST else None
            case ast.Attribute(value=ast.Name(id=owner), attr=name):
                imported = self._imported_module(module, path, owner)
                return None if imported is None else self.find(f"{imported}.{name}", depth + 1)
            case _:
                return None

    def _imported_module(self, module: str, path: Path, name: str) -> str | None:
        tree = self._tree(path)
        for node in _statements(tree.body) if tree is not None else ():
            if isinstance(node, ast.Import | ast.ImportFrom):
                for alias in node.names:
                    if (alias.asname or alias.name) == name:
                        return (
                            alias.name
                            if isinstance(node, ast.Import)
                            else (f"{_source(node, module, path)}.{alias.name}")
                        )
        return None

    def _tree(self, path: Path) -> ast.Module | None:
        try:
            status = path.stat()
            kept = self._trees.pop(path, None)
            if kept is None or kept[0] != status.st_mtime_ns:
                text = path.read_text(encoding="utf-8") if status.st_size <= _LARGEST_FILE else ""
                kept = (status.st_mtime_ns, _parsed(path, text))
        except (OSError, ValueError, SyntaxError, MemoryError, RecursionError):
            kept = (0, None)
        self._trees[path] = kept
        if len(self._trees) > _MOST_TREES:
            del self._trees[next(iter(self._trees))]
        return kept[1]


def _parsed(path: Path, text: str) -> ast.Module:
    """The tree of a file; without those statements that only a newer Python can parse."""
    try:
        return ast.parse(text)
    except SyntaxError:
        document = open_document(path, text)
        body: list[ast.stmt] = []
        for first, statement in zip(document.first_rows, document.statements, strict=True):
            if not statement.broken:
                body += [ast.increment_lineno(node, first) for node in statement.tree]
        return ast.Module(body, [])


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run when a module is imported, those under ``if``, ``try`` and ``with`` among them."""
    for node in body:
        match node:
            case ast.If(body=inner, orelse=other):
                yield from _statements(other)
                yield from _statements(inner)
            case ast.Try(body=inner, handlers=handlers, orelse=other, finalbody=last):
                for handler in handlers:
                    yield from _statements(handler.body)
                yield from _statements([*inner, *other, *last])
            case ast.With(body=inner):
                yield from _statements(inner)
            case _:
                yield node


def _source(node: ast.ImportFrom, module: str, path: Path) -> str:
    """The absolute name of the module that ``node`` imports from."""
    if not node.level:
        return node.module or ""
    parts = module.split(".")
    package = parts if path.name == "__init__.py" else parts[:-1]
    above = package[: len(package) - node.level + 1]
    return ".".join((*above, *([node.module] if node.module else [])))


def signature_of(name: str, node: Definition) -> str:
    """How the function or class is called, as its source says; "" for a value."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return _cut(
                f"{name}({_parameters(node.args)})" + (f" -> {ast.unparse(node.returns)}" if node.returns else "")
            )
        case ast.ClassDef():
            for part in node.body:
                if isinstance(part, ast.FunctionDef) and part.name == "__init__":
                    return _cut(f"{name}({_parameters(part.args, without_first=True)})")
            if any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list):
                fields = [ast.unparse(part) for part in node.body if isinstance(part, ast.AnnAssign)]
                return _cut(f"{name}({', '.join(fields)})")
            return f"class {name}"
        case _:
            return ""


def _parameters(arguments: ast.arguments, *, without_first: bool = False) -> str:
    text = ast.unparse(arguments)
    return text.partition(", ")[2] if without_first else text


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST_SIGNATURE else text[: _LONGEST_SIGNATURE - 1] + "…"


def documentation_of(node: Definition) -> str:
    """The docstring, "" where there is none."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return ast.get_docstring(node) or ""
    return ""
