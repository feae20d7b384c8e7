"""Follows one job in a worker from its start to its end, and makes one result of what came."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from dataclasses import replace

from .protocol import Finding, Finished, Job, Log, Message, Progress, TargetResult
from .worker_process import WorkerProcess

OnEvent = Callable[["Log | Progress | TargetResult"], None]

_POLL_SECONDS = 0.05
_LONGEST_LOG = 512 * 1024
# A forking worker keeps the time itself, and is given this much more to say what it found.
_GRACE_SECONDS = 10.0


class FollowedJob:
    """A job's results by target, and its log, complete after `follow`.

    `wire_id` tells the job from others that the worker runs at the time.
    """

    def __init__(self, job: Job, wire_id: str, on_event: OnEvent | None, cancel: threading.Event | None) -> None:
        self.job = job
        self.results: dict[str, TargetResult] = {}
        self._sent = replace(job, id=wire_id)
        self._on_event = on_event
        self._cancel = cancel
        self._log: list[str] = []
        self._log_length = 0

    @property
    def log(self) -> str:
        """What the job printed, cut where it is very long."""
        return "".join(self._log)

    @property
    def cancelled(self) -> bool:
        """Whether the user wants no more of it."""
        return self._cancel is not None and self._cancel.is_set()

    def follow(self, worker: WorkerProcess, targets: tuple[str, ...]) -> None:
        """Run the job for some targets in a worker; afterwards each has a result, whatever happened."""
        sent = replace(self._sent, targets=targets)
        messages = worker.open(sent)
        stage = "import"
        cancelled = timed_out = False
        allowed = self.job.timeout_seconds + (_GRACE_SECONDS if worker.forks else 0.0)
        deadline = time.monotonic() + allowed
        try:
            while True:
                try:
                    message = messages.get(timeout=_POLL_SECONDS)
                except queue.Empty:
                    if self.cancelled and not cancelled:
                        cancelled = True
                        deadline = time.monotonic() + _GRACE_SECONDS
                        worker.cancel(sent)
                    elif time.monotonic() > deadline:
                        timed_out = not cancelled
                        worker.kill()
                        deadline += _GRACE_SECONDS
                    continue
                if message is None or isinstance(message, Finished):
                    break
                stage = self._take(message) or stage
                if isinstance(message, TargetResult):
                    deadline = time.monotonic() + allowed
        except BaseException:
            worker.cancel(sent)
            raise
        finally:
            worker.forget(sent)
        for target in targets:
            if target not in self.results:
                self.results[target] = self.missing(target, stage, cancelled, timed_out)

    def missing(self, target: str, stage: str, cancelled: bool, timed_out: bool = False) -> TargetResult:
        """The result of a target which no worker answered for."""
        if cancelled:
            found = Finding("cancelled", "stopped by the user.")
        elif timed_out:
            seconds = f"{self.job.timeout_seconds:g}"
            found = Finding("timeout", f"stopped after {seconds} seconds. A longer time limit may help.")
        else:
            found = Finding("crash", "the process which ran it ended without a result; the log may say why.")
        return TargetResult(self.job.id, target, "failed", stage, findings=(found,))

    def _take(self, message: Message) -> str | None:
        """Keep what a message says and pass it on; returns the stage that it reports."""
        if not isinstance(message, (Log, Progress, TargetResult)):
            return None
        message = replace(message, job_id=self.job.id)
        if isinstance(message, TargetResult):
            self.results[message.target] = message
        elif isinstance(message, Log) and self._log_length < _LONGEST_LOG:
            self._log_length += len(message.text)
            self._log.append(message.text)
        if self._on_event is not None:
            self._on_event(message)
        return None if isinstance(message, Log) else message.stage
