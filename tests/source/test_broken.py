"""Code that is being typed: what is kept of it, and that it disturbs nothing else."""

from __future__ import annotations

import ast
import io
import random
import tokenize

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pallas_lens.source.document import Document, update_document
from pallas_lens.source.repair import largest_prefix
from pallas_lens.source.syntax import ParseFailure, parse, without_type_parameters

from .kernel_files import TEXTS, check_consistent, dump, opened

CUTS = 300

FUNCTION = """\
import pallas

@jit
def run(x):
    first = 1
    if x:
        second = 2
    third = call(
        x,
        4,
    )
    return third


def below(y):
    \"\"\"Says what it does.\"\"\"
    return y
"""

ROW = FUNCTION.split("\n").index("    first = 1")

# Each is put in place of the line "    first = 1" and leaves the function's other lines standing.
HALF_TYPED = {
    "open bracket": "    first = call(",
    "open brackets": "    first = call([1, (2,",
    "nothing behind the sign": "    first =",
    "attribute": "    first.",
    "keyword": "    for",
    "loop": "    for i in range(3):",
    "loop without its end": "    for i in range(",
    "nested function": "    def inner(a, b",
    "nested class": "    class Inner(",
    "open string": "    first = 'abc",
    "open text": '    first = """abc',
    "open docstring": '    """',
    "closing bracket": "    first = 1)",
    "wrong closing bracket": "    first = (1]",
    "decorator": "    @some(",
    "continuation": "    first = 1 + \\",
    "at column 0": "first =",
    "at column 0, a call": "first(",
    "closing bracket at column 0": ")",
    "call over lines": "    first = call(\n        a b,\n        c,\n    )",
    "unknown character": "    first = $",
    "null": "    first = \0",
    "wrong indent": "      first = 1",
    "statement in a statement": "    first = return",
}


def names_bound(document: Document) -> set[str]:
    return {
        node.id
        for statement in document.statements
        for tree in statement.tree
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def functions(document: Document) -> list[str]:
    return [
        node.name for statement in document.statements for node in statement.tree if isinstance(node, ast.FunctionDef)
    ]


@pytest.mark.parametrize("line", HALF_TYPED.values(), ids=HALF_TYPED)
def test_a_half_typed_line_keeps_the_rest_of_the_function(line: str) -> None:
    whole = opened(FUNCTION)
    text = FUNCTION.replace("    first = 1", line)
    document = update_document(whole, text, 1, (ROW, len(line)))
    check_consistent(document)
    assert functions(document) == ["run", "below"]
    assert names_bound(document) >= {"second", "third"}
    assert document.statements[1].broken
    assert document.statements[0] is whole.statements[0] and document.statements[-1] is whole.statements[-1]
    healed = update_document(document, FUNCTION, 2, (ROW, 0))
    assert [dump(one) for one in healed.statements] == [dump(one) for one in whole.statements]


@pytest.mark.parametrize("line", HALF_TYPED.values(), ids=HALF_TYPED)
def test_a_file_opened_half_typed_keeps_the_other_statements(line: str) -> None:
    whole = opened(FUNCTION)
    document = opened(FUNCTION.replace("    first = 1", line))
    check_consistent(document)
    assert dump(document.statements[0]) == dump(whole.statements[0])
    assert "run" in functions(document)
    if line.strip() != '"""':
        # Three quotes close again at those of the next function; no text alone tells which were meant.
        assert dump(document.statements[-1]) == dump(whole.statements[-1])


@pytest.mark.parametrize("line", HALF_TYPED.values(), ids=HALF_TYPED)
def test_places_in_half_typed_code_are_those_of_the_text(line: str) -> None:
    text = FUNCTION.replace("    first = 1", line)
    document = update_document(opened(FUNCTION), text, 1, (ROW, 0))
    for statement in document.statements:
        for tree in statement.tree:
            for node in ast.walk(tree):
                if isinstance(node, ast.Name) and node.id in ("third", "second", "y"):
                    assert document.text_in(document.locate(statement.span(node))) == node.id


def test_typing_on_in_a_broken_line_changes_no_anchor_and_parses_nothing_twice() -> None:
    document = opened(FUNCTION)
    trees = []
    for version, typed in enumerate(["call(", "call(a", "call(ab", "call(ab,"]):
        text = FUNCTION.replace("    first = 1", f"    first = {typed}")
        document = update_document(document, text, version, (4, 10))
        trees.append((document.statements[1].anchor, id(document.statements[1].tree[0])))
    assert len(set(trees)) == 1


@pytest.mark.parametrize(
    "header",
    ["def run(x", "def run(x, *", "def run(x) ->", "def run", "def run(x):)", "def run(x=[", "def run(x)"],
)
def test_a_half_typed_header_keeps_the_last_good_tree(header: str) -> None:
    whole = opened(FUNCTION)
    document = update_document(whole, FUNCTION.replace("def run(x):", header), 1, (3, len(header)))
    check_consistent(document)
    assert functions(document) == ["run", "below"]
    assert document.statements[1].tree is whole.statements[1].tree
    assert document.statements[1].anchor == whole.statements[1].anchor


def test_the_last_good_tree_stands_on_the_rows_of_the_text() -> None:
    whole = opened(FUNCTION)
    text = FUNCTION.replace("def run(x):", "def run(\n    x,\n    y\n    z")
    document = update_document(whole, text, 1, (5, 4))
    statement = document.statements[1]
    assert statement.broken
    returned = statement.tree[0].body[-1]
    assert document.text_in(document.locate(statement.span(returned))) == "return third"


def test_a_half_typed_constant_keeps_its_value() -> None:
    text = "import pallas\nBLOCK = 128\n\n\ndef f():\n    return BLOCK\n"
    whole = opened(text)
    document = update_document(whole, text.replace("128", "(128"), 1, (1, 12))
    assert document.statements[1].broken
    assert ast.unparse(document.statements[1].tree[0]) == "BLOCK = 128"
    assert document.statements[2] is whole.statements[2]


@pytest.mark.parametrize("line", ["first =", "first(", "x"])
def test_a_line_at_column_0_stays_part_of_its_function_when_others_change(line: str) -> None:
    text = FUNCTION.replace("    first = 1", line)
    document = update_document(opened(FUNCTION), text, 1, (ROW, len(line)))
    shape = [dump(statement) for statement in document.statements]
    for row, changed in ((0, text.replace("pallas", "pallas, os")), (16, text.replace("return y", "return 1"))):
        after = update_document(document, changed, 2, (row, 0))
        check_consistent(after)
        assert dump(after.statements[1]) == shape[1]


def test_an_open_list_cut_off_takes_nothing_from_the_function_above() -> None:
    whole = "import pallas\n\n\ndef f():\n    return 1\n\n\nNAMES = (\n    'a',\n    'b',\n)\n"
    expected = dump(opened(whole).statements[1])
    for cut in range(whole.index("NAMES"), len(whole)):
        row = whole.count("\n", 0, cut)
        for document in (opened(whole[:cut]), update_document(opened(whole), whole[:cut], 1, (row, 0))):
            assert dump(document.statements[1]) == expected


@pytest.mark.parametrize("last", ["def g(\n    a,\n):\n    return a\n", "NAME = (\n    1\n)\n", "import os\n"])
def test_a_statement_without_its_first_word_leaves_the_one_above(last: str) -> None:
    for above in ("def f():\n    return 1\n\n\n", "f = 1\n", "f = [\n    1,\n]\n"):
        check_first_word(above, last)


def check_first_word(above: str, last: str) -> None:
    whole = opened("import pallas\n\n\n" + above + last)
    text = whole.text.replace(last, last[last.index(" ") :])
    row = text.count("\n", 0, whole.text.index(last))
    for document in (opened(text), update_document(whole, text, 1, (row, 0)), update_document(whole, text, 1)):
        check_consistent(document)
        assert dump(document.statements[1]) == dump(whole.statements[1])
        again = update_document(document, text + "\nx = 1\n", 2, (row + 5, 0))
        assert dump(again.statements[1]) == dump(whole.statements[1])


def test_a_new_broken_statement_takes_no_tree_from_others() -> None:
    text = "import pallas\nfirst = 1\nsecond = 2\n"
    document = update_document(opened(text), text.replace("first", "new = (\nfirst"), 1, (1, 7))
    trees = [[ast.unparse(node) for node in statement.tree] for statement in document.statements]
    assert trees == [["import pallas"], [], ["first = 1"], ["second = 2"]]


def test_a_bracket_closed_far_below_is_read_as_one_statement_again() -> None:
    text = "import pallas\nx = dict(\na=1,\nb=2,\n)\ny = 3\n"
    document = opened(text)
    for version, end in enumerate([*range(14, len(text)), len(text)]):
        row = text.count("\n", 0, end)
        document = update_document(document, text[:end], version, (row, 0))
        check_consistent(document)
    assert [dump(one) for one in document.statements] == [dump(one) for one in opened(text).statements]


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_typing_a_file_from_its_first_character_ends_in_the_whole_file(text: str) -> None:
    text = text[:3000]
    text = text[: text.rindex("\n\n\n")] + "\n"
    document = opened("")
    for end in range(0, len(text) + 1, 7):
        row = text.count("\n", 0, end)
        document = update_document(document, text[:end], end, (row, 0))
    document = update_document(document, text, len(text), (text.count("\n"), 0))
    assert [dump(one) for one in document.statements] == [dump(one) for one in opened(text).statements]


def token_places(text: str) -> list[tuple[int, int]]:
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return [
        (starts[token.start[0] - 1] + token.start[1], starts[token.end[0] - 1] + token.end[1])
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.end[0] < len(starts)
    ]


@pytest.mark.parametrize("cut_at", ["start", "end", "inside"])
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_statements_before_a_cut_are_those_of_the_whole_file(text: str, cut_at: str) -> None:
    whole = opened(text)
    expected = [dump(statement) for statement in whole.statements]
    chosen = random.Random(20260)
    places = token_places(text)
    for _ in range(CUTS // 6):
        start, end = chosen.choice(places)
        cut = {"start": start, "end": end, "inside": chosen.randint(start, end)}[cut_at]
        row = text.count("\n", 0, cut)
        before = sum(
            first + len(one.lines) <= row for one, first in zip(whole.statements, whole.first_rows, strict=True)
        )
        for document in (
            opened(text[:cut]),
            update_document(whole, text[:cut], 1, (row, 0)),
            update_document(whole, text[:cut], 1, None),
        ):
            check_consistent(document)
            assert [dump(one) for one in document.statements[:before]] == expected[:before]


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_token_taken_out_disturbs_one_statement(text: str) -> None:
    """Or two, where taking out the first word of a statement leaves it indented under the one above."""
    whole = opened(text)
    chosen = random.Random(20261)
    places = token_places(text)
    for _ in range(CUTS // 3):
        start, end = chosen.choice(places)
        row = text.count("\n", 0, start)
        document = update_document(whole, text[:start] + text[end:], 1, (row, 0))
        check_consistent(document)
        gone = {one.anchor for one in whole.statements} - {one.anchor for one in document.statements}
        assert len(gone) <= 2, text[start:end]


HEAD = "def f(a):\n    if a:\n        b = 1\n    try:\n        c = 2\n    except E:\n        d = 3\n    return 4\n"


@given(st.integers(0, len(HEAD)))
def test_the_largest_prefix_parses_and_is_a_head_of_the_text(end: int) -> None:
    text = HEAD[:end] + " = ) nonsense\n"
    failure = parse(text)
    assert isinstance(failure, ParseFailure)
    parsed, tree = largest_prefix(text, failure, parse)
    if tree:
        own = [line for line in parsed.split("\n") if line.strip() not in ("pass", "finally: pass")]
        assert text.split("\n")[: len(own)] == own
        assert not isinstance(parse(parsed), ParseFailure)
    rows = HEAD[:end].count("\n")
    if rows > 1:
        assert tree and len(parsed.split("\n")) >= rows


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("def f[T](x: T): pass", "def f   (x: T): pass"),
        ("class C[T: (int, list[int])](Base):\n    x = 1", "class C                     (Base):\n    x = 1"),
        ("type Pair[T] = tuple[T, T]", "Pair         = tuple[T, T]"),
        ("async def f[*A, **P]() -> int: ...", "async def f         () -> int: ..."),
        ("def f[\n    T,\n](x): pass", "def f\\\n     \\\n (x): pass"),
        ("x = f[1](2)\ntype(x)\ntype = 3", "x = f[1](2)\ntype(x)\ntype = 3"),
    ],
)
def test_type_parameters_are_blanked_in_place(text: str, plain: str) -> None:
    assert without_type_parameters(text) == plain
    assert not isinstance(parse(plain), ParseFailure)
    assert not isinstance(parse(text), ParseFailure)


@pytest.mark.parametrize(
    "text", ["(" * 5000, "-" * 20000 + "1", "a" + ".b" * 20000, "[" * 90 + "\n", "x = '\\d'", "1" * 5000, "\0"]
)
def test_hostile_text_raises_nothing(text: str, recwarn: pytest.WarningsRecorder) -> None:
    outcome = parse(text)
    assert isinstance(outcome, ParseFailure | tuple)
    opened("import pallas\n" + text + "\nx = 1\n")
    assert not recwarn.list
