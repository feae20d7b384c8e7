"""Uses of JAX's names in a file, with canonical paths."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final
from weakref import WeakKeyDictionary

from ..model.api_use import ApiUse, Keyword
from ..model.span import Span
from ..source.children import children
from ..source.document import Document
from ..source.statements import Statement
from .lexical import called_name
from .texts import written

_TRUSTED_GUARDS: Final = ("hasattr", "version", "compat", "TYPE_CHECKING", "getattr")


_NAMES: Final = (ast.Name, ast.Attribute)
_IMPORTING: Final = (ast.Import, ast.ImportFrom)

Table = frozenset[tuple[str, str]]
"""The names that a file has from JAX, each with its canonical path."""


@dataclass(frozen=True, slots=True, eq=False)
class _Chain:
    """A dotted name as written: its root, the rest, the nodes."""

    root: str
    attributes: tuple[str, ...]
    node: ast.Attribute | ast.Name
    call: ast.Call | None
    guarded: bool


@dataclass(slots=True, eq=False)
class _Scan:
    """The names that a statement uses, of those whose roots are asked for, and its imports."""

    roots: frozenset[str]
    may_guard: bool
    """Some word of the statement may say that it asks what there is before it uses it."""
    chains: list[_Chain] = field(default_factory=list)
    imports: list[tuple[ast.Import | ast.ImportFrom, bool]] = field(default_factory=list)

    def visit(self, node: ast.AST, guarded: bool, call: ast.Call | None) -> None:
        if isinstance(node, _NAMES):
            self._name(node, guarded, call)
        elif isinstance(node, ast.Call):
            self._call(node, guarded)
        elif isinstance(node, _IMPORTING):
            self.imports.append((node, guarded))
        else:
            guarded = guarded or self._guards(node)
            for child in children(node):
                self.visit(child, guarded, None)

    def _name(self, node: ast.Attribute | ast.Name, guarded: bool, call: ast.Call | None) -> None:
        inner: ast.expr = node
        while isinstance(inner, ast.Attribute):
            inner = inner.value
        if not isinstance(inner, ast.Name):
            self.visit(inner, guarded, None)
        elif inner.id in self.roots and isinstance(inner.ctx, ast.Load):
            self.chains.append(_Chain(inner.id, _attributes(node), node, call, guarded))

    def _call(self, node: ast.Call, guarded: bool) -> None:
        self.visit(node.func, guarded, node)
        # functools.partial(pl.kernel, mesh=…) hands its keywords to pl.kernel.
        is_partial = called_name(node.func) == "partial"
        for position, child in enumerate((*node.args, *node.keywords)):
            self.visit(child, guarded, node if is_partial and position == 0 else None)

    def _guards(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Try):
            return bool(node.handlers)
        if self.may_guard and isinstance(node, ast.If | ast.IfExp):
            return any(word in written(node.test) for word in _TRUSTED_GUARDS)
        return False


def _attributes(node: ast.expr) -> tuple[str, ...]:
    """The parts of a dotted name behind its root."""
    found: list[str] = []
    while isinstance(node, ast.Attribute):
        found.append(node.attr)
        node = node.value
    return tuple(reversed(found))


def api_uses(document: Document) -> tuple[ApiUse, ...]:
    """Every use of a name of ``jax.experimental.pallas``, and one use of each other name of JAX."""
    table = _import_table(document)
    uses: list[ApiUse] = []
    others: set[str] = set()
    for statement in document.statements:
        for use in _uses(statement, table):
            if not use.path.startswith("jax.experimental.pallas"):
                if use.path in others:
                    continue
                others.add(use.path)
            uses.append(use)
    return tuple(uses)


def _import_table(document: Document) -> Table:
    table: dict[str, str] = {}
    for statement in document.statements:
        for node in _imports(statement):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    path = alias.name if alias.asname else alias.name.partition(".")[0]
                    table[alias.asname or path] = path
            elif node.module and not node.level:
                for alias in node.names:
                    table[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return frozenset((name, path) for name, path in table.items() if path.partition(".")[0] == "jax")


# Statements never change, so that these only save time; they go with the statements.
_IMPORTS: WeakKeyDictionary[Statement, tuple[ast.Import | ast.ImportFrom, ...]] = WeakKeyDictionary()
_USES: WeakKeyDictionary[Statement, tuple[Table, tuple[ApiUse, ...]]] = WeakKeyDictionary()


def _imports(statement: Statement) -> tuple[ast.Import | ast.ImportFrom, ...]:
    if "import" not in statement.parsed:
        return ()
    cached = _IMPORTS.get(statement)
    if cached is None:
        cached = _IMPORTS[statement] = tuple(node for node, _ in _scanned(statement, frozenset()).imports)
    return cached


def _scanned(statement: Statement, roots: frozenset[str]) -> _Scan:
    scan = _Scan(roots, any(word in statement.parsed for word in _TRUSTED_GUARDS))
    # A statement that nests too deep to be walked keeps what was found until then.
    with suppress(RecursionError):
        for node in statement.tree:
            scan.visit(node, False, None)
    return scan


def _uses(statement: Statement, table: Table) -> tuple[ApiUse, ...]:
    cached = _USES.get(statement)
    if cached is None or cached[0] != table:
        cached = _USES[statement] = (table, tuple(_resolve(statement, dict(table))))
    return cached[1]


def _resolve(statement: Statement, table: dict[str, str]) -> Iterator[ApiUse]:
    if "import" not in statement.parsed and not any(root in statement.parsed for root in table):
        return
    scan = _scanned(statement, frozenset(table))
    for chain in scan.chains:
        path = ".".join((table[chain.root], *chain.attributes))
        span = statement.span(chain.node)
        end = Span(
            span.anchor, span.end_row, span.end_column - len(path.rpartition(".")[2]), span.end_row, span.end_column
        )
        text = ".".join((chain.root, *chain.attributes))
        if not chain.attributes:
            end = span
        keywords = () if chain.call is None else _keywords(statement, chain.call)
        call_span = None if chain.call is None else statement.span(chain.call)
        yield ApiUse(path, span, end, text, chain.guarded, chain.call is not None, call_span, keywords)
    for node, guarded in scan.imports:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "jax":
            for alias in node.names:
                span = statement.span(alias)
                name = Span(
                    span.anchor, span.start_row, span.start_column, span.start_row, span.start_column + len(alias.name)
                )
                yield ApiUse(f"{node.module}.{alias.name}", name, name, alias.name, guarded, is_import=True)


def _keywords(statement: Statement, call: ast.Call) -> tuple[Keyword, ...]:
    made: list[Keyword] = []
    for keyword in call.keywords:
        if keyword.arg is None:
            continue
        span = statement.span(keyword)
        name = Span(
            span.anchor, span.start_row, span.start_column, span.start_row, span.start_column + len(keyword.arg)
        )
        is_dict = isinstance(keyword.value, ast.Dict) or (
            isinstance(keyword.value, ast.Call)
            and isinstance(keyword.value.func, ast.Name)
            and keyword.value.func.id == "dict"
        )
        # The text of a long list of specs takes long to write, and nobody reads it.
        text = written(keyword.value) if is_dict or isinstance(keyword.value, ast.Constant) else ""
        made.append(Keyword(keyword.arg, name, span, text, is_dict))
    return tuple(made)
