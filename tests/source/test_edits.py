"""Edits of model parts as edits of the text."""

from __future__ import annotations

import ast

import pytest
from pallas_lens.model.fix import Edit, InsertArgument, RemoveArgument, Replace
from pallas_lens.model.span import Span
from pallas_lens.source.comments import suppressions
from pallas_lens.source.document import Document, update_document
from pallas_lens.source.edits import TextEdit, disable_for_line, overlapping, text_edits
from pallas_lens.source.positions import TextRange
from pallas_lens.source.syntax import ParseFailure, parse

from .kernel_files import opened


def applied(document: Document, edits: tuple[TextEdit, ...]) -> str:
    starts = [0]
    for line in document.lines:
        starts.append(starts[-1] + len(line) + 1)
    text = "\n".join(document.lines)
    for edit in reversed(edits):
        start = starts[edit.range.start_row] + edit.range.start_column
        end = starts[edit.range.end_row] + edit.range.end_column
        text = text[:start] + edit.content + text[end:]
    return text


def call_in(document: Document) -> tuple[Span, ast.Call]:
    for statement in document.statements:
        for tree in statement.tree:
            for node in ast.walk(tree):
                if isinstance(node, ast.Call) and ast.unparse(node.func) == "f":
                    return statement.span(node), node
    raise AssertionError("no call of f")


def edited(document: Document, edits: list[Edit]) -> str:
    made = text_edits(document, edits)
    assert made is not None
    text = applied(document, made)
    assert not isinstance(parse(text), ParseFailure)
    return text


INSERTED = {
    "no arguments": ("x = f()", "x = f(new=1)"),
    "no arguments, spaced": ("x = f( )", "x = f(new=1 )"),
    "one": ("x = f(a)", "x = f(a, new=1)"),
    "strings and brackets": ("f(g(')'), [1, (2)])", "f(g(')'), [1, (2)], new=1)"),
    "string at the end": ("f('(')", "f('(', new=1)"),
    "trailing comma": ("f(a,)", "f(a, new=1)"),
    "nested": ("g(f(a), b)", "g(f(a, new=1), b)"),
    "unicode": ("g('é𝒳', f('ä'), b)", "g('é𝒳', f('ä', new=1), b)"),
    "one line each": (
        "x = f(\n    a,\n    b=[\n        1,\n    ],\n)",
        "x = f(\n    a,\n    b=[\n        1,\n    ],\n    new=1,\n)",
    ),
    "one line each, no comma": ("f(\n    a,\n    b\n)", "f(\n    a,\n    b,\n    new=1,\n)"),
    "comments": ("f(\n    a,  # why )\n)", "f(\n    a,  # why )\n    new=1,\n)"),
    "comments, no comma": ("f(\n    a  # why,\n    # more\n)", "f(\n    a,  # why,\n    new=1,\n    # more\n)"),
    "only a comment": ("f(  # why\n)", "f(new=1  # why\n)"),
    "closed on the last line": ("f(a,\n  b)", "f(a,\n  b, new=1)"),
    "in a function": (
        "def g():\n    return f(\n        a,\n    )",
        "def g():\n    return f(\n        a,\n        new=1,\n    )",
    ),
    "starred": ("f(*a, **b)", "f(*a, **b, new=1)"),
}


@pytest.mark.parametrize(("before", "after"), INSERTED.values(), ids=INSERTED)
def test_an_argument_is_added_behind_the_last(before: str, after: str) -> None:
    document = opened("pallas\n" + before + "\n")
    assert edited(document, [InsertArgument(call_in(document)[0], "new=1")]) == "pallas\n" + after + "\n"


def test_two_arguments_are_added_in_order() -> None:
    for before, after in (
        ("f(a)", "f(a, b=1, c=2)"),
        ("f(\n    a\n)", "f(\n    a,\n    b=1,\n    c=2,\n)"),
    ):
        document = opened("pallas\n" + before)
        span = call_in(document)[0]
        assert edited(document, [InsertArgument(span, "b=1"), InsertArgument(span, "c=2")]) == "pallas\n" + after


# The argument to remove is called "old".
REMOVED = {
    "only": ("f(old)", "f()"),
    "first": ("f(old, a)", "f(a)"),
    "middle": ("f(a, old, b)", "f(a, b)"),
    "last": ("f(a, old)", "f(a)"),
    "keyword": ("f(a, k=old, b=1)", "f(a, b=1)"),
    "last with trailing comma": ("f(a, old,)", "f(a, )"),
    "own line": ("f(\n    a,\n    old,\n    b,\n)", "f(\n    a,\n    b,\n)"),
    "own line with comment": ("f(\n    old,  # why\n    b,\n)", "f(\n    b,\n)"),
    "last line": ("f(\n    a,\n    k=old,\n)", "f(\n    a,\n)"),
    "last line, no comma": ("f(\n    a,  # note, with comma\n    old\n)", "f(\n    a  # note, with comma\n)"),
    "several lines": ("f(\n    a,\n    k=[\n        old,\n    ],\n    c=b,\n)", "f(\n    a,\n    c=b,\n)"),
    "own brackets": ("f(a, (old), b)", "f(a, b)"),
    "own brackets, only": ("f((old))", "f()"),
    "behind others in a line": ("f(\n    a, old,\n    b,\n)", "f(\n    a, \n    b,\n)"),
}


@pytest.mark.parametrize(("before", "after"), REMOVED.values(), ids=REMOVED)
def test_an_argument_goes_with_its_comma(before: str, after: str) -> None:
    document = opened("pallas\n" + before + "\n")
    call = call_in(document)[1]
    (argument,) = [one for one in [*call.args, *call.keywords] if "old" in ast.unparse(one)]
    span = document.statements[-1].span(argument)
    assert edited(document, [RemoveArgument(span)]) == "pallas\n" + after + "\n"


def test_parts_are_replaced() -> None:
    document = opened("# pallas\n\nx = 'ä', f(100, b)\n")
    span, call = call_in(document)
    statement = document.statements[0]
    edits: list[Edit] = [
        Replace(statement.span(call.args[1]), "(c)"),
        Replace(statement.span(call.args[0]), "104"),
        InsertArgument(span, "d=1"),
    ]
    assert edited(document, edits) == "# pallas\n\nx = 'ä', f(104, (c), d=1)\n"


def test_edits_that_cannot_be_made_are_not_made() -> None:
    document = opened("pallas\nf(100, b)\n")
    span, call = call_in(document)
    whole = Replace(span, "g")
    assert text_edits(document, [whole, Replace(document.statements[1].span(call.args[0]), "1")]) is None
    foreign = Span("/other.py\0" + span.anchor, 0, 0, 0, 1)
    assert text_edits(document, [Replace(foreign, "g")]) is None
    assert text_edits(document, [Replace(Span("gone", 0, 0, 0, 1), "g")]) is None
    half_typed = update_document(document, "pallas\nf(100, b\n", 1, (1, 8))
    assert half_typed.start_row(span.anchor) is not None
    assert text_edits(half_typed, [whole]) is None


DISABLED = {
    "plain": ("x = f(1)", (0, 0), "x = f(1)  # pallas-lens: ignore[PAL101]"),
    "spaces at the end": ("x = 1  ", (0, 0), "x = 1  # pallas-lens: ignore[PAL101]"),
    "comment": ("x = 1  # why", (0, 0), "x = 1  # why  # pallas-lens: ignore[PAL101]"),
    "other code": (
        "x = 1  # pallas-lens: ignore[PAL102]",
        (0, 0),
        "x = 1  # pallas-lens: ignore[PAL102, PAL101]",
    ),
    "empty list": ("x = 1  # pallas-lens: ignore[ ]", (0, 0), "x = 1  # pallas-lens: ignore[PAL101]"),
    "in a string": (
        "x = '# pallas-lens: ignore[PAL102]'",
        (0, 0),
        "x = '# pallas-lens: ignore[PAL102]'  # pallas-lens: ignore[PAL101]",
    ),
    "first of several": ("f(\n  a,\n)", (0, 2), "f(  # pallas-lens: ignore[PAL101]\n  a,\n)"),
    "ends in a string": ("x = '''a\nb'''", (0, 1), "x = '''a\nb'''  # pallas-lens: ignore[PAL101]"),
    "ends in a continuation": ("x = 1 + \\\n  2", (0, 1), "x = 1 + \\\n  2  # pallas-lens: ignore[PAL101]"),
    "within a continuation": ("x = 1 + \\\n  2", (0, 0), "x = 1 + \\\n  2  # pallas-lens: ignore[PAL101]"),
}


@pytest.mark.parametrize(("before", "rows", "after"), DISABLED.values(), ids=DISABLED)
def test_a_line_is_disabled(before: str, rows: tuple[int, int], after: str) -> None:
    document = opened("# pallas\n" + before + "\n")
    where = TextRange(rows[0] + 1, 0, rows[1] + 1, 1)
    edit = disable_for_line(document, where, "PAL101")
    assert edit is not None
    text = applied(document, (edit,))
    assert text == "# pallas\n" + after + "\n"
    changed = opened(text)
    assert suppressions(changed).silences("PAL101", "any", where)
    assert disable_for_line(changed, where, "PAL101") is None
    assert not suppressions(document).silences("PAL101", "any", where)


def test_what_is_silent_already_is_left() -> None:
    document = opened("x = pallas  # pallas-lens: ignore\n")
    assert disable_for_line(document, TextRange(0, 0, 0, 1), "PAL101") is None


def test_edits_that_touch_are_told() -> None:
    one, two = TextEdit(TextRange(0, 0, 0, 4), ""), TextEdit(TextRange(0, 4, 0, 5), "")
    apart = TextEdit(TextRange(1, 0, 1, 5), "")
    assert list(overlapping([apart, two, one])) == [(one, two)]
