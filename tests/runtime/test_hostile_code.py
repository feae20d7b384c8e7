"""User code which hangs, crashes, leaves or fights the worker gets an answer, and hurts nothing that comes after."""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from pallas_lens.runtime.protocol import Job, Log, Progress, Result, TargetResult

from .conftest import MarkedClient

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are watched through /proc")

_GOOD = """
import jax
import jax.numpy as jnp

def call(x):
    return x + 1
"""


@dataclass(frozen=True, slots=True)
class Hostile:
    """Code and what must come of it: verdict, kind of the finding (None: none), the text of the line it is on."""

    code: str
    verdict: str
    kind: str | None
    line: str | None = None
    stage: str = "trace"
    message: str = ""
    timeout_seconds: float = 60.0
    memory_limit_bytes: int = 4 * 1024**3


_IN_CALL = """
import ctypes, os, signal, subprocess, sys, threading, time
import jax.numpy as jnp

def call(x):
    {}
    return x + 1
"""

HOSTILE = {
    "endless loop": Hostile(
        _IN_CALL.format("while True: pass"), "failed", "timeout", "while True: pass", timeout_seconds=1.0
    ),
    "endless loop on import": Hostile(
        "x = 1\nwhile True: pass\n", "failed", "timeout", "while True: pass", stage="import", timeout_seconds=1.0
    ),
    "endless loop that no signal ends": Hostile(
        _IN_CALL.format("[signal.signal(s, signal.SIG_IGN) for s in (2, 10, 15)]; time.sleep(1e6)"),
        "failed",
        "timeout",
        timeout_seconds=1.0,
    ),
    "exit": Hostile(_IN_CALL.format("sys.exit(3)"), "failed", "exception", "sys.exit(3)", message="SystemExit: 3"),
    "exit at once": Hostile(_IN_CALL.format("os._exit(7)"), "failed", "crash", message="status 7"),
    "exit with success": Hostile(_IN_CALL.format("os._exit(0)"), "failed", "crash", message="status 0"),
    "exit on import": Hostile("import os\nos._exit(0)\n", "failed", "crash", stage="import"),
    "segmentation fault": Hostile(
        _IN_CALL.format("ctypes.string_at(0)"), "failed", "crash", "ctypes.string_at(0)", message="SIGSEGV"
    ),
    "abort": Hostile(_IN_CALL.format("os.abort()"), "failed", "crash", "os.abort()", message="SIGABRT"),
    "interrupt": Hostile(_IN_CALL.format("raise KeyboardInterrupt"), "failed", "exception", "raise KeyboardInterrupt"),
    "endless recursion": Hostile(
        "def call(x):\n    return call(x)\n", "refused", "exception", "return call(x)", message="RecursionError"
    ),
    "a million lines printed": Hostile(
        _IN_CALL.format("[print('line', i) for i in range(1_000_000)]"), "accepted", None, stage="lower"
    ),
    "bytes that are no text": Hostile(
        _IN_CALL.format("os.write(1, bytes(range(256)) * 100)"), "accepted", None, stage="lower"
    ),
    "standard input": Hostile(_IN_CALL.format("assert sys.stdin.read() == ''"), "accepted", None, stage="lower"),
    "a question to the user": Hostile(_IN_CALL.format("input()"), "refused", "exception", "input()", message="EOF"),
    "folder left": Hostile(_IN_CALL.format("os.chdir('/')"), "accepted", None, stage="lower"),
    "standard output closed": Hostile(
        _IN_CALL.format("sys.stdout.close(); sys.stderr.close(); os.close(1); os.close(2)"),
        "accepted",
        None,
        stage="lower",
    ),
    "every descriptor closed": Hostile(_IN_CALL.format("os.closerange(0, 4096)"), "failed", "crash"),
    "every descriptor written to": Hostile(
        _IN_CALL.format("[_write(fd) for fd in range(3, 64)]")
        + """
def _write(descriptor):
    try:
        os.write(descriptor, b'{"type":"finished","job_id":"hostile"}\\n[1]\\nnull\\n\\xff\\n')
    except OSError:
        pass
""",
        "accepted",
        None,
        stage="lower",
    ),
    "more memory than allowed": Hostile(
        _IN_CALL.format("kept = bytearray(6 * 1024**3)"), "failed", "exception", message="MemoryError"
    ),
    "a thread that stays": Hostile(
        _IN_CALL.format("threading.Thread(target=time.sleep, args=(1e6,)).start()"), "accepted", None, stage="lower"
    ),
    "a child that stays": Hostile(
        _IN_CALL.format("subprocess.Popen(['sleep', '1000000'])"), "accepted", None, stage="lower"
    ),
    "a child in a session of its own": Hostile(
        _IN_CALL.format("subprocess.Popen(['sleep', '1000000'], start_new_session=True)"),
        "accepted",
        None,
        stage="lower",
    ),
    "a daemon": Hostile(
        _IN_CALL.format("_daemon()")
        + """
def _daemon():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(1e6)
        os._exit(0)
    os.wait()
""",
        "accepted",
        None,
        stage="lower",
    ),
    "children of a process that crashes": Hostile(
        _IN_CALL.format("subprocess.Popen(['sleep', '1000000'], start_new_session=True); os.abort()"),
        "failed",
        "crash",
    ),
    "no function of the name": Hostile("x = 1\n", "failed", "exception", stage="arguments", message="no function"),
    "syntax error": Hostile("def call(x:\n", "failed", "exception", "def call(x:", stage="import"),
    "null byte": Hostile("x = 1\0\n", "failed", "exception", stage="import"),
    "nothing at all": Hostile("", "failed", "exception", stage="arguments"),
}


def job(code: str, folder: Path, **changes: object) -> Job:
    """A job on text that is not saved."""
    made = Job(
        id="hostile", mode="lower", path=str(folder / "kernel.py"), function="call", source=code, arguments="x=f32[8]"
    )
    return replace(made, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_code(client: MarkedClient, tmp_path: Path, name: str) -> None:
    client.facts()
    worker = client.living_processes()
    assert len(worker) == 1
    case = HOSTILE[name]
    limits = {"timeout_seconds": case.timeout_seconds, "memory_limit_bytes": case.memory_limit_bytes}
    (result,) = client.run(job(case.code, tmp_path, **limits)).results
    assert client.living_processes() == worker, "the job left a process behind, or took the worker with it"

    assert (result.verdict, result.stage) == (case.verdict, case.stage), result
    assert [finding.kind for finding in result.findings] == ([case.kind] if case.kind else []), result
    for finding in result.findings:
        assert case.message in finding.message
        assert "Traceback" not in finding.message
        if case.line is not None:
            assert finding.row is not None, finding
            assert case.code.splitlines()[finding.row - 1].strip() == case.line

    (next_result,) = client.run(job(_GOOD, tmp_path)).results
    assert next_result.verdict == "accepted"


def test_worker_killed_by_a_job(client: MarkedClient, tmp_path: Path) -> None:
    code = _IN_CALL.format("os.kill(os.getppid(), signal.SIGKILL); time.sleep(1e6)")
    (result,) = client.run(job(code, tmp_path)).results
    assert (result.verdict, [finding.kind for finding in result.findings]) == ("failed", ["crash"])
    (next_result,) = client.run(job(_GOOD, tmp_path)).results
    assert next_result.verdict == "accepted"
    assert len(client.living_processes()) == 1


def test_output_is_shown_and_cut(client: MarkedClient, tmp_path: Path) -> None:
    code = _IN_CALL.format("print('to be seen'); print('also', file=sys.stderr); print('x' * 10_000_000)")
    events: list[object] = []
    result = client.run(job(code, tmp_path), on_event=events.append)
    assert result.log.startswith("to be seen\nalso\nxxx")
    assert len(result.log) < 1_000_000 and result.log.rstrip().endswith("not shown]")
    assert [event.stage for event in events if isinstance(event, Progress)] == ["import", "arguments", "trace", "lower"]
    assert "".join(event.text for event in events if isinstance(event, Log)) == result.log
    assert isinstance(events[-1], TargetResult)


def test_cancel(client: MarkedClient, tmp_path: Path) -> None:
    cancel = threading.Event()
    code = _IN_CALL.format("print('started', flush=True)\n    while True: pass")

    def on_event(event: object) -> None:
        if isinstance(event, Log) and "started" in event.text:
            cancel.set()

    (result,) = client.run(job(code, tmp_path), on_event, cancel).results
    assert (result.verdict, [finding.kind for finding in result.findings]) == ("failed", ["cancelled"])
    assert len(client.living_processes()) == 1


def test_crash_on_one_target_keeps_the_others(client: MarkedClient, tmp_path: Path) -> None:
    code = """
import os
import jax

def call(x):
    if "v6" in jax.sharding.get_abstract_mesh().abstract_device.device_kind:
        os.abort()
    return x
"""
    targets = ("v5e", "v6e", "v7x")
    result = client.run(job(code, tmp_path, targets=targets))
    assert [(each.target, each.verdict) for each in result.results] == [
        ("v5e", "accepted"),
        ("v6e", "failed"),
        ("v7x", "accepted"),
    ]


def test_many_at_once(client: MarkedClient, tmp_path: Path) -> None:
    codes = [_GOOD, _IN_CALL.format("os.abort()"), _GOOD, _IN_CALL.format("while True: pass"), _GOOD]
    jobs = [replace(job(code, tmp_path, timeout_seconds=3.0), id=str(index)) for index, code in enumerate(codes)]
    seen: list[str] = []

    def on_result(done: Job, _result: Result) -> None:
        seen.append(done.id)

    results = client.run_many(jobs, on_result)
    kinds = [[finding.kind for finding in result.results[0].findings] for result in results]
    assert kinds == [[], ["crash"], [], ["timeout"], []]
    assert sorted(seen) == ["0", "1", "2", "3", "4"]
    assert len(client.living_processes()) == 1


def test_close_ends_everything(client: MarkedClient, tmp_path: Path) -> None:
    closing = MarkedClient(client.interpreter)
    code = _IN_CALL.format(
        "subprocess.Popen(['sleep', '1000000'], start_new_session=True); print('started', flush=True)\n"
        "    while True: pass"
    )

    def on_event(event: object) -> None:
        if isinstance(event, Log) and "started" in event.text:
            closing.close()

    (result,) = closing.run(job(code, tmp_path), on_event).results
    assert result.verdict == "failed"
    assert closing.living_processes() == set()
