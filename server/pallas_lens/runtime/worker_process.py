"""A worker process under the user's interpreter: starting it, its messages, ending it."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from .protocol import PROTOCOL_VERSION, Cancel, Job, Log, Message, ProtocolError, Ready, Unavailable, decode, encode
from .unavailable import InterpreterUnusable, lacks

_WORKER = Path(__file__).parent / "worker" / "__main__.py"
_START_SECONDS = 120.0
_CLOSE_SECONDS = 3.0
_POLL_SECONDS = 0.05
_LONGEST_LOG = 512 * 1024


class WorkerProcess:
    """A started worker. Its messages are sorted to the queue of their job by a thread that only reads.

    `way` is `serve` for a worker that stays and forks, `once` for one that ends with its first job. Raises
    RuntimeUnavailable, also when `is_unwanted` says so before the worker is ready.
    """

    def __init__(
        self,
        interpreter: Path,
        way: str,
        environment: Mapping[str, str],
        working_directory: Path | None,
        is_unwanted: Callable[[], bool],
    ) -> None:
        self._interpreter = interpreter
        self._queues: dict[str, queue.SimpleQueue[Message | None]] = {}
        self._lock = threading.Lock()
        self._first: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._errors: list[str] = []
        self.forks = way == "serve"
        self.ended = False
        try:
            self._process = subprocess.Popen(
                [str(interpreter), "-u", str(_WORKER), way],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=dict(environment),
                cwd=working_directory,
                start_new_session=os.name == "posix",
            )
        except OSError as error:
            raise InterpreterUnusable(
                f"{interpreter} cannot be started: {error.strerror or error}.", "Choose another Python interpreter."
            ) from None
        threading.Thread(target=self._read_messages, name="pallas-lens-worker", daemon=True).start()
        self._error_reader = threading.Thread(target=self._read_errors, name="pallas-lens-worker-log", daemon=True)
        self._error_reader.start()
        try:
            self.facts = self._wait_for_facts(is_unwanted)
        except BaseException:
            self.close()
            raise

    def _wait_for_facts(self, is_unwanted: Callable[[], bool]) -> Ready:
        deadline = time.monotonic() + _START_SECONDS
        first: Message | None = None
        while True:
            with contextlib.suppress(queue.Empty):
                first = self._first.get(timeout=_POLL_SECONDS)
                break
            if is_unwanted():
                raise InterpreterUnusable("The runtime is closed.", "Start it again.")
            if time.monotonic() > deadline:
                raise InterpreterUnusable(
                    f"{self._interpreter} has not imported JAX after {_START_SECONDS:g} seconds.", "Try again."
                )
        if isinstance(first, Ready) and first.protocol == PROTOCOL_VERSION:
            return first
        if isinstance(first, Unavailable):
            raise lacks(self._interpreter, first)
        self._error_reader.join(_CLOSE_SECONDS)
        last = "".join(self._errors).strip().splitlines()[-1:]
        said = f" It said: {last[0]}" if last else ""
        raise InterpreterUnusable(
            f"{self._interpreter} is not a Python interpreter that can run the worker.{said}",
            "Choose another Python interpreter.",
        )

    def open(self, job: Job) -> queue.SimpleQueue[Message | None]:
        """Send the job; its messages come through the queue, None when the worker is gone."""
        messages: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        with self._lock:
            self._queues[job.id] = messages
            if self.ended:
                messages.put(None)
        self.send(job)
        return messages

    def forget(self, job: Job) -> None:
        """The job is over: later messages about it go nowhere."""
        with self._lock:
            self._queues.pop(job.id, None)

    def send(self, message: Message) -> None:
        """Send a message; that the worker is gone shows in the queues."""
        stream = self._process.stdin
        assert stream is not None
        with self._lock, contextlib.suppress(OSError, ValueError):
            stream.write(encode(message))
            stream.flush()

    def cancel(self, job: Job) -> None:
        """Stop the job: by a message where the worker can take one, else by ending the worker."""
        if self.forks:
            self.send(Cancel(job.id))
        else:
            self.kill()

    def close(self) -> None:
        """Ask the worker to end, which ends its jobs, and kill it when it does not."""
        with contextlib.suppress(OSError, ValueError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        try:
            if not self.forks:
                self.kill()
            self._process.wait(_CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_CLOSE_SECONDS)

    def kill(self) -> None:
        """Kill the worker and every process of its group."""
        if sys.platform == "win32":
            command = ["taskkill", "/F", "/T", "/PID", str(self._process.pid)]
            subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
            self._process.kill()
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _read_messages(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        is_first = True
        with stream, contextlib.suppress(OSError, ValueError):
            for line in stream:
                try:
                    message: Message | None = decode(line)
                except ProtocolError:
                    message = None
                if is_first:
                    is_first = False
                    self._first.put(message)
                elif message is not None:
                    self._deliver(message)
        with self._lock:
            self.ended = True
            self._first.put(None)
            for messages in self._queues.values():
                messages.put(None)

    def _deliver(self, message: Message) -> None:
        job_id = getattr(message, "job_id", None)
        with self._lock:
            messages = self._queues.get(str(job_id))
        if messages is not None:
            messages.put(message)

    def _read_errors(self) -> None:
        stream = self._process.stderr
        assert stream is not None
        length = 0
        with stream, contextlib.suppress(OSError, ValueError):
            while content := os.read(stream.fileno(), 65536):
                text = content.decode(errors="replace")
                if not self.forks:
                    with self._lock:
                        queues = list(self._queues.items())
                    for job_id, messages in queues:
                        messages.put(Log(job_id, text))
                if length < _LONGEST_LOG:
                    length += len(text)
                    self._errors.append(text)


def worker_environment(environment: Mapping[str, str] | None, tpu_library_path: Path | None) -> dict[str, str]:
    """The user's variables, without those that are about this process's own Python, and what the worker needs."""
    variables = dict(os.environ if environment is None else environment)
    variables.pop("PYTHONHOME", None)
    ours = Path(__file__).parents[2]
    entries = [entry for entry in variables.pop("PYTHONPATH", "").split(os.pathsep) if entry]
    kept = [entry for entry in entries if not _is_our_folder(Path(entry), ours)]
    if kept:
        variables["PYTHONPATH"] = os.pathsep.join(kept)
    variables["JAX_PLATFORMS"] = "cpu"
    # Without all frames, a traceback does not lead to JAX's record of the user's line.
    variables["JAX_TRACEBACK_FILTERING"] = "off"
    # A thread of OpenBLAS in the worker would make it unsafe to fork.
    variables["OPENBLAS_NUM_THREADS"] = "1"
    # libtpu would look for a TPU and its neighbours, and allow one process only.
    variables["ALLOW_MULTIPLE_LIBTPU_LOAD"] = "1"
    variables["TPU_SKIP_MDS_QUERY"] = "1"
    variables.setdefault("TPU_WORKER_HOSTNAMES", "localhost")
    variables.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    variables["PYTHONIOENCODING"] = "utf-8"
    if tpu_library_path is not None:
        variables["TPU_LIBRARY_PATH"] = str(tpu_library_path)
    return variables


def _is_our_folder(entry: Path, ours: Path) -> bool:
    # The packages bundled with the server would hide the user's.
    try:
        return entry.resolve() == ours.resolve() or (entry / "pygls").is_dir()
    except OSError:
        return False
