"""Comments that speak to us."""

from __future__ import annotations

import ast

import pytest
from pallas_lens.source.comments import (
    ArrayText,
    ExampleComment,
    comment_problems,
    examples_above,
    suppressions,
)
from pallas_lens.source.document import Document, update_document
from pallas_lens.source.positions import TextRange

from .kernel_files import TEXTS, opened


def examples(document: Document, name: str) -> tuple[ExampleComment, ...]:
    for statement in document.statements:
        for tree in statement.tree:
            for node in ast.walk(tree):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
                    return examples_above(statement, node)
    raise AssertionError(f"no function {name}")


def shown(example: ExampleComment) -> dict[str, object]:
    return {
        name: (value.dtype, *value.dims) if isinstance(value, ArrayText) else ast.unparse(value)
        for name, value in example.arguments
    }


ARRAYS = {
    "f32[4096,1024]": ("float32", 4096, 1024),
    "bf16[8]": ("bfloat16", 8),
    "f16[1, 2, 3]": ("float16", 1, 2, 3),
    "i32[]": ("int32",),
    "i8[ ]": ("int8",),
    "i4[8,128]": ("int4", 8, 128),
    "u8[0]": ("uint8", 0),
    "u32[7]": ("uint32", 7),
    "bool[8,128]": ("bool", 8, 128),
    "f8e4m3fn[8,128]": ("float8_e4m3fn", 8, 128),
    "f8_e5m2[8]": ("float8_e5m2", 8),
    "float32[8,128]": ("float32", 8, 128),
    "bfloat16[8]": ("bfloat16", 8),
}


@pytest.mark.parametrize(("text", "array"), ARRAYS.items())
def test_arrays_are_read_as_jax_prints_them(text: str, array: tuple[object, ...]) -> None:
    document = opened(f"# pallas-lens: example x={text}\ndef f(x): pass\n")
    assert [shown(one) for one in examples(document, "f")] == [{"x": array}]
    assert comment_problems(document) == ()


VALUES = {
    "block_k=256": {"block_k": "256"},
    "cfg=Config(heads=8, name='a,b')": {"cfg": "Config(heads=8, name='a,b')"},
    "a=(1, 2), b=[f32[8], None]": {"a": "(1, 2)", "b": "[f32[8], None]"},
    "table=rows[3], x=f32[4, 2*64]": {"table": "rows[3]", "x": "float32[4, 2*64]"},
    "": {},
}


@pytest.mark.parametrize(("text", "values"), VALUES.items())
def test_other_values_are_expressions(text: str, values: dict[str, str]) -> None:
    (example,) = examples(opened(f"# pallas-lens: example {text}\ndef f(x): pass\n"), "f")
    found = shown(example)
    assert example.text == text
    assert list(found) == list(values)
    for name, value in values.items():
        if name == "x":
            dtype, first, second = found[name]
            assert (dtype, first, ast.unparse(second)) == ("float32", 4, "2 * 64")
        else:
            assert found[name] == value


COMMENTED = """\
import pallas
x = 1
# pallas-lens: example x=f32[8,128]
# any other comment

#pallas-lens:example large: x=f32[1024,128],n=2
# pallas-lens: inputs=make_inputs
# pallas-lens: reference=module.reference
@jit
def f(x, n=1): pass


class C:
    '''
    # pallas-lens: example z=1
    '''
    # pallas-lens: example y=i32[4]
    @staticmethod
    def m(y):
        # pallas-lens: reference=m2
        async def inner(): pass

    def other(self): pass


def plain(): pass
"""


def test_examples_belong_to_the_function_below() -> None:
    document = opened(COMMENTED)
    first, large = examples(document, "f")
    assert (first.name, shown(first)) == (None, {"x": ("float32", 8, 128)})
    assert (large.name, shown(large)) == ("large", {"x": ("float32", 1024, 128), "n": "2"})
    assert {(one.inputs, one.reference) for one in (first, large)} == {("make_inputs", "module.reference")}
    assert document.text_in(document.locate(first.span)) == "# pallas-lens: example x=f32[8,128]"
    (method,) = examples(document, "m")
    assert shown(method) == {"y": ("int32", 4)}
    assert document.text_in(document.locate(method.span)) == "# pallas-lens: example y=i32[4]"
    (inner,) = examples(document, "inner")
    assert (inner.reference, inner.arguments) == ("m2", ())
    assert examples(document, "other") == examples(document, "plain") == ()
    assert comment_problems(document) == ()


def test_an_example_in_a_real_file() -> None:
    document = opened(TEXTS["attention"])
    (small,) = examples(document, "attention")
    assert (small.name, small.reference) == ("small", "reference_attention")
    assert shown(small)["q"] == ("bfloat16", 1, 2, 1024, 128)
    (transpose,) = examples(document, "transpose")
    assert shown(transpose) == {"x": ("float32", 8, 128)}


def test_a_changed_comment_changes_the_statement_and_not_its_anchor() -> None:
    before = opened(COMMENTED)
    after = update_document(before, COMMENTED.replace("f32[8,128]", "f32[8,256]"), 1, (2, 30))
    assert [shown(one)["x"] for one in examples(after, "f")] == [("float32", 8, 256), ("float32", 1024, 128)]
    assert [one.anchor for one in after.statements] == [one.anchor for one in before.statements]
    assert after.statements[2] is not before.statements[2]
    plain = update_document(before, COMMENTED.replace("any other", "another"), 1, (3, 4))
    assert plain.statements == before.statements


PROBLEMS = {
    "# pallas-lens: example x=f32[8\ndef f(x): pass": "name=value",
    "# pallas-lens: example f32[8]\ndef f(x): pass": "name=f32[8]",
    "# pallas-lens: example **x\ndef f(x): pass": "**",
    "# pallas-lens: example x=1, x=2\ndef f(x): pass": "given",
    "# pallas-lens: example x=1) + (2\ndef f(x): pass": "name=value",
    "# pallas-lens: exmaple x=1\ndef f(x): pass": "exmaple is not understood",
    "# pallas-lens:\ndef f(x): pass": "not understood",
    "# pallas-lens: inputs=\ndef f(x): pass": "name of a function",
    "# pallas-lens: inputs=make()\ndef f(x): pass": "name of a function",
    "# pallas-lens: reference=a\n# pallas-lens: reference=b\ndef f(x): pass": "twice",
    "# pallas-lens: example a: x=1\n# pallas-lens: example a: x=2\ndef f(x): pass": "another example named a",
    "@jit\n# pallas-lens: example x=1\ndef f(x): pass": "above a function",
    "# pallas-lens: example x=1\ny = 1": "above a function",
    "def f(x): pass  # pallas-lens: example x=1": "above a function",
    "x = 1  # pallas-lens: ignore[]": "names no rule",
    "x = 1  # pallas-lens: ignore[PAL101": "not closed",
    "# pallas-lens: ignore[PAL101]\nx = 1": "at the end of the line",
    "x = 1\n# pallas-lens: ignore-file[PAL101]\ny = 2": "top of the file",
}


@pytest.mark.parametrize(("text", "message"), PROBLEMS.items())
def test_what_cannot_be_read_is_said_where_it_stands(text: str, message: str) -> None:
    document = opened(text + "\n")
    (problem,) = comment_problems(document)
    assert message in problem.message
    assert document.text_in(problem.range).startswith("# pallas-lens:")


@pytest.mark.parametrize("text", ["x = '# pallas-lens: example f32'\n", "# about pallas-lens comments\nx = 1\n", ""])
def test_what_does_not_speak_to_us_is_no_problem(text: str) -> None:
    assert comment_problems(opened(text)) == ()
    assert suppressions(opened(text)).all == ()


IGNORED = """\
'''Docstring with # pallas-lens: ignore in it.'''
# pallas-lens: ignore-file[PAL900]
import pallas
a = call(  # pallas-lens: ignore[PAL101]
    b,  # noqa # pallas-lens: ignore[block-not-tile-aligned, PAL102]
    "# pallas-lens: ignore"
)  # pallas-lens: ignore
c = '''
text
''' + d  # pallas-lens: ignore[PAL103]
e = 1 + \\
    2  # pallas-lens: ignore[PAL104]
"""

# Code, first and last row of a finding, and whether it is silenced.
SILENCED = [
    ("PAL101", 3, 3, True),
    ("PAL102", 3, 3, False),
    ("PAL101", 3, 6, True),
    ("PAL102", 3, 4, True),
    ("PAL109", 4, 4, True),
    ("PAL103", 4, 4, False),
    ("PAL103", 5, 5, False),
    ("PAL103", 6, 6, True),
    ("PAL555", 1, 6, True),
    ("PAL103", 7, 7, True),
    ("PAL103", 8, 8, True),
    ("PAL104", 10, 10, True),
    ("PAL104", 9, 9, False),
    ("PAL900", 9, 9, True),
    ("PAL901", 9, 9, False),
]


@pytest.mark.parametrize(("code", "first", "last", "silenced"), SILENCED)
def test_ignore_comments_silence_their_lines(code: str, first: int, last: int, silenced: bool) -> None:
    document = opened(IGNORED)
    name = "block-not-tile-aligned" if code == "PAL109" else "other-rule"
    found = suppressions(document)
    assert found.silences(code, name, TextRange(first, 0, last, 3)) is silenced
    assert (found.silencing(code, name, TextRange(first, 0, last, 3)) is not None) is silenced
    assert comment_problems(document) == ()


def test_a_finding_that_ends_at_the_start_of_a_line_is_not_on_it() -> None:
    found = suppressions(opened("pallas\nb  # pallas-lens: ignore\n"))
    assert found.silences("PAL101", "any", TextRange(0, 0, 1, 1))
    assert not found.silences("PAL101", "any", TextRange(0, 0, 1, 0))
