"""Which grid axes move a window, also where an index map looks blocks up in prefetched operands."""

from __future__ import annotations

import ast
from functools import lru_cache

from pallas_lens.model.grid import axes_of
from pallas_lens.model.kernel_call import IndexMap
from pallas_lens.model.unknown import Unknown


def moving_axes(index_map: IndexMap | Unknown | None, rank: int) -> frozenset[int] | Unknown:
    """The axes that the map's values depend on; for a lambda whose values are not known, those that it names."""
    axes = axes_of(index_map, rank)
    if isinstance(axes, Unknown) and isinstance(index_map, IndexMap):
        named = _named_axes(index_map.text, rank)
        return axes if named is None else named
    return axes


@lru_cache(maxsize=256)
def _named_axes(text: str, rank: int) -> frozenset[int] | None:
    """The axes whose parameters occur in the body of a lambda: ``lambda i, j, table: (table[i], 0)`` names axis 0."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if not isinstance(tree, ast.Lambda):
        return None
    parameters = [argument.arg for argument in (*tree.args.posonlyargs, *tree.args.args)][:rank]
    if len(parameters) < rank:
        return None
    used = {node.id for node in ast.walk(tree.body) if isinstance(node, ast.Name)}
    return frozenset(axis for axis, name in enumerate(parameters) if name in used)
