"""The result of a target whose process ended before it had one: killed for its time, crashed, or exited."""

from __future__ import annotations

import contextlib
import signal

from ..protocol import Job, TargetResult
from .findings import finding
from .load_user_module import read_source
from .user_position import Position, UserFile, position_in_dump

_STAGE_IN_WORDS = {
    "import": "while importing the file",
    "arguments": "while making the arguments",
    "trace": "while JAX traced the function",
    "lower": "while JAX lowered the function for the TPU",
    "compile": "in the TPU compiler",
    "run": "while the function ran",
}


def result_of_timeout(job: Job, target: str, stage: str, dump: str, seconds: float) -> TargetResult:
    """The time limit is over. `dump` is what `faulthandler` wrote of the stack at that moment."""
    message = f"stopped after {job.timeout_seconds:g} seconds, {_STAGE_IN_WORDS[stage]}. A longer time limit may help."
    return _failed(job, target, stage, "timeout", message, dump, seconds)


def result_of_end(job: Job, target: str, stage: str, status: int, dump: str, seconds: float) -> TargetResult:
    """The process ended with a wait status of its own, with no result sent."""
    where = _STAGE_IN_WORDS[stage]
    number = status & 0x7F
    if number:
        try:
            name = signal.Signals(number).name
        except ValueError:
            name = f"signal {number}"
        message = f"the process was ended by {name} {where}."
        if number == signal.SIGKILL:
            message += " It may have run out of memory."
        elif stage == "compile":
            message += " The TPU compiler crashed; the log may say why."
    else:
        message = f"the process exited with status {status >> 8} {where}, without a result."
    return _failed(job, target, stage, "crash", message, dump, seconds)


def _failed(job: Job, target: str, stage: str, kind: str, message: str, dump: str, seconds: float) -> TargetResult:
    found = finding(kind, message, _position(job, dump), original=dump)
    return TargetResult(job.id, target, "failed", stage, findings=(found,), seconds=round(seconds, 3))


def _position(job: Job, dump: str) -> Position | None:
    with contextlib.suppress(OSError, SyntaxError, UnicodeError):
        return position_in_dump(dump, UserFile(job.path, read_source(job.path, job.source)))
    return None
