"""Runs jobs for the editor: one worker for each interpreter, kept warm, away from the thread that answers."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path

from .runtime.client import RuntimeClient
from .runtime.protocol import Job, Log, Progress, Result, TargetResult

_log = logging.getLogger(__name__)


class Runner:
    """Thread-safe. ``close`` ends all workers; jobs that run then come back as crashed."""

    def __init__(self) -> None:
        self._clients: dict[Path, RuntimeClient] = {}
        self._lock = threading.Lock()

    def run(
        self, interpreter: Path, job: Job, on_progress: Callable[[Progress], None], cancel: threading.Event
    ) -> Result:
        """Run one job to its end; blocks.

        Raises:
            RuntimeUnavailable: when the environment lacks what is needed.
        """

        def on_event(event: Log | Progress | TargetResult) -> None:
            if isinstance(event, Progress):
                on_progress(event)
            elif isinstance(event, Log):
                _log.info("%s: %s", job.function, event.text.rstrip())

        return self._client(interpreter).run(job, on_event, cancel)

    def close(self) -> None:
        """End the workers."""
        with self._lock:
            clients, self._clients = list(self._clients.values()), {}
        for client in clients:
            client.close()

    def _client(self, interpreter: Path) -> RuntimeClient:
        with self._lock:
            if interpreter not in self._clients:
                self._clients[interpreter] = RuntimeClient(interpreter)
            return self._clients[interpreter]
