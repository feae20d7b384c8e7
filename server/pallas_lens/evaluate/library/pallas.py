"""``jax.experimental.pallas`` and its TPU part: the objects that a kernel call is made of."""

from __future__ import annotations

import ast
from typing import Final

from ...model import symbolic
from ...model.kernel_call import MemorySpace
from ...model.span import Span
from .. import calling, starting
from ..arguments import Arguments
from ..array_types import DynamicSlice, array_of, dtype_name
from ..machine import Machine
from ..operators import as_integer, truth
from ..recording import in_branch, in_loop, turns_between
from ..values import (
    MISSING,
    Array,
    BlockDimensionValue,
    BlockSpecValue,
    BufferedValue,
    CompilerParamsValue,
    Condition,
    External,
    Function,
    GridSpecValue,
    Guarded,
    Instance,
    KernelCallable,
    ListValue,
    MemorySpaceValue,
    Opaque,
    Partial,
    Ref,
    ScratchValue,
    Value,
    describe,
)
from .jax import dims_of
from .python import TableFunction, unknown_call

_PL: Final = "jax.experimental.pallas"
_TPU: Final = "jax.experimental.pallas.tpu"

BUFFER_MAKERS: Final = frozenset({"input", "output", "input_output", "accumulator", "create"})
"""The class methods of ``pltpu.BufferedRef`` that stand for a spec in ``in_specs`` of ``emit_pipeline``."""

_PALLAS_CALL_POSITIONAL: Final = ("kernel", "out_shape")
_GRID_SPEC_POSITIONAL: Final = ("grid", "in_specs", "out_specs", "scratch_shapes")
_PREFETCH_POSITIONAL: Final = ("num_scalar_prefetch", *_GRID_SPEC_POSITIONAL)


def _span(arguments: Arguments) -> Span:
    return arguments.span or Span("", 0, 0, 0, 0)


def _named(arguments: Arguments, positional: tuple[str, ...]) -> dict[str, tuple[Value, Span]]:
    """All arguments by keyword, with the span of each value."""
    named: dict[str, tuple[Value, Span]] = {}
    for index, value in enumerate(arguments.positional):
        if index < len(positional):
            named[positional[index]] = (value, arguments.span_of(index, "") or _span(arguments))
    for name, value in arguments.keywords.items():
        named[name] = (value, arguments.keyword_spans.get(name) or _span(arguments))
    return named


def _block_spec(machine: Machine, arguments: Arguments) -> Value:
    shape = arguments.get(0, "block_shape", None)
    index_map = arguments.get(1, "index_map", None)
    settled = machine.settled(shape)
    in_old_order = isinstance(settled, Function | Partial)
    return BlockSpecValue(
        shape,
        index_map,
        arguments.get(2, "memory_space", None),
        arguments.get(3, "pipeline_mode", None),
        _span(arguments),
        arguments.span_of(0, "block_shape"),
        arguments.span_of(1, "index_map"),
        arguments.span_of(3, "pipeline_mode"),
        in_old_order,
    )


def _grid_spec(positional: tuple[str, ...]) -> TableFunction:
    def function(machine: Machine, arguments: Arguments) -> Value:
        if arguments.open_keywords or arguments.rest is not None:
            return machine.fresh("grid_spec", "some of its arguments are not known")
        return GridSpecValue(_named(arguments, positional), _span(arguments))

    return function


def _compiler_params(machine: Machine, arguments: Arguments) -> Value:
    return CompilerParamsValue(_named(arguments, ()), arguments.open_keywords, _span(arguments))


def _interpret_params(machine: Machine, arguments: Arguments) -> Value:
    return External(f"{_TPU}.InterpretParams")


def _buffered(machine: Machine, arguments: Arguments) -> Value:
    return BufferedValue(arguments.get(0, "buffer_count"), arguments.get(1, "use_lookahead", False))


def _dimension(kind: str) -> TableFunction:
    def function(machine: Machine, arguments: Arguments) -> Value:
        return BlockDimensionValue(kind, 1 if kind == "squeezed" else arguments.get(0, "block_size"))

    return function


def _memory_ref(machine: Machine, arguments: Arguments) -> Value:
    space = machine.settled(arguments.get(2, "memory_space", None))
    shape, dtype = arguments.get(0, "shape"), arguments.get(1, "dtype")
    if not isinstance(space, MemorySpaceValue):
        return unknown_call(machine, "MemoryRef", arguments)
    return ScratchValue(shape, dtype, space.space, arguments.span)


def _semaphore(kind: str) -> TableFunction:
    def function(machine: Machine, arguments: Arguments) -> Value:
        shape = arguments.get(0, "shape", ())
        return ScratchValue(shape, None, MemorySpace.SEMAPHORE, arguments.span, kind)

    return function


def _pallas_call(machine: Machine, arguments: Arguments) -> Value:
    return _kernel_callable(machine, arguments, "pallas_call", _PALLAS_CALL_POSITIONAL)


def _emit_pipeline(machine: Machine, arguments: Arguments) -> Value:
    return _kernel_callable(machine, arguments, "emit_pipeline", ("kernel",))


def _kernel(machine: Machine, arguments: Arguments) -> Value:
    if not arguments.positional and "body" not in arguments.keywords:
        # pl.kernel(out_type=…, mesh=…) used as a decorator.
        return Partial(External(f"{_PL}.kernel"), (), tuple(arguments.keywords.items()), arguments.span)
    return _kernel_callable(machine, arguments, "kernel", ("kernel", "out_type"))


def _core_map(machine: Machine, arguments: Arguments) -> Value:
    """``@pl.core_map(mesh, …)``: the decorated function runs at once on every core of the mesh."""
    named = dict(arguments.keywords)
    if arguments.positional:
        named["mesh"] = arguments.positional[0]
    return Partial(External("pallas_lens.run_core_map"), (), tuple(named.items()), arguments.span)


def _run_core_map(machine: Machine, arguments: Arguments) -> Value:
    made = _kernel_callable(machine, arguments, "core_map", ("kernel",))
    if isinstance(made, KernelCallable):
        starting.start_kernel(machine, made, Arguments((), {}, frame=arguments.frame, place=arguments.span))
    return None


def _kernel_callable(machine: Machine, arguments: Arguments, form: str, positional: tuple[str, ...]) -> Value:
    named = _named(arguments, positional)
    kernel, kernel_span = named.pop("kernel", named.pop("body", (MISSING, None)))
    if kernel is MISSING:
        return Partial(External(f"{_PL}.{form}"), (), tuple(arguments.keywords.items()), arguments.span)
    span = _span(arguments)
    callee = span
    node, frame = arguments.node, arguments.frame
    if node is not None and frame is not None:
        span = frame.span(node)
        callee = frame.span(node.func)
    is_foreign = span.file is not None and _stands_in_analysed_file(machine, kernel)
    if machine.calls and (is_foreign or node is machine.calls[-1][0]):
        # Where a wrapper hands on its own arguments, or stands in another file, its call is the call site.
        node, frame = next((one for one in reversed(machine.calls) if not _hands_on(one[0])), machine.calls[0])
        span, callee = frame.span(node), frame.span(node.func)
    return starting.make_kernel(machine, form, kernel, kernel_span, named, arguments, span, callee)


def _hands_on(node: ast.Call) -> bool:
    """Whether a call hands on what its function was given, as ``call(*args)`` does."""
    return bool(node.args) and isinstance(node.args[0], ast.Starred)


def _stands_in_analysed_file(machine: Machine, kernel: Value) -> bool:
    target = machine.target(kernel)
    return isinstance(target, Function) and "\0" not in target.anchor


def results_of(machine: Machine, callable_: KernelCallable) -> Value:
    """The outputs of a kernel call, from ``out_shape``."""
    out_shape = callable_.arguments.get("out_shape", callable_.arguments.get("out_type", (None, None)))[0]
    return machine.lift(lambda value: _outputs(machine, value), out_shape)


def _outputs(machine: Machine, value: Value) -> Value:
    if isinstance(value, ListValue):
        return machine.lift(lambda items: _outputs(machine, items), value.items)
    if isinstance(value, tuple):
        return tuple(_outputs(machine, machine.settled(item)) for item in value)
    if isinstance(value, Array):
        return Array(value.shape, value.dtype)
    if value is None:
        return None
    if isinstance(value, ScratchValue) and value.semaphore is None:
        # ``out_shape=pltpu.HBM((8, 128), jnp.float32)`` says the memory space with the type.
        made = ref_of(machine, "the output", value)
        return Array(made.shape, made.dtype) if isinstance(made, Ref) else made
    if isinstance(value, Opaque):
        return machine.fresh("the outputs", value.reason)
    return machine.fresh("the outputs", "the output shapes are not known")


def _cdiv(machine: Machine, arguments: Arguments) -> Value:
    def divide(left: Value, right: Value) -> Value:
        first, second = as_integer(left), as_integer(right)
        if first is None or second is None:
            return unknown_call(machine, "cdiv", arguments)
        try:
            return symbolic.ceiling_divide(first, second)
        except ZeroDivisionError:
            return unknown_call(machine, "cdiv", arguments)

    return machine.lift(divide, arguments.get(0, "a"), arguments.get(1, "b"))


def _next_power_of_two(machine: Machine, arguments: Arguments) -> Value:
    value = machine.settled(arguments.get(0, "x"))
    if isinstance(value, int) and 0 < value < 1 << 40:
        return 1 << (value - 1).bit_length()
    return unknown_call(machine, "next_power_of_2", arguments)


def _align_to(machine: Machine, arguments: Arguments) -> Value:
    def align(value: Value, multiple: Value) -> Value:
        first, second = as_integer(value), as_integer(multiple)
        if first is None or second is None:
            return unknown_call(machine, "align_to", arguments)
        try:
            return symbolic.multiply(symbolic.ceiling_divide(first, second), second)
        except ZeroDivisionError:
            return unknown_call(machine, "align_to", arguments)

    return machine.lift(align, arguments.get(0, "x"), arguments.get(1, "a"))


def _dynamic_slice(machine: Machine, arguments: Arguments) -> Value:
    start, size = arguments.get(0, "start"), arguments.get(1, "size", MISSING)
    if size is MISSING:
        return DynamicSlice(start, 0)
    return DynamicSlice(size, start, arguments.get(2, "stride", None))


def _program_id(machine: Machine, arguments: Arguments) -> Value:
    return Array((), "int32")


def _multiple_of(machine: Machine, arguments: Arguments) -> Value:
    return arguments.get(0, "x")


def _when(machine: Machine, arguments: Arguments) -> Value:
    """``pl.when(condition)``: a decorator that runs the function at once, or not."""
    return Partial(External("pallas_lens.run_when"), (arguments.get(0, "condition"),), (), arguments.span)


def _run_when(machine: Machine, arguments: Arguments) -> Value:
    if len(arguments.positional) < 2:
        return None
    condition, function = arguments.positional[:2]
    outcome = truth(machine.settled(condition)) if not isinstance(condition, Guarded) else None
    if outcome is False:
        return None
    if outcome is True:
        return calling.invoke(machine, function, (), {}, arguments.frame)
    # Whether a step runs it is decided on the chip: what it does is followed, what it binds is forgotten.
    mark = machine.journal.mark()
    facts = machine.facts
    if isinstance(outcome, Condition):
        machine.assume(outcome, True)
    with in_branch(machine):
        calling.invoke(machine, function, (), {}, arguments.frame)
    machine.journal.rewind(mark)
    machine.facts = facts
    return None


def _loop(machine: Machine, arguments: Arguments) -> Value:
    bounds = (arguments.get(0, "lower"), arguments.get(1, "upper"), arguments.keywords.get("step", 1))
    return Partial(External("pallas_lens.run_loop"), bounds, (), arguments.span)


def _run_loop(machine: Machine, arguments: Arguments) -> Value:
    if len(arguments.positional) > 3:
        lower, upper, step, function = map(machine.settled, arguments.positional[:4])
        with in_loop(machine, turns_between(lower, upper, step)):
            calling.invoke(machine, function, (Array((), "int32"),), {}, arguments.frame)
    return None


def _run_scoped(machine: Machine, arguments: Arguments) -> Value:
    if not arguments.positional:
        return None
    function, *types = arguments.positional
    refs = tuple(ref_of(machine, f"scoped[{index}]", machine.settled(value)) for index, value in enumerate(types))
    named = {
        name: ref_of(machine, name, machine.settled(value))
        for name, value in arguments.keywords.items()
        if name != "collective_axes"
    }
    return calling.invoke(machine, function, refs, named, arguments.frame)


def _with_scoped(machine: Machine, arguments: Arguments) -> Value:
    """``pl.with_scoped(…)``: a decorator that runs the function at once with the buffers."""
    return Partial(
        External("pallas_lens.run_with_scoped"), arguments.positional, tuple(arguments.keywords.items()), arguments.span
    )


def _run_with_scoped(machine: Machine, arguments: Arguments) -> Value:
    if not arguments.positional:
        return None
    *types, function = arguments.positional
    made = Arguments((function, *types), arguments.keywords, frame=arguments.frame)
    return _run_scoped(machine, made)


def ref_of(machine: Machine, name: str, value: Value) -> Value:
    """The ref that a scratch type gives inside the kernel."""
    if isinstance(value, tuple):
        return tuple(ref_of(machine, f"{name}[{index}]", machine.settled(item)) for index, item in enumerate(value))
    if isinstance(value, Guarded):
        return machine.lift(lambda one: ref_of(machine, name, one), value)
    if isinstance(value, BlockSpecValue | Instance):
        # A ``BufferedRef``, also one whose class is the program's, stands for itself.
        return value
    if isinstance(value, ScratchValue):
        shape = machine.settled(value.shape)
        if value.semaphore is not None:
            return Opaque(name, "a semaphore has no value")
        return Ref(name, dims_of(machine, shape), dtype_name(machine.settled(value.dtype)), value.space)
    return machine.fresh(name, f"`{describe(value)}` is not a scratch type that is known here")


def _sync_copy(machine: Machine, arguments: Arguments) -> Value:
    return None


def _load(machine: Machine, arguments: Arguments) -> Value:
    source = machine.settled(arguments.get(0, "ref"))
    return array_of(source) if isinstance(source, Ref) else unknown_call(machine, "load", arguments)


def _squeezed(machine: Machine, arguments: Arguments) -> Value:
    return BlockDimensionValue("squeezed", 1)


def _allocation(machine: Machine, arguments: Arguments) -> Value:
    """``BufferedRef.input(spec, …)``: the spec, with buffers that the program manages."""
    return machine.settled(arguments.get(0, "spec"))


def _cost_estimate(machine: Machine, arguments: Arguments) -> Value:
    return machine.fresh("CostEstimate(…)", "it has no part in the check")


FUNCTIONS: Final[dict[str, TableFunction]] = {
    f"{_PL}.BlockSpec": _block_spec,
    f"{_TPU}.BlockSpec": _block_spec,
    f"{_PL}.GridSpec": _grid_spec(_GRID_SPEC_POSITIONAL),
    f"{_TPU}.PrefetchScalarGridSpec": _grid_spec(_PREFETCH_POSITIONAL),
    f"{_TPU}.CompilerParams": _compiler_params,
    f"{_TPU}.InterpretParams": _interpret_params,
    f"{_TPU}.TPUCompilerParams": _compiler_params,
    f"{_PL}.Buffered": _buffered,
    f"{_TPU}.Buffered": _buffered,
    f"{_PL}.Element": _dimension("element"),
    f"{_PL}.Blocked": _dimension("blocked"),
    f"{_PL}.Squeezed": _squeezed,
    f"{_PL}.BoundedSlice": _dimension("bounded_slice"),
    f"{_TPU}.BoundedSlice": _dimension("bounded_slice"),
    f"{_PL}.Indirect": _dimension("indirect"),
    f"{_PL}.MemoryRef": _memory_ref,
    f"{_TPU}.SemaphoreType.DMA": _semaphore("dma"),
    f"{_TPU}.SemaphoreType.REGULAR": _semaphore("regular"),
    f"{_TPU}.SemaphoreType.BARRIER": _semaphore("barrier"),
    f"{_PL}.SemaphoreType.REGULAR": _semaphore("regular"),
    f"{_PL}.pallas_call": _pallas_call,
    f"{_PL}.kernel": _kernel,
    f"{_TPU}.kernel": _kernel,
    f"{_PL}.core_map": _core_map,
    f"{_TPU}.core_map": _core_map,
    "pallas_lens.run_core_map": _run_core_map,
    f"{_TPU}.emit_pipeline": _emit_pipeline,
    f"{_PL}.cdiv": _cdiv,
    f"{_PL}.next_power_of_2": _next_power_of_two,
    f"{_PL}.align_to": _align_to,
    f"{_PL}.ds": _dynamic_slice,
    f"{_PL}.dslice": _dynamic_slice,
    f"{_TPU}.ds": _dynamic_slice,
    f"{_PL}.program_id": _program_id,
    f"{_PL}.num_programs": _program_id,
    f"{_PL}.multiple_of": _multiple_of,
    f"{_PL}.when": _when,
    "pallas_lens.run_when": _run_when,
    f"{_PL}.loop": _loop,
    "pallas_lens.run_loop": _run_loop,
    f"{_PL}.run_scoped": _run_scoped,
    f"{_TPU}.run_scoped": _run_scoped,
    f"{_PL}.with_scoped": _with_scoped,
    f"{_TPU}.with_scoped": _with_scoped,
    "pallas_lens.run_with_scoped": _run_with_scoped,
    f"{_TPU}.sync_copy": _sync_copy,
    f"{_PL}.load": _load,
    f"{_TPU}.load": _load,
    f"{_PL}.CostEstimate": _cost_estimate,
    **{f"{_TPU}.BufferedRef.{name}": _allocation for name in BUFFER_MAKERS},
}
