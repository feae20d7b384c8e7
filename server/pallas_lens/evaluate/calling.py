"""Calls: arguments evaluated, bound to parameters, and the function followed."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ..model.kernel_body import OperationKind
from ..model.kernel_call import Arity
from ..model.span import Span
from ..model.unknown import Unknown
from .array_types import dtype_name, is_array_like
from .lexical import is_generator, wrapped_form
from .machine import DEPTH_LIMIT, Frame, Machine, Started
from .values import (
    MISSING,
    Array,
    BoundExternal,
    Class,
    Condition,
    DictValue,
    Dtype,
    External,
    Function,
    Guarded,
    Instance,
    KernelCallable,
    ListValue,
    MemorySpaceValue,
    Opaque,
    Partial,
    Scope,
    ScratchValue,
    SpannedTuple,
    Transformed,
    Value,
    describe,
)


@dataclass(frozen=True, slots=True, eq=False)
class Arguments:
    """The evaluated arguments of one call.

    ``rest`` is the reason why more positional arguments may follow (``*args`` of
    unknown length), ``open_keywords`` the same for ``**kwargs``.
    """

    positional: tuple[Value, ...]
    keywords: dict[str, Value]
    positional_spans: tuple[Span | None, ...] = ()
    keyword_spans: Mapping[str, Span] = field(default_factory=dict)
    rest: str | None = None
    open_keywords: bool = False
    node: ast.Call | None = None
    frame: Frame | None = None
    span: Span | None = None

    def get(self, position: int | None, name: str, default: Value = MISSING) -> Value:
        """The argument called ``name``, or the one at ``position``."""
        if name in self.keywords:
            return self.keywords[name]
        if position is not None and position < len(self.positional):
            return self.positional[position]
        return default

    def span_of(self, position: int | None, name: str) -> Span | None:
        """Where that argument's value stands."""
        if name in self.keyword_spans:
            return self.keyword_spans[name]
        if position is not None and position < len(self.positional_spans):
            return self.positional_spans[position]
        return None


def call(machine: Machine, node: ast.Call, frame: Frame) -> Value:
    """The value of the call ``node``."""
    from .expressions import evaluate

    callee = evaluate(machine, node.func, frame)
    written_arguments = _evaluate_arguments(machine, node, frame)
    is_own = "\0" not in frame.anchor
    started = len(machine.started)
    if is_own:
        forwards = bool(node.args) and isinstance(node.args[0], ast.Starred)
        machine.calls.append((machine.span(node, frame), machine.span(node.func, frame), forwards))
    try:
        # An argument list whose length hangs on a condition makes one call for each outcome.
        result = machine.lift(
            lambda function, *starred: _applied(machine, function, written_arguments.with_contents(starred), started),
            callee,
            *written_arguments.starred,
        )
    finally:
        if is_own:
            machine.calls.pop()
    if machine.recorder is not None:
        arguments = written_arguments.with_contents(tuple(map(machine.settled, written_arguments.starred)))
        _record_call(machine, node, frame, callee, arguments, result)
    return result


def _applied(machine: Machine, callee: Value, arguments: Arguments, started: int) -> Value:
    result = apply(machine, callee, arguments)
    if arguments.frame is None or "\0" in arguments.frame.anchor or wrapped_form(arguments.keywords.keys()) is None:
        return result
    from .wrappers import as_kernel_callable

    return as_kernel_callable(machine, callee, arguments, result, started)


@dataclass(frozen=True, slots=True, eq=False)
class _WrittenArguments:
    """The arguments of one call as written; what stands behind a star is kept apart in ``starred``.

    ``positional`` holds (value, span, is starred); a starred one has no value there.
    """

    positional: tuple[tuple[Value, Span, bool], ...]
    starred: tuple[Value, ...]
    keywords: dict[str, Value]
    keyword_spans: dict[str, Span]
    is_open: bool
    node: ast.Call
    frame: Frame
    span: Span

    def with_contents(self, starred: tuple[Value, ...]) -> Arguments:
        """The arguments as the function sees them, with ``starred`` in the places of the starred ones."""
        positional: list[Value] = []
        spans: list[Span | None] = []
        rest: str | None = None
        contents = iter(starred)
        for value, span, is_starred in self.positional:
            if rest is not None:
                break
            if not is_starred:
                positional.append(value)
                spans.append(span)
                continue
            items = next(contents)
            if isinstance(items, tuple):
                positional.extend(items)
                spans.extend([span] * len(items))
            else:
                rest = _unknown_length(items)
        return Arguments(
            tuple(positional),
            self.keywords,
            tuple(spans),
            self.keyword_spans,
            rest,
            self.is_open,
            self.node,
            self.frame,
            self.span,
        )


def _unknown_length(items: Value) -> str:
    match items:
        case Opaque(_, reason):
            return reason
        case Guarded(_, text):
            return f"depends on `{text}`"
        case _:
            return f"the length of `*{describe(items)}` is not known"


def _evaluate_arguments(machine: Machine, node: ast.Call, frame: Frame) -> _WrittenArguments:
    """Evaluate the arguments of ``node`` from left to right."""
    from .expressions import evaluate, starred_items

    positional: list[tuple[Value, Span, bool]] = []
    starred: list[Value] = []
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            starred.append(starred_items(machine, evaluate(machine, argument.value, frame)))
            positional.append((None, machine.span(argument, frame), True))
        else:
            positional.append((evaluate(machine, argument, frame), machine.span(argument, frame), False))
    keywords: dict[str, Value] = {}
    keyword_spans: dict[str, Span] = {}
    is_open = False
    for keyword in node.keywords:
        value = evaluate(machine, keyword.value, frame)
        if keyword.arg is not None:
            keywords[keyword.arg] = value
            keyword_spans[keyword.arg] = machine.span(keyword.value, frame)
        elif isinstance(value, DictValue):
            is_open = is_open or value.is_open
            for key, item in value.entries.items():
                if isinstance(key, str) and item is not MISSING:
                    keywords[key] = item
                    keyword_spans[key] = value.key_spans.get(key, machine.span(keyword.value, frame))
        else:
            is_open = True
    return _WrittenArguments(
        tuple(positional),
        tuple(starred),
        keywords,
        keyword_spans,
        is_open,
        node,
        frame,
        machine.span(node, frame),
    )


def apply(machine: Machine, callee: Value, arguments: Arguments) -> Value:
    """Call ``callee`` (settled) with ``arguments``."""
    match callee:
        case Function():
            return invoke_function(machine, callee, arguments)
        case Partial(function, bound, keywords):
            merged = replace(
                arguments,
                positional=(*bound, *arguments.positional),
                keywords={**dict(keywords), **arguments.keywords},
                positional_spans=((None,) * len(bound)) + arguments.positional_spans,
            )
            return machine.lift(lambda target: apply(machine, target, merged), function)
        case External(path):
            from .library import call_external

            return call_external(machine, path, arguments)
        case BoundExternal(owner, name):
            from .library import call_method

            return call_method(machine, owner, name, arguments)
        case Class():
            from .classes import instantiate

            return instantiate(machine, callee, arguments)
        case Transformed():
            from .library.transformations import run_transformed

            return run_transformed(machine, callee, arguments)
        case KernelCallable():
            return start_kernel(machine, callee, arguments)
        case Instance(class_=class_):
            from .attributes import attribute, class_attribute

            if isinstance(class_attribute(machine, class_, "__call__"), Function):
                return apply(machine, attribute(machine, callee, "__call__"), arguments)
            text = f"{class_.node.name}(…)({_arguments_text(arguments)})"
            return machine.fresh(text, f"an object of `{class_.node.name}` cannot be called")
        case MemorySpaceValue(space):
            shape, dtype = arguments.get(0, "shape"), arguments.get(1, "dtype")
            return ScratchValue(shape, dtype, space, arguments.span)
        case Dtype(name):
            value = arguments.get(0, "object", 0)
            if isinstance(value, int | float) and not isinstance(value, bool):
                return Array((), name)
            return Array(value.shape, name) if isinstance(value, Array) else Array((), name)
        case Opaque(text, reason):
            _forget_lists(machine, arguments, text)
            return machine.fresh(f"{text}({_arguments_text(arguments)})", reason)
        case _:
            text = describe(callee)
            return machine.fresh(
                f"{text}({_arguments_text(arguments)})", f"`{text}` is not a function that can be followed"
            )


def _arguments_text(arguments: Arguments) -> str:
    parts = [describe(value) for value in arguments.positional]
    parts += [f"{name}={describe(value)}" for name, value in arguments.keywords.items()]
    return ", ".join(parts)


def _forget_lists(machine: Machine, arguments: Arguments, callee: str) -> None:
    """A function that cannot be read may have changed the lists it was given."""
    for value in (*arguments.positional, *arguments.keywords.values()):
        if isinstance(value, ListValue):
            unknown = machine.fresh("the list", f"`{callee}` may have changed it")
            machine.journal.write(value, "items", unknown)


def invoke(
    machine: Machine,
    function: Value,
    positional: tuple[Value, ...],
    keywords: dict[str, Value],
    node: ast.Call | None,
    frame: Frame | None,
) -> Value:
    """Call ``function`` with values at hand."""
    made = Arguments(positional, keywords, (None,) * len(positional), {}, None, False, node, frame)
    return machine.lift(lambda target: apply(machine, target, made), function)


def invoke_function(machine: Machine, function: Function, arguments: Arguments) -> Value:
    """Follow a function of the program."""
    node = function.node
    if len(machine.stack) >= DEPTH_LIMIT or sum(1 for other in machine.stack if other.node is node) >= 2:
        _forget_lists(machine, arguments, function.name)
        return machine.fresh(f"{function.name}(…)", f"the calls of `{function.name}` nest too deep to follow")
    scope = Scope(bind(machine, function, arguments), function.scope, function.scope.module)
    return run(machine, function, scope)


def run(machine: Machine, function: Function, scope: Scope) -> Value:
    """Run the body of ``function`` with its parameters bound in ``scope``; returns its value."""
    from .expressions import evaluate
    from .statements import Flow, execute

    node = function.node
    frame = Frame(scope, function.anchor, function.name, entry_assumptions=dict(machine.assumed))
    machine.functions_run.add(id(node))
    scope.module.read_text(function.anchor, machine)
    machine.stack.append(function)
    try:
        if isinstance(node, ast.Lambda):
            return evaluate(machine, node.body, frame)
        if is_generator(node):
            execute(machine, node.body, frame)
            return machine.fresh(f"{function.name}(…)", f"`{function.name}` is a generator")
        flow = execute(machine, node.body, frame)
        if flow is Flow.NORMAL:
            frame.returns.append(({}, None))
        return _returned(machine, frame)
    finally:
        machine.stack.pop()


def _returned(machine: Machine, frame: Frame) -> Value:
    """One value from all the returns, each under the conditions that lead to it."""
    if not frame.returns:
        return machine.fresh(f"{frame.name}(…)", f"`{frame.name}` always raises")
    *earlier, (_, result) = frame.returns
    split: set[object] = set()
    for assumed, value in reversed(earlier):
        guards = [(key, outcome) for key, outcome in assumed.items() if machine.assumed.get(key) != outcome]
        if not guards:
            result = value
            continue
        made = value
        for key, outcome in reversed(guards):
            condition = Condition(key, machine.texts.get(key, "a condition"))
            made = machine.join(condition, made, result) if outcome else machine.join(condition, result, made)
            split.add(key)
        result = made
    # Both ways of a condition that decided a return are open again for the caller.
    for key in split:
        if key in machine.assumed and key not in frame.entry_assumptions:
            machine.journal.write(machine.assumed, key, MISSING)
    return result


def bind(machine: Machine, function: Function, arguments: Arguments) -> dict[str, Value]:
    """The parameters of ``function`` with what they receive."""
    node = function.node.args
    names = [parameter.arg for parameter in (*node.posonlyargs, *node.args)]
    given = list(arguments.positional)
    spans = list(arguments.positional_spans)
    if function.is_bound:
        given.insert(0, function.bound_self)
        spans.insert(0, None)
    bound: dict[str, Value] = {}
    keywords = dict(arguments.keywords)
    for index, name in enumerate(names):
        if index < len(given):
            bound[name] = given[index]
        elif name in keywords:
            bound[name] = keywords.pop(name)
        elif arguments.rest is not None:
            bound[name] = machine.fresh(name, arguments.rest)
        else:
            default = index - (len(names) - len(function.defaults))
            if default >= 0:
                bound[name] = function.defaults[default]
                if arguments.open_keywords:
                    bound[name] = machine.fresh(name, f"`{name}` may be among the keyword arguments")
            else:
                bound[name] = machine.fresh(name, f"`{name}` is not given")
    if node.vararg is not None:
        extra = tuple(given[len(names) :])
        if arguments.rest is not None:
            bound[node.vararg.arg] = machine.fresh(f"*{node.vararg.arg}", arguments.rest)
        else:
            bound[node.vararg.arg] = SpannedTuple.of(extra, spans[len(names) : len(given)], None)
    defaults = dict(function.keyword_defaults)
    for parameter in node.kwonlyargs:
        if parameter.arg in keywords:
            bound[parameter.arg] = keywords.pop(parameter.arg)
        elif parameter.arg in defaults and not arguments.open_keywords:
            bound[parameter.arg] = defaults[parameter.arg]
        else:
            bound[parameter.arg] = machine.fresh(parameter.arg, f"`{parameter.arg}` is not given")
    if node.kwarg is not None:
        bound[node.kwarg.arg] = DictValue(keywords, arguments.open_keywords, dict(arguments.keyword_spans))
    return bound


def arity_of(machine: Machine, value: Value) -> Arity | Unknown:
    """How many positional arguments ``value`` still takes."""
    match value:
        case Function():
            if value.is_rewrapped:
                return Unknown(f"a decorator of `{value.name}` may change its parameters")
            parameters = value.node.args
            names = len(parameters.posonlyargs) + len(parameters.args) - (1 if value.is_bound else 0)
            least = max(0, names - len(value.defaults))
            return Arity(least, None if parameters.vararg is not None else names)
        case Partial(function, bound, keywords):
            inner = arity_of(machine, machine.settled(function))
            if isinstance(inner, Unknown):
                return inner
            by_name = {name for name, _ in keywords}
            least, most = inner.minimum - len(bound), inner.maximum
            target = machine.target(function)
            if isinstance(target, Function):
                written = [parameter.arg for parameter in (*target.node.args.posonlyargs, *target.node.args.args)]
                written = written[1:] if target.is_bound else written
                required = written[: len(written) - len(target.defaults)]
                # A keyword for the last positional parameters takes their places away.
                least -= sum(1 for name in required if name in by_name)
                named = [index for index, name in enumerate(written) if name in by_name]
                if named and most is not None:
                    most = min(most, min(named))
                elif named:
                    most = min(named)
            if most is None:
                return Arity(max(0, least), None)
            most = max(0, most - len(bound))
            return Arity(min(max(0, least), most), most)
        case Transformed(function=function):
            return arity_of(machine, machine.settled(function))
        case Opaque(_, reason):
            return Unknown(reason)
        case Guarded():
            return Unknown(f"depends on `{value.text}`")
        case _:
            return Unknown(f"`{describe(value)}` is not a function that can be followed")


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
    from .library.pallas import results_of

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
    results = results_of(machine, callable_)
    pipeline = machine.settled(callable_.kernel)
    if isinstance(pipeline, KernelCallable) and isinstance(operands, tuple):
        # A pipeline that is itself the kernel runs on the arrays that the call hands over and gives back.
        outputs = results if isinstance(results, tuple) else (results,)
        start_kernel(machine, pipeline, Arguments((*operands, *outputs), {}, frame=arguments.frame))
    return results


def _contracts(positional: tuple[Value, ...]) -> bool:
    """Whether the arguments of ``einsum`` are a matmul: two arrays with a letter that the result does not have."""
    match positional:
        case (str() as formula, _, _) if "->" in formula and "." not in formula:
            inputs, _, result = formula.partition("->")
            left, _, right = inputs.partition(",")
            return any(letter.isalpha() and letter not in result for letter in set(left) & set(right))
        case _:
            return False


def _record_call(
    machine: Machine, node: ast.Call, frame: Frame, callee: Value, arguments: Arguments, result: Value
) -> None:
    from .recording import record

    if isinstance(callee, External) and callee.path.startswith("jax."):
        name = callee.path
    elif isinstance(callee, BoundExternal) and is_array_like(callee.owner):
        name = f"jax.Array.{callee.name}"
        arguments = Arguments((callee.owner, *arguments.positional), arguments.keywords)
    elif isinstance(callee, Dtype):
        name = f"jax.numpy.{callee.name}"
    else:
        return
    kind = OperationKind.CALL
    asked: str | None = ""
    last = name.rpartition(".")[2]
    is_einsum = last == "einsum" and _contracts(arguments.positional)
    if is_einsum:
        arguments = Arguments(arguments.positional[1:], arguments.keywords, open_keywords=arguments.open_keywords)
    if last in ("dot", "dot_general", "matmul") or is_einsum:
        kind = OperationKind.DOT
        if "preferred_element_type" in arguments.keywords:
            named = dtype_name(machine.settled(arguments.keywords["preferred_element_type"]))
            asked = named if isinstance(named, str) else None
            if arguments.keywords["preferred_element_type"] is None:
                asked = ""
        elif arguments.open_keywords:
            asked = None
    elif last in ("make_async_copy", "make_async_remote_copy", "async_copy", "sync_copy"):
        kind = OperationKind.DMA
    elif last in ("fori_loop", "while_loop", "loop"):
        kind = OperationKind.LOOP
    elif last == "when":
        kind = OperationKind.WHEN
    record(machine, kind, name, node, node.func, frame, arguments.positional, result, asked=asked)
