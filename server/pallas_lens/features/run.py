"""Running a function with its example: the job for the worker, and what its answer says on the lines."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pallas_lens.model.finding import Severity
from pallas_lens.model.module_facts import Runnable
from pallas_lens.runtime import protocol
from pallas_lens.source.document import Document
from pallas_lens.source.positions import TextRange

from .diagnostics import Diagnostic

_MEBIBYTE = 1024 * 1024
_INTERPRET_TARGET = "v5e"


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may take: seconds for each target, memory in MiB."""

    timeout_seconds: float
    memory_mebibytes: int


def targets_for(mode: str, targets: tuple[str, ...]) -> tuple[str, ...]:
    """The chips to run for: interpret mode and tracing look like one chip as like another, so one is enough."""
    if mode not in ("interpret", "trace"):
        return targets
    return (_INTERPRET_TARGET,) if _INTERPRET_TARGET in targets else targets[:1]


def job_for(
    document: Document,
    runnable: Runnable,
    mode: str,
    targets: tuple[str, ...],
    limits: Limits,
    root: Path,
    identity: str,
) -> protocol.Job:
    """The job that runs ``runnable`` of the document's text as it stands, saved or not."""
    path = document.path if document.path is not None else root / "untitled.py"
    return protocol.Job(
        id=identity,
        mode=mode,
        path=str(path.absolute()),
        function=runnable.function,
        source=document.text,
        arguments=runnable.arguments_text,
        inputs=runnable.inputs,
        reference=runnable.reference,
        targets=targets,
        timeout_seconds=limits.timeout_seconds,
        memory_limit_bytes=limits.memory_mebibytes * _MEBIBYTE,
        import_roots=(str(root),),
        working_directory=str(root),
    )


def find_runnable(runnables: tuple[Runnable, ...], function: str, example: str = "") -> Runnable | None:
    """The runnable of that function (its qualified name, or the end of it) and example ("" for the first)."""
    for exact in (True, False):
        for runnable in runnables:
            named = runnable.function == function or (not exact and runnable.function.endswith(f".{function}"))
            if named and example in ("", runnable.example):
                return runnable
    return None


def diagnostics_of_run(
    document: Document, result: protocol.Result, function: TextRange, example: str = ""
) -> tuple[Diagnostic, ...]:
    """What the run found, on the user's lines; on ``function``, its name, where no line is known."""
    found: dict[tuple[str, str, TextRange], Diagnostic] = {}
    for target in result.results:
        for finding in target.findings:
            place = _place(document, finding, function)
            key = (finding.kind, finding.message, place)
            chips = (*found[key].chips, target.target) if key in found else (target.target,)
            found[key] = Diagnostic(
                code=finding.kind,
                name=finding.kind,
                severity=Severity.INFORMATION if finding.kind == "cancelled" else Severity.ERROR,
                message=finding.message,
                range=place,
                chips=chips,
                specialisation=f"example {example}".strip() if result.example else "run",
                source=f"pallas-lens ({result.mode})",
            )
    return tuple(sorted(found.values(), key=lambda one: one.range))


def _place(document: Document, finding: protocol.Finding, function: TextRange) -> TextRange:
    """The finding's place, counted from 0 and kept inside the text."""
    if finding.row is None:
        return function
    row = min(max(finding.row - 1, 0), len(document.lines) - 1)
    line = document.lines[row]
    start = min(max((finding.column or 1) - 1, 0), len(line))
    if finding.end_row is None or finding.end_column is None:
        return TextRange(row, start if finding.column else len(line) - len(line.lstrip()), row, len(line.rstrip()))
    if finding.end_row - 1 > row:
        # A call over many lines is underlined where it begins: a wavy block says no more than a line.
        return TextRange(row, start, row, max(start, len(line.rstrip())))
    end = min(max(finding.end_column - 1, 0), len(line))
    return TextRange(row, start, row, max(end, start))


def summary(result: protocol.Result) -> str:
    """One sentence for a notification: what ran, and what came of it."""
    name = result.function if result.function != protocol.MAIN else "the file"
    findings = [(target, finding) for target in result.results for finding in target.findings]
    if all(target.verdict == "accepted" for target in result.results):
        seconds = sum(target.seconds for target in result.results)
        details = [text for target in result.results for text in _details(target)]
        return " ".join([f"{_WORKED[result.mode].format(name)} ({seconds:.1f} s).", *details])
    if not findings:
        return f"{name} did not finish in mode {result.mode}; the log may say why."
    first = " ".join(findings[0][1].message.split())
    chips = "" if result.mode == "interpret" else f" {_verdicts(result)}"
    distinct = {(finding.kind, finding.message) for _, finding in findings}
    more = f" And {len(distinct) - 1} more." if len(distinct) > 1 else ""
    return f"{name}, mode {result.mode}: {first}{'' if first.endswith('.') else '.'}{more}{chips}"


def _verdicts(result: protocol.Result) -> str:
    """Which chips said what: ``Refused on v4; accepted on v5e, v6e.``"""
    by_verdict: dict[str, list[str]] = {}
    # The chips that accept it come last: the sentence is about the others.
    for target in sorted(result.results, key=lambda one: one.verdict == "accepted"):
        by_verdict.setdefault(target.verdict, []).append(target.target)
    told = "; ".join(f"{verdict} on {', '.join(chips)}" for verdict, chips in by_verdict.items())
    return f"{told[:1].upper()}{told[1:]}."


_WORKED = {
    "interpret": "{} ran in interpret mode: no exception, nothing out of bounds, no NaN",
    "trace": "JAX traced {}",
    "lower": "JAX lowers {} for the TPU",
    "compile": "The TPU compiler accepts {}",
}


def _details(target: protocol.TargetResult) -> list[str]:
    told: list[str] = []
    if target.comparison is not None and target.comparison.matches:
        told.append(f"It agrees with {target.comparison.reference}.")
    if target.vmem is not None and target.vmem.used is not None:
        told.append(f"VMEM on {target.target}: {target.vmem.used / _MEBIBYTE:.2f} MiB.")
    return told
