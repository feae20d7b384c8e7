"""Which grid axes each result of an index map hangs on, by the names it is made of."""

from __future__ import annotations

import ast

from .values import Function


def axes_by_name(function: Function, grid_rank: int) -> tuple[frozenset[int], ...] | None:
    """One set of grid axes for each returned index; None where the function is more than names put together.

    A result hangs on no axis that is not in its set: the names of its expression, and of
    what they were assigned from, are followed to the first ``grid_rank`` parameters.
    """
    node = function.node
    parameters = [parameter.arg for parameter in (*node.args.posonlyargs, *node.args.args)]
    if function.is_bound:
        parameters = parameters[1:]
    if len(parameters) < grid_rank:
        return None
    axis_of = {name: frozenset({axis}) for axis, name in enumerate(parameters[:grid_rank])}
    if isinstance(node, ast.Lambda):
        returned: ast.expr | None = node.body
    else:
        returned = None
        for statement in node.body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    axis_of[name] = _axes(value, axis_of)
                case ast.Return(value=ast.expr() as value) if returned is None:
                    returned = value
                case ast.Expr() | ast.Delete() | ast.Assert():
                    pass
                case _:
                    return None
    if returned is None:
        return None
    elements = returned.elts if isinstance(returned, ast.Tuple | ast.List) else [returned]
    if any(isinstance(element, ast.Starred) for element in elements):
        return None
    return tuple(_axes(element, axis_of) for element in elements)


def _axes(expression: ast.expr, axis_of: dict[str, frozenset[int]]) -> frozenset[int]:
    found: frozenset[int] = frozenset()
    for node in ast.walk(expression):
        if isinstance(node, ast.Name):
            found |= axis_of.get(node.id, frozenset())
    return found
