"""Hovers on the fixtures in ``fixtures/hover/``.

A mark is a comment below the line that it speaks of. Its "^" stands below the character
that is pointed at; the texts behind "hover:", apart from each other by " | ", all occur in
what is shown. "hover none": nothing is shown.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from pallas_lens.evaluate.analyzer import Analyzer
from pallas_lens.features.hover import Hover, hover
from pallas_lens.features.pictures.picture import PictureForm
from pallas_lens.knowledge.chips import CHIPS
from pallas_lens.model.grid import copies_of
from pallas_lens.model.module_facts import ModuleFacts
from pallas_lens.source.document import Document, open_document

_MARK = re.compile(r"^\s*#[ ]*(\^) hover( none|: (?P<parts>.*))$")
_FOLDER = Path(__file__).parents[1] / "fixtures" / "hover"
_CHIPS = tuple(CHIPS.values())


@dataclass(frozen=True)
class Mark:
    """One expectation of a fixture."""

    file: Path
    row: int
    column: int
    parts: tuple[str, ...] | None


def _marks() -> Iterator[Mark]:
    for path in sorted(_FOLDER.glob("*.py")):
        code_row = 0
        for row, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
            mark = _MARK.match(line)
            if mark is None:
                assert "^ hover" not in line, f"{path.name}:{row + 1}: not a mark"
                code_row = row
                continue
            parts = mark["parts"]
            yield Mark(path, code_row, mark.start(1), None if parts is None else tuple(parts.split(" | ")))


@cache
def _analysed(path: Path) -> tuple[Document, ModuleFacts]:
    document = open_document(path, path.read_text(encoding="utf-8"))
    return document, Analyzer().analyse(document)


def _at(path: Path, row: int, column: int) -> Hover | None:
    document, facts = _analysed(path)
    return hover(document, facts, row, column, _CHIPS)


@pytest.mark.parametrize("mark", list(_marks()), ids=lambda mark: f"{mark.file.stem}:{mark.row + 1}:{mark.column}")
def test_marks(mark: Mark) -> None:
    shown = _at(mark.file, mark.row, mark.column)
    if mark.parts is None:
        assert shown is None, shown
        return
    assert shown is not None
    missing = [part for part in mark.parts if part not in shown.markdown]
    assert not missing, f"{missing} not in\n{shown.markdown}"
    assert shown.range.covers(mark.row, mark.column)


@pytest.mark.parametrize("path", sorted(_FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_every_position_answers_with_well_formed_markdown(path: Path) -> None:
    document, _ = _analysed(path)
    for row, line in enumerate(document.lines):
        for column in range(len(line) + 1):
            shown = _at(path, row, column)
            if shown is not None:
                _check(shown)


def _check(shown: Hover) -> None:
    assert not re.search(r"</?[a-z]+[ />]", shown.markdown), "Markdown alone is safe in every theme"
    for block in shown.markdown.split("\n\n"):
        lines = block.split("\n")
        if lines[0].startswith("|"):
            assert re.fullmatch(r"\|( (---|---:) \|)+", lines[1])
            widths = {len(re.findall(r"(?<!\\)\|", line)) for line in lines}
            assert len(widths) == 1, f"a row has other columns than the header:\n{block}"
        else:
            assert not any(line.startswith("|") for line in lines)


def test_a_call_is_shown_for_the_chips_that_are_targets() -> None:
    path = _FOLDER / "matmul.py"
    document, facts = _analysed(path)
    mark = next(mark for mark in _marks() if mark.file == path and mark.parts and "**matmul**" in mark.parts)
    shown = hover(document, facts, mark.row, mark.column, (CHIPS["v6e"],))
    assert shown is not None
    assert "| v6e |" in shown.markdown and "v5e" not in shown.markdown


def test_positions_outside_of_the_text_show_nothing() -> None:
    path = _FOLDER / "matmul.py"
    document, facts = _analysed(path)
    assert hover(document, facts, len(document.lines) + 10, 0, _CHIPS) is None
    assert hover(document, facts, 0, 10_000, _CHIPS) is None
    assert hover(open_document(path, ""), facts, 0, 0, _CHIPS) is None


def test_pictures_come_in_the_form_that_is_asked_for() -> None:
    path = _FOLDER / "matmul.py"
    document, facts = _analysed(path)
    row = next(row for row, line in enumerate(document.lines) if "out_specs=pl.BlockSpec" in line)
    column = document.lines[row].index("BlockSpec")
    shown = {form: hover(document, facts, row, column, _CHIPS, form) for form in PictureForm}
    image, text, none = (shown[form].markdown for form in (PictureForm.IMAGE, PictureForm.TEXT, PictureForm.NONE))
    assert "](data:image/svg+xml;base64," in image and "```" not in image
    assert "```text\n↓ dim 0: " in text and "data:" not in text
    assert "data:" not in none and "```" not in none


LARGE = """\
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, y_ref, o_ref):
    o_ref[...] += jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32)


# pallas-lens: example x=bf16[6400,3200], y=bf16[3200,6400]
def large(x, y):
    return pl.pallas_call(
        kernel,
        grid=(25, 25, 25),
        in_specs=[
            pl.BlockSpec((256, 128), lambda i, j, k: (i, k)),
            pl.BlockSpec((128, 256), lambda i, j, k: (k, j)),
        ],
        out_specs=pl.BlockSpec((256, 256), lambda i, j, k: (i, j)),
        out_shape=jax.ShapeDtypeStruct((6400, 6400), jnp.float32),
    )(x, y)
"""


@pytest.mark.parametrize("needle", ["pl.pallas_call", "pl.BlockSpec((256, 128)", "pl.BlockSpec((256, 256)"])
def test_a_hover_on_a_long_walk_makes_few_calls(needle: str) -> None:
    """15625 steps: time hangs on the machine, so calls of functions are counted. 20000 take well below 10 ms."""
    document = open_document(Path("large.py"), LARGE)
    facts = Analyzer().analyse(document)
    row = next(row for row, line in enumerate(document.lines) if needle in line)
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    hover(document, facts, row, document.lines[row].index(needle), _CHIPS, PictureForm.IMAGE)
    copies_of.cache_clear()
    sys.setprofile(count)
    try:
        shown = hover(document, facts, row, document.lines[row].index(needle), _CHIPS, PictureForm.IMAGE)
    finally:
        sys.setprofile(None)
    assert shown is not None and "data:image/svg" in shown.markdown
    assert calls < 20_000
