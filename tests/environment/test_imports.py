"""What a kernel imports from packages of the environment is read as its own files are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pallas_lens.environment.environments import Environments
from pallas_lens.evaluate.analyzer import Analyzer
from pallas_lens.evaluate.packages import NotRead
from pallas_lens.model.kernel_call import BlockSpec
from pallas_lens.source.document import open_document

from .kernel_of_packages import IMPORTS, PACKAGES, kernel
from .made import environment, write

SERVER = Path(__file__).parents[2] / "server"


@pytest.mark.parametrize("imports", IMPORTS)
def test_the_command_line_reads_packages(imports: str, tmp_path: Path) -> None:
    interpreter = environment(tmp_path, PACKAGES)
    write(tmp_path / "project", {"kernel.py": kernel(IMPORTS[imports])})
    process = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "pallas_lens", "check", ".", "--output-format", "json"],
        capture_output=True,
        cwd=tmp_path / "project",
        env={
            "PYTHONPATH": str(SERVER),
            "PATH": "",
            "PALLAS_LENS_INTERPRETER": str(interpreter),
            "PALLAS_LENS_JAX_VERSION": "0.12.0.1",
            "PALLAS_LENS_RAISE": "1",
        },
        timeout=60,
    )
    assert [one["code"] for one in json.loads(process.stdout)] == ["PAL102"], process.stderr.decode()[-2000:]
    assert b"jedi" not in process.stderr


def blocks(analyzer: Analyzer, path: Path, text: str) -> list[object]:
    """The rows of each block, with the reasons of what is not known."""
    call = analyzer.analyse(open_document(path, text)).sites[0].specialisations[0].worlds[0]
    assert isinstance(call.operands, tuple)
    specs = [operand.spec for operand in call.operands]
    return [spec.block_shape[0].size for spec in specs if isinstance(spec, BlockSpec) and spec.block_shape]


def test_what_is_looked_for_is_unknown_until_then(tmp_path: Path) -> None:
    environments = Environments(waits=False)
    lookup = environments.of(environment(tmp_path, PACKAGES))
    analyzer = Analyzer(packages_of=lambda _: lookup)
    path, text = tmp_path / "kernel.py", kernel(IMPORTS["a module"])
    document = open_document(path, text)
    assert not environments.is_wanted
    assert blocks(analyzer, path, text) != [100, 100]
    assert analyzer.is_current(document)
    environments.look()
    assert not environments.is_wanted
    assert not analyzer.is_current(document)
    assert blocks(analyzer, path, text) == [100, 100]
    assert analyzer.is_current(document)
    environments.close()


def test_the_reason_says_that_it_is_looked_for(tmp_path: Path) -> None:
    lookup = Environments(waits=False).of(environment(tmp_path, PACKAGES))
    text = kernel("from blocks import spec").replace("pl.BlockSpec((ROWS, 1024), lambda i: (i, 0))", "spec")
    call = Analyzer(packages_of=lambda _: lookup).analyse(open_document(tmp_path / "kernel.py", text))
    told = repr(call.sites[0].specialisations[0].worlds[0])
    assert "`spec` comes from `blocks`: it is being looked for in your Python environment" in told


def test_names_that_a_file_does_not_bind_are_asked_of_the_process(tmp_path: Path) -> None:
    newer = "ROWS = 100 $\n"
    packages = {**PACKAGES, "lazy/__init__.py": "from .many import *\n", "lazy/many.py": "from .newer import ROWS\n"}
    lookup = Environments(waits=True, seconds=60).of(environment(tmp_path, {**packages, "lazy/newer.py": newer}))
    found = lookup.definition("lazy", "ROWS")
    assert found == (tmp_path / "env/lib/python3.12/site-packages/lazy/newer.py", "ROWS")
    assert lookup.definition("lazy", "ROWS") is found
    assert lookup.definition("lazy", "OTHER") is None
    assert lookup.definition("nothing", "ROWS") is None
    lookup.close()


def test_a_bound_that_is_hit_is_said(tmp_path: Path) -> None:
    lookup = Environments(waits=True, seconds=0).of(environment(tmp_path, PACKAGES))
    found = lookup.definition("blocks", "NOTHING")
    assert isinstance(found, NotRead)
    assert found.why == "the time for reading the environment is used up"


def test_an_untrusted_workspace_starts_no_process(tmp_path: Path) -> None:
    lookup = Environments(waits=True, ask_process=False).of(environment(tmp_path, PACKAGES))
    assert lookup.module("blocks.sizes") is not None
    assert lookup.definition("blocks", "NOTHING") is None
    assert lookup.documentation("blocks.rows", 60) is None


def test_installed_packages_that_say_nothing_of_kernels_are_not_read(tmp_path: Path) -> None:
    lookup = Environments(waits=True).of(environment(tmp_path, {**PACKAGES, "flax.py": "ROWS = 100\n"}))
    analyzer = Analyzer(packages_of=lambda _: lookup)
    assert blocks(analyzer, tmp_path / "kernel.py", kernel("from flax import ROWS")) != [100, 100]
    assert blocks(analyzer, tmp_path / "kernel.py", kernel("from blocks import ROWS")) == [100, 100]


def test_variables_of_the_users_python_count(tmp_path: Path) -> None:
    write(tmp_path / "added", PACKAGES)
    variables = {"PYTHONPATH": os.pathsep.join([str(tmp_path / "none"), str(tmp_path / "added")])}
    lookup = Environments(waits=True, variables=variables).of(environment(tmp_path, {}))
    assert lookup.module("blocks.sizes") == tmp_path / "added/blocks/sizes.py"


def test_what_asks_does_not_grow(tmp_path: Path) -> None:
    """jedi is in the process that is asked, never in the one that asks."""
    packages = {"newer/__init__.py": "from .inner import made\n", "newer/inner.py": "made = 1 $\n"}
    interpreter = environment(tmp_path, packages)
    program = f"""
import sys
from pathlib import Path
from pallas_lens.environment.environments import Environments
lookup = Environments(waits=True, seconds=60).of(Path({str(interpreter)!r}))
print(lookup.definition("newer", "made"))
lookup.close()
print(sorted({{"jedi", "parso", "jax", "newer"}} & sys.modules.keys()))
"""
    process = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(SERVER), "PATH": ""},
        timeout=60,
    )
    found, modules = process.stdout.splitlines()
    assert "newer/inner.py" in found, process.stderr
    assert modules == "[]"
