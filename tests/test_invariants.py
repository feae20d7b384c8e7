"""The house keeps its shape: who imports whom, and what never gets into a process."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "server" / "pallas_lens"

ALLOWED_ROOMS = {
    "model": {"model"},
    "knowledge": {"knowledge", "model"},
    "source": {"source", "model"},
    "evaluate": {"evaluate", "source", "model", "knowledge"},
    "rules": {"rules", "model", "knowledge"},
    "runtime": {"runtime"},
    "runtime/worker": {"runtime.worker", "runtime.protocol"},
    "features": {"features", "evaluate", "source", "model", "knowledge", "rules", "runtime", "config"},
    "environment": {"environment", "evaluate.packages", "user_environment"},
    "environment/process": {"environment.process", "environment.package_files", "environment.protocol", "source"},
}

LSP_MODULES = {"server.py", "lsp_convert.py"}


def modules() -> list[Path]:
    # What people run by hand to measure facts is no part of any process of ours.
    found = [path for path in PACKAGE.rglob("*.py") if "measure" not in path.relative_to(PACKAGE).parts]
    assert len(found) > 30
    return sorted(found)


def imports_of(path: Path) -> Iterator[str]:
    """Absolute names of all modules and names that ``path`` imports, wherever the import stands."""
    package = ("pallas_lens", *path.relative_to(PACKAGE).with_suffix("").parts)[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join((*above, *([node.module] if node.module else [])))
            yield from (f"{base}.{alias.name}" for alias in node.names)


def room_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).parts[:-1]
    return "/".join(parts[:2]) if "/".join(parts[:2]) in ALLOWED_ROOMS else (parts[0] if parts else "")


def lies_in(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_arrows_point_one_way(path: Path) -> None:
    allowed = ALLOWED_ROOMS.get(room_of(path))
    if allowed is None:
        return
    for name in imports_of(path):
        if lies_in(name, "pallas_lens"):
            inner = name.removeprefix("pallas_lens").removeprefix(".")
            assert not inner or inner == "__version__" or any(lies_in(inner, room) for room in allowed), (
                f"{path.relative_to(PACKAGE)} must not import {name}"
            )


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_third_parties_stay_where_they_belong(path: Path) -> None:
    where = path.relative_to(PACKAGE).as_posix()
    for name in imports_of(path):
        top = name.partition(".")[0]
        if top in {"pygls", "lsprotocol"}:
            assert where in LSP_MODULES, f"{where} must not import {name}: only {LSP_MODULES} know LSP"
        elif top in {"jax", "jaxlib", "numpy", "libtpu", "ml_dtypes"}:
            assert where.startswith("runtime/worker/"), f"{where} must not import {name}: it runs in the server"
        elif top == "jedi":
            assert where.startswith("environment/process/"), f"{where} must not import jedi: the server would grow"
        else:
            # numpy comes with jax; everything else is the standard library, which 3.10 may lack parts of.
            assert top in sys.stdlib_module_names or top == "pallas_lens", f"{where} imports {name}"


@pytest.mark.parametrize("path", sorted((PACKAGE / "evaluate").rglob("*.py")), ids=lambda path: path.stem)
def test_the_evaluator_imports_nothing_while_it_runs(path: Path) -> None:
    """Such an import is asked for again at every call; files that need one another import each other as modules."""
    functions = [
        node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.FunctionDef)
    ]
    found = [
        node.lineno for one in functions for node in ast.walk(one) if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert found == []


_IMPORT_EACH_FIRST = """
import importlib, sys
for name in sys.argv[1:]:
    for loaded in [one for one in sys.modules if one.startswith("pallas_lens")]:
        del sys.modules[loaded]
    importlib.import_module(name)
"""


def test_any_part_of_the_evaluator_can_be_imported_first() -> None:
    files = sorted((PACKAGE / "evaluate").rglob("*.py"))
    names = [".".join(("pallas_lens", *path.relative_to(PACKAGE).with_suffix("").parts)) for path in files]
    subprocess.run([sys.executable, "-c", _IMPORT_EACH_FIRST, *names], check=True)


def test_worker_runs_on_python_3_10() -> None:
    """The user's interpreter may be older than the server's; its parser decides, as far as ``ast`` can say."""
    paths = [*(PACKAGE / "runtime" / "worker").rglob("*.py"), PACKAGE / "runtime" / "protocol.py"]
    assert len(paths) > 3
    for path in (*paths, PACKAGE / "__init__.py", PACKAGE / "runtime" / "__init__.py"):
        ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 10))
        names = set(imports_of(path))
        missing = {"tomllib", "enum.StrEnum", "typing.Self", "typing.assert_never", "datetime.UTC"} & names
        assert not missing, f"{path.name} imports {missing}, which Python 3.10 lacks"


def imported_by(arguments: list[str], folder: Path, text: bytes = b"") -> set[str]:
    """The modules that ``python -m pallas_lens ARGUMENTS`` imports, by Python's own log of imports."""
    process = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "pallas_lens", *arguments],
        input=text,
        capture_output=True,
        cwd=folder,
        env={"PYTHONPATH": str(PACKAGE.parent), "PATH": ""},
        timeout=60,
    )
    found = set(re.findall(r"^import time:.*\|\s*(\S+)$", process.stderr.decode(), re.MULTILINE))
    assert "pallas_lens.cli" in found, process.stderr.decode()
    return found


KERNEL = """\
import jax
from jax.experimental import pallas as pl
import jax.numpy as jnp


def add(x_ref, o_ref):
    o_ref[...] = x_ref[...] + 1


def run(x):
    return pl.pallas_call(
        add,
        out_shape=jax.ShapeDtypeStruct((1024, 1024), jnp.float32),
        grid=(8,),
        in_specs=[pl.BlockSpec((100, 128), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((128, 1024), lambda i: (i, 0)),
    )(x)
"""


def tops(names: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in names}


@pytest.mark.parametrize("command", [["check"], ["check", "--output-format", "json"], ["kernels"], ["rules"]])
def test_command_line_imports_no_server(command: list[str], tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(KERNEL)
    found = imported_by(command, tmp_path)
    assert not tops(found) & {"pygls", "lsprotocol", "cattrs", "jedi", "parso", "jax", "numpy", "asyncio"}


def test_server_imports_nothing_of_the_users(tmp_path: Path) -> None:
    def message(body: str) -> bytes:
        return f"Content-Length: {len(body)}\r\n\r\n{body}".encode()

    import json

    opened = {
        "jsonrpc": "2.0",
        "method": "textDocument/didOpen",
        "params": {
            "textDocument": {
                "uri": (tmp_path / "kernel.py").as_uri(),
                "languageId": "python",
                "version": 1,
                "text": KERNEL,
            }
        },
    }
    text = (
        message(
            '{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"processId": null, "rootUri": null, '
            '"capabilities": {}}}'
        )
        + message('{"jsonrpc": "2.0", "method": "initialized", "params": {}}')
        + message(json.dumps(opened))
        + message(
            '{"jsonrpc": "2.0", "id": 2, "method": "textDocument/hover", "params": {"textDocument": {"uri": "'
            + (tmp_path / "kernel.py").as_uri()
            + '"}, "position": {"line": 11, "character": 16}}}'
        )
        + message('{"jsonrpc": "2.0", "id": 3, "method": "shutdown"}')
        + message('{"jsonrpc": "2.0", "method": "exit"}')
    )
    found = imported_by(["server"], tmp_path, text)
    assert "pygls" in found
    assert "pallas_lens.evaluate.analyzer" in found
    assert not tops(found) & {"jax", "jaxlib", "numpy", "jedi", "parso"}
