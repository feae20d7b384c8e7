"""What the documents show is true: commands print what is shown, code has no findings, links lead somewhere.

With PALLAS_LENS_UPDATE=1 the outputs shown are written anew instead.
"""

from __future__ import annotations

import ast
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from jax_environments import jax_environments
from pallas_lens import config
from pallas_lens.features.code_lens import RUN_TITLE
from pallas_lens.knowledge.chips import NAMES
from pallas_lens.project import NEWEST_JAX

ROOT = Path(__file__).parents[1]
UPDATE = os.environ.get("PALLAS_LENS_UPDATE") == "1"
PAGES = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")]
PAGES += sorted((ROOT / "docs").glob("*.md"))
_BLOCK = re.compile(r"^(?P<indent> *)```(?P<language>\w+)\n(?P<text>.*?)^ *```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\((?P<target>[^)#\s]+)(?:#[^)]*)?\)")
# What differs from machine to machine: seconds, and the last digits of sums.
_VARYING = re.compile(r"\(\d+\.\d s\)|from \S+ to \S+, mean \S+,")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of a page."""

    page: Path
    language: str
    text: str


def blocks(*languages: str) -> list[object]:
    """The blocks in one of the languages, as parameters."""
    found = []
    for page in PAGES:
        matches = list(_BLOCK.finditer(page.read_text(encoding="utf-8")))
        kept = [match for match in matches if match["language"] in languages]
        found += [
            pytest.param(Block(page, match["language"], match["text"]), id=f"{page.name}-{number}")
            for number, match in enumerate(kept)
        ]
    assert found, languages
    return found


def printed(command: str) -> str:
    """What ``pallas-lens`` prints on standard output, from the top of the repository."""
    program, *arguments = shlex.split(command)
    assert program == "pallas-lens"
    environment = {**os.environ, "PALLAS_LENS_JAX_VERSION": str(NEWEST_JAX), "PYTHONPATH": str(ROOT / "server")}
    if arguments[0] == "run":
        pythons = [found.interpreter for found in jax_environments()]
        if not pythons:
            pytest.skip("no Python with JAX to run it in")
        environment["PALLAS_LENS_INTERPRETER"] = str(pythons[-1])
    process = subprocess.run(
        [sys.executable, "-m", "pallas_lens", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
    )
    return process.stdout.replace(ROOT.as_uri(), "file:///…")


@pytest.mark.parametrize("block", blocks("console"))
def test_command_prints_what_is_shown(block: Block) -> None:
    command, _, shown = block.text.partition("\n")
    assert command.startswith("$ ")
    output = printed(command.removeprefix("$ "))
    if UPDATE:
        page = block.page.read_text(encoding="utf-8")
        assert page.count(block.text) == 1
        block.page.write_text(page.replace(block.text, f"{command}\n{output}"), encoding="utf-8")
        return
    assert _VARYING.sub("", output) == _VARYING.sub("", shown)


@pytest.mark.parametrize("block", blocks("python"))
def test_python_parses(block: Block) -> None:
    ast.parse(block.text)


@pytest.mark.parametrize("block", blocks("toml"))
def test_settings_are_accepted(block: Block, tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text(block.text, encoding="utf-8")
    layer = config.from_project(file)
    assert layer.problems == () and layer.values


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page: Path) -> None:
    for match in _LINK.finditer(page.read_text(encoding="utf-8")):
        assert not match["target"].startswith("http"), f"{page.name} links to {match['target']}"
        assert (page.parent / match["target"]).exists(), f"{page.name} links to {match['target']}"


def test_paths_in_architecture_exist() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    paths = re.findall(r"`((?:server|client|tests|docs|scripts|snippets|examples|bundled)/[\w./-]*)`", text)
    assert len(paths) > 10
    for path in paths:
        assert (ROOT / path).exists(), path


def test_readme_names_what_there_is() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert RUN_TITLE in text
    assert ", ".join(NAMES[:-1]) + f" and {NAMES[-1]}" in text
    prefixes = re.findall(r'"prefix": "([\w-]+)"', (ROOT / "snippets" / "pallas.json").read_text(encoding="utf-8"))
    assert prefixes and all(f"`{prefix}`" in text for prefix in prefixes)
