"""Runs one job, target by target, in a process that is the job's own."""

from __future__ import annotations

import dataclasses
import inspect
import time
import types
from collections.abc import Callable
from typing import Any

import jax

from ..protocol import MAIN, Job, Progress, TargetResult
from .abstract_chip import CHIPS
from .arguments import Arguments, evaluate_arguments, find_function
from .compile import NoTopology, compile_for_chip, vmem_of_refusal
from .example_arrays import ExampleError
from .findings import finding, finding_of_exception
from .interpret import Interpreted, finding_of_run, interpret, interpreted
from .interpret_recorder import InterpretRecorder
from .kernel_calls import KernelCalls, not_interpreted
from .load_user_module import load_user_module, read_source
from .lower import lower
from .trace import trace
from .user_position import Position, UserFile

Send = Callable[["Progress | TargetResult"], None]


def run_job(job: Job, targets: tuple[str, ...], send: Send) -> None:
    """Send one TargetResult for each target. Nothing that the user's code raises gets out."""
    runner = _Runner(job, send)
    for target in targets:
        runner.run(target)


class _Runner:
    """The user's module and arguments, loaded by the first target and kept for the next ones."""

    def __init__(self, job: Job, send: Send) -> None:
        self._job = job
        self._send = send
        self._target = ""
        self._stage = "import"
        self._user_file = UserFile(job.path, job.source or "")
        self._module: types.ModuleType | None = None
        self._source = ""

    def run(self, target: str) -> None:
        started = time.perf_counter()
        self._target = target
        self._enter("import")
        try:
            result = self._judge(target)
        except BaseException as error:
            result = self._failed(error)
        seconds = round(time.perf_counter() - started, 3)
        self._send(dataclasses.replace(result, seconds=seconds))
        # What JAX remembers of one chip must not answer for the next.
        jax.clear_caches()

    def _enter(self, stage: str) -> None:
        self._stage = stage
        self._send(Progress(self._job.id, self._target, stage))

    def _judge(self, target: str) -> TargetResult:
        job = self._job
        chip = CHIPS.get(target)
        if chip is None:
            raise ExampleError(f"there is no chip {target!r}; the chips are {', '.join(CHIPS)}.")
        if not self._source:
            self._source = read_source(job.path, job.source)
            self._user_file = UserFile(job.path, self._source)
        if job.function == MAIN:
            return self._run_as_program(chip)
        if self._module is None:
            self._module = load_user_module(job.path, self._source, job.import_roots)
        self._enter("arguments")
        function = find_function(self._module, job.function)
        reference = None if job.reference is None else find_function(self._module, job.reference)
        arguments = evaluate_arguments(job.arguments, job.inputs, self._module, job.seed)
        _check_signature(function, arguments, job.function)
        definition = _definition(function, self._user_file)
        if job.mode == "interpret":
            self._enter("run")
            return self._interpreted(interpret(function, arguments, reference, chip, self._user_file, definition))
        calls = KernelCalls(self._user_file)
        try:
            with calls.watching(not_interpreted):
                if job.mode == "trace":
                    found = trace(function, arguments, chip, self._user_file, self._enter)
                    return self._accepted(calls=found)
                if job.mode == "lower":
                    lower(function, arguments, chip, self._enter)
                    return self._accepted()
                return self._accepted(vmem=compile_for_chip(function, arguments, chip, self._enter))
        except Exception as error:
            if isinstance(error, (MemoryError, NoTopology)) or self._stage == "arguments":
                raise
            return self._refused(error, calls.only or definition)

    def _run_as_program(self, chip: Any) -> TargetResult:
        recorder = InterpretRecorder(KernelCalls(self._user_file))
        self._enter("run")
        try:
            with interpreted("nan", chip, recorder):
                load_user_module(self._job.path, self._source, self._job.import_roots, as_main=True)
        except BaseException as error:
            if isinstance(error, SystemExit) and error.code in (None, 0):
                return self._accepted()
            return self._interpreted(Interpreted((finding_of_run(error, recorder, None),)))
        if recorder.first_error is not None:
            return self._interpreted(Interpreted((finding_of_run(recorder.first_error, recorder, None),)))
        return self._accepted()

    def _accepted(self, **facts: Any) -> TargetResult:
        return TargetResult(self._job.id, self._target, "accepted", self._stage, **facts)

    def _interpreted(self, run: Interpreted) -> TargetResult:
        verdict = "found" if run.findings else "accepted"
        return TargetResult(
            self._job.id,
            self._target,
            verdict,
            self._stage,
            findings=run.findings,
            outputs=run.outputs,
            comparison=run.comparison,
        )

    def _refused(self, error: Exception, otherwise: Position | None) -> TargetResult:
        by_user = self._stage == "trace" and _raised_by_user(error, self._user_file)
        kind = "exception" if by_user else "refused"
        found = finding_of_exception(error, kind, self._user_file, otherwise=otherwise)
        vmem = vmem_of_refusal(error)
        if vmem is not None:
            message = (
                f"the kernel needs {_mebibytes(vmem.used)} of VMEM on {self._target}, where the limit is "
                f"{_mebibytes(vmem.limit)}: its windows, scratch and temporaries do not fit. Use smaller blocks, or "
                "raise vmem_limit_bytes where the chip has more."
            )
            found = dataclasses.replace(found, message=message)
        return TargetResult(self._job.id, self._target, "refused", self._stage, findings=(found,), vmem=vmem)

    def _failed(self, error: BaseException) -> TargetResult:
        if isinstance(error, (ExampleError, NoTopology)):
            found = finding("exception", str(error), None, exception=type(error).__name__)
        else:
            found = finding_of_exception(error, "exception", self._user_file)
        return TargetResult(self._job.id, self._target, "failed", self._stage, findings=(found,))


def _mebibytes(count: int | None) -> str:
    return "an unknown amount" if count is None else f"{count / 1024**2:.2f} MiB"


def _raised_by_user(error: BaseException, user_file: UserFile) -> bool:
    """Whether the frame which raised the exception is the user's own."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and user_file.owns(trace.tb_frame.f_code.co_filename)


def _check_signature(function: Callable[..., Any], arguments: Arguments, name: str) -> None:
    """Say in the user's words when the example does not fit the function's parameters."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*arguments.positional, **arguments.keywords)
    except TypeError as error:
        raise ExampleError(
            f"the example does not fit {name}{signature}: {error}. Give it as `# pallas-lens: example "
            "x=f32[8,128], …` above the function, or as --arg."
        ) from None


def _definition(function: Callable[..., Any], user_file: UserFile) -> Position | None:
    """The line on which the function is defined, None where it is not in the user's file."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None or not user_file.owns(code.co_filename):
        return None
    return user_file.definition(code.co_firstlineno)
