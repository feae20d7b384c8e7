"""Runs jobs in the user's interpreter, which has JAX, from a process that has not.

    from pathlib import Path
    from pallas_lens.runtime.client import RuntimeClient
    from pallas_lens.runtime.protocol import Job

    with RuntimeClient(Path("/home/me/.venv/bin/python")) as client:
        job = Job(
            id="1",
            mode="compile",                     # or "lower", "interpret"
            path="/home/me/matmul.py",          # source="…" for text that is not saved
            function="matmul",
            arguments="x=f32[512,512], y=f32[512,512], block=256",
            targets=("v5e", "v6e"),
        )
        result = client.run(job)
        for target in result.results:
            print(target.target, target.verdict, [finding.message for finding in target.findings])

`verdict` is `accepted`, `refused` (JAX or the compiler said no; `stage` says who), `found` (interpret mode found
something) or `failed` (no judgement: the file does not import, the example does not fit, a timeout, a crash).

The worker process starts with the first job and stays; a crash of it is answered by starting another for the next job.
`run` blocks its thread and may be called from several; `run_many` runs jobs side by side. What the environment lacks
is raised as `EnvironmentLacks`, with what to do about it. Nothing here imports JAX.
"""

from __future__ import annotations

import contextlib
import os
import platform
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Self

from .protocol import (
    PROTOCOL_VERSION,
    Cancel,
    Finding,
    Finished,
    Job,
    Log,
    Message,
    Progress,
    ProtocolError,
    Ready,
    Result,
    TargetResult,
    Unavailable,
    decode,
    encode,
)

_WORKER = Path(__file__).parent / "worker" / "__main__.py"
_START_SECONDS = 120.0
_GRACE_SECONDS = 10.0
_CLOSE_SECONDS = 3.0
_POLL_SECONDS = 0.05
_LONGEST_LOG = 512 * 1024

OnEvent = Callable[["Log | Progress | TargetResult"], None]


class RuntimeUnavailable(Exception):
    """The runtime cannot serve. `message` says why, `remedy` what to do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(f"{message} {remedy}")
        self.message = message
        self.remedy = remedy


class EnvironmentLacks(RuntimeUnavailable):
    """The user's interpreter lacks something: `what` is `python`, `jax`, `pallas` or `libtpu`."""

    def __init__(self, what: str, message: str, remedy: str) -> None:
        super().__init__(message, remedy)
        self.what = what


class InterpreterUnusable(RuntimeUnavailable):
    """The interpreter does not start, or does not speak the protocol."""


class RuntimeClient:
    """The worker of one interpreter. Thread-safe; a context manager which closes it.

    `environment` is what the worker's environment variables are made from (this process's own by default),
    `tpu_library_path` a libtpu.so outside the user's environment, `parallel_jobs` how many jobs run at once.
    """

    def __init__(
        self,
        interpreter: Path,
        *,
        environment: Mapping[str, str] | None = None,
        working_directory: Path | None = None,
        tpu_library_path: Path | None = None,
        parallel_jobs: int | None = None,
    ) -> None:
        self.interpreter = interpreter
        self.parallel_jobs = parallel_jobs or os.cpu_count() or 1
        self._environment = _worker_environment(environment, tpu_library_path)
        self._working_directory = working_directory
        self._slots = threading.Semaphore(self.parallel_jobs)
        self._lock = threading.Lock()
        self._worker: _Worker | None = None
        self._once: set[_Worker] = set()
        self._closed = False
        self._forks = sys.platform.startswith("linux")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def facts(self) -> Ready:
        """The versions in the user's interpreter. Starts the worker; raises RuntimeUnavailable."""
        worker = self._obtain()
        if not self._forks:
            self._release(worker)
        return worker.facts

    def run(self, job: Job, on_event: OnEvent | None = None, cancel: threading.Event | None = None) -> Result:
        """Run one job to its end and return what each target said.

        `on_event` is called from this thread with each log text, stage and target result as it comes. Setting `cancel`
        stops the job; its open targets then have a finding of kind `cancelled`. User code can make a result bad, never
        raise here: what is raised is RuntimeUnavailable, for what the environment lacks.
        """
        with self._slots:
            worker = self._obtain()
            try:
                if job.mode == "compile" and worker.facts.libtpu is None:
                    raise _lacks_libtpu(self.interpreter)
                return _follow(worker, job, on_event, cancel)
            finally:
                if not self._forks or worker.ended:
                    self._release(worker)

    def run_many(self, jobs: Iterable[Job], on_result: Callable[[Job, Result], None] | None = None) -> list[Result]:
        """Run jobs side by side, `parallel_jobs` at a time; results in the order of the jobs."""

        def run(job: Job) -> Result:
            result = self.run(job)
            if on_result is not None:
                on_result(job, result)
            return result

        with ThreadPoolExecutor(self.parallel_jobs) as pool:
            return list(pool.map(run, jobs))

    def close(self) -> None:
        """End the worker and everything that runs in it. Jobs in other threads come back as crashed."""
        with self._lock:
            self._closed = True
            workers = [*self._once, *([self._worker] if self._worker else [])]
            self._worker = None
            self._once.clear()
        for worker in workers:
            worker.close()

    def _obtain(self) -> _Worker:
        with self._lock:
            if self._closed:
                raise InterpreterUnusable("The runtime is closed.", "Start it again.")
            if self._worker is not None and not self._worker.ended:
                return self._worker
            if self._worker is not None:
                self._worker.close()
                self._worker = None
            worker = _Worker(
                self.interpreter, "serve" if self._forks else "once", self._environment, self._working_directory
            )
            if self._forks:
                self._worker = worker
            else:
                self._once.add(worker)
            return worker

    def _release(self, worker: _Worker) -> None:
        with self._lock:
            self._once.discard(worker)
            if self._worker is worker:
                self._worker = None
        worker.close()


class _Worker:
    """A started worker process. Messages are sorted to the queue of their job by a thread that only reads."""

    def __init__(
        self, interpreter: Path, way: str, environment: Mapping[str, str], working_directory: Path | None
    ) -> None:
        self._interpreter = interpreter
        self._queues: dict[str, queue.SimpleQueue[Message | None]] = {}
        self._lock = threading.Lock()
        self._first: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._errors: list[str] = []
        self._way = way
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
            self.facts = self._wait_for_facts()
        except BaseException:
            self.close()
            raise

    def _wait_for_facts(self) -> Ready:
        try:
            first = self._first.get(timeout=_START_SECONDS)
        except queue.Empty:
            raise InterpreterUnusable(
                f"{self._interpreter} has not imported JAX after {_START_SECONDS:g} seconds.", "Try again."
            ) from None
        if isinstance(first, Ready) and first.protocol == PROTOCOL_VERSION:
            return first
        if isinstance(first, Unavailable):
            raise _lacks(self._interpreter, first)
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
        if self._way == "serve":
            self.send(Cancel(job.id))
        else:
            self.kill()

    def close(self) -> None:
        """Ask the worker to end, which ends its jobs, and kill it when it does not."""
        with contextlib.suppress(OSError, ValueError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        try:
            if self._way == "once":
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
        with contextlib.suppress(OSError, ValueError):
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
        with contextlib.suppress(OSError, ValueError):
            while content := os.read(stream.fileno(), 65536):
                text = content.decode(errors="replace")
                if self._way == "once":
                    with self._lock:
                        queues = list(self._queues.items())
                    for job_id, messages in queues:
                        messages.put(Log(job_id, text))
                if length < _LONGEST_LOG:
                    length += len(text)
                    self._errors.append(text)


def _follow(worker: _Worker, job: Job, on_event: OnEvent | None, cancel: threading.Event | None) -> Result:
    """Wait for a job's messages, keeping the time as well, in case that the worker itself hangs."""
    messages = worker.open(job)
    results: dict[str, TargetResult] = {}
    log: list[str] = []
    log_length = 0
    stage = "import"
    cancelled = timed_out = False
    deadline = time.monotonic() + job.timeout_seconds + _GRACE_SECONDS
    try:
        while True:
            try:
                message = messages.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                if cancel is not None and cancel.is_set() and not cancelled:
                    cancelled = True
                    deadline = time.monotonic() + _GRACE_SECONDS
                    worker.cancel(job)
                if time.monotonic() > deadline:
                    timed_out = not cancelled
                    worker.kill()
                    deadline += _GRACE_SECONDS
                continue
            if message is None or isinstance(message, Finished):
                break
            if isinstance(message, TargetResult):
                results[message.target] = message
                deadline = time.monotonic() + job.timeout_seconds + _GRACE_SECONDS
            elif isinstance(message, Progress):
                stage = message.stage
            elif isinstance(message, Log):
                if log_length < _LONGEST_LOG:
                    log_length += len(message.text)
                    log.append(message.text)
            else:
                continue
            if on_event is not None:
                on_event(message)
    finally:
        worker.forget(job)
    for target in job.targets:
        if target not in results:
            results[target] = _missing(job, target, stage, cancelled, timed_out)
    facts = worker.facts
    ordered = tuple(results[target] for target in job.targets)
    return Result(job.mode, job.function, job.arguments, facts.jax, facts.libtpu, ordered, "".join(log))


def _missing(job: Job, target: str, stage: str, cancelled: bool, timed_out: bool) -> TargetResult:
    """The result of a target which the worker did not answer for."""
    if cancelled:
        found = Finding("cancelled", "stopped by the user.")
    elif timed_out:
        found = Finding("timeout", f"stopped after {job.timeout_seconds:g} seconds. A longer time limit may help.")
    else:
        found = Finding("crash", "the process which ran it ended without a result; the log may say why.")
    return TargetResult(job.id, target, "failed", stage, findings=(found,))


def _worker_environment(environment: Mapping[str, str] | None, tpu_library_path: Path | None) -> dict[str, str]:
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


def _lacks(interpreter: Path, unavailable: Unavailable) -> EnvironmentLacks:
    install = f"Install it with `{interpreter} -m pip install -U jax`, or choose another Python interpreter."
    if unavailable.lacks == "python":
        message = f"{interpreter} is Python {unavailable.found}, which has no JAX that is recent enough."
        return EnvironmentLacks("python", message, "Choose an interpreter of Python 3.10 or later.")
    if unavailable.lacks == "jax" and unavailable.found is None:
        return EnvironmentLacks("jax", f"{interpreter} has no JAX: {unavailable.detail}.", install)
    if unavailable.lacks == "jax":
        message = f"{interpreter} has JAX {unavailable.found}; running kernels needs 0.7 or later."
        return EnvironmentLacks("jax", message, install)
    message = f"The JAX {unavailable.found} of {interpreter} has no Pallas for TPU: {unavailable.detail}."
    return EnvironmentLacks("pallas", message, install)


def _lacks_libtpu(interpreter: Path) -> EnvironmentLacks:
    if sys.platform.startswith("linux") and platform.machine() == "x86_64":
        remedy = f"Install it with `{interpreter} -m pip install libtpu`; it needs no TPU."
        return EnvironmentLacks("libtpu", f"{interpreter} has no libtpu, which holds the TPU compiler.", remedy)
    return EnvironmentLacks(
        "libtpu",
        "The TPU compiler, libtpu, exists for Linux on x86-64 only.",
        "Use mode `lower`, which needs no libtpu, or open the folder on such a machine (Remote - SSH).",
    )
