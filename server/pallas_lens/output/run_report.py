"""What a run said, as JSON to the contract of ``pallas-lens run`` and for people."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from pallas_lens.features.run import summary
from pallas_lens.runtime.protocol import OutputFacts, Result

from .findings_json import finding_to_json
from .full import full
from .report import FileReport


def run_json(result: Result, by_target: dict[str, FileReport]) -> str:
    """The result as JSON; ``by_target`` holds each target's findings on the lines of the file."""
    told: dict[str, Any] = result.to_json()
    for target in told["results"]:
        report = by_target[target["target"]]
        target["findings"] = [finding_to_json(one, report) for one in report.diagnostics]
    return json.dumps(told, indent=2, ensure_ascii=False) + "\n"


def run_full(result: Result, report: FileReport, *, colour: bool) -> str:
    """The findings with their lines and chips, then a sentence, then what the outputs hold."""
    if result.mode != "interpret":
        told = tuple(
            replace(one, message=f"on {', '.join(one.chips)}: {one.message}") if one.chips else one
            for one in report.diagnostics
        )
        report = replace(report, diagnostics=told)
    lines = [summary(result)]
    for target in result.results:
        lines += [f"  {_output(one)}" for one in target.outputs or ()]
    return full([report], colour=colour) + "\n".join(lines) + "\n"


def _output(output: OutputFacts) -> str:
    shape = ", ".join(map(str, output.shape))
    values = "no finite values"
    if output.minimum is not None and output.maximum is not None and output.mean is not None:
        values = f"from {output.minimum:.6g} to {output.maximum:.6g}, mean {output.mean:.6g}"
    return f"{output.name} {output.dtype}[{shape}]: {values}, {output.nan} NaN, {output.infinite} infinite"
