"""What running a block of statements does."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial
from typing import Any, Final

from ..model.kernel_body import OperationKind
from ..model.unknown import Unknown
from . import classes, decorators, expressions, operators
from .array_types import is_array_like
from .machine import Frame, Machine
from .recording import in_branch, in_loop, record
from .texts import written
from .values import (
    MISSING,
    REPEATEDLY,
    Class,
    Condition,
    DictValue,
    External,
    Function,
    Guarded,
    ListValue,
    Opaque,
    Transformed,
    Value,
    describe,
)


class Flow(Enum):
    """How a block ended."""

    NORMAL = "normal"
    RETURN = "return"
    RAISE = "raise"
    BREAK = "break"
    CONTINUE = "continue"


def execute(machine: Machine, statements: Sequence[ast.stmt], frame: Frame) -> Flow:
    """Run ``statements``; what they return is put on ``frame.returns``."""
    for statement in statements:
        machine.step()
        handler = _HANDLERS.get(type(statement))
        if handler is None:
            continue
        flow: Flow = handler(machine, statement, frame)
        if flow is not Flow.NORMAL:
            return flow
    return Flow.NORMAL


def _expression(machine: Machine, node: ast.Expr, frame: Frame) -> Flow:
    expressions.evaluate(machine, node.value, frame)
    return Flow.NORMAL


def _assign(machine: Machine, node: ast.Assign, frame: Frame) -> Flow:
    value = expressions.evaluate(machine, node.value, frame)
    for target in node.targets:
        expressions.assign(machine, target, value, frame)
    return Flow.NORMAL


def _annotated_assign(machine: Machine, node: ast.AnnAssign, frame: Frame) -> Flow:
    if node.value is not None:
        expressions.assign(machine, node.target, expressions.evaluate(machine, node.value, frame), frame)
    return Flow.NORMAL


def _augmented_assign(machine: Machine, node: ast.AugAssign, frame: Frame) -> Flow:
    symbol = operators.SYMBOLS[type(node.op)]
    load = _as_load(node.target)
    current = expressions.evaluate(machine, load, frame)
    value = expressions.evaluate(machine, node.value, frame)
    if isinstance(current, ListValue) and symbol == "+":
        # "specs += [...]" changes the list itself, for everyone who holds it.
        extend(machine, current, value)
        return Flow.NORMAL
    result = machine.lift(lambda a, b: operators.binary(machine, symbol, a, b), current, value)
    if machine.recorder is not None and (is_array_like(current) or is_array_like(value)):
        record(
            machine,
            OperationKind.OPERATOR,
            expressions.OPERATOR_NAMES[symbol],
            node,
            node,
            frame,
            (current, value),
            result,
        )
    expressions.assign(machine, node.target, result, frame)
    return Flow.NORMAL


def _as_load(target: ast.expr) -> ast.expr:
    """The target of ``+=`` as an expression to read."""
    match target:
        case ast.Name(id=name):
            made: ast.expr = ast.Name(id=name, ctx=ast.Load())
        case ast.Attribute(value=owner, attr=attr):
            made = ast.Attribute(value=owner, attr=attr, ctx=ast.Load())
        case ast.Subscript(value=owner, slice=index):
            made = ast.Subscript(value=owner, slice=index, ctx=ast.Load())
        case _:
            return target
    return ast.copy_location(made, target)


def extend(machine: Machine, target: ListValue, value: Value) -> None:
    """Add the items of ``value`` to the list ``target``."""
    added = machine.settled(value.items) if isinstance(value, ListValue) else machine.settled(value)
    if not isinstance(added, tuple) and not isinstance(value, ListValue):
        known = expressions.iterable_items(machine, added)
        added = known if known is not None else machine.fresh(describe(value), "its length is not known")
    joined = machine.lift(
        lambda left, right: operators.concatenated(machine, left, right), machine.settled(target.items), added
    )
    machine.journal.write(target, "items", joined)


def _return(machine: Machine, node: ast.Return, frame: Frame) -> Flow:
    value = None if node.value is None else expressions.evaluate(machine, node.value, frame)
    assumed = {key: outcome for key, outcome in machine.assumed.items() if key not in frame.entry_assumptions}
    frame.returns.append((assumed, value))
    return Flow.RETURN


def _raise(machine: Machine, node: ast.Raise, frame: Frame) -> Flow:
    return Flow.RAISE


def _break(machine: Machine, node: ast.Break, frame: Frame) -> Flow:
    return Flow.BREAK


def _continue(machine: Machine, node: ast.Continue, frame: Frame) -> Flow:
    return Flow.CONTINUE


def _assert(machine: Machine, node: ast.Assert, frame: Frame) -> Flow:
    for part in _conjuncts(node.test):
        value = expressions.evaluate(machine, part, frame)
        if isinstance(value, Guarded):
            continue
        outcome = operators.truth(value)
        if isinstance(outcome, Condition):
            known = machine.outcome(outcome)
            if known is None:
                machine.assume(outcome, True)
                continue
            outcome = known
        if not outcome:
            return Flow.RAISE
    return Flow.NORMAL


def _conjuncts(test: ast.expr) -> list[ast.expr]:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return test.values
    return [test]


def _if(machine: Machine, node: ast.If, frame: Frame) -> Flow:
    return _run_if(machine, node, frame, expressions.evaluate(machine, node.test, frame))


def _run_if(machine: Machine, node: ast.If, frame: Frame, test: Value) -> Flow:
    test = machine.settled(test)
    if isinstance(test, Guarded):
        # The test itself depends on a condition: that one is decided first.
        condition = Condition(test.key, test.text)
        return branch(
            machine,
            condition,
            lambda: _run_if(machine, node, frame, test.when_true),
            lambda: _run_if(machine, node, frame, test.when_false),
        )
    outcome = operators.truth(test)
    if isinstance(outcome, Condition):
        known = machine.outcome(outcome)
        if known is None:
            return branch(
                machine,
                outcome,
                lambda: execute(machine, node.body, frame),
                lambda: execute(machine, node.orelse, frame),
            )
        outcome = known
    return execute(machine, node.body if outcome else node.orelse, frame)


def branch(
    machine: Machine, condition: Condition, when_true: Callable[[], Flow], when_false: Callable[[], Flow]
) -> Flow:
    """Follow both ways of ``condition`` and join what they changed.

    Where one way ends (returns or raises), the code behind goes on as the other.
    """
    facts = machine.facts
    mark = machine.journal.mark()
    machine.assume(condition, True)
    with in_branch(machine):
        true_flow = when_true()
    true_facts = machine.facts
    true_touched = machine.journal.rewind(mark)
    machine.facts = facts
    machine.assume(condition, False)
    with in_branch(machine):
        false_flow = when_false()
    false_facts = machine.facts
    true_ends, false_ends = true_flow is not Flow.NORMAL, false_flow is not Flow.NORMAL
    if machine.recorder is not None and Flow.RETURN in (true_flow, false_flow) and true_flow is not false_flow:
        machine.recorder.may_end_early = True
    if true_ends and not false_ends:
        return Flow.NORMAL
    false_touched = machine.journal.rewind(mark)
    if false_ends and not true_ends:
        machine.journal.replay(true_touched)
        machine.facts = true_facts
        return Flow.NORMAL
    machine.facts = facts if true_facts != false_facts else true_facts
    for touched in (true_touched, false_touched):
        touched.pop((id(machine.assumed), condition.key), None)
    machine.journal.merge(true_touched, false_touched, lambda t, f: machine.join(condition, t, f))
    if not true_ends:
        return Flow.NORMAL
    if Flow.RETURN in (true_flow, false_flow):
        return Flow.RETURN
    return true_flow


def _for(machine: Machine, node: ast.For | ast.AsyncFor, frame: Frame) -> Flow:
    source = expressions.evaluate(machine, node.iter, frame)
    items = expressions.iterable_items(machine, source)
    with expressions.turning(machine, len(items) if items is not None else 1) as are_few:
        if items is None or not are_few:
            element = Opaque(written(node.target), f"changes in a loop over `{describe(source)}`")
            bind = partial(expressions.assign, machine, node.target, element, frame)
            return _unknown_loop(machine, node.body, frame, bind)
        for item in items:
            expressions.assign(machine, node.target, item, frame)
            flow = execute(machine, node.body, frame)
            if flow is Flow.BREAK:
                return Flow.NORMAL
            if flow in (Flow.RETURN, Flow.RAISE):
                return flow
    return execute(machine, node.orelse, frame)


def _while(machine: Machine, node: ast.While, frame: Frame) -> Flow:
    for turn in range(expressions.UNROLL_LIMIT):
        value = expressions.evaluate(machine, node.test, frame)
        test = None if isinstance(value, Guarded) else operators.truth(value)
        if test is False:
            return execute(machine, node.orelse, frame)
        if test is not True or isinstance(node.test, ast.Constant):
            break
        with expressions.turning(machine, turn + 1) as are_few:
            if not are_few:
                break
            flow = execute(machine, node.body, frame)
        if flow is Flow.BREAK:
            return Flow.NORMAL
        if flow in (Flow.RETURN, Flow.RAISE):
            return flow
    return _unknown_loop(machine, node.body, frame, lambda: None)


def _unknown_loop(machine: Machine, body: Sequence[ast.stmt], frame: Frame, bind: Callable[[], None]) -> Flow:
    """Run the body once for what it starts; whatever it changes is unknown afterwards."""
    mark = machine.journal.mark()
    facts = machine.facts
    bind()
    returns_before = len(frame.returns)
    with in_loop(machine, Unknown("how often the loop turns is not known")):
        execute(machine, body, frame)
    machine.facts = facts
    touched = machine.journal.rewind(mark)
    for owner, key, value in touched.values():
        if owner is machine.assumed:
            continue
        if owner is machine.ranks or isinstance(value, Function | Class | External):
            machine.journal.write(owner, key, value)
            continue
        if isinstance(value, Transformed) and isinstance(owner, dict) and value.function is owner.get(key):
            # ``for _ in range(x.ndim - 1): f = jax.vmap(f)``
            machine.journal.write(owner, key, Transformed(REPEATEDLY, value.function, {}))
            continue
        name = str(key) if isinstance(owner, dict) else "the list"
        unknown = machine.fresh(name, f"`{name}` changes in a loop whose number of turns is not known")
        if isinstance(owner, DictValue):
            machine.journal.write(owner, key, (owner.entries, True))
        elif isinstance(owner, dict) and isinstance(value, ListValue):
            machine.journal.write(owner, key, ListValue(unknown))
        elif value is not MISSING:
            machine.journal.write(owner, key, unknown)
    for index in range(returns_before, len(frame.returns)):
        assumed, value = frame.returns[index]
        key = ("loop", index, frame.name)
        machine.texts[key] = "the loop returns early"
        frame.returns[index] = ({**assumed, key: True}, value)
    return Flow.NORMAL


def _try(machine: Machine, node: ast.Try, frame: Frame) -> Flow:
    flow = execute(machine, node.body, frame)
    if flow is Flow.NORMAL:
        flow = execute(machine, node.orelse, frame)
    elif flow is Flow.RAISE and node.handlers:
        flow = execute(machine, node.handlers[0].body, frame)
    final = execute(machine, node.finalbody, frame)
    return final if final is not Flow.NORMAL else flow


def _with(machine: Machine, node: ast.With | ast.AsyncWith, frame: Frame) -> Flow:
    for item in node.items:
        value = expressions.evaluate(machine, item.context_expr, frame)
        if item.optional_vars is not None:
            unknown = value if not isinstance(value, tuple) else machine.fresh("with", "a context manager gives it")
            expressions.assign(machine, item.optional_vars, unknown, frame)
    return execute(machine, node.body, frame)


def _function(machine: Machine, node: ast.FunctionDef | ast.AsyncFunctionDef, frame: Frame) -> Flow:
    machine.journal.write(frame.scope.variables, node.name, decorators.decorated(machine, node, frame))
    return Flow.NORMAL


def _class(machine: Machine, node: ast.ClassDef, frame: Frame) -> Flow:
    machine.journal.write(frame.scope.variables, node.name, classes.make_class(machine, node, frame))
    return Flow.NORMAL


def _import(machine: Machine, node: ast.Import | ast.ImportFrom, frame: Frame) -> Flow:
    for name, value in frame.scope.module.imported(node, machine):
        machine.journal.write(frame.scope.variables, name, value)
    return Flow.NORMAL


def _match(machine: Machine, node: ast.Match, frame: Frame) -> Flow:
    """``match`` on a value that decides by literals; otherwise every case may be the one."""
    subject = machine.settled(expressions.evaluate(machine, node.subject, frame))
    for case in node.cases:
        outcome = _case_matches(machine, case, subject, frame)
        if outcome is False:
            continue
        if outcome is True:
            return execute(machine, case.body, frame)
        condition = operators.machine_condition(machine, f"{describe(subject)} matches {written(case.pattern)}")
        rest = ast.copy_location(ast.Match(subject=node.subject, cases=node.cases[node.cases.index(case) + 1 :]), node)
        return branch(
            machine,
            condition,
            partial(_run_case, machine, case, frame),
            partial(_match, machine, rest, frame),
        )
    return Flow.NORMAL


def _run_case(machine: Machine, case: ast.match_case, frame: Frame) -> Flow:
    for name in _captured(case.pattern):
        machine.journal.write(frame.scope.variables, name, machine.fresh(name, "a pattern binds it"))
    return execute(machine, case.body, frame)


def _captured(pattern: ast.pattern) -> list[str]:
    return [
        name
        for part in ast.walk(pattern)
        if isinstance(part, ast.MatchAs | ast.MatchStar) and (name := part.name) is not None
    ]


def _case_matches(machine: Machine, case: ast.match_case, subject: Value, frame: Frame) -> bool | None:
    if case.guard is not None:
        return None
    match case.pattern:
        case ast.MatchAs(pattern=None, name=name):
            if name is not None:
                machine.journal.write(frame.scope.variables, name, subject)
            return True
        case ast.MatchValue(value=value):
            known = operators.compare(machine, "==", subject, expressions.evaluate(machine, value, frame))
            return known if isinstance(known, bool) else None
        case ast.MatchSingleton(value=constant) if subject is None or isinstance(subject, bool):
            return subject is constant
        case _:
            return None


def _delete(machine: Machine, node: ast.Delete, frame: Frame) -> Flow:
    for target in node.targets:
        if isinstance(target, ast.Name):
            machine.journal.write(frame.scope.variables, target.id, MISSING)
    return Flow.NORMAL


_HANDLERS: Final[dict[type[ast.stmt], Callable[[Machine, Any, Frame], Flow]]] = {
    ast.Expr: _expression,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated_assign,
    ast.AugAssign: _augmented_assign,
    ast.Return: _return,
    ast.Raise: _raise,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.Assert: _assert,
    ast.If: _if,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.Try: _try,
    ast.TryStar: _try,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class,
    ast.Import: _import,
    ast.ImportFrom: _import,
    ast.Match: _match,
    ast.Delete: _delete,
}
