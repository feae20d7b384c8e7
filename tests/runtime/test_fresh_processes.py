"""Where no child can be forked, every job has a process of its own; that way is taken here on each system."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from jax_environments import JaxEnvironment
from pallas_lens.runtime.client import RuntimeClient
from pallas_lens.runtime.protocol import Job, Log

_CODE = """
import os

def call(x):
    print("started", flush=True)
    {}
    return x + 1
"""


@pytest.fixture(scope="module")
def fresh(environment: JaxEnvironment) -> Iterator[RuntimeClient]:
    with RuntimeClient(environment.interpreter, forks=False) as client:
        yield client


def job(code: str, folder: Path) -> Job:
    source = _CODE.format(code)
    return Job(id="1", mode="lower", path=str(folder / "kernel.py"), function="call", source=source, arguments="f32[8]")


def test_each_target_has_a_process(fresh: RuntimeClient, tmp_path: Path) -> None:
    assert not fresh.facts().parallel
    result = fresh.run(replace(job("print(os.getpid(), input)", tmp_path), targets=("v5e", "v6e")))
    assert [(each.target, each.verdict) for each in result.results] == [("v5e", "accepted"), ("v6e", "accepted")]
    lines = [line for line in result.log.splitlines() if "built-in function input" in line]
    assert len(set(lines)) == 2


@pytest.mark.parametrize(
    ("code", "kind", "timeout_seconds"),
    [("os._exit(0)", "crash", 60.0), ("os.abort()", "crash", 60.0), ("while True: pass", "timeout", 2.0)],
)
def test_bad_end(fresh: RuntimeClient, tmp_path: Path, code: str, kind: str, timeout_seconds: float) -> None:
    result = fresh.run(replace(job(code, tmp_path), timeout_seconds=timeout_seconds))
    (target,) = result.results
    assert (target.verdict, target.stage, [found.kind for found in target.findings]) == ("failed", "trace", [kind])
    assert "started" in result.log


def test_cancel(fresh: RuntimeClient, tmp_path: Path) -> None:
    cancel = threading.Event()

    def on_event(event: object) -> None:
        if isinstance(event, Log) and "started" in event.text:
            cancel.set()

    result = fresh.run(replace(job("while True: pass", tmp_path), targets=("v5e", "v6e")), on_event, cancel)
    assert [[found.kind for found in target.findings] for target in result.results] == [["cancelled"], ["cancelled"]]
