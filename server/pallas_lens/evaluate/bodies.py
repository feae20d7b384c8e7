"""Kernel bodies: followed with the refs of a call, and again when only the body was edited."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace

from ..model.kernel_body import KernelBody
from ..model.kernel_call import Form, KernelCall, KernelFunction
from ..model.span import Span
from ..model.symbolic import Facts
from ..model.unknown import Unknown
from .arguments import Arguments
from .calling import apply
from .machine import Machine, OutOfBudget, Recorder
from .module import Module, Reads
from .specs import function_span
from .values import Array, Function, Opaque, Partial, Ref, Value


@dataclass(frozen=True, slots=True, eq=False)
class FollowedBody:
    """A kernel body with what it takes to follow it again.

    ``reads`` is what the body depends on. ``name`` is the kernel's name in ``module``;
    None where the body cannot be followed apart from the code around the call.
    ``is_left_out``: it was not followed, and ``body`` has no operations.
    """

    body: KernelBody
    kernel: Value
    arguments: Arguments
    assumed: dict[Hashable, bool]
    facts: Facts
    ranks: dict[str, Value]
    reads: Reads
    module: Module
    name: str | None
    is_of_pallas_call: bool
    is_left_out: bool

    @property
    def shown(self) -> KernelBody | None:
        """The body for those who look at it."""
        return None if self.is_left_out else self.body


def target_of(kernel: Value) -> Value:
    """The function behind any ``functools.partial``."""
    while isinstance(kernel, Partial):
        kernel = kernel.function
    return kernel


def read_whole(machine: Machine, kernel: Value) -> None:
    """Depend on the whole text of ``kernel``, not only on its signature."""
    target = target_of(kernel)
    if isinstance(target, Function):
        target.scope.module.read_text(target.anchor, machine)


def follow_body(
    machine: Machine,
    call: KernelCall,
    kernel: Value,
    refs: tuple[Value, ...] | None,
    is_covered: Callable[[FollowedBody], bool],
) -> FollowedBody | None:
    """Run the kernel with its refs and keep what it does; None where there is no function to run.

    A body that ``is_covered`` by what is known already is left out, to be followed where somebody asks for it.
    """
    target = target_of(kernel)
    if not isinstance(call.kernel, KernelFunction) or call.kernel.definition is None or machine.recorder is not None:
        return None
    if not isinstance(target, Function):
        return None
    module = target.scope.module
    begun = FollowedBody(
        KernelBody(call.kernel.name, call.kernel.definition, (), call.specialisation),
        kernel,
        _arguments(call, call.kernel, refs),
        dict(machine.assumed),
        machine.facts,
        dict(machine.ranks),
        {},
        module,
        module.name_of(target),
        call.form is Form.PALLAS_CALL,
        is_left_out=True,
    )
    if is_covered(begun):
        return leave_out(begun)
    reads, exact = machine.reads, machine.exact_reads
    machine.reads, machine.exact_reads = {}, {}
    started = len(machine.started)
    # A body has a budget of its own.
    steps, machine.steps = machine.steps, 0
    try:
        body = _run(machine, begun, kernel)
    finally:
        machine.steps = steps
        body_reads, body_exact = machine.reads, machine.exact_reads
        machine.reads, machine.exact_reads = reads, exact
    name = begun.name
    if len(machine.started) > started or name is None:
        # What the body starts belongs to the code around the call: both are followed together.
        machine.reads.update(body_reads)
        machine.exact_reads.update(body_exact)
        name = None
    return replace(begun, body=body, reads=body_reads, name=name, is_left_out=False)


def leave_out(before: FollowedBody) -> FollowedBody | None:
    """The same kernel as it stands now, not followed; None where the code around the call has to be followed anew."""
    machine, kernel = _kernel_now(before)
    target = target_of(kernel)
    if not isinstance(target, Function):
        return None
    read_whole(machine, kernel)
    body = replace(before.body, span=function_span(target), operations=(), returned=None)
    return replace(before, body=body, kernel=kernel, reads=machine.reads, is_left_out=True)


def follow_again(before: FollowedBody) -> FollowedBody | None:
    """The same kernel as it stands now; None where the code around the call has to be followed anew."""
    machine, kernel = _kernel_now(before)
    target = target_of(kernel)
    if not isinstance(target, Function):
        return None
    body = replace(_run(machine, before, kernel), span=function_span(target))
    if machine.started:
        return None
    return replace(before, body=body, kernel=kernel, reads=machine.reads, is_left_out=False)


def _kernel_now(before: FollowedBody) -> tuple[Machine, Value]:
    """The kernel after an edit, in a state as it was before; None where it goes by no name."""
    machine = Machine(assumed=dict(before.assumed), facts=before.facts, ranks=dict(before.ranks))
    if before.name is None:
        return machine, None
    function = machine.settled(before.module.look_up(before.name, machine))
    return machine, _with_target(before.kernel, function) if isinstance(function, Function) else None


def _run(machine: Machine, before: FollowedBody, kernel: Value) -> KernelBody:
    """What the kernel does with its arguments, until the budget is spent."""
    recorder = Recorder()
    machine.recorder = recorder
    started = len(machine.started)
    result: Value = None
    is_whole = False
    try:
        result = apply(machine, kernel, before.arguments)
        # What a pipeline inside does is not recorded.
        is_whole = not recorder.may_end_early and len(machine.started) == started
    except (OutOfBudget, RecursionError):
        pass
    finally:
        machine.recorder = None
    target = target_of(kernel)
    returned = _returned(target, result) if before.is_of_pallas_call else None
    return replace(before.body, operations=tuple(recorder.operations), returned=returned, is_whole=is_whole)


def _with_target(kernel: Value, function: Function) -> Value:
    if isinstance(kernel, Partial):
        return replace(kernel, function=_with_target(kernel.function, function))
    return function


def moved(call: KernelCall, before: FollowedBody, after: FollowedBody) -> KernelCall:
    """``call`` with the places in its kernel as they are after an edit of the kernel's body."""
    kernel = call.kernel
    old, new = before.body.span.anchor, after.body.span.anchor
    if isinstance(kernel, Unknown) or kernel.definition is None or kernel.definition.anchor != old:
        return call

    def placed(span: Span | None) -> Span | None:
        return replace(span, anchor=new) if span is not None and span.anchor == old else span

    parameters = tuple(replace(parameter, span=placed(parameter.span)) for parameter in kernel.parameters)
    return replace(
        call,
        kernel=replace(kernel, definition=after.body.span, signature=placed(kernel.signature), parameters=parameters),
    )


def _arguments(call: KernelCall, kernel: KernelFunction, refs: tuple[Value, ...] | None) -> Arguments:
    if refs is None or isinstance(kernel.arity, Unknown) or not kernel.arity.accepts(len(refs) - call.named_scratch):
        reason = "the operands of the call are not known"
        unknown = tuple(Opaque(parameter.name, reason) for parameter in kernel.parameters)
        return Arguments(unknown, {})
    split = len(refs) - call.named_scratch
    names = [operand.name for operand in call.operands[split:]] if isinstance(call.operands, tuple) else []
    return Arguments(refs[:split], dict(zip(names, refs[split:], strict=True)))


def _returned(function: Function, result: Value) -> Span | None:
    """The expression that a function returns, where there is just one and it is surely a value."""
    if not isinstance(result, Array | Ref | int | float):
        return None
    node = function.node
    if isinstance(node, ast.Lambda):
        returned: list[ast.expr] = [node.body]
    else:
        returned = [one.value for one in _own_returns(node.body) if one.value is not None]
    if len(returned) != 1:
        return None
    (value,) = returned
    return Span(
        function.anchor,
        value.lineno - 1,
        value.col_offset,
        (value.end_lineno or value.lineno) - 1,
        value.end_col_offset or value.col_offset,
    )


def _own_returns(statements: list[ast.stmt]) -> Iterator[ast.Return]:
    """The return statements of a function, without those of functions inside it."""
    for statement in statements:
        if isinstance(statement, ast.Return):
            yield statement
        elif not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for part in ("body", "orelse", "finalbody"):
                yield from _own_returns(getattr(statement, part, []))
