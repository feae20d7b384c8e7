"""The kernels of public projects: no crash, and no error but those that ``real_kernels.json`` lists.

Each error of that file has been looked at: it is a real one, a name that JAX 0.12.0.1 no longer has. After a
change that is meant, ``PALLAS_LENS_WRITE_REAL_KERNELS=1`` writes the file anew.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from pallas_lens.check import Checker
from pallas_lens.model.finding import Severity
from pallas_lens.project import Project, Projects
from pallas_lens.source.document import open_document
from wheels import VERSIONS, unpacked_wheel

from .kernel_texts import CONTEXT

EXPECTED = Path(__file__).parent / "real_kernels.json"
FOLDERS = {"jax": "jax/experimental/pallas"}
COUNTED = (Severity.ERROR, Severity.WARNING)
_WRITE = "PALLAS_LENS_WRITE_REAL_KERNELS"


def project(root: Path) -> Project:
    """A project whose JAX is the newest, whatever this machine has."""
    found = Projects(variables={}).of(root / "any.py")
    return Project(root, found.settings, None, CONTEXT, found.selection)


def errors_in(package: str) -> tuple[list[dict[str, str | int]], int]:
    """Every finding that counts, and the number of files read."""
    root = unpacked_wheel(package)
    checker = Checker((root,))
    settings = project(root)
    found: list[dict[str, str | int]] = []
    read = 0
    for path in sorted((root / FOLDERS.get(package, "")).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "pallas" not in text:
            continue
        read += 1
        document = open_document(path, text)
        for one in checker.diagnostics(document, settings):
            if one.severity in COUNTED:
                row = one.range.start_row
                found.append(
                    {
                        "file": path.relative_to(root).as_posix(),
                        "row": row + 1,
                        "text": document.lines[row].strip(),
                        "code": one.code,
                        "severity": one.severity.value,
                    }
                )
        checker.close(document)
    return found, read


@pytest.mark.parametrize("package", VERSIONS)
def test_only_real_errors_are_found(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALLAS_LENS_RAISE", "1")
    found, read = errors_in(package)
    assert read > 0
    expected = json.loads(EXPECTED.read_text(encoding="utf-8"))
    if os.environ.get(_WRITE):
        expected[package] = found
        EXPECTED.write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")
    assert [one for one in found if one not in expected[package]] == [], "found, and not listed"
    assert [one for one in expected[package] if one not in found] == [], "listed, and not found"


def test_listed_errors_are_names_that_jax_removed() -> None:
    listed = json.loads(EXPECTED.read_text(encoding="utf-8"))
    assert listed.keys() == VERSIONS.keys()
    assert {one["code"] for errors in listed.values() for one in errors} == {"PAL901", "PAL902"}
