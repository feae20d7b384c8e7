"""Comments that speak to us: examples above functions, and findings to be silent about.

# pallas-lens: example [NAME:] x=f32[4096,1024], block_k=256
# pallas-lens: inputs=make_inputs
# pallas-lens: reference=matmul_reference
...  # pallas-lens: ignore[PAL101, block-not-tile-aligned]
# pallas-lens: ignore-file[PAL101]
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from pallas_lens.model.dtypes import from_short_name
from pallas_lens.model.span import Span

from .document import Document
from .positions import TextRange
from .statements import Comment, Statement

Function = ast.FunctionDef | ast.AsyncFunctionDef

_DIRECTIVE = re.compile(r"#\s*pallas-lens\s*:\s*(?P<body>.*)")
_EXAMPLE = re.compile(r"example\b\s*(?:(?P<name>[\w-]+)\s*:(?!=))?\s*(?P<arguments>.*)")
_SETTING = re.compile(r"(?P<key>inputs|reference)\s*=\s*(?P<value>.*)")
IGNORE = re.compile(
    r"#\s*pallas-lens\s*:\s*(?P<kind>ignore(?:-file)?)(?![\w-])\s*(?:\[(?P<names>[^\]]*)(?P<closed>\])?)?"
)
_MISPLACED = "this belongs on a line of its own above a function's def"
_FUNCTION_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_SCALAR = re.compile(r"\b(\w+)\[\s*\]")


@dataclass(frozen=True, slots=True)
class ArrayText:
    """An array as JAX prints avals, ``f32[8,128]``: its dtype by JAX's full name and its dims.

    A dim that is no plain integer is an expression, to be evaluated like code.
    """

    dtype: str
    dims: tuple[int | ast.expr, ...]


@dataclass(frozen=True, slots=True)
class ExampleComment:
    """One example of a function's arguments.

    ``arguments`` are parameter names with an array or a Python expression; ``inputs`` names
    a function of the file that makes the arguments, ``reference`` one that computes the
    right result. ``text`` is the argument list as written; ``span`` is that of the comment,
    with negative rows where it stands above a top-level statement.
    """

    name: str | None
    arguments: tuple[tuple[str, ast.expr | ArrayText], ...]
    inputs: str | None
    reference: str | None
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class CommentProblem:
    """A comment that speaks to us and cannot be understood."""

    range: TextRange
    message: str


@dataclass(frozen=True, slots=True)
class Suppression:
    """An ``ignore`` comment: what it silences, and on which rows.

    ``names`` are codes or names of rules, None for all; ``first_row`` to ``last_row`` are the
    rows it speaks for; ``range`` is the comment's own.
    """

    range: TextRange
    names: frozenset[str] | None
    first_row: int
    last_row: int
    whole_file: bool

    def silences(self, code: str, name: str, where: TextRange) -> bool:
        """Whether a finding of rule ``code``, called ``name``, is silenced at ``where``."""
        if self.names is not None and code not in self.names and name not in self.names:
            return False
        if self.whole_file:
            return True
        last = where.end_row - 1 if where.end_column == 0 and where.end_row > where.start_row else where.end_row
        return any(self.first_row <= row <= self.last_row for row in (where.start_row, last))


@dataclass(frozen=True, slots=True)
class Suppressions:
    """All ``ignore`` comments of a document."""

    all: tuple[Suppression, ...]

    def silencing(self, code: str, name: str, where: TextRange) -> Suppression | None:
        """The comment that silences a finding, so that those that silence nothing can be told."""
        return next((one for one in self.all if one.silences(code, name, where)), None)

    def silences(self, code: str, name: str, where: TextRange) -> bool:
        """Whether some comment silences a finding of rule ``code``, called ``name``, at ``where``."""
        return self.silencing(code, name, where) is not None


def examples_above(statement: Statement, function: Function) -> tuple[ExampleComment, ...]:
    """The examples above ``function``, which stands anywhere in the tree of ``statement``.

    What cannot be read is left out; ``comment_problems`` says so. A function with an
    ``inputs`` or ``reference`` comment alone has one example, without arguments.
    """
    return _read_examples(statement, _comments_above(statement, function))[0]


def suppressions(document: Document) -> Suppressions:
    """The ``ignore`` comments of the document."""
    if "pallas-lens" not in document.text:
        return Suppressions(())
    found: list[Suppression] = []
    for place in _placed_comments(document):
        for match in IGNORE.finditer(place.comment.text):
            whole_file = match["kind"] == "ignore-file"
            if _ignore_problem(match, place) is None:
                names = _names(match)
                found.append(Suppression(place.range, names, place.first_row, place.row, whole_file))
    return Suppressions(tuple(found))


def comment_problems(document: Document) -> tuple[CommentProblem, ...]:
    """What is wrong with the comments that speak to us, in the order of the text."""
    if "pallas-lens" not in document.text:
        return ()
    problems: list[CommentProblem] = []
    examples: dict[tuple[Statement, Comment], str | None] = {}
    for statement in document.statements:
        for function in _functions(statement):
            above = _comments_above(statement, function)
            faults = _read_examples(statement, above)[1]
            examples.update({(statement, comment): faults.get(comment) for comment in above})
    code_ends = document.first_rows[-1] + len(document.statements[-1].lines) if document.statements else 0
    for place in _placed_comments(document):
        message = _problem(place, examples)
        if message is _MISPLACED and place.own_line and place.range.start_row >= code_ends:
            # Nothing follows yet: the function that the comment is for is still to be written.
            continue
        if message is not None:
            problems.append(CommentProblem(place.range, message))
    return tuple(problems)


def array_text(expression: ast.expr) -> ArrayText | None:
    """``f32[8,128]`` read as an array; None for any other expression."""
    if not isinstance(expression, ast.Subscript) or not isinstance(expression.value, ast.Name):
        return None
    dtype = from_short_name(expression.value.id)
    if dtype is None:
        return None
    index = expression.slice
    dims = index.elts if isinstance(index, ast.Tuple) else [index]
    return ArrayText(dtype, tuple(_dim(dim) for dim in dims))


@dataclass(frozen=True, slots=True)
class _Placed:
    """A comment with its place in the document."""

    statement: Statement
    comment: Comment
    range: TextRange
    row: int
    first_row: int
    own_line: bool
    at_top: bool


def _placed_comments(document: Document) -> Iterator[_Placed]:
    at_top = True
    for statement, first in zip(document.statements, document.first_rows, strict=True):
        for comment in statement.leading_comments:
            yield _placed(document, statement, first, comment, at_top)
        at_top = at_top and _is_docstring(statement)
        for comment in statement.comments:
            yield _placed(document, statement, first, comment, False)


def _placed(document: Document, statement: Statement, first: int, comment: Comment, at_top: bool) -> _Placed:
    row = first + comment.row
    end = comment.column + len(comment.text)
    own_line = not document.lines[row][: comment.column].strip()
    where = TextRange(row, comment.column, row, end)
    return _Placed(statement, comment, where, row, first + comment.first_row, own_line, at_top)


def _is_docstring(statement: Statement) -> bool:
    return (
        len(statement.tree) == 1
        and isinstance(statement.tree[0], ast.Expr)
        and isinstance(statement.tree[0].value, ast.Constant)
    )


def _functions(statement: Statement) -> Iterator[Function]:
    if not statement.leading_comments and not statement.comments:
        return
    for tree in statement.tree:
        for node in ast.walk(tree):
            if isinstance(node, Function):
                yield node


def _comments_above(statement: Statement, function: Function) -> tuple[Comment, ...]:
    first = min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)]) - 1
    if first == 0:
        return statement.leading_comments
    if not statement.comments:
        return ()
    row = statement.row_in_text(first)
    above = row
    while above > 0 and (not statement.lines[above - 1].strip() or statement.lines[above - 1].lstrip().startswith("#")):
        above -= 1
    return tuple(comment for comment in statement.comments if above <= comment.row < row)


def _read_examples(
    statement: Statement, comments: tuple[Comment, ...]
) -> tuple[tuple[ExampleComment, ...], dict[Comment, str]]:
    settings: dict[str, str] = {}
    setting_comment: Comment | None = None
    found: list[tuple[Comment, str | None, tuple[tuple[str, ast.expr | ArrayText], ...], str]] = []
    faults: dict[Comment, str] = {}
    for comment in comments:
        directive = _DIRECTIVE.match(comment.text)
        body = directive["body"].strip() if directive else ""
        if setting := _SETTING.fullmatch(body):
            fault = _bad_setting(setting, settings)
            if fault is None:
                settings[setting["key"]] = setting["value"].strip()
                setting_comment = setting_comment or comment
            else:
                faults[comment] = fault
        elif example := _EXAMPLE.fullmatch(body):
            name, text = example["name"], example["arguments"].strip()
            arguments = _arguments(text)
            if isinstance(arguments, str):
                faults[comment] = arguments
            elif name is not None and any(name == other for _, other, _, _ in found):
                faults[comment] = f"there is another example named {name} above this function"
            else:
                found.append((comment, name, arguments, text))
    if setting_comment is not None and not found:
        found.append((setting_comment, None, (), ""))
    inputs, reference = settings.get("inputs"), settings.get("reference")
    return (
        tuple(
            ExampleComment(name, arguments, inputs, reference, text, _span(statement, comment))
            for comment, name, arguments, text in found
        ),
        faults,
    )


def _span(statement: Statement, comment: Comment) -> Span:
    return Span(statement.anchor, comment.row, comment.column, comment.row, comment.column + len(comment.text))


def _bad_setting(setting: re.Match[str], settings: dict[str, str]) -> str | None:
    key, value = setting["key"], setting["value"].strip()
    if not _FUNCTION_NAME.fullmatch(value):
        return f"{key}= takes the name of a function of this file, not {value or 'nothing'}"
    if key in settings:
        return f"{key}= is given twice"
    return None


def _arguments(text: str) -> tuple[tuple[str, ast.expr | ArrayText], ...] | str:
    """The arguments of an example, or what is wrong with them."""
    # Python has no empty subscript, but a scalar's aval is printed with one.
    source = _SCALAR.sub(lambda match: f"{match[1]}[()]" if from_short_name(match[1]) else match[0], text)
    try:
        call = ast.parse(f"_({source})", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else "it cannot be read"
        return f"an example is written name=value, with arrays as f32[8,128]: {reason}"
    if not isinstance(call, ast.Call) or not (isinstance(call.func, ast.Name) and call.func.id == "_"):
        return "an example is written name=value, with arrays as f32[8,128]"
    if call.args:
        return f"give {ast.unparse(call.args[0])} its parameter's name: name={ast.unparse(call.args[0])}"
    arguments: list[tuple[str, ast.expr | ArrayText]] = []
    for keyword in call.keywords:
        if keyword.arg is None:
            return "** cannot be used in an example; write each parameter as name=value"
        if any(keyword.arg == name for name, _ in arguments):
            return f"{keyword.arg} is given twice"
        arguments.append((keyword.arg, array_text(keyword.value) or keyword.value))
    return tuple(arguments)


def _dim(expression: ast.expr) -> int | ast.expr:
    if isinstance(expression, ast.Constant) and type(expression.value) is int:
        return expression.value
    return expression


def _problem(place: _Placed, examples: dict[tuple[Statement, Comment], str | None]) -> str | None:
    ignores = list(IGNORE.finditer(place.comment.text))
    if ignores:
        return next((fault for match in ignores if (fault := _ignore_problem(match, place)) is not None), None)
    directive = _DIRECTIVE.match(place.comment.text)
    if directive is None:
        return None
    body = directive["body"].strip()
    if not _SETTING.fullmatch(body) and not _EXAMPLE.fullmatch(body):
        word = re.split(r"[\s=\[:]", body, maxsplit=1)[0]
        return (
            f"{word or 'this'} is not understood; known are example, inputs=, reference=, ignore[…] and ignore-file[…]"
        )
    key = (place.statement, place.comment)
    if key not in examples or not place.own_line:
        return None if place.statement.broken else _MISPLACED
    return examples[key]


def _ignore_problem(match: re.Match[str], place: _Placed) -> str | None:
    kind = match["kind"]
    if match["names"] is not None and match["closed"] is None:
        return f"{kind}[ is not closed"
    if match["names"] is not None and not _names(match):
        return f"{kind}[] names no rule; write a code such as {kind}[PAL101], or {kind} for all"
    if kind == "ignore-file":
        return None if place.at_top else "ignore-file belongs at the top of the file, above the first statement"
    return "ignore belongs at the end of the line that it silences" if place.own_line else None


def _names(match: re.Match[str]) -> frozenset[str] | None:
    if match["names"] is None:
        return None
    return frozenset(name.strip() for name in match["names"].split(",") if name.strip())
