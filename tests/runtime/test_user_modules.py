"""The user's file is imported as the user's own program would: siblings, packages, text that is not saved."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pallas_lens.runtime.client import RuntimeClient
from pallas_lens.runtime.protocol import MAIN, Job, TargetResult

_CALL = "\n\ndef call(x):\n    return x * FACTOR\n"


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def job(path: Path, source: str | None = None) -> Job:
    return Job(id="1", mode="lower", path=str(path), function="call", source=source, arguments="x=f32[8]")


def run(client: RuntimeClient, work: Job) -> TargetResult:
    (result,) = client.run(work).results
    return result


@pytest.mark.parametrize(
    ("files", "name"),
    [
        ({"kernel.py": "FACTOR = 2" + _CALL}, "kernel.py"),
        ({"kernel.py": "from sibling import FACTOR" + _CALL, "sibling.py": "FACTOR = 2\n"}, "kernel.py"),
        (
            {
                "outer/__init__.py": "",
                "outer/inner/__init__.py": "",
                "outer/inner/kernel.py": "from ..sizes import FACTOR" + _CALL,
                "outer/sizes.py": "FACTOR = 2\n",
            },
            "outer/inner/kernel.py",
        ),
        (
            {"package/__init__.py": "from .sizes import FACTOR" + _CALL, "package/sizes.py": "FACTOR = 2\n"},
            "package/__init__.py",
        ),
        ({"jax.py": "import jax.numpy\nFACTOR = jax.numpy.float32(2)" + _CALL}, "jax.py"),
        ({"types.py": "import dataclasses\nFACTOR = 2" + _CALL}, "types.py"),
        ({"a kernel-file.py": "FACTOR = 2" + _CALL}, "a kernel-file.py"),
        ({"kernel.py": "# -*- coding: latin-1 -*-\nFACTOR = len('ä')" + _CALL}, "kernel.py"),
        ({"arguments.py": "FACTOR = 2" + _CALL, "kernel.py": "from arguments import FACTOR" + _CALL}, "kernel.py"),
    ],
)
def test_imports(client: RuntimeClient, tmp_path: Path, files: dict[str, str], name: str) -> None:
    write(tmp_path, files)
    result = run(client, job(tmp_path / name))
    assert result.verdict == "accepted", result


def test_import_roots(client: RuntimeClient, tmp_path: Path) -> None:
    kernel = "from library.sizes import FACTOR" + _CALL
    write(tmp_path, {"library/sizes.py": "FACTOR = 2\n", "kernels/kernel.py": kernel})
    without = run(client, job(tmp_path / "kernels" / "kernel.py"))
    assert (without.verdict, without.stage) == ("failed", "import")
    assert (without.findings[0].row, without.findings[0].exception) == (1, "builtins.ModuleNotFoundError")
    result = run(client, replace(job(tmp_path / "kernels" / "kernel.py"), import_roots=(str(tmp_path),)))
    assert result.verdict == "accepted", result


def test_text_that_is_not_saved(client: RuntimeClient, tmp_path: Path) -> None:
    write(tmp_path, {"kernel.py": "raise SystemExit('this is the saved text')\n"})
    result = run(client, job(tmp_path / "kernel.py", "FACTOR = 2" + _CALL))
    assert result.verdict == "accepted", result
    failing = run(client, job(tmp_path / "kernel.py", "FACTOR = 2\n\ndef call(x):\n    return x @ FACTOR\n"))
    assert (failing.findings[0].row, failing.findings[0].column) == (4, 12)


def test_error_in_a_sibling_is_on_the_line_that_leads_there(client: RuntimeClient, tmp_path: Path) -> None:
    files = {"kernel.py": "import sibling\n\ndef call(x):\n    return sibling.scale(x)\n"}
    write(tmp_path, {**files, "sibling.py": "def scale(x):\n    return x / None\n"})
    (finding,) = run(client, job(tmp_path / "kernel.py")).findings
    assert (finding.row, finding.column) == (4, 12)


def test_no_such_file(client: RuntimeClient, tmp_path: Path) -> None:
    result = run(client, job(tmp_path / "kernel.py"))
    assert (result.verdict, result.stage) == ("failed", "import")
    assert "kernel.py" in result.findings[0].message


def test_the_next_job_sees_the_new_text_of_a_sibling(client: RuntimeClient, tmp_path: Path) -> None:
    write(tmp_path, {"kernel.py": "from sibling import FACTOR" + _CALL, "sibling.py": "FACTOR = 2\n"})
    assert run(client, job(tmp_path / "kernel.py")).verdict == "accepted"
    write(tmp_path, {"sibling.py": "raise ValueError('changed since')\n"})
    (finding,) = run(client, job(tmp_path / "kernel.py")).findings
    assert "changed since" in finding.message and finding.row == 1


_PROGRAM = """
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

def copy_kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...]

def copy(x, step):
    spec = pl.BlockSpec((8, 128), lambda i: (i * step, 0))
    return pl.pallas_call(copy_kernel, grid=(4,), in_specs=[spec], out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
                          out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)

if __name__ == "__main__":
    print(copy(jnp.ones((32, 128)), STEP).sum())
"""


@pytest.mark.parametrize(("step", "verdict"), [("1", "accepted"), ("8", "found")])
def test_program(client: RuntimeClient, tmp_path: Path, step: str, verdict: str) -> None:
    """A file with a main guard runs as a program, its kernels interpreted."""
    write(tmp_path, {"program.py": _PROGRAM.replace("STEP", step)})
    result = client.run(Job(id="1", mode="interpret", path=str(tmp_path / "program.py"), function=MAIN))
    assert result.results[0].verdict == verdict, result
    if verdict == "accepted":
        assert "4096" in result.log
    else:
        assert [(found.kind, found.row) for found in result.results[0].findings] == [("out-of-bounds", 11)]
