"""What a function depends on in its own file, so that an edit there can drop what a run of it found."""

from __future__ import annotations

import ast

from pallas_lens.source.children import children
from pallas_lens.source.document import Document
from pallas_lens.source.statements import Statement


def texts_behind(document: Document, function: str) -> tuple[str, ...] | None:
    """The texts of the statements that ``function`` (a qualified name) needs, itself first; None where it is gone.

    Names are followed from statement to statement, whatever they mean there: rather one
    too many than a result that is out of date.
    """
    defined = _definitions(document)
    start = defined.get(function.partition(".")[0])
    if start is None:
        return None
    found: dict[int, Statement] = {}
    pending = list(start)
    while pending:
        statement = pending.pop()
        if id(statement) in found:
            continue
        found[id(statement)] = statement
        for name in _names_in(statement):
            pending.extend(defined.get(name, ()))
    leading = {id(one): "\n".join(comment.text for comment in one.leading_comments) for one in start}
    return tuple(leading.get(id(one), "") + one.text for one in found.values())


def _definitions(document: Document) -> dict[str, list[Statement]]:
    """The top-level statements that bind each name."""
    defined: dict[str, list[Statement]] = {}
    for statement in document.statements:
        for name in _bound_by(statement):
            defined.setdefault(name, []).append(statement)
    return defined


def _bound_by(statement: Statement) -> set[str]:
    names: set[str] = set()
    pending: list[ast.AST] = list(statement.tree)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        pending.extend(children(node))
    return names


def _names_in(statement: Statement) -> set[str]:
    return {node.id for tree in statement.tree for node in ast.walk(tree) if isinstance(node, ast.Name)}
