"""``pallas-lens check``: which files, which findings, which form, which exit code."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from .command_line import SERVER, pallas_lens
from .kernel_texts import GOOD, MISSPELT, UNALIGNED, at

CONTRACT = {
    "code",
    "name",
    "severity",
    "message",
    "filename",
    "location",
    "end_location",
    "fix",
    "url",
    "specialisation",
    "chips",
    "related",
}


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="")
    return path


def test_json_is_to_the_contract(tmp_path: Path) -> None:
    write(tmp_path, "kernel.py", UNALIGNED)
    ended = pallas_lens("check", "kernel.py", "--output-format", "json", folder=tmp_path)
    assert (ended.code, ended.err) == (1, "")
    (finding,) = ended.json
    assert set(finding) == CONTRACT
    assert finding["code"] == "PAL102"
    assert finding["name"] == "block-not-tile-aligned"
    assert finding["severity"] == "error"
    assert finding["filename"] == "kernel.py"
    assert finding["chips"] == ["v4", "v5e", "v5p", "v6e", "v7x"]
    assert finding["url"].endswith("docs/rules/block-not-tile-aligned.md")
    assert {key: finding[key] for key in ("location", "end_location")} == at(UNALIGNED, "100")
    (related,) = finding["related"]
    assert set(related) == {"message", "filename", "location", "end_location"}
    assert related["filename"] == "kernel.py"
    assert related["location"]["row"] == at(UNALIGNED, "jax.ShapeDtypeStruct")["location"]["row"]


def test_json_has_fixes_as_edits(tmp_path: Path) -> None:
    write(tmp_path, "kernel.py", MISSPELT)
    (finding,) = pallas_lens("check", "--output-format", "json", folder=tmp_path).json
    fix = finding["fix"]
    assert set(fix) == {"message", "applicability", "edits"}
    assert fix["applicability"] == "safe"
    (edit,) = fix["edits"]
    assert edit == {"content": '"parallel"', **at(MISSPELT, '"paralel"')}


def test_columns_count_code_points(tmp_path: Path) -> None:
    text = UNALIGNED.replace("out_specs=", 'name="é𝄞" or "", out_specs=')
    write(tmp_path, "kernel.py", text)
    (finding,) = pallas_lens("check", "--output-format", "json", folder=tmp_path).json
    assert finding["location"] == at(text, "100")["location"]


def test_full_shows_the_line_with_marks(tmp_path: Path) -> None:
    write(tmp_path, "kernel.py", MISSPELT)
    ended = pallas_lens("check", folder=tmp_path)
    place = at(MISSPELT, '"paralel"')["location"]
    row, column = place["row"], place["column"]
    line = MISSPELT.splitlines()[row - 1]
    assert ended.lines[1:5] == [
        f"  --> kernel.py:{row}:{column}",
        "   |",
        f"{row} | {line}",
        f"   | {' ' * (column - 1)}{'^' * len(chr(34) + 'paralel' + chr(34))}",
    ]
    assert ended.lines[0].startswith("error[PAL402] dimension-semantics-unknown-value: ")
    assert ended.lines[-1] == "Found 1 error in 1 file of 1 with Pallas. 1 can be fixed with --fix."
    assert "\x1b" not in ended.out


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
@pytest.mark.parametrize(("no_colour", "coloured"), [("", True), ("1", False)])
def test_colour_on_a_terminal_only(no_colour: str, coloured: bool, tmp_path: Path) -> None:
    import pty
    import subprocess

    from .command_line import SERVER

    write(tmp_path, "kernel.py", UNALIGNED)
    ours, theirs = pty.openpty()
    environment = {"PYTHONPATH": str(SERVER), "HOME": str(tmp_path), "PATH": "", "TERM": "xterm"}
    if no_colour:
        environment["NO_COLOR"] = no_colour
    subprocess.run([sys.executable, "-m", "pallas_lens", "check"], cwd=tmp_path, env=environment, stdout=theirs)
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 65536):
            shown += piece
    except OSError:
        # Linux says "input/output error" where the other end has been closed.
        pass
    assert b"PAL102" in shown
    assert (b"\x1b[" in shown) is coloured


def test_concise_is_one_line_a_finding(tmp_path: Path) -> None:
    write(tmp_path, "kernel.py", UNALIGNED)
    ended = pallas_lens("check", "--output-format", "concise", folder=tmp_path)
    place = at(UNALIGNED, "100")["location"]
    assert re.fullmatch(rf"kernel\.py:{place['row']}:{place['column']}: error\[PAL102\] \S.*", ended.lines[0])
    assert len(ended.lines) == 2


EXIT_CODES = [
    pytest.param(["check"], 1, id="findings"),
    pytest.param(["check", "good.py"], 0, id="nothing found"),
    pytest.param(["check", "--ignore", "PAL102"], 0, id="all ignored"),
    pytest.param(["check", "--select", "PAL2,PAL9"], 0, id="others selected"),
    pytest.param(["check", "--select", "block-not-tile-aligned"], 1, id="selected by name"),
    pytest.param(["check", "missing.py"], 2, id="missing path"),
    pytest.param(["check", "--target", "v3"], 2, id="unknown chip"),
    pytest.param(["check", "--select", "PAL999"], 2, id="unknown code"),
    pytest.param(["check", "--ignore", "no-such-rule"], 2, id="unknown name"),
    pytest.param(["check", "--output-format", "xml"], 2, id="unknown format"),
    pytest.param(["frobnicate"], 2, id="unknown command"),
    pytest.param([], 2, id="no command"),
    pytest.param(["--version"], 0, id="version"),
    pytest.param(["explain", "PAL102"], 0, id="explain a code"),
    pytest.param(["explain", "block-not-tile-aligned"], 0, id="explain a name"),
    pytest.param(["explain", "nonsense"], 2, id="explain nothing"),
    pytest.param(["rules"], 0, id="rules"),
]


@pytest.mark.parametrize(("arguments", "code"), EXIT_CODES)
def test_exit_codes(arguments: list[str], code: int, tmp_path: Path) -> None:
    write(tmp_path, "good.py", GOOD)
    write(tmp_path, "bad.py", UNALIGNED)
    ended = pallas_lens(*arguments, folder=tmp_path)
    assert ended.code == code, ended
    assert "Traceback" not in ended.err
    if code == 2:
        assert ended.out == ""
        assert ended.err.strip()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["check", "missing.py"], "missing.py does not exist"),
        (["check", "--target", "v5e,v3"], "there is no chip v3; there are v4, v5e, v5p, v6e, v7x"),
        (["check", "--select", "PAL999"], "There is no rule `PAL999`"),
        (["check", "--ignore", "block-not-tile-alined"], "did you mean `block-not-tile-aligned`?"),
        (["explain", "pal10"], "there is no rule pal10; codes that begin so: PAL101, PAL102"),
        (["explain", "PAL1022"], "did you mean PAL102?"),
        (["explain", "block-not-tile-alined"], "did you mean block-not-tile-aligned?"),
    ],
)
def test_errors_say_what_to_do(arguments: list[str], said: str, tmp_path: Path) -> None:
    assert said in pallas_lens(*arguments, folder=tmp_path).err


def test_rules_lists_what_explain_explains(tmp_path: Path) -> None:
    listed = pallas_lens("rules", "--output-format", "json", folder=tmp_path).json
    assert len(listed) >= 20
    rule = listed[0]
    assert set(rule) == {"code", "name", "severity", "summary"}
    page = pallas_lens("explain", rule["code"], folder=tmp_path).out
    assert page.startswith(f"# {rule['code']} {rule['name']}")
    for heading in ("What it does", "Why it is wrong", "Example", "Use instead", "Known limits", "Source"):
        assert f"\n## {heading}\n" in page


def test_folders_are_walked_without_what_is_not_the_users(tmp_path: Path) -> None:
    for folder in (
        ".",
        "inner/deep",
        ".venv/lib",
        "node_modules/x",
        ".git",
        ".hidden",
        "a/__pycache__",
        "site-packages",
    ):
        write(tmp_path, f"{folder}/kernel.py", UNALIGNED)
    write(tmp_path, "environment/pyvenv.cfg", "home = /usr/bin\n")
    write(tmp_path, "environment/lib/kernel.py", UNALIGNED)
    write(tmp_path, "kernel.txt", UNALIGNED)
    found = pallas_lens("check", "--output-format", "json", folder=tmp_path).json
    assert [one["filename"] for one in found] == ["kernel.py", str(Path("inner/deep/kernel.py"))]
    # What is named is checked, wherever it lies.
    named = pallas_lens("check", ".hidden", "kernel.txt", "--output-format", "json", folder=tmp_path).json
    assert [one["filename"] for one in named] == [str(Path(".hidden/kernel.py")), "kernel.txt"]


def test_a_file_that_cannot_be_read_does_not_stop_the_rest(tmp_path: Path) -> None:
    (tmp_path / "a_latin.py").write_bytes(b"# pallas\n# caf\xe9\n")
    (tmp_path / "b_other.py").write_bytes(b"# caf\xe9, which is not ours\n")
    write(tmp_path, "c_bad.py", UNALIGNED)
    ended = pallas_lens("check", "--output-format", "json", folder=tmp_path)
    assert ended.code == 1
    assert [one["filename"] for one in ended.json] == ["c_bad.py"]
    assert (
        ended.err == "pallas-lens: a_latin.py: not checked: not UTF-8 (line 2); save it as UTF-8 to have it checked\n"
    )
    (tmp_path / "c_bad.py").unlink()
    assert pallas_lens("check", folder=tmp_path).code == 1


def test_broken_code_is_no_error_of_ours(tmp_path: Path) -> None:
    write(tmp_path, "kernel.py", "from jax.experimental import pallas as pl\ndef f(:\n  pl.pallas_call(\n")
    assert pallas_lens("check", folder=tmp_path).code == 0


def test_what_does_not_parse_is_told_with_its_line(tmp_path: Path) -> None:
    write(tmp_path, "kernel.py", GOOD + "\n\nx = = 1\n")
    ended = pallas_lens("check", folder=tmp_path)
    row = GOOD.count("\n") + 3
    assert ended.err == f"pallas-lens: kernel.py:{row}: does not parse here; what stands around it was checked\n"
    assert ended.lines == ["Nothing found in 1 file with Pallas. 1 file did not parse everywhere."]
    assert ended.code == 0


@pytest.mark.parametrize("text", ['{"cells": [ pallas', '["pallas"]'])
def test_a_broken_notebook_is_not_checked(text: str, tmp_path: Path) -> None:
    write(tmp_path, "kernel.ipynb", text)
    ended = pallas_lens("check", folder=tmp_path)
    assert ended.err.startswith("pallas-lens: kernel.ipynb: not checked: no notebook")
    assert ended.code == 1


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes in folders")
def test_a_pipe_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    write(tmp_path, "kernel.py", GOOD)
    assert pallas_lens("check", folder=tmp_path).err == ""
    named = pallas_lens("check", "pipe.py", folder=tmp_path)
    assert (named.code, named.err) == (1, "pallas-lens: pipe.py: not checked: not a regular file\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a full device")
def test_a_full_disk_is_no_fault_of_ours(tmp_path: Path) -> None:
    environment = {"PYTHONPATH": str(SERVER), "HOME": str(tmp_path), "PATH": ""}
    command = [sys.executable, "-m", "pallas_lens", "rules"]
    with open("/dev/full", "wb") as full:
        ended = subprocess.run(command, cwd=tmp_path, env=environment, stdout=full, stderr=subprocess.PIPE)
    said = ended.stderr.decode()
    assert (ended.returncode, said.count("\n")) == (2, 1), said
    assert said.startswith("pallas-lens: the output cannot be written: ")


def test_a_file_by_two_spellings_is_checked_once(tmp_path: Path) -> None:
    path = write(tmp_path, "kernel.py", UNALIGNED)
    ended = pallas_lens("check", "kernel.py", str(path), ".", "--output-format", "json", folder=tmp_path)
    assert [one["filename"] for one in ended.json] == ["kernel.py"]


def test_comments_silence_findings(tmp_path: Path) -> None:
    line = next(line for line in UNALIGNED.splitlines() if "100" in line)
    write(tmp_path, "kernel.py", UNALIGNED.replace(line, f"{line}  # pallas-lens: ignore[PAL102]"))
    assert pallas_lens("check", folder=tmp_path).code == 0
    write(tmp_path, "kernel.py", f"# pallas-lens: ignore-file[block-not-tile-aligned]\n{UNALIGNED}")
    assert pallas_lens("check", folder=tmp_path).code == 0
    write(tmp_path, "kernel.py", UNALIGNED.replace(line, f"{line}  # pallas-lens: ignore[PAL999]"))
    assert pallas_lens("check", folder=tmp_path).code == 1


def test_a_comment_that_is_not_understood_is_a_warning(tmp_path: Path) -> None:
    text = GOOD.replace("pallas-lens: example", "pallas-lens: exmple")
    write(tmp_path, "kernel.py", text)
    (finding,) = pallas_lens("check", "--output-format", "json", folder=tmp_path).json
    assert (finding["code"], finding["severity"], finding["url"]) == ("PAL000", "warning", None)
    assert finding["location"] == at(text, "# pallas-lens")["location"]


def test_notebook_places_are_those_of_the_cell(tmp_path: Path) -> None:
    head, _, tail = UNALIGNED.partition("\n\n\n")
    cells = [
        {"cell_type": "markdown", "source": ["# A kernel\n"]},
        {"cell_type": "code", "source": ["%matplotlib inline\n", *head.splitlines(keepends=True)]},
        {"cell_type": "code", "source": tail.splitlines(keepends=True)},
    ]
    write(tmp_path, "kernel.ipynb", json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}))
    (finding,) = pallas_lens("check", "--output-format", "json", folder=tmp_path).json
    assert finding["cell"] == 3
    assert finding["location"] == at(tail, "100")["location"]
    place = finding["location"]
    concise = pallas_lens("check", "--output-format", "concise", folder=tmp_path)
    assert concise.out.startswith(f"kernel.ipynb:cell 3:{place['row']}:{place['column']}: error[PAL102]")


class TestFix:
    def test_safe_fixes_are_applied_and_counted(self, tmp_path: Path) -> None:
        path = write(tmp_path, "kernel.py", MISSPELT)
        path.chmod(0o755)
        ended = pallas_lens("check", "--fix", folder=tmp_path)
        assert path.read_text(encoding="utf-8") == MISSPELT.replace("paralel", "parallel")
        assert ended.lines == ["Fixed 1. Nothing found in 1 file with Pallas."]
        assert ended.code == 0
        assert path.stat().st_mode & 0o777 == 0o755
        assert os.listdir(tmp_path) == ["kernel.py"]

    def test_unsafe_fixes_are_not(self, tmp_path: Path) -> None:
        path = write(tmp_path, "kernel.py", UNALIGNED)
        (finding,) = pallas_lens("check", "--fix", "--output-format", "json", folder=tmp_path).json
        assert finding["fix"]["applicability"] == "unsafe"
        assert path.read_text(encoding="utf-8") == UNALIGNED

    def test_line_ends_and_byte_order_mark_stay(self, tmp_path: Path) -> None:
        content = b"\xef\xbb\xbf" + MISSPELT.replace("\n", "\r\n").encode()
        path = tmp_path / "kernel.py"
        path.write_bytes(content)
        assert pallas_lens("check", "--fix", folder=tmp_path).code == 0
        assert path.read_bytes() == content.replace(b"paralel", b"parallel")

    @pytest.mark.skipif(sys.platform == "win32", reason="links need a right on Windows")
    def test_a_link_stays_a_link(self, tmp_path: Path) -> None:
        real = write(tmp_path, "real/kernel.py", MISSPELT)
        link = tmp_path / "kernel.py"
        link.symlink_to(real)
        assert pallas_lens("check", "--fix", "kernel.py", folder=tmp_path).code == 0
        assert link.is_symlink()
        assert "parallel" in real.read_text(encoding="utf-8")

    def test_a_notebook_is_left_alone(self, tmp_path: Path) -> None:
        notebook = json.dumps({"cells": [{"cell_type": "code", "source": MISSPELT}], "metadata": {}, "nbformat": 4})
        path = write(tmp_path, "kernel.ipynb", notebook)
        ended = pallas_lens("check", "--fix", folder=tmp_path)
        assert path.read_text(encoding="utf-8") == notebook
        assert "fixes are not written to notebooks" in ended.err
        assert ended.lines[-1] == "Found 1 error in 1 file of 1 with Pallas."
        assert ended.code == 1


class TestSettings:
    def test_project_file_and_its_nearest_table(self, tmp_path: Path) -> None:
        write(tmp_path, "pyproject.toml", '[tool.pallas-lens]\nignore = ["PAL102"]\n')
        write(tmp_path, "ignored/kernel.py", UNALIGNED)
        write(tmp_path, "other/pyproject.toml", '[tool.pallas-lens]\ntargets = ["v5e"]\n')
        write(tmp_path, "other/kernel.py", UNALIGNED)
        write(tmp_path, "other/inner/pyproject.toml", "[tool.black]\n")
        write(tmp_path, "other/inner/kernel.py", UNALIGNED)
        found = pallas_lens("check", "--output-format", "json", folder=tmp_path).json
        assert [(one["filename"], one["chips"]) for one in found] == [
            (str(Path("other/kernel.py")), ["v5e"]),
            (str(Path("other/inner/kernel.py")), ["v5e"]),
        ]

    def test_flags_win_over_the_environment_and_that_over_the_project(self, tmp_path: Path) -> None:
        write(tmp_path, "pyproject.toml", '[tool.pallas-lens]\ntargets = ["v4"]\n')
        write(tmp_path, "kernel.py", UNALIGNED)

        def chips(*flags: str, **variables: str) -> list[str]:
            (finding,) = pallas_lens("check", "--output-format", "json", *flags, folder=tmp_path, **variables).json
            targets: list[str] = finding["chips"]
            return targets

        assert chips() == ["v4"]
        assert chips(PALLAS_LENS_TARGETS="v5p, v6e") == ["v5p", "v6e"]
        assert chips("--target", "v7x", PALLAS_LENS_TARGETS="v5p,v6e") == ["v7x"]

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("[tool.pallas-lens]\ntargets = ['v9']\n", "must be some of v4, v5e, v5p, v6e, v7x"),
            ("[tool.pallas-lens]\ntarget = ['v4']\n", "has no setting `target`"),
            ("[tool.pallas-lens]\nignore = 'PAL101'\n", "must be a list of texts"),
            ("[tool.pallas-lens]\nignore = ['PAL777']\n", "There is no rule `PAL777`"),
            ("[tool.pallas-lens\n", "not valid TOML"),
            ("[tool.pallas-lens]\nserver-interpreter = 'python'\n", "has no setting `server-interpreter`"),
            ("[tool.pallas-lens]\nrun-timeout = 0\n", "must be a number from 1 up"),
        ],
    )
    def test_bad_settings_end_with_2(self, text: str, said: str, tmp_path: Path) -> None:
        write(tmp_path, "pyproject.toml", text)
        write(tmp_path, "kernel.py", UNALIGNED)
        ended = pallas_lens("check", folder=tmp_path)
        assert ended.code == 2
        assert said in ended.err
        assert ended.out == ""

    def test_the_users_jax_decides_what_is_said(self, tmp_path: Path) -> None:
        text = "from jax.experimental.pallas import tpu as pltpu\n\nparams = pltpu.TPUCompilerParams()\n"
        write(tmp_path, "kernel.py", text)
        site = tmp_path / ".venv" / "lib" / "python3.12" / "site-packages"
        site.mkdir(parents=True)
        (tmp_path / ".venv" / "pyvenv.cfg").write_text("home = /nowhere\n")
        python = tmp_path / ".venv" / "bin" / "python"
        python.parent.mkdir()
        python.write_text("#!/bin/false: nothing of the user's environment is run\n")

        def codes(version: str) -> list[tuple[str, str]]:
            (site / f"jax-{version}.dist-info").mkdir()
            found = pallas_lens("check", "--output-format", "json", folder=tmp_path, PALLAS_LENS_JAX_VERSION="").json
            (site / f"jax-{version}.dist-info").rmdir()
            return [(one["code"], one["severity"]) for one in found]

        assert codes("0.4.35") == []
        (found,) = codes("0.12.0.1")
        assert found[0].startswith("PAL9")
        assert found[1] == "error"


def test_a_caller_in_another_file_shows_what_is_wrong(tmp_path: Path) -> None:
    kernel = UNALIGNED.replace("100", "rows").replace("def call(x)", "def call(x, rows)")
    assert "def call(x, rows)" in kernel
    write(tmp_path, "ops/kernel.py", kernel)
    test = "import jax.numpy as jnp\nfrom kernel import call\n\n\ndef test_it():\n    call(jnp.ones((512, 256)), 100)\n"
    write(tmp_path, "ops/kernel_test.py", test)
    (finding,) = pallas_lens("check", "ops", "--output-format", "json", folder=tmp_path).json
    assert (finding["code"], finding["specialisation"]) == ("PAL102", "call kernel_test.test_it")
    assert finding["filename"] == str(Path("ops", "kernel.py"))
