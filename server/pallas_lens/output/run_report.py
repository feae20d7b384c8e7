"""What a run said, as JSON to the contract of ``pallas-lens run`` and for people."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pallas_lens.features.run import summary
from pallas_lens.model.chip import Chip
from pallas_lens.runtime.protocol import OutputFacts, Result, TracedCall

from .findings_json import finding_to_json
from .full import full
from .kernels_full import kernels_full
from .report import FileReport
from .traced_json import traced_call_to_json


def run_json(result: Result, by_target: dict[str, FileReport], chips: Sequence[Chip]) -> str:
    """The result as JSON; ``by_target`` holds each target's findings on the lines of the file.

    ``chips`` are those that the memory of traced kernels is told for.
    """
    told: dict[str, Any] = result.to_json()
    for target, answer in zip(told["results"], result.results, strict=True):
        report = by_target[target["target"]]
        target["findings"] = [finding_to_json(one, report) for one in report.diagnostics]
        if answer.calls is not None:
            target["calls"] = _calls(answer.calls, report.filename, chips)
    return json.dumps(told, indent=2, ensure_ascii=False) + "\n"


def run_full(result: Result, report: FileReport, chips: Sequence[Chip], *, colour: bool) -> str:
    """The findings with their lines and chips, then a sentence, then what the outputs hold, and the traced kernels."""
    if result.mode not in ("interpret", "trace"):
        told = tuple(
            replace(one, message=f"on {', '.join(one.chips)}: {one.message}") if one.chips else one
            for one in report.diagnostics
        )
        report = replace(report, diagnostics=told)
    lines = [summary(result)]
    for target in result.results:
        lines += [f"  {_output(one)}" for one in target.outputs or ()]
        if target.calls:
            entries = _calls(target.calls, report.filename, chips)
            lines += ["", *(_traced(entry) for entry in entries)]
    return full([report], colour=colour) + "\n".join(lines) + "\n"


def _calls(calls: Sequence[TracedCall], filename: str, chips: Sequence[Chip]) -> list[dict[str, Any]]:
    return [traced_call_to_json(call, filename, chips) for call in calls]


def _traced(entry: dict[str, Any]) -> str:
    """The kernel's table, and where in the program it stands."""
    told = kernels_full([entry]).rstrip("\n")
    within = " > ".join(entry["inside"])
    if within or entry["times"] > 1:
        times = f"{entry['times']} times" if entry["times"] > 1 else "once"
        told += f"\n  called {times}" + (f", inside {within}" if within else "")
    return told + "\n"


def _output(output: OutputFacts) -> str:
    shape = ", ".join(map(str, output.shape))
    values = "no finite values"
    if output.minimum is not None and output.maximum is not None and output.mean is not None:
        values = f"from {output.minimum:.6g} to {output.maximum:.6g}, mean {output.mean:.6g}"
    return f"{output.name} {output.dtype}[{shape}]: {values}, {output.nan} NaN, {output.infinite} infinite"
