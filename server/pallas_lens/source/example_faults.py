"""What an example comment says that its function or its file does not bear out."""

from __future__ import annotations

import ast
import builtins
import difflib

from pallas_lens.model.dtypes import BITS, from_short_name, short_name

from .comments import CommentProblem, ExampleComment, Function, examples_above
from .document import Document
from .statements import Statement

# Decorators that leave the parameters as they are written.
_TRANSPARENT = frozenset({"jit", "partial", "custom_vjp", "custom_jvp", "checkpoint", "named_call"})


def example_problems(document: Document) -> tuple[CommentProblem, ...]:
    """Examples that name no parameter of their function, or a dtype that there is not; silent when unsure."""
    if "pallas-lens" not in document.text:
        return ()
    names = _names_in(document)
    problems: list[CommentProblem] = []
    for statement in document.statements:
        if statement.broken or not statement.leading_comments:
            continue
        for node in statement.tree:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                problems += _problems(document, statement, node, names)
    return tuple(problems)


def _problems(document: Document, statement: Statement, function: Function, names: set[str]) -> list[CommentProblem]:
    found: list[CommentProblem] = []
    for example in examples_above(statement, function):
        message = _unknown_parameter(example, function) or _no_dtype(example, names)
        if message is not None:
            found.append(CommentProblem(document.locate(example.span), message))
    return found


def _unknown_parameter(example: ExampleComment, function: Function) -> str | None:
    if function.args.kwarg is not None or not all(map(_is_transparent, function.decorator_list)):
        return None
    arguments = function.args
    parameters = [one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    for name, _ in example.arguments:
        if name not in parameters:
            nearest = difflib.get_close_matches(name, parameters, 1)
            hint = f"; did you mean `{nearest[0]}`?" if nearest else f"; it has {', '.join(parameters) or 'none'}"
            return f"`{function.name}` has no parameter `{name}`{hint}"
    return None


def _is_transparent(decorator: ast.expr) -> bool:
    if isinstance(decorator, ast.Call):
        decorator = decorator.func
    if isinstance(decorator, ast.Attribute):
        return decorator.attr in _TRANSPARENT
    return isinstance(decorator, ast.Name) and decorator.id in _TRANSPARENT


def _no_dtype(example: ExampleComment, names: set[str]) -> str | None:
    for name, value in example.arguments:
        match value:
            case ast.Subscript(value=ast.Name(id=dtype)) if dtype not in names:
                nearest = difflib.get_close_matches(dtype, [short_name(one) for one in BITS], 1)
                hint = f"; did you mean {nearest[0]}?" if nearest else ""
                return f"`{dtype}` of `{name}` is no dtype and no name of this file{hint}"
            case ast.Call(func=ast.Name(id=dtype)) if dtype not in names and from_short_name(dtype) is not None:
                dims = ",".join(ast.unparse(one) for one in value.args)
                return f"an array is written with square brackets: {name}={dtype}[{dims}]"
    return None


def _names_in(document: Document) -> set[str]:
    """Every name that stands anywhere in the file, and Python's own: rather too many than a false word."""
    names = set(dir(builtins))
    for statement in document.statements:
        for node in statement.tree:
            for part in ast.walk(node):
                if isinstance(part, ast.Name):
                    names.add(part.id)
                elif isinstance(part, ast.alias):
                    names.add((part.asname or part.name).partition(".")[0])
                elif isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    names.add(part.name)
    return names
