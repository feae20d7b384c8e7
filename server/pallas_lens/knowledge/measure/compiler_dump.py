"""Asks libtpu to write what it makes of kernels at one of its passes.

Import this before anything imports jax, and ask before anything is compiled: libtpu
reads its environment once a process.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path


def dump_folder(label: str) -> Path:
    """An empty folder that libtpu will write its passes named like ``label`` (a regex) to, deleted at exit."""
    folder = Path(tempfile.mkdtemp(prefix="pallas_lens_measure_"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ["LIBTPU_INIT_ARGS"] = " ".join(
        (
            os.environ.get("LIBTPU_INIT_ARGS", ""),
            f"--xla_jf_dump_to={folder}",
            "--xla_jf_dump_llo_text=true",
            f"--xla_jf_dump_llo_pass_label_regex={label}",
        )
    ).strip()
    return folder
