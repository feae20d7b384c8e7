"""The nodes right below a node of a syntax tree."""

from __future__ import annotations

import ast
from typing import Final

# Fields that hold names, numbers, operators and contexts, which nothing that walks a tree looks at.
_PLAIN: Final = frozenset({"id", "attr", "arg", "name", "ctx", "op", "ops", "kind", "level", "type_comment", "module"})
# Lists with gaps in them, or with names: ``{**other}``, ``def f(*, a)``, ``global a``, ``case C(a=1)``.
_MIXED: Final = frozenset({"keys", "kw_defaults", "names", "kwd_attrs"})
_FIELDS: Final[dict[type[ast.AST], tuple[tuple[str, bool], ...]]] = {}


def children(node: ast.AST) -> list[ast.AST]:
    """What ``ast.iter_child_nodes`` gives, without operators and contexts, in less than half the time."""
    kind = type(node)
    fields = _FIELDS.get(kind)
    if fields is None:
        names = () if kind is ast.Constant else kind._fields
        fields = _FIELDS[kind] = tuple((name, name in _MIXED) for name in names if name not in _PLAIN)
    found: list[ast.AST] = []
    for name, is_mixed in fields:
        value = getattr(node, name, None)
        if value.__class__ is list:
            found += [item for item in value if isinstance(item, ast.AST)] if is_mixed else value
        elif isinstance(value, ast.AST):
            found.append(value)
    return found
