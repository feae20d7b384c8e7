"""Under a hover of ours: what the user's own JAX says of the name."""

from __future__ import annotations

import ast
import re
from typing import Final

from pallas_lens.source.document import Document

from .hover import Hover
from .hover_name import canonical_name

_LONGEST: Final = 1_500
_ROLE: Final = re.compile(r":\w+(?::\w+)*:`~?([^`<]+?)(?:\s*<[^>]*>)?`")
_LINK: Final = re.compile(r"`([^`<]+?)\s*<(https?://[^>\s]+)>`__?")
_LITERAL: Final = re.compile(r"``([^`]+)``")


def documented_name(document: Document, row: int, column: int) -> str | None:
    """The dotted path of JAX that is named at a position; None where there is none."""
    place = document.statement_at(row)
    if place is None:
        return None
    statement = place[0]
    found: tuple[int, ast.expr] | None = None
    for node in (inner for outer in statement.tree for inner in ast.walk(outer)):
        if isinstance(node, ast.Attribute | ast.Name):
            where = document.locate(document.span(statement, node))
            start, end = (where.start_row, where.start_column), (where.end_row, where.end_column)
            if start <= (row, column) < end:
                length = (end[0] - start[0]) * 1_000 + end[1] - start[1]
                if found is None or length < found[0]:
                    found = (length, node)
    name = canonical_name(found[1], document) if found is not None else None
    return name if name is not None and name.startswith("jax.") and not name.startswith("jax.Array.") else None


def with_documentation(hover: Hover, signature: str, text: str) -> Hover:
    """``hover`` with a signature and a docstring below it."""
    parts = [hover.markdown, "---"]
    if signature:
        parts.append(f"```python\n{signature}\n```")
    parts.append(_markdown(text))
    return Hover("\n\n".join(parts), hover.range)


def _markdown(text: str) -> str:
    """The beginning of a docstring, with Sphinx's roles, links and literals as those of Markdown."""
    text = _LITERAL.sub(r"`\1`", _ROLE.sub(r"`\1`", _LINK.sub(r"[\1](\2)", text))).strip()
    if len(text) <= _LONGEST:
        return text
    cut = text[:_LONGEST]
    return (cut.rpartition("\n\n")[0] or cut.rpartition(" ")[0]).rstrip() + "\n\n…"
