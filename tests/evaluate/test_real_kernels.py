"""The kernels of public projects: no crash, no error but those listed, call sites resolved as ``call_sites.json`` says.

Each error of that file has been looked at: it is a real one, a name that JAX 0.12.0.1 no longer has. After a
change that is meant, ``PALLAS_LENS_WRITE_REAL_KERNELS=1`` writes the file anew.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path

import pytest
from pallas_lens.check import Checker
from pallas_lens.model.finding import Severity
from pallas_lens.project import Project, Projects
from pallas_lens.source.document import open_document
from wheels import VERSIONS, unpacked_wheel

from .call_sites import AIMS, STORED, Table, add_file, kernel_files
from .kernel_texts import CONTEXT

EXPECTED = Path(__file__).parent / "real_kernels.json"
COUNTED = (Severity.ERROR, Severity.WARNING)
_WRITE = "PALLAS_LENS_WRITE_REAL_KERNELS"


def project(root: Path) -> Project:
    """A project whose JAX is the newest, whatever this machine has."""
    found = Projects(variables={}).of(root / "any.py")
    return Project(root, found.settings, None, CONTEXT, found.selection)


def read(package: str) -> tuple[list[dict[str, str | int]], Table]:
    """Every finding that counts, and the table of the call sites."""
    root = unpacked_wheel(package)
    checker = Checker((root,))
    settings = project(root)
    found: list[dict[str, str | int]] = []
    table = Table()
    for path in kernel_files(package):
        name = path.relative_to(root).as_posix()
        document = open_document(path, path.read_text(encoding="utf-8"))
        diagnostics = checker.diagnostics(document, settings)
        add_file(table, document, checker.facts(document).sites, name)
        # By now every kernel body has been followed, also those in which rules were to find nothing new.
        assert checker.diagnostics(document, settings) == diagnostics
        for one in diagnostics:
            if one.severity in COUNTED:
                row = one.range.start_row
                found.append(
                    {
                        "file": name,
                        "row": row + 1,
                        "text": document.lines[row].strip(),
                        "code": one.code,
                        "severity": one.severity.value,
                    }
                )
        checker.close(document)
    return found, table


@pytest.mark.parametrize("package", VERSIONS)
def test_only_real_errors_are_found_and_call_sites_are_resolved(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALLAS_LENS_RAISE", "1")
    found, table = read(package)
    expected = json.loads(EXPECTED.read_text(encoding="utf-8"))
    if os.environ.get(_WRITE):
        expected[package] = found
        EXPECTED.write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")
    assert [one for one in found if one not in expected[package]] == [], "found, and not listed"
    assert [one for one in expected[package] if one not in found] == [], "listed, and not found"
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    assert table.disagreements == []
    assert asdict(table) == stored[package], "python tests/evaluate/call_sites.py --write stores what is meant"


def test_the_stored_table_keeps_its_aims() -> None:
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    assert stored.keys() == VERSIONS.keys()
    for part, aim in AIMS.items():
        counts = [table["counts"][part] for table in stored.values()]
        known, total = sum(one["known"] for one in counts), sum(one["total"] for one in counts)
        assert known >= aim * total, f"{part}: {known} of {total}"


def test_listed_errors_are_names_that_jax_removed() -> None:
    listed = json.loads(EXPECTED.read_text(encoding="utf-8"))
    assert listed.keys() == VERSIONS.keys()
    assert {one["code"] for errors in listed.values() for one in errors} == {"PAL901", "PAL902"}
