"""Kernels that the program makes, and starts on operands."""

from __future__ import annotations

from ..model.span import Span
from . import library
from .arguments import Arguments
from .machine import Machine, Started
from .values import KernelCallable, Opaque, Value


def make_kernel(
    machine: Machine,
    form: str,
    kernel: Value,
    kernel_span: Span | None,
    named: dict[str, tuple[Value, Span]],
    arguments: Arguments,
    span: Span,
    callee_span: Span,
    wrapper: str | None = None,
) -> KernelCallable:
    """Note that the program has made a kernel of ``arguments``, of which ``named`` are those for JAX, and give it."""
    made = KernelCallable(
        form,
        kernel,
        kernel_span,
        named,
        arguments.open_keywords or arguments.rest is not None,
        span,
        callee_span,
        machine.stack[-1].name if machine.stack else "<module>",
        len(machine.started),
        wrapper,
    )
    machine.started.append(Started(made, dict(machine.assumed), machine.facts, len(machine.stack)))
    return made


def start_kernel(machine: Machine, callable_: KernelCallable, arguments: Arguments) -> Value:
    """Note that a kernel is started with these operands; its value is the outputs."""
    operands: tuple[Value, ...] | Opaque = arguments.positional
    if arguments.rest is not None:
        operands = Opaque("operands", arguments.rest)
    machine.started.append(
        Started(
            callable_,
            dict(machine.assumed),
            machine.facts,
            len(machine.stack),
            operands,
            arguments.span,
            arguments.keywords,
            dict(machine.ranks),
            machine.batch_sizes,
        )
    )
    results = library.results_of(machine, callable_)
    pipeline = machine.settled(callable_.kernel)
    if isinstance(pipeline, KernelCallable) and isinstance(operands, tuple):
        # A pipeline that is itself the kernel runs on the arrays that the call hands over and gives back.
        outputs = results if isinstance(results, tuple) else (results,)
        start_kernel(machine, pipeline, Arguments((*operands, *outputs), {}, frame=arguments.frame))
    return results
