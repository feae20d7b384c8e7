"""Evaluates the text of an `example` comment in the user's module: `x=f32[8,128], block=256, cfg=Config(heads=8)`."""

from __future__ import annotations

import ast
import io
import tokenize
import types
from dataclasses import dataclass
from typing import Any

from .example_arrays import ExampleError, dtype_names, is_filled_with_zeros, make_array

_MAKE_ARRAY = "__pallas_lens_make_array__"


@dataclass(frozen=True, slots=True)
class Arguments:
    """What the user's function is called with; `zeros` names the integer arguments which were filled with zeros."""

    positional: tuple[Any, ...]
    keywords: dict[str, Any]
    zeros: tuple[str, ...] = ()


def evaluate_arguments(text: str, inputs: str | None, module: types.ModuleType, seed: int) -> Arguments:
    """The arguments of an example; those which the `inputs` function returns replace or join those of the text.

    Raises ExampleError for a text that cannot be read, and whatever the user's own functions raise.
    """
    example = _evaluate_text(text, module, seed)
    if inputs is None:
        return example
    made = find_function(module, inputs)()
    if isinstance(made, dict):
        zeros = tuple(name for name in example.zeros if name not in made)
        return Arguments(example.positional, {**example.keywords, **made}, zeros)
    if isinstance(made, (tuple, list)):
        return Arguments(tuple(made), example.keywords, example.zeros)
    return Arguments((made,), example.keywords, example.zeros)


def find_function(module: types.ModuleType, name: str) -> Any:
    """The function of a dotted name in the module; raises ExampleError where there is none."""
    found: Any = module
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise ExampleError(f"{module.__file__} has no function {name!r}.") from None
    if not callable(found):
        raise ExampleError(f"{name!r} is not a function but {type(found).__name__}.")
    return found


def _evaluate_text(text: str, module: types.ModuleType, seed: int) -> Arguments:
    names = dtype_names()
    call = _parse(text, names)
    positional = []
    keywords: dict[str, Any] = {}
    zeros: list[str] = []
    for index, node in enumerate(call.args):
        if isinstance(node, ast.Starred):
            raise ExampleError(f"`*` has no meaning in an example: {text!r}.")
        positional.append(_evaluate(node, f"argument {index}", names, module, seed, zeros))
    for keyword in call.keywords:
        if keyword.arg is None:
            raise ExampleError(f"`**` has no meaning in an example: {text!r}.")
        keywords[keyword.arg] = _evaluate(keyword.value, keyword.arg, names, module, seed, zeros)
    return Arguments(tuple(positional), keywords, tuple(zeros))


def _parse(text: str, names: dict[str, str]) -> ast.Call:
    try:
        tree = ast.parse(f"_({_write_empty_dims(text, names)}\n)", mode="eval")
    except (SyntaxError, ValueError, tokenize.TokenError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else str(error.args[0])
        raise ExampleError(
            f"the example {text!r} is not a list of arguments such as `x=f32[8,128], block=256`: {reason}."
        ) from None
    if not isinstance(tree.body, ast.Call) or not isinstance(tree.body.func, ast.Name):
        raise ExampleError(f"the example {text!r} is not a list of arguments such as `x=f32[8,128], block=256`.")
    return tree.body


def _write_empty_dims(text: str, names: dict[str, str]) -> str:
    """`f32[]`, as JAX prints a scalar, is no Python: write the dims of a scalar as `f32[()]`."""
    tokens = list(tokenize.generate_tokens(io.StringIO(f"({text}\n)").readline))
    lines = text.split("\n")
    for first, second, third in reversed(list(zip(tokens, tokens[1:], tokens[2:], strict=False))):
        if (first.string in names, second.string, third.string) == (True, "[", "]"):
            row, column = third.start
            # The first line was read behind an opening bracket, which shifted its columns by one.
            column -= 1 if row == 1 else 0
            lines[row - 1] = lines[row - 1][:column] + "()" + lines[row - 1][column:]
    return "\n".join(lines)


class _ArrayTypes(ast.NodeTransformer):
    """Turns `f32[8, 128]` into the call which makes that array."""

    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.value, ast.Name) or node.value.id not in self._names:
            return node
        dims = node.slice if isinstance(node.slice, ast.Tuple) else ast.Tuple([node.slice], ast.Load())
        if isinstance(node.slice, ast.Tuple) and not node.slice.elts:
            dims = node.slice
        make = ast.Name(_MAKE_ARRAY, ast.Load())
        return ast.copy_location(ast.Call(make, [ast.Constant(self._names[node.value.id]), dims], []), node)


def _evaluate(
    node: ast.expr, name: str, names: dict[str, str], module: types.ModuleType, seed: int, zeros: list[str]
) -> Any:
    count = 0

    def make(dtype_name: str, dims: tuple[Any, ...]) -> Any:
        # Two arrays inside one argument, such as a pair, should not be equal.
        nonlocal count
        count += 1
        if is_filled_with_zeros(dtype_name) and name not in zeros:
            zeros.append(name)
        return make_array(name if count == 1 else f"{name}.{count}", dtype_name, dims, seed)

    expression = ast.fix_missing_locations(ast.Expression(_ArrayTypes(names).visit(node)))
    code = compile(expression, "<example>", "eval", dont_inherit=True)
    try:
        return eval(code, module.__dict__, {_MAKE_ARRAY: make})
    except NameError as error:
        raise ExampleError(f"the example names something that the file does not define: {error}.") from None
