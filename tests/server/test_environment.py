"""The user's environment in the editor: read apart from typing, and never waited for."""

from __future__ import annotations

from pathlib import Path

import pytest
from environment.kernel_of_packages import IMPORTS, PACKAGES, kernel
from environment.made import environment, write
from lsprotocol import types

from .editor import Editor, capabilities, editor

pytestmark = pytest.mark.asyncio

JAX = {
    "jax/__init__.py": "",
    "jax/experimental/__init__.py": "",
    "jax/experimental/pallas/__init__.py": '''\
def pallas_call(kernel, *, grid=()):
    """Runs a kernel, as :func:`jax.numpy.foo` does."""
''',
}


def codes(found: list[types.Diagnostic]) -> list[object]:
    return [one.code for one in found]


async def pushed_anew(window: Editor, uri: str, count: int) -> list[types.Diagnostic]:
    """The findings of the ``count``-th time that any were pushed for ``uri``."""
    sent = await window.until(lambda: [one for one in window.published if one.uri == uri][count - 1 :])
    return list(sent[0].diagnostics)


@pytest.mark.parametrize("trusted", [True, False])
@pytest.mark.parametrize("imports", IMPORTS)
async def test_packages_are_read_once_the_first_findings_are_out(imports: str, trusted: bool, tmp_path: Path) -> None:
    interpreter = environment(tmp_path, PACKAGES)
    (tmp_path / "project").mkdir()
    async with editor(tmp_path / "project", interpreter=str(interpreter), trusted=trusted) as window:
        uri = window.open(kernel(IMPORTS[imports]))
        assert await pushed_anew(window, uri, 1) == []
        assert codes(await pushed_anew(window, uri, 2)) == ["PAL102"]


async def test_where_findings_are_pulled_the_editor_is_asked_to_pull_anew(tmp_path: Path) -> None:
    interpreter = environment(tmp_path, PACKAGES)
    (tmp_path / "project").mkdir()
    async with editor(tmp_path / "project", capabilities(pull=True), interpreter=str(interpreter)) as window:
        uri = window.open(kernel(IMPORTS["a module"]))
        assert await window.pulled(uri) == []
        await window.until(lambda: window.refreshes)
        assert codes(await window.pulled(uri)) == ["PAL102"]


async def documented(window: Editor, uri: str, line: int, column: int) -> str:
    """The hover once it has the documentation, for which it never waits long."""
    while True:
        shown = await window.hover(uri, line, column)
        assert shown is not None
        if "Runs a kernel" in shown:
            return shown


async def test_the_documentation_of_the_users_jax_stands_under_our_hover(tmp_path: Path) -> None:
    interpreter = environment(tmp_path, {**PACKAGES, **JAX})
    (tmp_path / "project").mkdir()
    text = kernel("ROWS = 128")
    line = text[: text.index("pl.pallas_call")].count("\n")
    column = text.splitlines()[line].index("pallas_call") + 2
    async with editor(tmp_path / "project", interpreter=str(interpreter)) as window:
        uri = window.open(text)
        shown = await documented(window, uri, line, column)
        assert shown.index("VMEM") < shown.index("pallas_call(kernel, *, grid=())")
        assert shown.endswith("Runs a kernel, as `jax.numpy.foo` does.")
    async with editor(tmp_path / "project", interpreter=str(interpreter), trusted=False) as window:
        uri = window.open(text)
        shown = await window.hover(uri, line, column)
        assert shown is not None
        assert "Runs a kernel" not in shown


@pytest.mark.parametrize("way", ["a project file changes", "another file is opened"])
async def test_a_package_that_is_installed_later_is_read(way: str, tmp_path: Path) -> None:
    interpreter = environment(tmp_path, {"none.py": ""})
    (tmp_path / "project").mkdir()
    async with editor(tmp_path / "project", interpreter=str(interpreter)) as window:
        uri = window.open(kernel(IMPORTS["a module"]))
        assert await pushed_anew(window, uri, 1) == []
        write(tmp_path / "env/lib/python3.12/site-packages", PACKAGES)
        if way == "another file is opened":
            window.open("", "empty.py")
        else:
            changed = types.FileEvent((tmp_path / "project/pyproject.toml").as_uri(), types.FileChangeType.Changed)
            window.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([changed]))
        await window.until(lambda: any(one.diagnostics for one in window.published))
        (found,) = [one.diagnostics for one in window.published if one.diagnostics]
        assert codes(list(found)) == ["PAL102"]
