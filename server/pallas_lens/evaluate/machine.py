"""The state of one evaluation: journal, assumptions, facts, budget, and what was found on the way."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from ..model.kernel_body import BodyOperation
from ..model.kernel_call import ArrayType, BlockSpec
from ..model.span import Span
from ..model.symbolic import NO_FACTS, Expression, Facts, Integer, Modulo
from ..model.unknown import Unknown
from .array_types import known_shape
from .journal import Journal
from .values import (
    BlockSpecValue,
    Condition,
    Function,
    Guarded,
    KernelCallable,
    Opaque,
    Partial,
    Scope,
    SpannedTuple,
    Value,
    describe,
    guard_depth,
    item_spans,
)

STEP_LIMIT: Final = 60_000
DEPTH_LIMIT: Final = 14
GUARD_LIMIT: Final = 4
SPEC_GUARD_LIMIT: Final = 12
"""The same for specs and shapes: these are few, and calls with many optional operands hang on them."""


class OutOfBudget(Exception):
    """The evaluation took more steps than allowed; what was found until then stands."""


@dataclass(slots=True)
class Frame:
    """One activation: where code runs and what it has returned under conditions so far."""

    scope: Scope
    anchor: str
    name: str
    returns: list[tuple[dict[Hashable, bool], Value]] = field(default_factory=list)
    entry_assumptions: dict[Hashable, bool] = field(default_factory=dict)

    def span(self, node: ast.AST) -> Span:
        """Where ``node`` stands, relative to the statement that this frame runs."""
        return Span(
            self.anchor,
            node.lineno - 1,  # type: ignore[attr-defined]
            node.col_offset,  # type: ignore[attr-defined]
            node.end_lineno - 1,  # type: ignore[attr-defined]
            node.end_col_offset,  # type: ignore[attr-defined]
        )


@dataclass(frozen=True, slots=True, eq=False)
class Started:
    """A kernel callable that was created, and each call of it."""

    callable: KernelCallable
    assumed: dict[Hashable, bool]
    facts: Facts
    depth: int
    operands: tuple[Value, ...] | Opaque | None = None
    operands_span: Span | None = None
    keywords: dict[str, Value] = field(default_factory=dict)
    ranks: dict[str, Value] = field(default_factory=dict)
    """The ranks of arrays that the program has told by then, as ``m, k = x.shape`` does (or their dims)."""
    batch_sizes: tuple[Value, ...] = ()
    """The sizes that each ``jax.vmap`` around the call maps over, the outermost first."""


@dataclass(slots=True)
class Recorder:
    """Collects the operations of a kernel body while it is evaluated.

    ``turns``: how often the loops around what is being evaluated run it; ``is_conditional``:
    a condition of unknown outcome stands around it; ``may_end_early``: one has returned.
    """

    operations: list[BodyOperation] = field(default_factory=list)
    turns: Integer | Unknown = 1
    is_conditional: bool = False
    may_end_early: bool = False
    types: dict[int, tuple[Value, ArrayType]] = field(default_factory=dict)
    """Of values by their ``id``, which is theirs alone as long as they are kept here."""


@dataclass(slots=True)
class Machine:
    """One run of the evaluator. ``reads`` collects the module names that the outcome depends on."""

    reads: dict[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    exact_reads: dict[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    """The same reads, but changed by every edit of what was read, also of a function's body."""
    statement_anchor: str | None = None
    journal: Journal = field(default_factory=Journal)
    assumed: dict[Hashable, bool] = field(default_factory=dict)
    facts: Facts = NO_FACTS
    steps: int = 0
    stack: list[Function] = field(default_factory=list)
    started: list[Started] = field(default_factory=list)
    recorder: Recorder | None = None
    texts: dict[Hashable, str] = field(default_factory=dict)
    names_used: dict[str, int] = field(default_factory=dict)
    ranks: dict[str, Value] = field(default_factory=dict)
    base_assumed: dict[Hashable, bool] = field(default_factory=dict)
    """What is assumed in every world of the kernel call being extracted."""
    index_results: dict[tuple[int, int, int], tuple[Value, Value]] = field(default_factory=dict)
    """Index maps of that call that were followed already; the function is kept so that its id stays its own."""
    specs_made: dict[tuple[int, int, int], tuple[Value, BlockSpec]] = field(default_factory=dict)
    """Specs of that call that are the same in all its worlds."""
    calls: list[tuple[ast.Call, Frame]] = field(default_factory=list)
    """The calls being followed whose text stands in the file analysed, each in its frame."""
    turns: int = 1
    """How often the innermost loop body would be run by now, all loops around it unrolled."""
    batch_sizes: tuple[Value, ...] = ()
    """The sizes of the axes that each ``jax.vmap`` around what is being run maps over, the outermost first."""
    mesh_axes: dict[str, Value] = field(default_factory=dict)
    """The sizes of the axes of the meshes over which each ``shard_map`` around what is being run cuts."""
    nesting: int = 0
    """How many expressions are being evaluated, each inside the one before."""
    looked_up: dict[tuple[int, str], Value] = field(default_factory=dict)
    """Names of modules, by the ``id`` of the module, that have one value all through the run."""
    functions_made: list[Function] = field(default_factory=list)
    functions_run: set[int] = field(default_factory=set)

    def step(self) -> None:
        """Count one step.

        Raises:
            OutOfBudget: after ``STEP_LIMIT`` steps.
        """
        self.steps += 1
        if self.steps > STEP_LIMIT:
            raise OutOfBudget

    def fresh(self, text: str, reason: str) -> Opaque:
        """An unknown of its own, even where another has the same text."""
        text = text if len(text) <= 60 else text[:57] + "..."
        count = self.names_used.get(text, 0)
        self.names_used[text] = count + 1
        return Opaque(text if count == 0 else f"{text}#{count + 1}", reason)

    def rank(self, text: str) -> int | None:
        """The rank of the opaque array called ``text``, where all paths to here agree on it."""
        rank = self.settled(self.ranks.get(text))
        if isinstance(rank, tuple):
            return len(rank)
        return rank if isinstance(rank, int) else None

    def shape(self, array: Opaque) -> tuple[Value, ...] | None:
        """The dims of an opaque array whose rank is known."""
        return known_shape(array, self.settled(self.ranks.get(array.text)))

    # Conditions

    def outcome(self, condition: Condition) -> bool | None:
        """What the path already assumes of ``condition``."""
        known = assumption(self.assumed, condition.key)
        return None if known is None else known != condition.negated

    def assume(self, condition: Condition, outcome: bool) -> None:
        """Go on as if ``condition`` had this outcome; learn what it says about integers."""
        self.journal.write(self.assumed, condition.key, outcome != condition.negated)
        self.texts[condition.key] = condition.text
        comparison = condition.comparison
        if comparison is None:
            return
        holds = outcome != condition.negated
        left, right = comparison.left, comparison.right
        equal = (comparison.operator == "==" and holds) or (comparison.operator == "!=" and not holds)
        if equal and right == 0 and isinstance(left, Expression) and len(left.terms) == 1:
            ((monomial, coefficient),) = left.terms
            if coefficient == 1 and len(monomial) == 1 and isinstance(monomial[0], Modulo):
                self.facts = self.facts.with_divisible(monomial[0].dividend, monomial[0].divisor)
        at_least = {(">=", True): 0, (">", True): 1, ("<", False): 0, ("<=", False): 1}.get(
            (comparison.operator, holds)
        )
        if at_least is not None and isinstance(right, int):
            self.facts = self.facts.with_at_least(left, right + at_least)

    def join(self, condition: Condition, when_true: Value, when_false: Value) -> Value:
        """The value that is one thing or another by ``condition``."""
        if condition.negated:
            when_true, when_false = when_false, when_true
        if same(when_true, when_false):
            return when_true
        if isinstance(when_true, tuple) and isinstance(when_false, tuple):
            alike = self._joined_items(condition, when_true, when_false)
            if alike is not None:
                return alike
        depth = max(guard_depth(when_true), guard_depth(when_false))
        if depth >= GUARD_LIMIT:
            if not isinstance(_first_way(when_true), BlockSpecValue | tuple | None):
                return self.fresh(describe(when_true), MANY_CONDITIONS)
            ways = _alternatives(when_true, when_false)
            lengths = {len(way) if isinstance(way, tuple) else None for way in ways}
            if len(lengths) == 1 and None not in lengths:
                # Tuples of one length: what hangs on many conditions may be some of their items alone.
                return tuple(
                    self.join(condition, self._item(when_true, index), self._item(when_false, index))
                    for index in range(len(ways[0]))
                )
            if depth >= SPEC_GUARD_LIMIT or not all(isinstance(way, BlockSpecValue | tuple | None) for way in ways):
                return _what_specs_share(ways) or self.fresh(describe(when_true), MANY_CONDITIONS)
        text = condition.text
        return Guarded(condition.key, text, when_true, when_false)

    def _item(self, value: Value, index: int) -> Value:
        """Item ``index`` of a tuple, or of the tuples that a guarded value may be."""
        if isinstance(value, Guarded):
            condition = Condition(value.key, value.text)
            return self.join(condition, self._item(value.when_true, index), self._item(value.when_false, index))
        return value[index]

    def _joined_items(
        self, condition: Condition, when_true: tuple[Value, ...], when_false: tuple[Value, ...]
    ) -> Value | None:
        """Two lists of one length that begin alike, item by item: each then hangs on its own conditions alone."""
        if len(when_true) != len(when_false) or not when_true or not same(when_true[0], when_false[0]):
            return None
        spans = [
            one if one == other else None
            for one, other in zip(item_spans(when_true), item_spans(when_false), strict=True)
        ]
        joined = [self.join(condition, one, other) for one, other in zip(when_true, when_false, strict=True)]
        return SpannedTuple.of(joined, spans, None)

    def settled(self, value: Value) -> Value:
        """``value`` as far as the assumptions of this path decide it (outermost guards only)."""
        while isinstance(value, Guarded):
            known = assumption(self.assumed, value.key)
            if known is None:
                return value
            value = value.when_true if known else value.when_false
        return value

    def target(self, value: Value) -> Value:
        """The function behind any ``functools.partial``."""
        value = self.settled(value)
        while isinstance(value, Partial):
            value = self.settled(value.function)
        return value

    def lift(self, function: Callable[..., Value], *values: Value) -> Value:
        """``function`` applied under each outcome of the conditions that ``values`` hang on."""
        for value in values:
            if value.__class__ is Guarded:
                break
        else:
            return function(*values)
        values = tuple(map(self.settled, values))
        for value in values:
            if isinstance(value, Guarded):
                condition = Condition(value.key, value.text)
                outcomes = []
                for outcome in (True, False):
                    mark = self.journal.mark()
                    facts = self.facts
                    self.assume(condition, outcome)
                    result = self.lift(function, *values)
                    touched = self.journal.rewind(mark)
                    touched.pop((id(self.assumed), value.key), None)
                    self.facts = facts
                    outcomes.append((result, touched))
                (true_value, true_touched), (false_value, false_touched) = outcomes
                self.journal.merge(true_touched, false_touched, partial(self.join, condition))
                return self.join(condition, true_value, false_value)
        return function(*values)


MANY_CONDITIONS: Final = "depends on many conditions"


def _first_way(value: Value) -> Value:
    """What a value is if all its conditions hold."""
    while isinstance(value, Guarded):
        value = value.when_true
    return value


def _alternatives(*values: Value) -> list[Value]:
    """All that guarded values may be, each once: the same one may stand at the end of many ways."""
    ends: dict[int, Value] = {}
    passed: set[int] = set()
    stack = [*reversed(values)]
    while stack:
        value = stack.pop()
        if not isinstance(value, Guarded):
            ends.setdefault(id(value), value)
        elif id(value) not in passed:
            passed.add(id(value))
            stack += (value.when_false, value.when_true)
    return [*ends.values()]


def _what_specs_share(values: list[Value]) -> BlockSpecValue | None:
    """One spec for many, of the rank and memory space that all have; None where one of ``values`` is no spec."""
    if not all(isinstance(value, BlockSpecValue) for value in values):
        return None
    shapes = [value.block_shape for value in values]
    unknown = Opaque("a part of the spec", MANY_CONDITIONS)
    alike = all(isinstance(shape, tuple) and len(shape) == len(shapes[0]) for shape in shapes)
    shape: Value = tuple(unknown for _ in shapes[0]) if alike else unknown
    first = values[0]
    space = first.memory_space if all(same(value.memory_space, first.memory_space) for value in values) else unknown
    mode = first.pipeline_mode if all(same(value.pipeline_mode, first.pipeline_mode) for value in values) else unknown
    return BlockSpecValue(shape, unknown, space, mode, None, None, None, None, False)


def assumption(assumed: Mapping[Hashable, bool], key: Hashable) -> bool | None:
    """What ``assumed`` says of the condition ``key``: also that what equals one text equals no other."""
    known = assumed.get(key)
    if known is None and isinstance(key, tuple) and key[0] == "equals":
        for other, holds in assumed.items():
            if holds and isinstance(other, tuple) and other[:2] == key[:2] and other != key:
                return False
    return known


def same(left: Value, right: Value) -> bool:
    """Whether two values are surely the same."""
    if left is right:
        return True
    if type(left) is not type(right) and not (isinstance(left, tuple) and isinstance(right, tuple)):
        return False
    if isinstance(left, tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, Guarded):
        return (
            left.key == right.key and same(left.when_true, right.when_true) and same(left.when_false, right.when_false)
        )
    try:
        return bool(left == right)
    except Exception:
        return False
