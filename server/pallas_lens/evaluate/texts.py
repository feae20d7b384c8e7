"""Syntax as text, for the names and reasons of values that are not known."""

from __future__ import annotations

import ast
from functools import lru_cache


@lru_cache(maxsize=4096)
def written(node: ast.AST) -> str:
    """``node`` as Python writes it; its kind where it nests too deep to be written."""
    try:
        return ast.unparse(node)
    except RecursionError:
        return f"a nested {type(node).__name__}"
