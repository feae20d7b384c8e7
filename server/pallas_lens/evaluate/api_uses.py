"""Uses of JAX's names in a file, with canonical paths."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Final
from weakref import WeakKeyDictionary

from ..model.api_use import ApiUse, Keyword
from ..model.span import Span
from ..source.children import children
from ..source.document import Document
from ..source.statements import Statement
from .texts import written

_TRUSTED_GUARDS: Final = ("hasattr", "version", "compat", "TYPE_CHECKING", "getattr")


@dataclass(frozen=True, slots=True, eq=False)
class _Chain:
    """A dotted name as written: its root, the rest, the nodes."""

    root: str
    attributes: tuple[str, ...]
    node: ast.Attribute | ast.Name
    call: ast.Call | None
    guarded: bool


@dataclass(frozen=True, slots=True, eq=False)
class _Raw:
    """What a statement says about names, before they are resolved."""

    chains: tuple[_Chain, ...]
    imports: tuple[tuple[ast.Import | ast.ImportFrom, bool], ...]


def api_uses(document: Document) -> tuple[ApiUse, ...]:
    """Every use of a name of ``jax.experimental.pallas``, and one use of each other name of JAX."""
    raws = [(statement, _raw(statement)) for statement in document.statements]
    table = _import_table(raws)
    uses: list[ApiUse] = []
    others: set[str] = set()
    for statement, raw in raws:
        for use in _resolved(statement, raw, table):
            if not use.path.startswith("jax.experimental.pallas"):
                if use.path in others:
                    continue
                others.add(use.path)
            uses.append(use)
    return tuple(uses)


def _import_table(raws: list[tuple[Statement, _Raw]]) -> frozenset[tuple[str, str]]:
    table: dict[str, str] = {}
    for _, raw in raws:
        for node, _ in raw.imports:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    path = alias.name if alias.asname else alias.name.partition(".")[0]
                    table[alias.asname or path] = path
            elif node.module and not node.level:
                for alias in node.names:
                    table[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return frozenset((name, path) for name, path in table.items() if path.partition(".")[0] == "jax")


# Statements never change, so that these only save time; they go with the statements.
_RESOLVED: WeakKeyDictionary[Statement, tuple[frozenset[tuple[str, str]], tuple[ApiUse, ...]]] = WeakKeyDictionary()
_RAWS: WeakKeyDictionary[Statement, _Raw] = WeakKeyDictionary()


def _raw(statement: Statement) -> _Raw:
    cached = _RAWS.get(statement)
    if cached is None:
        chains: list[_Chain] = []
        imports: list[tuple[ast.Import | ast.ImportFrom, bool]] = []
        for node in statement.tree:
            _scan(node, False, None, chains, imports)
        cached = _Raw(tuple(chains), tuple(imports))
        _RAWS[statement] = cached
    return cached


def _scan(
    node: ast.AST,
    guarded: bool,
    call: ast.Call | None,
    chains: list[_Chain],
    imports: list[tuple[ast.Import | ast.ImportFrom, bool]],
) -> None:
    if isinstance(node, ast.Attribute | ast.Name):
        attributes: list[str] = []
        inner: ast.expr = node
        while isinstance(inner, ast.Attribute):
            attributes.append(inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name):
            if isinstance(inner.ctx, ast.Load):
                chains.append(_Chain(inner.id, tuple(reversed(attributes)), node, call, guarded))
            return
        _scan(inner, guarded, None, chains, imports)
        return
    if isinstance(node, ast.Import | ast.ImportFrom):
        imports.append((node, guarded))
        return
    if isinstance(node, ast.Call):
        _scan(node.func, guarded, node, chains, imports)
        # functools.partial(pl.kernel, mesh=…) hands its keywords to pl.kernel.
        is_partial = ast.unparse(node.func).rpartition(".")[2] == "partial" if _is_name(node.func) else False
        for position, child in enumerate((*node.args, *node.keywords)):
            _scan(child, guarded, node if is_partial and position == 0 else None, chains, imports)
        return
    if isinstance(node, ast.Try) and node.handlers:
        guarded = True
    if isinstance(node, ast.If | ast.IfExp) and any(word in written(node.test) for word in _TRUSTED_GUARDS):
        guarded = True
    for child in children(node):
        _scan(child, guarded, None, chains, imports)


def _is_name(node: ast.expr) -> bool:
    return isinstance(node, ast.Name | ast.Attribute)


def _resolved(statement: Statement, raw: _Raw, table: frozenset[tuple[str, str]]) -> tuple[ApiUse, ...]:
    cached = _RESOLVED.get(statement)
    if cached is None or cached[0] != table:
        cached = (table, tuple(_resolve(statement, raw, dict(table))))
        _RESOLVED[statement] = cached
    return cached[1]


def _resolve(statement: Statement, raw: _Raw, table: dict[str, str]) -> list[ApiUse]:
    uses: list[ApiUse] = []
    for chain in raw.chains:
        root = table.get(chain.root)
        if root is None:
            continue
        path = ".".join((root, *chain.attributes))
        span = statement.span(chain.node)
        end = Span(
            span.anchor, span.end_row, span.end_column - len(path.rpartition(".")[2]), span.end_row, span.end_column
        )
        text = ".".join((chain.root, *chain.attributes))
        if not chain.attributes:
            end = span
        keywords = () if chain.call is None else _keywords(statement, chain.call)
        call_span = None if chain.call is None else statement.span(chain.call)
        uses.append(ApiUse(path, span, end, text, chain.guarded, chain.call is not None, call_span, keywords))
    for node, guarded in raw.imports:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "jax":
            for alias in node.names:
                span = statement.span(alias)
                name = Span(
                    span.anchor, span.start_row, span.start_column, span.start_row, span.start_column + len(alias.name)
                )
                uses.append(ApiUse(f"{node.module}.{alias.name}", name, name, alias.name, guarded, is_import=True))
    return uses


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
        made.append(Keyword(keyword.arg, name, span, written(keyword.value), is_dict))
    return tuple(made)
