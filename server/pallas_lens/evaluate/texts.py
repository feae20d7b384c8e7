"""Syntax as text, for the names and reasons of values that are not known."""

from __future__ import annotations

import ast
from weakref import WeakKeyDictionary


def written(node: ast.AST) -> str:
    """``node`` as Python writes it; its kind where it nests too deep to be written."""
    text = _WRITTEN.get(node)
    if text is None:
        try:
            text = ast.unparse(node)
        except RecursionError:
            text = f"a nested {type(node).__name__}"
        _WRITTEN[node] = text
    return text


# Trees never change, so that this only saves time; it goes with the trees, which a session edits by the thousand.
_WRITTEN: WeakKeyDictionary[ast.AST, str] = WeakKeyDictionary()
