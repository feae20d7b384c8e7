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

import itertools
import os
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Self

from .follow_job import FollowedJob, OnEvent
from .protocol import Job, Ready, Result
from .unavailable import EnvironmentLacks, InterpreterUnusable, RuntimeUnavailable, lacks_libtpu
from .worker_process import WorkerProcess, worker_environment

__all__ = ["EnvironmentLacks", "InterpreterUnusable", "OnEvent", "RuntimeClient", "RuntimeUnavailable"]

_POLL_SECONDS = 0.05


class RuntimeClient:
    """The worker of one interpreter. Thread-safe; a context manager which closes it.

    `environment` is what the worker's environment variables are made from (this process's own by default),
    `tpu_library_path` a libtpu.so outside the user's environment, `parallel_jobs` how many jobs run at once.
    `forks` says whether one worker stays and forks a child for each job, as it does on Linux; else every job, and
    every target of it, starts a process of its own.
    """

    def __init__(
        self,
        interpreter: Path,
        *,
        environment: Mapping[str, str] | None = None,
        working_directory: Path | None = None,
        tpu_library_path: Path | None = None,
        parallel_jobs: int | None = None,
        forks: bool | None = None,
    ) -> None:
        self.interpreter = interpreter
        self.parallel_jobs = parallel_jobs or os.cpu_count() or 1
        self._environment = worker_environment(environment, tpu_library_path)
        self._working_directory = working_directory
        self._slots = threading.Semaphore(self.parallel_jobs)
        self._lock = threading.Lock()
        self._worker: WorkerProcess | None = None
        self._once: set[WorkerProcess] = set()
        self._closed = False
        self._forks = sys.platform.startswith("linux") if forks is None else forks
        self._numbers = itertools.count(1)

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
        followed = FollowedJob(job, f"{job.id}#{next(self._numbers)}", on_event, cancel)
        while not self._slots.acquire(timeout=_POLL_SECONDS):
            if followed.cancelled:
                break
        else:
            try:
                facts = self._follow(followed)
            finally:
                self._slots.release()
            return _result(followed, facts)
        return _result(followed, None)

    def _follow(self, followed: FollowedJob) -> Ready:
        """Run the job: all targets in the worker that stays, or each in one of its own."""
        job = followed.job
        facts: Ready | None = None
        for targets in [job.targets] if self._forks else [(target,) for target in job.targets]:
            if facts is not None and followed.cancelled:
                break
            worker = self._obtain()
            facts = worker.facts
            try:
                if job.mode == "compile" and facts.libtpu is None:
                    raise lacks_libtpu(self.interpreter)
                followed.follow(worker, targets)
            finally:
                if not self._forks or worker.ended:
                    self._release(worker)
        return facts or self.facts()

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
        # Said before the lock is had, for a worker that is being started holds it.
        self._closed = True
        with self._lock:
            workers = [*self._once, *([self._worker] if self._worker else [])]
            self._worker = None
            self._once.clear()
        for worker in workers:
            worker.close()

    def _obtain(self) -> WorkerProcess:
        with self._lock:
            if self._closed:
                raise InterpreterUnusable("The runtime is closed.", "Start it again.")
            if self._worker is not None and not self._worker.ended:
                return self._worker
            if self._worker is not None:
                self._worker.close()
                self._worker = None
            worker = WorkerProcess(
                self.interpreter,
                "serve" if self._forks else "once",
                self._environment,
                self._working_directory,
                is_unwanted=lambda: self._closed,
            )
            if self._forks:
                self._worker = worker
            else:
                self._once.add(worker)
            return worker

    def _release(self, worker: WorkerProcess) -> None:
        with self._lock:
            self._once.discard(worker)
            if self._worker is worker:
                self._worker = None
        worker.close()


def _result(followed: FollowedJob, facts: Ready | None) -> Result:
    job = followed.job
    results = tuple(
        followed.results.get(target) or followed.missing(target, "import", followed.cancelled) for target in job.targets
    )
    jax, libtpu = (facts.jax, facts.libtpu) if facts is not None else ("", None)
    return Result(job.mode, job.function, job.arguments, jax, libtpu, results, followed.log)
