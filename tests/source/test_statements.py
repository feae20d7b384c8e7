"""Where statements begin and end, and what they keep from one version to the next."""

from __future__ import annotations

import ast
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pallas_lens.model.span import Span
from pallas_lens.source.document import Document, open_document, update_document
from pallas_lens.source.positions import TextRange

from .kernel_files import TEXTS, check_consistent, dumps, opened

SPLITS = {
    "simple": ["a = 1", "b = 2"],
    "several on one line": ["a = 1; b = 2", "c = 3"],
    "brackets at column 0": ["f(\na,\nb\n)", "g()"],
    "nested brackets": ["x = [\n(1,\n{2: 3}),\n]", "y = 1"],
    "branches": ["if a:\n    b\nelif c:\n    d\nelse:\n    e", "f"],
    "branches behind a comment": ["if a:\n    b\n# why\n\nelse:\n    c", "d"],
    "exceptions": ["try:\n    a\nexcept E:\n    b\nelse:\n    c\nfinally:\n    d", "e"],
    "loop with else": ["for a in b:\n    c\nelse:\n    d", "e"],
    "decorators": ["@a\n@b(\n    c,\n)\ndef f():\n    pass", "@c\n\nclass D:\n    x = 1"],
    "decorated async": ["@a\nasync def f():\n    await b", "c"],
    "continuation": ["a = 1 + \\\nb", "c = 2"],
    "string over lines": ["a = '''\ndef f():\n  \"quoted\n(\n'''", "b = 1"],
    "string in brackets": ["f('(', \"[\", '''{\n(''')", "g"],
    "string continued": ["a = 'b\\\nc'", "d"],
    "raw string": ["a = r'\\'('; b = r'''[\\'x'''", "c"],
    "escaped quotes": ["a = 'it\\'s (' \"\\\"[\"", "b"],
    "empty strings": ["a = '' + \"\" + ''''''", "b"],
    "bracket in a comment": ["a = 1  # (", "b = (  # )\n    1)", "c"],
    "dedented comment": ["def f():\n    a\n# not the end\n    b", "c"],
    "nested functions": ["def f():\n    def g():\n        return 1\n    return g", "class C:\n    def m(self): ..."],
    "names like branches": ["else_ = 1", "finally_ = 2", "exceptional = 3"],
    "unicode": ["größe = 'ä'", "x = größe"],
    "walrus and lambda": ["f = lambda a: (b := a)", "g"],
}


def shape(document: Document) -> list[str]:
    return [statement.text for statement in document.statements]


@pytest.mark.parametrize("parts", SPLITS.values(), ids=SPLITS)
@pytest.mark.parametrize("gap", ["\n", "\n\n\n", "\n# a comment (\n\n", "\n    # indented\n", "\n\f\n"])
def test_statements_are_found(parts: list[str], gap: str) -> None:
    for text in (gap.join(parts), gap[1:] + gap.join(parts) + gap):
        document = opened(text)
        assert shape(document) == parts
        assert not any(statement.broken for statement in document.statements)
        check_consistent(document)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_trees_are_those_of_the_whole_file(text: str) -> None:
    document = opened(text)
    nodes = []
    for statement, first in zip(document.statements, document.first_rows, strict=True):
        assert not statement.broken
        for node in statement.tree:
            nodes.append(ast.dump(ast.increment_lineno(node, first)))
    assert nodes == [ast.dump(node) for node in ast.parse(text).body]
    check_consistent(opened(text))


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_spans_say_what_the_text_says(text: str) -> None:
    document = opened(text)
    seen = 0
    for statement in document.statements:
        for tree in statement.tree:
            for node in ast.walk(tree):
                if isinstance(node, ast.Name):
                    assert document.text_in(document.locate(document.span(statement, node))) == node.id
                    seen += 1
    assert seen > 50


def test_columns_count_code_points() -> None:
    document = opened("x = '𝒳é' + name  # pallas\n@dec('ä')\ndef f(ß='é', *, later=1): return 'ü', ß\n")
    assign, function = document.statements
    value = assign.tree[0].value
    assert document.locate(assign.span(value.right)) == TextRange(0, 11, 0, 15)
    definition = function.tree[0]
    assert document.locate(function.span(definition.decorator_list[0])) == TextRange(1, 1, 1, 9)
    assert document.locate(function.span(definition.args.kwonlyargs[0])) == TextRange(2, 16, 2, 21)
    assert document.locate(function.span(definition.body[0].value.elts[1])) == TextRange(2, 38, 2, 39)
    assert document.locate(function.span(definition.args)) == TextRange(2, 6, 2, 23)


def test_lines_inserted_above_move_and_change_nothing() -> None:
    text = TEXTS["attention"]
    before = opened(text)
    after = update_document(before, "# pallas\n\n" + text, 1, (0, 0))
    assert [id(one) for one in after.statements] == [id(one) for one in before.statements]
    assert after.first_rows == tuple(row + 2 for row in before.first_rows)
    anchor = before.statements[5].anchor
    span = Span(anchor, 0, 0, 0, 1)
    assert after.locate(span).start_row == before.locate(span).start_row + 2


def test_an_edit_changes_the_statement_it_touches_alone() -> None:
    before = opened(TEXTS["attention"])
    text = before.text.replace("rows, columns =", "rows,  columns =")
    after = update_document(before, text, 1, (120, 9))
    changed = [new for old, new in zip(before.statements, after.statements, strict=True) if old is not new]
    assert [statement.tree[0].name for statement in changed] == ["_attention_kernel"]


def test_equal_statements_have_anchors_of_their_own() -> None:
    before = opened("import pallas\nx = 1\nx = 1\n\nx = 1\n")
    anchors = [statement.anchor for statement in before.statements]
    assert len(set(anchors)) == 4
    after = update_document(before, "import pallas\nx = 1\nx = 1\n", 1)
    assert [statement.anchor for statement in after.statements] == anchors[:3]
    again = update_document(after, "x = 1\n" + after.text, 2)
    check_consistent(again)
    assert dumps(again) == dumps(opened(again.text))


def test_a_foreign_anchor_is_told() -> None:
    document = opened("import pallas\n")
    assert document.start_row("elsewhere") is None
    assert document.statement("elsewhere") is None
    with pytest.raises(KeyError):
        document.locate(Span("elsewhere", 0, 0, 0, 0))
    own = document.statements[0].anchor
    assert document.locate(Span(f"/some/file.py\0{own}", 0, 0, 0, 6)) == TextRange(0, 0, 0, 6)


def test_a_text_without_pallas_is_not_parsed_until_asked() -> None:
    document = open_document(None, "x = 1\ny = 2\n")
    assert not document.mentions_pallas
    assert document._chunks is None
    assert shape(document) == ["x = 1", "y = 2"]
    with_pallas = update_document(document, "x = 1\nimport pallas\n", 1, (1, 0))
    assert with_pallas.mentions_pallas and with_pallas.statements[0] is document.statements[0]
    without = update_document(with_pallas, "x = 1\n", 2, (1, 0))
    assert without._chunks is None


@pytest.mark.parametrize("line_end", ["\r\n", "\r"])
def test_line_ends_of_other_systems(line_end: str) -> None:
    text = TEXTS["attention"]
    document = opened(text.replace("\n", line_end))
    assert document.lines == tuple(text.split("\n"))
    assert dumps(document) == dumps(opened(text))
    check_consistent(document)


@pytest.mark.parametrize(
    "text", ["\ufeffimport pallas\nx = 1\n", "pallas = '\ud800'\nx = 1\n", "\fimport pallas\nx = 1"]
)
def test_odd_characters_are_read(text: str) -> None:
    document = opened(text)
    assert len(document.statements) == 2
    assert not any(statement.broken for statement in document.statements)


PIECES = st.sampled_from(
    [
        *("x = 1\n", "def f(a):\n", "    return a\n", "  ", "(", ")", "[", "]", '"""', "'''", "'", '"', "\n", "\n\n"),
        *("# note\n", "# pallas-lens: ignore[PAL101]\n", "@dec\n", "else:\n", "class C:\n", "import pallas\n", "é"),
        *("    if x:\n", "try:\n", "    pass\n", "except E:\n", "\f", "\r\n", "a", "if x: y\n", "{", "}", "=", "\0"),
        *("\\\n", ":", ",", "f'{"),
    ]
)


@given(st.lists(PIECES, max_size=40))
def test_any_text_gives_a_consistent_document(pieces: list[str]) -> None:
    check_consistent(opened("pallas\n" + "".join(pieces)))


@given(st.text(alphabet="ab1 \n\t():[]{}'\"\\#=,é.@:-\f\r", max_size=60))
def test_any_characters_give_a_consistent_document(text: str) -> None:
    check_consistent(opened("pallas\n" + text))


VALID_PARTS = [part for parts in SPLITS.values() for part in parts if part not in ("# why",)]


@given(
    st.lists(st.sampled_from(VALID_PARTS), max_size=12),
    st.lists(st.sampled_from(VALID_PARTS), max_size=12),
    st.sampled_from(["\n", "\n\n# gap\n"]),
    st.sampled_from(["\n", "\n\n# gap\n"]),
    st.booleans(),
)
def test_an_update_equals_opening_anew(
    old: list[str], new: list[str], old_gap: str, new_gap: str, ends_line: bool
) -> None:
    end = "\n" if ends_line else ""
    before = opened("import pallas\n" + old_gap.join(old) + end)
    text = "import pallas\n" + new_gap.join(new)
    after = update_document(before, text, 1)
    assert dumps(after) == dumps(opened(text))
    check_consistent(after)


@given(st.data())
def test_edits_of_a_real_file_equal_opening_anew(data: st.DataObject) -> None:
    """Through broken states and back: once the text is whole again, nothing of them is left."""
    text = TEXTS["gather"]
    document = opened(text)
    for version in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = min(start + data.draw(st.integers(0, 60)), len(text))
        put = data.draw(st.sampled_from(["", "x", "(", ")", '"""', "\n", "y = 1\n", "\n    z\n"]))
        document = update_document(document, text[:start] + put + text[end:], version, None)
        check_consistent(document)
        if data.draw(st.booleans()):
            row = text.count("\n", 0, start)
            document = update_document(document, document.text + "\n# pallas\n", version, (row, 0))
    assert dumps(update_document(document, text, 99, (0, 0))) == dumps(opened(text))


def test_an_update_costs_little_more_than_parsing_what_changed() -> None:
    """A generous bound, for slow machines: reading all again would take twenty times the statement."""
    function = TEXTS["attention"].split("\n\n\n")
    text = "\n\n\n".join([TEXTS["attention"]] + [part for _ in range(12) for part in function])
    document = opened(text)
    assert len(document.lines) > 2000
    row = next(row for row, line in enumerate(document.lines) if "rows, columns =" in line)
    found = document.statement_at(row)
    assert found is not None
    parse_times, update_times = [], []
    for version in range(9):
        lines = [*document.lines[:row], document.lines[row] + " ", *document.lines[row + 1 :]]
        changed = "\n".join(lines)
        start = time.perf_counter()
        ast.parse(found[0].text)
        parse_times.append(time.perf_counter() - start)
        start = time.perf_counter()
        document = update_document(document, changed, version, (row, 5))
        update_times.append(time.perf_counter() - start)
    assert min(update_times) < 4 * min(parse_times) + 0.004
