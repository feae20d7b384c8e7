"""Examples that their function or file does not bear out."""

from __future__ import annotations

from pathlib import Path

import pytest
from pallas_lens.source.document import open_document
from pallas_lens.source.example_faults import example_problems

_FILE = """from jax.experimental import pallas as pl

N = 512


# pallas-lens: example {example}
def call({parameters}):
    return x
"""


@pytest.mark.parametrize(
    ("example", "parameters", "message"),
    [
        ("y=f32[512,512]", "x", "has no parameter `y`"),
        ("blok=8", "x, block=4", "did you mean `block`?"),
        ("x=f33[512,512]", "x", "`f33` of `x` is no dtype"),
        ("x=f32(512,512)", "x", "x=f32[512,512]"),
        ("x=f32[N,512]", "x", None),
        ("x=f32[8,128]", "x", None),
        ("anything=f32[8,128]", "x, **rest", None),
        ("x=f8e4m3fn[8,128], block=pl.cdiv(N, 8)", "x, block", None),
    ],
)
def test_what_is_wrong_with_an_example(example: str, parameters: str, message: str | None) -> None:
    text = _FILE.format(example=example, parameters=parameters)
    problems = example_problems(open_document(Path("kernel.py"), text))
    assert len(problems) == (message is not None)
    if message is not None:
        assert message in problems[0].message
        assert problems[0].range.start_row == 5
