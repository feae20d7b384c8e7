"""Notebooks as one module."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pallas_lens.source.notebook import join_cells, open_notebook, without_magics
from pallas_lens.source.syntax import ParseFailure, parse

MAGICS = {
    "line magic": ("%matplotlib inline\nx = 1", "\nx = 1"),
    "shell": ("!pip install jax\nx = 1", "\nx = 1"),
    "help": ("pl.pallas_call?\npl.BlockSpec??\n?x", "\n\n"),
    "in a block": ("if x:\n    !ls\ny = 1", "if x:\n    pass\ny = 1"),
    "assigned": ("files = !ls *.py\nt = %timeit -o f()", "files = ...\nt = ..."),
    "over lines": ("!pip install \\\n  jax\nx = 1", "\n\nx = 1"),
    "timed cell": ("%%time\nx = 1", "\nx = 1"),
    "timed cell below a blank line": ("\n%%timeit -n 3\nx = 1", "\n\nx = 1"),
    "other language": ("%%bash\nls (\nx = 'a", "\n\n"),
    "operator": ("x = (a\n  % b)\ny = '''\n%magic\n!text\n'''", "x = (a\n  % b)\ny = '''\n%magic\n!text\n'''"),
    "comparison": ("x != y\nz = a % b", "x != y\nz = a % b"),
    "question in text": ("x = 'why?'\n# why?\ny = 1  # ?", "x = 'why?'\n# why?\ny = 1  # ?"),
    "behind an open bracket": ("f(\n%magic\nx = 1", "f(\n\nx = 1"),
}


@pytest.mark.parametrize(("source", "expected"), MAGICS.values(), ids=MAGICS)
def test_magics_are_blanked_in_place(source: str, expected: str) -> None:
    found = without_magics(source)
    assert [line.rstrip() for line in found.split("\n")] == expected.split("\n")
    for before, after in zip(source.split("\n"), found.split("\n"), strict=True):
        assert len(after) == len(before) or after == "    pass"


@given(st.lists(st.text(alphabet="ab=%!?\\\n ()'", max_size=20), max_size=4))
def test_cells_keep_their_rows(sources: list[str]) -> None:
    joined = join_cells(sources)
    lines = joined.text.split("\n")
    for index, (source, cell) in enumerate(zip(sources, joined.cells, strict=True)):
        assert cell.row_count == source.count("\n") + 1
        for row in range(cell.row_count):
            whole = joined.row_of(index, row)
            assert joined.cell_at(whole) == (index, row)
            assert whole < len(lines)
    assert joined.cell_at(len(lines) + 1) is None


def notebook(*cells: tuple[str, object], language: str | None = "python") -> str:
    metadata = {} if language is None else {"kernelspec": {"language": language}}
    listed = [{"cell_type": kind, "source": source} for kind, source in cells]
    return json.dumps({"nbformat": 4, "metadata": metadata, "cells": listed})


def test_a_notebook_file_is_one_document() -> None:
    text = notebook(
        ("code", ["import pallas as pl\n", "%time x = 1"]),
        ("markdown", "# pallas"),
        ("code", "def kernel(ref):\n    pass"),
        language=None,
    )
    document = open_notebook(Path("/tmp/a.ipynb"), text)
    assert [statement.text for statement in document.statements] == [
        "import pallas as pl",
        "def kernel(ref):\n    pass",
    ]
    assert [(cell.number, cell.first_row, cell.row_count) for cell in document.cells] == [(1, 0, 2), (3, 2, 2)]


def test_an_old_notebook_is_read() -> None:
    cells = [{"cell_type": "code", "input": ["import pallas\n", "x = 1"]}]
    document = open_notebook(Path("/tmp/a.ipynb"), json.dumps({"nbformat": 3, "worksheets": [{"cells": cells}]}))
    assert len(document.statements) == 2


@pytest.mark.parametrize(
    "text",
    ["", "{", "[1]", "{}", '{"cells": 3}', '{"cells": [3, {"cell_type": "code"}]}', '{"worksheets": [1]}', "[" * 99999],
)
def test_what_is_no_notebook_gives_an_empty_document(text: str) -> None:
    assert open_notebook(Path("/tmp/a.ipynb"), text).text == ""


def test_another_language_gives_an_empty_document() -> None:
    assert open_notebook(Path("/tmp/a.ipynb"), notebook(("code", "x <- pallas"), language="R")).text == ""


def test_a_broken_cell_leaves_the_others() -> None:
    joined = join_cells(["import pallas", "x = call(", "def f():\n    return 1"])
    document = open_notebook(Path("/tmp/a.ipynb"), notebook(*(("code", cell) for cell in joined.text.split("\n", 2))))
    assert [statement.broken for statement in document.statements] == [False, True, False]
    assert not isinstance(parse(document.statements[2].text), ParseFailure)
