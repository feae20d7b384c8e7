"""The documentation of the user's JAX below a hover of ours."""

from __future__ import annotations

from pathlib import Path

import pytest
from pallas_lens.features.hover import Hover
from pallas_lens.features.hover_documentation import documented_name, with_documentation
from pallas_lens.source.document import open_document
from pallas_lens.source.positions import TextRange

TEXT = """\
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jax import lax
import other


def kernel(x_ref, o_ref):
    o_ref[...] = jnp.dot(lax.exp(x_ref[...]), other.thing(x_ref.at[0]))
    pl.when(True)(pltpu.repeat)
"""

NAMES = {
    "dot(": "jax.numpy.dot",
    "exp(": "jax.lax.exp",
    "when": "jax.experimental.pallas.when",
    "repeat": "jax.experimental.pallas.tpu.repeat",
    "pl.when": "jax.experimental.pallas",
    "thing": None,
    "at[": None,
    "x_ref[": None,
    "True": None,
    "import other": None,
}


@pytest.mark.parametrize("part", NAMES)
def test_names_of_jax_are_known_by_their_imports(part: str) -> None:
    at = TEXT.index(part)
    row = TEXT.count("\n", 0, at)
    column = at - (TEXT.rfind("\n", 0, at) + 1)
    assert documented_name(open_document(Path("kernel.py"), TEXT), row, column) == NAMES[part]


MARKDOWN = {
    "Plain.": "Plain.",
    "See :func:`jax.lax.exp` and :class:`~jax.Array`.": "See `jax.lax.exp` and `jax.Array`.",
    "A ``literal`` and a `link <https://x.org/a>`_.": "A `literal` and a [link](https://x.org/a).",
    "first " * 200 + "\n\n" + "second " * 200: ("first " * 200).rstrip() + "\n\n…",
    "word " * 400: ("word " * 300).rstrip() + "\n\n…",
}


@pytest.mark.parametrize("text", MARKDOWN, ids=range(len(MARKDOWN)))
def test_docstrings_become_markdown_of_bounded_length(text: str) -> None:
    where = TextRange(0, 0, 0, 3)
    made = with_documentation(Hover("ours", where), "exp(x)", text)
    assert made.markdown == f"ours\n\n---\n\n```python\nexp(x)\n```\n\n{MARKDOWN[text]}"
    assert made.range == where
    assert "```" not in with_documentation(Hover("ours", where), "", "x").markdown
