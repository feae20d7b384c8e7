"""Imports JAX, tells the client what it is talking to, and takes jobs in the way this system allows."""

from __future__ import annotations

import importlib
import os
import pkgutil

from ..protocol import Job, Ready, decode, encode
from .environment import import_jax


def start(way: str, source: int, sink: int) -> None:
    """`serve`: fork a child for each job, until the client goes. `once`: run one job in this process, and end."""
    facts = import_jax(parallel=way == "serve")
    os.write(sink, encode(facts))
    if not isinstance(facts, Ready):
        return
    if way == "serve":
        _import_worker()
        from .forking_supervisor import ForkingSupervisor

        ForkingSupervisor(source, sink).serve()
        return
    from .job_process import run_in_this_process

    line = b""
    while not line.endswith(b"\n"):
        content = os.read(source, 65536)
        if not content:
            return
        line += content
    job = decode(line)
    if isinstance(job, Job):
        os.close(source)
        run_in_this_process(job, job.targets, sink, dump=2)


def _import_worker() -> None:
    """Import every module of the worker now: a job would import it again each time."""
    package = importlib.import_module(__package__ or "")
    for module in pkgutil.iter_modules(package.__path__):
        if module.name != "__main__":
            importlib.import_module(f"{package.__name__}.{module.name}")
