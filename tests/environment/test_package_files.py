"""Where modules are, by files alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from pallas_lens.environment.package_files import PackageFiles

from .made import EDITABLE_FINDER, write

LAYOUT = {
    "site/package/__init__.py": "",
    "site/package/inner.py": "",
    "site/package/deeper/__init__.py": "",
    "site/plain.py": "",
    "site/space/part/__init__.py": "",
    "site/compiled/__init__.so": "",
    "site/folders.pth": "# a comment\n{here}/more\n\n{here}/nowhere\nimport os; raise SystemExit\n",
    "more/added.py": "",
    "more/plain.py": "",
    **EDITABLE_FINDER,
    "site/broken.pth": "import __editable___broken_finder",
    "site/__editable___broken_finder.py": "MAPPING = {'package': object()}",
}

FOUND = {
    "package": "site/package/__init__.py",
    "package.inner": "site/package/inner.py",
    "package.deeper": "site/package/deeper/__init__.py",
    "plain": "site/plain.py",
    "space.part": "site/space/part/__init__.py",
    "added": "more/added.py",
    "known": "src/known/__init__.py",
    "known.inner": "src/known/inner.py",
    "one": "one.py",
    "space": None,
    "compiled": None,
    "compiled.inner": None,
    "package.none": None,
    "nowhere": None,
    "": None,
    "..package": None,
    "package.": None,
}


@pytest.mark.parametrize("module", FOUND)
def test_modules_are_found_as_python_would_find_them(module: str, tmp_path: Path) -> None:
    write(tmp_path, LAYOUT)
    files = PackageFiles((tmp_path / "site",))
    place = FOUND[module]
    assert files.find(module) == (None if place is None else tmp_path / place)


def test_what_is_there_without_source_is_there(tmp_path: Path) -> None:
    write(tmp_path, LAYOUT)
    files = PackageFiles((tmp_path / "site", tmp_path / "not there"))
    assert files.has("compiled") and files.has("known") and files.has("plain")
    assert not files.has("nowhere")
