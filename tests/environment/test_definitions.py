"""A dotted name is followed to the statement that defines it: through files, and by jedi where those do not tell."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pallas_lens.environment.client import EnvironmentProcess
from pallas_lens.environment.package_files import PackageFiles
from pallas_lens.environment.process.definitions import Definitions, documentation_of, signature_of

from .made import write

LIBRARY = {
    "library/__init__.py": """
from library.blocks import spec_for as spec_for, ROWS
from .blocks import *
from . import blocks, other
from .other import twice as double
try:
    from library.fast import quick
except ImportError:
    from library.other import quick
if True:
    LIMIT: int = 8
alias = spec_for
by_module = other.quick
circular = circular
""",
    "library/blocks.py": '''
ROWS = 128


def spec_for(rows: int, *, columns: int = 256) -> tuple[int, int]:
    """The block of that many rows."""


class Blocks:
    """Rows and columns."""

    def __init__(self, rows, columns): ...
''',
    "library/other.py": """
import dataclasses


def twice(x): ...


def quick(): ...


@dataclasses.dataclass
class Config:
    rows: int
    columns: int = 128
""",
    "loop/__init__.py": "from loop.inner import name",
    "loop/inner.py": "from loop import name",
    # What a newer Python may add to the language, the parser of this one cannot read; jedi's can.
    "newer/__init__.py": "from .inner import made, beside\\n",
    "newer/inner.py": 'def beside(x): ...\\n\\n\\ndef made(x):\\n    """Made."""\\n    return $\\n',
}
LIBRARY = {name: text.replace("\\n", "\n") for name, text in LIBRARY.items()}

DEFINED = {
    "library.spec_for": ("library/blocks.py", 5),
    "library.ROWS": ("library/blocks.py", 2),
    "library.Blocks": ("library/blocks.py", 9),
    "library.double": ("library/other.py", 5),
    "library.quick": ("library/other.py", 8),
    "library.alias": ("library/blocks.py", 5),
    "library.by_module": ("library/other.py", 8),
    "library.LIMIT": ("library/__init__.py", 11),
    "library.other.Config": ("library/other.py", 12),
    "library.none": None,
    "library": None,
    "nothing.at_all": None,
    "loop.name": None,
    "newer.beside": ("newer/inner.py", 1),
    "newer.made": None,
}


@pytest.mark.parametrize("name", DEFINED)
def test_names_are_followed_through_imports(name: str, tmp_path: Path) -> None:
    write(tmp_path, LIBRARY)
    found = Definitions(PackageFiles((tmp_path,))).find(name)
    place = None if found is None else (found.file.relative_to(tmp_path).as_posix(), found.node.lineno)
    assert place == DEFINED[name]


SIGNATURES = {
    "library.spec_for": ("spec_for(rows: int, *, columns: int=256) -> tuple[int, int]", "The block of that many rows."),
    "library.Blocks": ("Blocks(rows, columns)", "Rows and columns."),
    "library.other.Config": ("Config(rows: int, columns: int = 128)", ""),
    "library.ROWS": ("", ""),
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_signature_and_docstring_come_from_the_source(name: str, tmp_path: Path) -> None:
    write(tmp_path, LIBRARY)
    found = Definitions(PackageFiles((tmp_path,))).find(name)
    assert found is not None
    assert (signature_of(found.name, found.node), documentation_of(found.node)) == SIGNATURES[name]


@pytest.fixture
def process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[EnvironmentProcess]:
    write(tmp_path, LIBRARY)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    process = EnvironmentProcess((tmp_path,))
    yield process
    process.close()
    assert not list((tmp_path / "temporary").iterdir())


def test_the_process_answers_from_files_and_by_jedi(process: EnvironmentProcess, tmp_path: Path) -> None:
    assert process.pid is None
    found = process.ask("definition", "library.alias", 60)
    assert (found.file, found.name, found.line) == (str(tmp_path / "library/blocks.py"), "spec_for", 5)
    inferred = process.ask("documentation", "newer.made", 60)
    assert (inferred.file, inferred.name, inferred.line) == (str(tmp_path / "newer/inner.py"), "made", 4)
    assert (inferred.signature, inferred.documentation) == ("made(x)", "Made.")
    assert process.ask("definition", "library.none", 60).why == "no source in the environment defines `library.none`"


def test_nothing_of_the_environment_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = tmp_path / "imported"
    run = f"open({str(mark)!r}, 'w').close()\n"
    write(
        tmp_path / "site",
        {"library/__init__.py": run + "def __getattr__(name): ...\n", "started.pth": "import library"},
    )
    write(tmp_path / "project", {"json.py": run, "jedi.py": run, "sitecustomize.py": run})
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "project"))
    process = EnvironmentProcess((tmp_path / "site",))
    assert process.ask("definition", "library.lazy", 60).why.startswith("no source")
    process.close()
    assert not mark.exists()


def test_a_process_that_ended_is_started_anew(process: EnvironmentProcess) -> None:
    import os
    import signal

    assert process.ask("definition", "library.ROWS", 60).file
    first = process.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    assert process.ask("definition", "library.ROWS", 60).file
    assert process.pid not in (None, first)


@pytest.mark.parametrize("way", ["silent", "ends", "is not there"])
def test_a_process_that_does_not_answer_is_given_up(way: str, tmp_path: Path) -> None:
    import sys

    command = {
        "silent": (sys.executable, "-c", "import sys; sys.stdin.read()"),
        "ends": (sys.executable, "-c", ""),
        "is not there": (str(tmp_path / "none"),),
    }[way]
    process = EnvironmentProcess((tmp_path,), command)
    answers = [process.ask("definition", "library.ROWS", 0.5) for _ in range(4)]
    assert [answer.why for answer in answers[:3]] == [
        "what reads the environment gave no answer about `library.ROWS`"
    ] * 3
    assert answers[3].why == "the environment cannot be read"
    assert process.pid is None
    process.close()


def test_closing_ends_the_process(process: EnvironmentProcess) -> None:
    assert process.ask("definition", "library.ROWS", 60).file
    process.close()
    assert process.pid is None
    assert process.ask("definition", "library.ROWS", 60).why
