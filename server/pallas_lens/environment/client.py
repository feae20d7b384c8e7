"""Starts the process that reads the environment, asks it, and ends it."""

from __future__ import annotations

import atexit
import contextlib
import logging
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Final

from .protocol import Answer, Ask, Question, decode_answer, encode

_log = logging.getLogger(__name__)

_MOST_FAILURES: Final = 3
"""So often in a row the process may crash or fall silent before it is given up."""
_CLOSE_SECONDS: Final = 2.0
_PACKAGE_FOLDER: Final = Path(__file__).parents[2]


class EnvironmentProcess:
    """One process for the packages in ``folders``: started when first asked, started anew when it has ended.

    Thread-safe; questions are asked one at a time.
    """

    def __init__(self, folders: tuple[Path, ...], command: tuple[str, ...] = ()) -> None:
        self._command = command or _command(folders)
        self._cache: Path | None = None
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._answers: queue.SimpleQueue[Answer | None] = queue.SimpleQueue()
        self._asked = 0
        self._failures = 0
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The process, None while there is none."""
        process = self._process
        return process.pid if process is not None and process.poll() is None else None

    def ask(self, question: Question, name: str, seconds: float) -> Answer:
        """The answer; one with a reason where none came within ``seconds``."""
        deadline = time.monotonic() + seconds
        if not self._lock.acquire(timeout=seconds):
            return Answer(0, why="another question about the environment is being answered")
        try:
            if self._closed or self._failures >= _MOST_FAILURES:
                return Answer(0, why="the environment cannot be read")
            answer = self._ask(Ask(self._asked, question, name), deadline)
            if answer is None and not self._closed and time.monotonic() < deadline:
                # The process ended instead, as it does when it has grown large.
                self._stop()
                answer = self._ask(Ask(self._asked, question, name), deadline)
            if answer is None:
                self._failures += 1
                self._stop()
                return Answer(0, why=f"what reads the environment gave no answer about `{name}`")
            self._failures = 0
            return answer
        finally:
            self._lock.release()

    def close(self) -> None:
        """End the process, also while a question waits for its answer."""
        self._closed = True
        process = self._process
        if process is not None:
            with contextlib.suppress(OSError):
                process.kill()
        with self._lock:
            self._stop()

    def _ask(self, ask: Ask, deadline: float) -> Answer | None:
        self._asked += 1
        ask = replace(ask, id=self._asked)
        if self.pid is None:
            self._start()
        process = self._process
        if process is None or process.stdin is None:
            return None
        try:
            process.stdin.write(encode(ask))
            process.stdin.flush()
            while True:
                answer = self._answers.get(timeout=max(0.0, deadline - time.monotonic()))
                if answer is None or answer.id == ask.id:
                    return answer
        except (OSError, ValueError, queue.Empty):
            return None

    def _start(self) -> None:
        self._stop()
        if self._closed:
            return
        self._answers = queue.SimpleQueue()
        try:
            self._cache = Path(tempfile.mkdtemp(prefix="pallas-lens-"))
            self._process = subprocess.Popen(
                (*self._command, str(self._cache)),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError as error:
            _log.warning("The process that reads the environment cannot be started: %s", error)
            self._remove_cache()
            return
        atexit.register(self.close)
        assert self._process.stdout is not None
        threading.Thread(
            target=_read, args=(self._process.stdout, self._answers), name="environment answers", daemon=True
        ).start()

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(OSError, ValueError):
            if process.stdin is not None:
                process.stdin.close()
        with contextlib.suppress(OSError):
            process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_CLOSE_SECONDS)
        self._remove_cache()
        atexit.unregister(self.close)

    def _remove_cache(self) -> None:
        cache, self._cache = self._cache, None
        if cache is not None:
            shutil.rmtree(cache, ignore_errors=True)


def _command(folders: tuple[Path, ...]) -> tuple[str, ...]:
    """The process under our own Python, isolated: no file of the folder it starts in takes a module's place."""
    jedi = find_spec("jedi")
    ours = [str(_PACKAGE_FOLDER)]
    if jedi is not None and jedi.origin is not None:
        ours.append(str(Path(jedi.origin).parents[1]))
    program = (
        f"import runpy, sys; sys.path[:0] = {ours!r}; "
        f"runpy.run_module({f'{__package__}.process'!r}, run_name='__main__', alter_sys=True)"
    )
    return (sys.executable, "-I", "-c", program, *map(str, folders))


def _read(stream: IO[bytes], answers: queue.SimpleQueue[Answer | None]) -> None:
    with stream, contextlib.suppress(OSError, ValueError):
        for line in stream:
            answer = decode_answer(line)
            if answer is not None:
                answers.put(answer)
    answers.put(None)
