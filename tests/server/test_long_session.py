"""A long session keeps no more than the text at hand needs."""

from __future__ import annotations

import ast
import gc
from pathlib import Path

from cli.kernel_texts import UNALIGNED
from pallas_lens.check import Checker
from pallas_lens.project import Projects
from pallas_lens.source.document import open_document, update_document


def nodes() -> int:
    """How many nodes of syntax trees are alive."""
    gc.collect()
    return sum(isinstance(thing, ast.AST) for thing in gc.get_objects())


def test_edits_leave_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    checker = Checker((tmp_path,))
    project = Projects(roots=(tmp_path,), variables={"PATH": "", "PALLAS_LENS_JAX_VERSION": "0.12.0.1"}).of(path)
    document = open_document(path, UNALIGNED)
    alive: list[int] = []
    for version in range(1, 61):
        text = UNALIGNED.replace("o_ref[...] =", f"value{'x' * version} = 1\n    o_ref[...] =")
        document = update_document(document, text, version)
        assert [one.code for one in checker.diagnostics(document, project)] == ["PAL102"]
        if version % 20 == 0:
            alive.append(nodes())
    assert alive[2] <= alive[0] + 20
