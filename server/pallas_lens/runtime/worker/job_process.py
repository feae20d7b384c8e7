"""The process that runs a job: its limits, where its output goes, and the end of it."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import sys
from collections.abc import Callable

from ..protocol import Job, Message, encode


def run_in_this_process(job: Job, targets: tuple[str, ...], results: int, dump: int | None) -> None:
    """Run the job and write its messages to the descriptor `results`; never returns.

    `dump` is where Python writes its stack when the process crashes or is asked for it by SIGUSR1.
    """
    _limit_memory(job.memory_limit_bytes)
    if dump is not None:
        faulthandler.enable(file=dump)
        if hasattr(signal, "SIGUSR1"):
            faulthandler.register(signal.SIGUSR1, file=dump, all_threads=True)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(line_buffering=True, errors="replace")  # type: ignore[union-attr]
    sys.argv = [job.path]
    with contextlib.suppress(OSError):
        os.chdir(job.working_directory or os.path.dirname(os.path.abspath(job.path)))

    def send(message: Message) -> None:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        _write_all(results, encode(message))

    status = 1
    try:
        from .run_job import run_job

        run_job(job, targets, send)
        status = 0
    finally:
        # Threads, exit handlers and finalisers of the user's code must not keep the process alive.
        os._exit(status)


def redirect_standard_streams(output: int, close: Callable[[], None]) -> None:
    """Nothing to read on standard input; standard output and error go to the descriptor `output`."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(nothing)
    close()


def _limit_memory(limit: int) -> None:
    try:
        import resource
    except ImportError:
        return
    for kind, value in ((resource.RLIMIT_DATA, limit), (resource.RLIMIT_CORE, 0)):
        with contextlib.suppress(ValueError, OSError):
            _, hard = resource.getrlimit(kind)
            allowed = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(kind, (allowed, allowed))


def _write_all(descriptor: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]
