"""Messages survive the way through a line of JSON, and what is no message is said to be none."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from pallas_lens.runtime.protocol import (
    Cancel,
    Comparison,
    Finding,
    Finished,
    Job,
    Log,
    Message,
    OutputFacts,
    Progress,
    ProtocolError,
    Ready,
    Result,
    TargetResult,
    TracedCall,
    TracedDim,
    TracedIndex,
    TracedIndexMap,
    TracedOperand,
    Unavailable,
    Vmem,
    decode,
    encode,
)

_OUTPUT = OutputFacts("output", (8, 128), "float32", 1020, 4, 0, -1.0, 1.0, 0.0, (0, 3))
_EMPTY_OUTPUT = OutputFacts("output[1]", (), "int32", 0, 0, 0, None, None, None, None)
_TARGET = TargetResult(
    "1",
    "v5e",
    "found",
    "run",
    findings=(Finding("nan", "4 NaN\n“where”", "", None, 3, 5, 4, 1), Finding("crash", "gone")),
    seconds=0.25,
    outputs=(_OUTPUT, _EMPTY_OUTPUT),
    comparison=Comparison("expected", False, 1e-4, 2.0, None, "differs"),
    vmem=Vmem(1024, None),
)

_INDEX_MAP = TracedIndexMap("{ lambda ; a:i32[]. let  in (a,) }", 1, (TracedIndex((0,), False, (0, None)),))
_CALL = TracedCall(
    "pallas_call", "name", "k", 4, (None, 2), (0,), 1, ("parallel",), 2**20, ((1, 0),), ((0, 0), (1, 1)),
    (
        TracedOperand("x", "input", (8, 128), "float32", (TracedDim("squeezed", 1),), "any", 2, _INDEX_MAP),
        TracedOperand("s", "scratch", (), "dma_sem", None, None, None, None),
    ),
    ("jit f",), 2, 1, 2, 3, 4,
)  # fmt: skip


@pytest.mark.parametrize(
    "message",
    [
        Job("1", "lower", "/ü.py", "call", "x = 1\n", "x=f32[8]", "make", "expected", ("v4", "v7x"), 1.5, 10, ("/r",)),
        Job("1", "compile", "k.py", "call"),
        Cancel("1"),
        Ready(1, "3.12.1", "0.12.0", None, True),
        Unavailable("jax", None, "no module"),
        Log("1", "line\n\x00\ud7ff"),
        Progress("1", "v5e", "trace"),
        _TARGET,
        TargetResult("1", "v5e", "accepted", "lower"),
        TargetResult("1", "v5e", "accepted", "trace", calls=(_CALL, replace(_CALL, dimension_semantics=None))),
        Finished("1", True),
    ],
    ids=lambda message: type(message).__name__,
)  # fmt: skip
def test_round_trip(message: Message) -> None:
    line = encode(message)
    assert line.count(b"\n") == 1 and line.endswith(b"\n")
    assert decode(line) == message


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\n",
        b"hello\n",
        b"[]\n",
        b"null\n",
        b"{}\n",
        b'{"type":"log"}\n',
        b'{"type":"x"}\n',
        b'{"type":"finished","job_id":"1","cancelled":false,"more":1}\n',
        b"\xff\n",
        b"[" * 100_000,
    ],
    ids=lambda line: repr(line[:40]),
)
def test_no_message(line: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode(line)


def test_report_leaves_out_what_does_not_apply() -> None:
    accepted = TargetResult("1", "v6e", "accepted", "lower", seconds=0.1)
    report = Result("lower", "call", "x=f32[8]", "0.12.0", None, (_TARGET, accepted)).to_json()
    assert json.loads(json.dumps(report, allow_nan=False)) is not None
    assert set(report) == {"mode", "function", "example", "jax", "libtpu", "results"}
    assert set(report["results"][1]) == {"target", "verdict", "stage", "findings", "seconds"}
    assert set(report["results"][0]) == {
        "target", "verdict", "stage", "findings", "seconds", "outputs", "comparison", "vmem"
    }  # fmt: skip
