"""TPU interpret mode on the CPU: races, reads out of bounds, revisited blocks, memory never written, a reference."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
from jax.experimental.pallas import tpu as pltpu

from ..protocol import Comparison, Finding, OutputFacts
from .abstract_chip import AbstractChip, on_chip
from .arguments import Arguments
from .findings import clean_text, finding, finding_of_exception
from .interpret_recorder import InterpretRecorder
from .kernel_calls import KernelCalls
from .outputs import compare, output_facts
from .traceable import array_leaves
from .user_position import Position, UserFile

# Fields which this JAX version does not have are left out. Two cores matter to a grid with a parallel dim only; with
# one core interpret mode sees no race between its steps.
_PARAMETERS: dict[str, Any] = {
    "detect_races": True,
    "num_cores_or_threads": 2,
    "num_cores_per_device": 2,
    "out_of_bounds_reads": "raise",
    "dma_execution_mode": "on_wait",
}


_EXPLANATIONS = {
    "race": "Two steps of the grid that may run at the same time touch the same memory: a dim whose steps share an "
    "output block or a scratch is not `parallel`, and a copy must be awaited before its memory is used.",
    "revisit": "The grid comes back to an output block after it has left it, and on a TPU what it held is lost: put "
    "the grid dims which the block's index map does not use last.",
}


@dataclasses.dataclass(frozen=True, slots=True)
class Interpreted:
    """What a run in interpret mode showed."""

    findings: tuple[Finding, ...]
    outputs: tuple[OutputFacts, ...] | None = None
    comparison: Comparison | None = None


def interpret(
    function: Callable[..., Any],
    arguments: Arguments,
    reference: Callable[..., Any] | None,
    chip: AbstractChip,
    user_file: UserFile,
    definition: Position | None,
) -> Interpreted:
    """Run the function with every Pallas kernel in it interpreted as on the chip.

    `definition` is where the function is defined; findings on outputs go there when no kernel call is known. Nothing
    that the user's code raises gets out.
    """
    recorder = InterpretRecorder(KernelCalls(user_file))

    def call() -> Any:
        return function(*arguments.positional, **arguments.keywords)

    try:
        with interpreted("nan", chip, recorder):
            outputs = jax.block_until_ready(call())
    except BaseException as error:
        return Interpreted((finding_of_run(error, recorder, definition),))
    if recorder.first_error is not None:
        # A race that was printed. What the run computed depends on the order it happened to take.
        return Interpreted((finding_of_run(recorder.first_error, recorder, definition),))
    facts = output_facts(outputs)
    expected, comparison = None, None
    if reference is not None:
        try:
            expected = reference(*arguments.positional, **arguments.keywords)
        except BaseException as error:
            failure = finding_of_exception(error, "exception", user_file)
            message = f"the reference {reference.__name__} raises {failure.message}"
            return Interpreted((dataclasses.replace(failure, message=message),), facts)
        comparison = compare(outputs, expected, reference.__name__)
    position = recorder.calls.last or definition
    found = _findings_on_outputs(outputs, expected, facts, chip, call, position)
    if comparison is not None and not comparison.matches:
        message = f"the result is not that of {comparison.reference}: {comparison.detail}."
        found.append(finding("mismatch", message, position))
    return Interpreted(tuple(_with_hint(each, arguments) for each in found), facts, comparison)


def _with_hint(found: Finding, arguments: Arguments) -> Finding:
    """A count or a length of zero may be the whole reason, and is not the kernel's fault."""
    if not arguments.zeros:
        return found
    names = ", ".join(arguments.zeros)
    hint = f"The example fills {names} with zeros; `# pallas-lens: inputs=FUNCTION` gives other values."
    return dataclasses.replace(found, message=f"{found.message} {hint}")


@contextlib.contextmanager
def interpreted(uninitialised_memory: str, chip: AbstractChip, recorder: InterpretRecorder) -> Iterator[None]:
    """Within it, every Pallas kernel runs in TPU interpret mode, memory filled with `nan` or `zero` at the start."""
    wanted = {**_PARAMETERS, "uninitialized_memory": uninitialised_memory}
    known = {field.name for field in dataclasses.fields(pltpu.InterpretParams)}
    parameters = pltpu.InterpretParams(**{name: value for name, value in wanted.items() if name in known})
    try:
        with on_chip(chip), pltpu.force_tpu_interpret_mode(parameters), recorder.recording():
            yield
    finally:
        pltpu.reset_tpu_interpret_mode_state()


def finding_of_run(error: BaseException, recorder: InterpretRecorder, definition: Position | None) -> Finding:
    """The finding for an exception out of interpreted code: what the recorder saw first, where it saw anything."""
    user_file = recorder.calls.user_file
    cause = recorder.first_error
    if cause is None:
        return finding_of_exception(error, "exception", user_file, otherwise=definition)
    kind = _kind(cause)
    found = finding_of_exception(cause, kind, user_file, position=recorder.first_position, otherwise=definition)
    explanation = _EXPLANATIONS.get(kind)
    if explanation is None:
        return found
    detail = str(cause).removeprefix("RACE DETECTED").strip()
    return dataclasses.replace(found, message=f"{explanation} {clean_text(detail)}")


def _kind(error: BaseException) -> str:
    text = str(error)
    if "RACE DETECTED" in text:
        return "race"
    if text.startswith("Revisited block"):
        return "revisit"
    if isinstance(error, IndexError) or "out-of-bounds" in text.lower() or "out of bounds" in text.lower():
        return "out-of-bounds"
    return "exception"


def _findings_on_outputs(
    outputs: Any,
    expected: Any,
    facts: tuple[OutputFacts, ...],
    chip: AbstractChip,
    call: Callable[[], Any],
    position: Position | None,
) -> list[Finding]:
    """NaN that the reference does not have, and values which change with what unwritten memory holds."""
    arrays = [np.asarray(leaf) for leaf in array_leaves(outputs)]
    with_nan = [index for index, fact in enumerate(facts) if fact.nan and not _nan_as_expected(arrays, expected, index)]
    integers = [index for index, array in enumerate(arrays) if array.dtype.kind in "iub" and array.size]
    if not with_nan and not integers:
        return []
    from_zeros = _with_zeros(chip, call)
    found = []
    for index in with_nan:
        fact = facts[index]
        first = ", ".join(map(str, fact.first_nan or ()))
        message = f"{fact.name} {fact.dtype}{list(fact.shape)} has {fact.nan} NaN, the first at [{first}]"
        if from_zeros is None:
            message += "."
        elif np.isnan(from_zeros[index].astype(np.float64)).any():
            message += ": an operation on the arguments makes them, such as a division by zero."
        else:
            message += (
                ": it was computed from memory that nothing had written. An output or scratch must be written before "
                "it is read, every block of an output must be written, and what an edge block holds beyond the array "
                "must be masked."
            )
        found.append(finding("nan", message, position))
    for index in integers:
        if from_zeros is not None and not np.array_equal(arrays[index], from_zeros[index]):
            changed = np.nonzero(arrays[index] != from_zeros[index])
            first = ", ".join(str(int(axis[0])) for axis in changed)
            message = (
                f"{facts[index].name} depends on memory that nothing had written, first at [{first}]. An output or "
                "scratch must be written before it is read, and every block of an output must be written."
            )
            found.append(finding("uninitialised", message, position))
    return found


def _nan_as_expected(arrays: list[np.ndarray[Any, Any]], expected: Any, index: int) -> bool:
    references = [np.asarray(leaf) for leaf in array_leaves(expected)]
    if index >= len(references) or references[index].shape != arrays[index].shape:
        return False
    ours = np.isnan(arrays[index].astype(np.float64))
    return not (ours & ~np.isnan(references[index].astype(np.float64))).any()


def _with_zeros(chip: AbstractChip, call: Callable[[], Any]) -> list[np.ndarray[Any, Any]] | None:
    """The outputs of a second run in which memory starts as zeros, None where that run fails."""
    jax.clear_caches()
    recorder = InterpretRecorder(KernelCalls(UserFile("", "")))
    try:
        with interpreted("zero", chip, recorder):
            return [np.asarray(leaf) for leaf in array_leaves(jax.block_until_ready(call()))]
    except Exception:
        return None
