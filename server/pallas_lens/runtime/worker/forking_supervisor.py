"""The warm worker on Linux: JAX is imported once, and each job runs in a child forked from here.

This process never runs user code, starts no thread and makes no JAX backend, for a child forked after either could
deadlock. It forks, forwards output, keeps the time, and kills: when a job is over, every process that it left behind
is over too.
"""

from __future__ import annotations

import contextlib
import errno
import os
import selectors
import signal
import time
from codecs import getincrementaldecoder

from ..protocol import Cancel, Finished, Job, Log, Message, Progress, ProtocolError, TargetResult, decode, encode
from .ended_early import result_of_end, result_of_timeout
from .job_process import redirect_standard_streams, run_in_this_process
from .linux_processes import become_subreaper, children, die_with_parent, kill_group

_LONGEST_LOG = 256 * 1024
_READ_SIZE = 64 * 1024
_DUMP_SECONDS = 0.5


class _RunningJob:
    """A job, the child that runs it now, and what has come from it."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.remaining = list(job.targets)
        self.stage = "import"
        self.process = 0
        self.output = -1
        self.results = -1
        self.dump = -1
        self.pending = b""
        self.logged = 0
        self.started = 0.0
        self.deadline = 0.0
        self.asked_for_dump = False
        self.decoder = getincrementaldecoder("utf-8")("replace")


class ForkingSupervisor:
    """Reads jobs from the descriptor `source`, writes messages to `sink`, until `source` ends."""

    def __init__(self, source: int, sink: int) -> None:
        self._source = source
        self._sink = sink
        self._incoming = b""
        self._jobs: dict[str, _RunningJob] = {}
        self._selector = selectors.DefaultSelector()
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)

    def serve(self) -> None:
        """Serve until the client closes its end; then end every job."""
        become_subreaper()
        signal.signal(signal.SIGCHLD, lambda _signal, _frame: None)
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        self._selector.register(self._source, selectors.EVENT_READ, self._read_source)
        self._selector.register(self._wake_read, selectors.EVENT_READ, self._read_wake)
        self._open = True
        try:
            while self._open:
                for key, _ in self._selector.select(self._seconds_to_deadline()):
                    key.data()
                self._reap()
                self._end_late_jobs()
        finally:
            for running in list(self._jobs.values()):
                self._stop(running)
            self._kill_orphans()

    def _send(self, message: Message) -> None:
        view = memoryview(encode(message))
        try:
            while view:
                view = view[os.write(self._sink, view) :]
        except BrokenPipeError:
            self._open = False

    def _read_source(self) -> None:
        content = os.read(self._source, _READ_SIZE)
        if not content:
            self._open = False
            return
        *lines, self._incoming = (self._incoming + content).split(b"\n")
        for line in lines:
            with contextlib.suppress(ProtocolError):
                message = decode(line)
                if isinstance(message, Job):
                    running = _RunningJob(message)
                    self._jobs[message.id] = running
                    self._start(running)
                elif isinstance(message, Cancel) and message.job_id in self._jobs:
                    running = self._jobs[message.job_id]
                    self._stop(running)
                    self._finish(running, cancelled=True)

    def _read_wake(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while os.read(self._wake_read, _READ_SIZE):
                pass

    def _start(self, running: _RunningJob) -> None:
        if not running.remaining:
            self._finish(running)
            return
        output_read, output_write = os.pipe()
        results_read, results_write = os.pipe()
        dump = os.memfd_create("stack")
        supervisor = os.getpid()
        process = os.fork()
        if process == 0:
            try:
                os.setsid()
                die_with_parent(supervisor)
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                redirect_standard_streams(output_write, lambda: self._close_inherited(output_write))
                os.close(output_read)
                os.close(results_read)
                run_in_this_process(running.job, tuple(running.remaining), results_write, dump)
            finally:
                os._exit(1)
        os.close(output_write)
        os.close(results_write)
        os.set_blocking(output_read, False)
        os.set_blocking(results_read, False)
        running.process, running.output, running.results, running.dump = process, output_read, results_read, dump
        running.pending = b""
        running.stage = "import"
        running.asked_for_dump = False
        running.started = time.monotonic()
        running.deadline = running.started + running.job.timeout_seconds
        self._selector.register(output_read, selectors.EVENT_READ, lambda: self._read_output(running))
        self._selector.register(results_read, selectors.EVENT_READ, lambda: self._read_results(running))

    def _close_inherited(self, output: int) -> None:
        """In the child: close everything through which it could reach the client or another job."""
        inherited = [self._source, self._sink, self._wake_read, self._wake_write, output]
        for other in self._jobs.values():
            inherited += [other.output, other.results, other.dump]
        self._selector.close()
        for descriptor in inherited:
            if descriptor > 2:
                with contextlib.suppress(OSError):
                    os.close(descriptor)

    def _read_output(self, running: _RunningJob) -> bool:
        content = self._read(running.output)
        if content is None:
            return False
        text = running.decoder.decode(content)
        room = _LONGEST_LOG - running.logged
        if room > 0 and text:
            running.logged += len(text)
            self._send(Log(running.job.id, text[:room]))
            if running.logged >= _LONGEST_LOG:
                self._send(Log(running.job.id, "\n[more output is not shown]\n"))
        return True

    def _read_results(self, running: _RunningJob) -> bool:
        content = self._read(running.results)
        if content is None:
            return False
        *lines, running.pending = (running.pending + content).split(b"\n")
        for line in lines:
            # What the user's code may have written there itself is no message, and not for this job.
            with contextlib.suppress(ProtocolError):
                self._take(running, decode(line))
        return True

    def _take(self, running: _RunningJob, message: Message) -> None:
        if not running.remaining or not isinstance(message, (Progress, TargetResult)):
            return
        if message.job_id != running.job.id or message.target != running.remaining[0]:
            return
        running.stage = message.stage
        self._send(message)
        if isinstance(message, TargetResult):
            running.remaining.pop(0)
            running.stage = "import"
            running.started = time.monotonic()
            running.deadline = running.started + running.job.timeout_seconds

    def _read(self, descriptor: int) -> bytes | None:
        """What there is to read; None, and no longer watched, at the end."""
        try:
            content = os.read(descriptor, _READ_SIZE)
        except BlockingIOError:
            return None
        if not content:
            with contextlib.suppress(KeyError):
                self._selector.unregister(descriptor)
            return None
        return content

    def _seconds_to_deadline(self) -> float | None:
        if not self._jobs:
            return None
        return max(0.0, min(running.deadline for running in self._jobs.values()) - time.monotonic())

    def _end_late_jobs(self) -> None:
        for running in list(self._jobs.values()):
            if time.monotonic() < running.deadline:
                continue
            if not running.asked_for_dump:
                # The stack says on which line the time went.
                running.asked_for_dump = True
                running.deadline = time.monotonic() + _DUMP_SECONDS
                with contextlib.suppress(ProcessLookupError):
                    os.kill(running.process, signal.SIGUSR1)
                continue
            dump = self._stop(running)
            seconds = time.monotonic() - running.started
            for target in running.remaining[:1]:
                self._send(result_of_timeout(running.job, target, running.stage, dump, seconds))
            del running.remaining[:1]
            self._start(running)

    def _reap(self) -> None:
        ended: dict[int, int] = {}
        with contextlib.suppress(ChildProcessError):
            while True:
                process, status = os.waitpid(-1, os.WNOHANG)
                if process == 0:
                    break
                ended[process] = status
        for running in list(self._jobs.values()):
            if running.process in ended:
                status = ended[running.process]
                dump = self._stop(running, reaped=True)
                if running.remaining:
                    target = running.remaining.pop(0)
                    seconds = time.monotonic() - running.started
                    self._send(result_of_end(running.job, target, running.stage, status, dump, seconds))
                self._start(running)

    def _stop(self, running: _RunningJob, reaped: bool = False) -> str:
        """Kill the job's processes, take what they have written, and return the dumped stack."""
        kill_group(running.process)
        if not reaped:
            with contextlib.suppress(ProcessLookupError):
                os.kill(running.process, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(running.process, 0)
        process, running.process = running.process, 0
        self._kill_orphans()
        kill_group(process)
        while self._read_results(running):
            pass
        while self._read_output(running):
            pass
        for descriptor in (running.output, running.results):
            with contextlib.suppress(KeyError):
                self._selector.unregister(descriptor)
            os.close(descriptor)
        dump = _content(running.dump)
        os.close(running.dump)
        running.output = running.results = running.dump = -1
        return dump

    def _finish(self, running: _RunningJob, cancelled: bool = False) -> None:
        del self._jobs[running.job.id]
        self._send(Finished(running.job.id, cancelled))

    def _kill_orphans(self) -> None:
        """Kill every child that is no job: what a job started comes here when its parent ends."""
        jobs = {running.process for running in self._jobs.values()}
        for _ in range(1000):
            orphans = children() - jobs
            if not orphans:
                return
            for orphan in orphans:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(orphan, signal.SIGKILL)
            for orphan in orphans:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(orphan, 0)


def _content(descriptor: int) -> str:
    try:
        os.lseek(descriptor, 0, os.SEEK_SET)
        return os.read(descriptor, _LONGEST_LOG).decode(errors="replace")
    except OSError as error:
        if error.errno == errno.EBADF:
            return ""
        raise
