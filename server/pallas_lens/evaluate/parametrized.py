"""The parameters that a test runner gives a test first: of ``pytest.mark.parametrize``, and of absl's decorators."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator

from .expressions import evaluate
from .lexical import FunctionNode
from .machine import Frame, Machine
from .values import Value

_DECORATORS = ("parametrize", "parameters", "named_parameters", "product")


def is_parametrized(node: FunctionNode) -> bool:
    """Whether a decorator gives the parameters of the test."""
    return any(_form(decorator) for decorator in node.decorator_list)


def first_parameters(
    machine: Machine, node: FunctionNode | ast.Lambda, frame: Frame, parameters: Container[str]
) -> dict[str, Value]:
    """The values of those of ``parameters`` that the decorators of a test give, in its first run."""
    if isinstance(node, ast.Lambda):
        return {}
    given: dict[str, ast.expr] = {}
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call):
            given |= dict(_first(decorator, node))
    return {name: evaluate(machine, value, frame) for name, value in given.items() if name in parameters}


def _form(decorator: ast.expr) -> str:
    match decorator:
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if name in _DECORATORS:
            return name
        case _:
            return ""


def _first(decorator: ast.Call, node: FunctionNode) -> Iterator[tuple[str, ast.expr]]:
    match _form(decorator), decorator.args:
        case "parametrize", [names, ast.List(elts=[first, *_]) | ast.Tuple(elts=[first, *_]), *_]:
            yield from _paired(_names(names), first)
        case "parameters" | "named_parameters", [ast.Dict(keys=keys, values=values), *_]:
            for key, value in zip(keys, values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield key.value, value
        case "parameters" | "named_parameters", [ast.Call(func=ast.Name(id="dict"), keywords=keywords), *_]:
            yield from ((keyword.arg, keyword.value) for keyword in keywords if keyword.arg is not None)
        case "named_parameters", [ast.Tuple(elts=[_, *values]) | ast.List(elts=[_, *values]), *_]:
            yield from zip(_positional(node), values, strict=False)
        case "parameters", [first, *_] if not isinstance(first, ast.Starred | ast.ListComp | ast.GeneratorExp):
            yield from _paired(_positional(node), first)
        case "product", _:
            for keyword in decorator.keywords:
                match keyword.value:
                    case ast.List(elts=[first, *_]) | ast.Tuple(elts=[first, *_]) if keyword.arg is not None:
                        yield keyword.arg, first


def _positional(node: FunctionNode) -> tuple[str, ...]:
    return tuple(one.arg for one in node.args.args if one.arg != "self")


def _names(node: ast.expr) -> tuple[str, ...]:
    match node:
        case ast.Constant(value=str() as text):
            return tuple(name.strip() for name in text.split(",") if name.strip())
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            return tuple(str(one.value) for one in elements if isinstance(one, ast.Constant))
        case _:
            return ()


def _paired(names: tuple[str, ...], first: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    match first:
        case ast.Call(func=ast.Attribute(attr="param"), args=values):
            pass
        case ast.Tuple(elts=values) | ast.List(elts=values) if len(names) > 1 or isinstance(first, ast.Tuple):
            if len(names) == 1 and len(values) != 1:
                values = [first]
        case _:
            values = [first]
    if not any(isinstance(value, ast.Starred) for value in values):
        yield from zip(names, values, strict=False)
