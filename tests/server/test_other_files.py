"""Open files that import one another: what one says counts for the others, as it is typed."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types

from .editor import Editor, capabilities, editor

pytestmark = pytest.mark.asyncio

SIZES = """\
ROWS = {rows}
UNUSED = {unused}


def columns():
    return {columns}
"""

KERNEL = """\
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from sizes import {names}


def double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2


def call(x):
    block = pl.BlockSpec({block}, lambda i: (i, 0))
    return pl.pallas_call(
        double,
        grid=(8,),
        in_specs=[block],
        out_specs=block,
        out_shape=jax.ShapeDtypeStruct((4096, 1024), jnp.float32),
    )(x)
"""


def sizes(rows: int = 128, columns: int = 1024, unused: int = 0) -> str:
    return SIZES.format(rows=rows, columns=columns, unused=unused)


USES = {
    "a constant": (KERNEL.format(names="ROWS", block="(ROWS, 1024)"), sizes(rows=100)),
    "a function": (KERNEL.format(names="columns", block="(128, columns())"), sizes(columns=100)),
}


def codes(found: list[types.Diagnostic]) -> list[object]:
    return [one.code for one in found]


async def pushed_anew(window: Editor, uri: str, count: int) -> list[types.Diagnostic]:
    """The findings of the ``count``-th time that any were pushed for ``uri``."""
    sent = await window.until(lambda: [one for one in window.published if one.uri == uri][count - 1 :])
    return list(sent[0].diagnostics)


def close(window: Editor, uri: str) -> None:
    window.client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))


@pytest.mark.parametrize("use", USES)
async def test_a_change_in_another_open_file_counts_until_it_is_closed(use: str, tmp_path: Path) -> None:
    kernel, bad = USES[use]
    (tmp_path / "sizes.py").write_text(sizes())
    async with editor(tmp_path) as window:
        uri = window.open(kernel)
        assert await window.pushed(uri) == []
        other = window.open(sizes(), "sizes.py")
        assert await window.pushed(other) == []
        version = window.set_text(other, bad)
        assert codes(await pushed_anew(window, uri, 2)) == ["PAL102"]
        sent = [one.uri for one in window.published]
        assert (other, version) in [(one.uri, one.version) for one in window.published[: sent.index(uri, 1)]]
        close(window, other)
        assert await pushed_anew(window, uri, 3) == []


async def test_only_those_are_looked_at_that_used_what_changed(tmp_path: Path) -> None:
    rows = KERNEL.format(names="ROWS", block="(ROWS, 1024)")
    (tmp_path / "sizes.py").write_text(sizes())
    async with editor(tmp_path) as window:
        uri = window.open(rows)
        apart = window.open(KERNEL.format(names="columns", block="(128, columns())"), "apart.py")
        assert await window.pushed(uri) == await window.pushed(apart) == []
        other = window.open(sizes(), "sizes.py")
        for version, text in enumerate((sizes(unused=1), sizes(unused=2), sizes(rows=100)), 2):
            assert window.set_text(other, text) == version
            await window.pushed(other, version)
        assert codes(await pushed_anew(window, uri, 2)) == ["PAL102"]
        assert [one.uri for one in window.published].count(apart) == 1
        assert [one.uri for one in window.published].count(uri) == 2


async def test_where_findings_are_pulled_the_editor_is_asked_to_pull_anew(tmp_path: Path) -> None:
    kernel, bad = USES["a constant"]
    (tmp_path / "sizes.py").write_text(sizes())
    async with editor(tmp_path, capabilities(pull=True)) as window:
        uri = window.open(kernel)
        other = window.open(sizes(), "sizes.py")
        assert await window.pulled(uri) == await window.pulled(other) == []
        window.set_text(other, bad)
        assert await window.pulled(other) == []
        await window.until(lambda: window.refreshes)
        assert codes(await window.pulled(uri)) == ["PAL102"]


async def test_a_file_that_comes_later_is_found(tmp_path: Path) -> None:
    kernel, bad = USES["a constant"]
    async with editor(tmp_path) as window:
        uri = window.open(kernel)
        assert await window.pushed(uri) == []
        (tmp_path / "sizes.py").write_text(bad)
        window.client.workspace_did_change_watched_files(
            types.DidChangeWatchedFilesParams(
                [types.FileEvent((tmp_path / "sizes.py").as_uri(), types.FileChangeType.Created)]
            )
        )
        assert codes(await pushed_anew(window, uri, 2)) == ["PAL102"]


CALLER = """\
import jax.numpy as jnp
from kernel import call


def test_small():
    call(jnp.ones((4096, 1024), jnp.float32), {rows})
"""
CALLED = (
    KERNEL.format(names="UNUSED", block="(rows, 1024)")
    .replace("def call(x)", "def call(x, rows)")
    .replace("from sizes import UNUSED\n", "")
)


@pytest.mark.parametrize("pull", [False, True], ids=["pushed", "pulled"])
async def test_callers_in_the_projects_tests_count_after_the_first_findings(pull: bool, tmp_path: Path) -> None:
    (tmp_path / "test_small.py").write_text(CALLER.format(rows=100))
    (tmp_path / "kernel.py").write_text(CALLED)
    async with editor(tmp_path, capabilities(pull=pull)) as window:
        uri = window.open(CALLED)
        if pull:
            assert await window.pulled(uri) == []
            await window.until(lambda: window.refreshes)
            found = await window.pulled(uri)
        else:
            assert await window.pushed(uri) == []
            found = await pushed_anew(window, uri, 2)
        assert codes(found) == ["PAL102"]
        assert "test_small" in found[0].message


async def test_a_test_that_is_typed_counts_for_the_kernel(tmp_path: Path) -> None:
    (tmp_path / "test_small.py").write_text(CALLER.format(rows=128))
    (tmp_path / "kernel.py").write_text(CALLED)
    async with editor(tmp_path) as window:
        uri = window.open(CALLED)
        test = window.open(CALLER.format(rows=128), "test_small.py")
        assert await window.pushed(uri) == []
        window.set_text(test, CALLER.format(rows=100))
        assert codes(await pushed_anew(window, uri, 2)) == ["PAL102"]
