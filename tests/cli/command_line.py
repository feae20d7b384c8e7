"""Runs the command line as users do: a process of its own, in a folder of its own, with a known JAX version."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SERVER = Path(__file__).parents[2] / "server"


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


def pallas_lens(*arguments: str, folder: Path, **variables: str) -> Ended:
    """``pallas-lens ARGUMENTS`` in ``folder``; nothing of this machine's environment gets in."""
    kept = {name: os.environ[name] for name in ("SYSTEMROOT", "TEMP", "TMP") if name in os.environ}
    environment = {
        **kept,
        "PATH": "",
        "HOME": str(folder),
        "PYTHONPATH": str(SERVER),
        "PYTHONUTF8": "1",
        "PALLAS_LENS_JAX_VERSION": "0.12.0.1",
        "PALLAS_LENS_RAISE": "1",
        **variables,
    }
    process = subprocess.run(
        [sys.executable, "-m", "pallas_lens", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        timeout=120,
    )
    return Ended(process.returncode, process.stdout.decode(), process.stderr.decode())
