"""Cost of an operation by its name alone, where the evaluator did not follow the code.

Only inside kernels and the functions of the file that they mention; elsewhere the
same names run on the host or in XLA, and bundles say nothing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from pallas_lens.knowledge.op_costs import cost_of
from pallas_lens.model.kernel_body import BodyOperation, OperationKind
from pallas_lens.model.kernel_call import KernelFunction
from pallas_lens.model.module_facts import ModuleFacts
from pallas_lens.model.span import Span
from pallas_lens.source.document import Document
from pallas_lens.source.statements import Statement

_NAME = re.compile(r"[A-Za-z_]\w*")


def named_operation(document: Document, facts: ModuleFacts, row: int, column: int) -> BodyOperation | None:
    """The call of a measured name whose callee is at the position, inside kernel code; None where there is none."""
    place = document.statement_at(row)
    if place is None:
        return None
    statement = place[0]
    node = _innermost_call(document, statement, row, column)
    if node is None:
        return None
    name = canonical_name(node.func, document)
    if name is None or cost_of(name) is None or not _is_kernel_code(document, facts, statement, row, column):
        return None
    kind = OperationKind.DOT if name.rpartition(".")[2] in ("dot", "dot_general", "matmul") else OperationKind.CALL
    return BodyOperation(kind, name, document.span(statement, node), document.span(statement, node.func))


def _innermost_call(document: Document, statement: Statement, row: int, column: int) -> ast.Call | None:
    found: ast.Call | None = None
    for node in (inner for outer in statement.tree for inner in ast.walk(outer)):
        if isinstance(node, ast.Call):
            where = document.locate(document.span(statement, node.func))
            start, end = (where.start_row, where.start_column), (where.end_row, where.end_column)
            if start <= (row, column) < end:
                # The walk goes outside in: what comes later is inner.
                found = node
    return found


def canonical_name(node: ast.expr, document: Document) -> str | None:
    """The dotted path that an expression names; a method of anything but a module as ``jax.Array.NAME``."""
    attributes: list[str] = []
    while isinstance(node, ast.Attribute):
        attributes.insert(0, node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        imported = _imports(document).get(node.id)
        if imported is not None:
            return ".".join((imported, *attributes))
    return f"jax.Array.{attributes[-1]}" if attributes else None


def _imports(document: Document) -> dict[str, str]:
    """What names stand for by the imports of the file."""
    names: dict[str, str] = {}
    for node in (outer for statement in document.statements for outer in statement.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                root = alias.name.partition(".")[0]
                names[alias.asname or root] = alias.name if alias.asname else root
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names


def _is_kernel_code(document: Document, facts: ModuleFacts, statement: Statement, row: int, column: int) -> bool:
    definitions = [span for span in _definitions(facts) if document.start_row(span.anchor) is not None]
    if any(document.locate(span).covers(row, column) for span in definitions):
        return True
    functions = {
        node.name: one
        for one in document.statements
        for node in one.tree
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    seen: set[str] = set()
    waiting = [document.text_in(document.locate(span)) for span in definitions]
    while waiting:
        for name in set(_NAME.findall(waiting.pop())) & functions.keys() - seen:
            if functions[name] is statement:
                return True
            seen.add(name)
            waiting.append(functions[name].text)
    return False


def _definitions(facts: ModuleFacts) -> Iterator[Span]:
    seen: set[Span] = set()
    for site in facts.sites:
        for specialised in site.specialisations:
            for call in specialised.worlds:
                if isinstance(call.kernel, KernelFunction):
                    span = call.kernel.definition
                    if span is not None and span.file is None and span not in seen:
                        seen.add(span)
                        yield span
