"""Where an evaluation starts, and with what: the specialisations of a file's call sites."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from ..model.kernel_body import KernelBody
from ..model.kernel_call import KernelCall, Missing
from ..model.module_facts import Specialised
from ..model.span import Span
from ..model.symbolic import symbol
from ..source.comments import ArrayText, ExampleComment, array_text
from ..source.statements import Statement
from .bodies import FollowedBody, follow_again, leave_out, moved
from .calling import run
from .classes import array_fields, says_array
from .expressions import evaluate, look_up, make_function
from .extraction import worlds
from .followed_bodies import FollowedBodies
from .lexical import EntryFunction, FunctionNode, outline, stored_attributes
from .machine import STEP_LIMIT, Frame, Machine, OutOfBudget
from .module import Module, Reads
from .parametrized import first_parameters
from .statements import execute
from .texts import written
from .values import FROM_CALLER, Array, Class, Condition, Function, Instance, Opaque, Partial, Scope, Value


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One function (or module-level statement) to evaluate in one specialisation."""

    statement: Statement
    function: EntryFunction | None
    kind: str
    """"generic", "defaults", "call" or "example"."""
    example: ExampleComment | None = None
    file: Path | None = None
    """The other file of the project that it stands in, for a caller there."""
    module_name: str = ""
    """What that file is called in the name of the specialisation."""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Identifies the entry as long as its text stays."""
        name = self.function.qualified_name if self.function is not None else ""
        example = "" if self.example is None else f"{self.example.name}:{self.example.text}"
        place = self.statement.anchor if self.file is None else f"{self.file}\0{self.statement.anchor}"
        return (place, name, self.kind, example)

    @property
    def needs_arguments(self) -> bool:
        """Whether it is a function that is given something where it is called."""
        return self.function is not None and self.function.required_parameters > 0

    @property
    def specialisation(self) -> str:
        """The name of the specialisation for sites outside this function."""
        if self.kind == "example":
            assert self.example is not None and self.function is not None
            return f"example {self.example.name or self.function.qualified_name}"
        if self.kind == "call":
            name = self.function.qualified_name if self.function is not None else "module"
            return f"call {self.module_name}.{name}" if self.module_name else f"call {name}"
        return self.kind


@dataclass(frozen=True, slots=True)
class Placed:
    """A kernel body, at the world of this number of the call of that number."""

    call: int
    world: int
    body: FollowedBody


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one entry found: for each call site its specialised calls; and what it read.

    ``bodies`` are in the order in which they were come upon.
    """

    calls: tuple[tuple[Span, Specialised], ...]
    reads: Reads
    bodies: tuple[Placed, ...] = ()


_STEPS_ELSEWHERE: Final = 7_000
"""Of a caller in another file, so many steps are followed: there may be many, and each is one view of the call."""
_VARIANTS_ELSEWHERE: Final = 2
"""And so many times it may reach one call site."""
ORIGINS = {"generic": "static", "defaults": "default argument", "call": "call", "example": "example"}


def run_entry(module: Module, entry: Entry, bodies: FollowedBodies | None) -> Outcome:
    """Evaluate ``entry`` and collect the kernels that it starts, without bodies where ``bodies`` is None."""
    bodies = None if bodies is None else bodies.copy()
    machine = Machine(statement_anchor=module.anchor_prefix + entry.statement.anchor)
    reading = ""
    is_whole = True
    if entry.file is not None:
        machine.steps = STEP_LIMIT - _STEPS_ELSEWHERE
    try:
        reading = _execute(machine, module, entry)
        if entry.file is None:
            _run_loose_functions(machine, entry)
    except (OutOfBudget, RecursionError):
        is_whole = False
    found = _collect(machine, entry, bodies)
    machine.journal.rewind(0)
    return _outcome(entry, reading, found, machine.reads, is_whole)


_CUT_SHORT: Final = Missing("evaluation", "the code around takes more steps than are followed")


def noted(specialised: Specialised, missing: Missing) -> Specialised:
    """``specialised`` with one thing more that is not known, told of its first world."""
    first, *others = specialised.worlds
    return replace(specialised, worlds=(replace(first, missing=(*first.missing, missing)), *others))


def with_new_bodies(outcome: Outcome, holds: Callable[[Reads], bool], bodies: FollowedBodies) -> Outcome | None:
    """``outcome`` with the kernel bodies followed anew that were edited; None where that is not enough.

    Of those that ``bodies`` cover, only the place is brought up to date.
    """
    calls = list(outcome.calls)
    placed = list(outcome.bodies)
    bodies = bodies.copy()
    for index, one in enumerate(placed):
        before = one.body
        is_covered = bodies.cover(before)
        if before.name is not None and not (holds(before.reads) and (is_covered or not before.is_left_out)):
            after = leave_out(before) if is_covered else follow_again(before)
            if after is None:
                return None
            placed[index] = replace(one, body=after)
            calls[one.call] = _with_body(calls[one.call], one.world, before, after)
        bodies.add([placed[index].body])
    return replace(outcome, calls=tuple(calls), bodies=tuple(placed))


def _with_body(
    call: tuple[Span, Specialised], world: int, before: FollowedBody, after: FollowedBody
) -> tuple[Span, Specialised]:
    """A call with the body of one of its worlds as it is after an edit."""
    span, specialised = call
    shown = list(specialised.bodies)
    shown[world] = after.shown
    worlds_now = tuple(moved(call, before, after) for call in specialised.worlds)
    return span, replace(specialised, worlds=worlds_now, bodies=tuple(shown))


def _execute(machine: Machine, module: Module, entry: Entry) -> str:
    anchor = module.anchor_prefix + entry.statement.anchor
    scope = Scope({}, module.scope, module)
    frame = Frame(scope, anchor, "<module>")
    if entry.function is None:
        execute(machine, entry.statement.tree, frame)
        return ""
    node = entry.function.node
    owner = _owner(machine, module, entry.function)
    if owner is not None:
        frame = Frame(owner.scope, anchor, "<module>")
    function = make_function(machine, node, frame)
    bound, reading = _parameters(machine, entry, function, owner, frame)
    run(machine, function, Scope(bound, function.scope, module))
    return reading


def _owner(machine: Machine, module: Module, function: EntryFunction) -> Class | None:
    if not function.classes:
        return None
    value = machine.settled(module.look_up(function.classes[0], machine))
    for name in function.classes[1:]:
        value = value.scope.variables.get(name) if isinstance(value, Class) else None
    return value if isinstance(value, Class) else None


def _parameters(
    machine: Machine, entry: Entry, function: Function, owner: Class | None, frame: Frame
) -> tuple[dict[str, Value], str]:
    """The values that the parameters start with, and a sentence about them."""
    arguments = function.node.args
    bound: dict[str, Value] = {}
    optional = _defaults_of(function).keys()
    for parameter in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        known = None if parameter.arg in optional else _annotated(machine, parameter, frame)
        bound[parameter.arg] = known or _parameter(machine, parameter)
    if arguments.vararg is not None:
        bound[arguments.vararg.arg] = Opaque(f"*{arguments.vararg.arg}", f"`*{arguments.vararg.arg}` {FROM_CALLER}")
    if arguments.kwarg is not None:
        bound[arguments.kwarg.arg] = Opaque(f"**{arguments.kwarg.arg}", f"`**{arguments.kwarg.arg}` {FROM_CALLER}")
    if owner is not None and (arguments.posonlyargs or arguments.args):
        first = (*arguments.posonlyargs, *arguments.args)[0].arg
        if not any(written(decorator) == "staticmethod" for decorator in _decorators(function.node)):
            names = (*(name for name, _ in owner.fields), *stored_attributes(owner.node))
            bound[first] = Instance(
                owner, {name: Opaque(f"{first}.{name}", f"`{name}` is set when the object is made") for name in names}
            )
    if entry.kind == "generic":
        return _with_default_functions(machine, function, bound), ""
    if entry.kind == "call" or entry.kind == "defaults":
        bound, sentence = _with_defaults(entry, function, bound)
        if entry.kind == "call":
            bound |= first_parameters(machine, function.node, frame, bound)
        return bound, sentence
    assert entry.example is not None
    _with_defaults(entry, function, bound)
    for name, value in entry.example.arguments:
        if name in bound:
            bound[name] = _example_value(machine, value, frame)
    return bound, f"in the example `{entry.example.text}`"


def _defaults_of(function: Function) -> dict[str, Value]:
    """The parameters that have a default, in their order."""
    positional = [parameter.arg for parameter in (*function.node.args.posonlyargs, *function.node.args.args)]
    defaults = zip(positional[len(positional) - len(function.defaults) :], function.defaults, strict=True)
    return {**dict(defaults), **dict(function.keyword_defaults)}


def _with_default_functions(machine: Machine, function: Function, bound: dict[str, Value]) -> dict[str, Value]:
    """Parameters whose default is a function or class are either that or something else."""
    for name, default in _defaults_of(function).items():
        if isinstance(default, Function | Class | Partial):
            condition = Condition(("default", bound[name].text), f"{name} is the default")
            bound[name] = machine.join(condition, default, bound[name])
    return bound


def _decorators(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> list[ast.expr]:
    return [] if isinstance(node, ast.Lambda) else node.decorator_list


def _parameter(machine: Machine, parameter: ast.arg) -> Opaque:
    # Fresh, so that a parameter of an inner function is not taken for one of the same name outside.
    made = machine.fresh(parameter.arg, f"`{parameter.arg}` {FROM_CALLER}")
    made = replace(made, is_array=says_array(parameter.annotation))
    dims = _annotated_dims(parameter.annotation)
    if dims is not None:
        machine.ranks[made.text] = tuple(
            _annotated_dim(machine, word, made.text, axis) for axis, word in enumerate(dims)
        )
    return made


def _annotated(machine: Machine, parameter: ast.arg, frame: Frame) -> Instance | None:
    """An object of unknown fields, where the annotation names a dataclass or named tuple of the program."""
    annotation = parameter.annotation
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str) and annotation.value.isidentifier():
        class_ = look_up(machine, annotation.value, frame.scope)
    elif isinstance(annotation, ast.Name | ast.Attribute):
        class_ = machine.settled(evaluate(machine, annotation, frame))
    else:
        return None
    if not isinstance(class_, Class) or class_.kind not in ("dataclass", "namedtuple"):
        return None
    name = parameter.arg
    arrays = array_fields(class_)
    fields = {
        field: Opaque(f"{name}.{field}", f"`{name}` {FROM_CALLER}", is_array=field in arrays)
        for field, _ in class_.fields
    }
    return Instance(class_, fields)


_JAXTYPING: Final = re.compile(
    r"(?:\w+\.)*(?:(?:Float|Int|UInt|Bool|Shaped|Num|Inexact|Real|Complex|BFloat|Integer)\w*|Key)"
)


def _annotated_dims(annotation: ast.expr | None) -> list[str] | None:
    """The dims that a jaxtyping annotation states: ``Float[Array, "m k"]`` has two; None where their number is open."""
    match annotation:
        case ast.Subscript(value=kind, slice=ast.Tuple(elts=[_, ast.Constant(value=str() as dims)])):
            if not _JAXTYPING.fullmatch(written(kind)):
                return None
            words = dims.split()
            if any("..." in word or word.startswith(("*", "#*")) for word in words):
                return None
            return words
        case _:
            return None


def _annotated_dim(machine: Machine, word: str, array: str, axis: int) -> Value:
    """One dim of an annotation: a number, or a name that is the same dim wherever it stands in the signature."""
    if word.isdecimal():
        return int(word)
    if not word.isidentifier() or word == "_":
        return symbol(f"{array}.shape[{axis}]", 0)
    # Another value that happens to be called so gets a name of its own.
    machine.names_used.setdefault(word, 1)
    return symbol(word, 0)


def _with_defaults(entry: Entry, function: Function, bound: dict[str, Value]) -> tuple[dict[str, Value], str]:
    taken: list[str] = []
    for name, default in _defaults_of(function).items():
        bound[name] = default
        if isinstance(default, int) and not isinstance(default, bool):
            taken.append(f"{name}={default}")
    if not taken or entry.kind != "defaults":
        return bound, ""
    noun = "the default" if len(taken) == 1 else "the defaults"
    return bound, f"with {', '.join(taken)}, {noun}"


def _example_value(machine: Machine, value: ast.expr | ArrayText, frame: Frame) -> Value:
    if isinstance(value, ArrayText):
        dims = tuple(dim if isinstance(dim, int) else evaluate(machine, dim, frame) for dim in value.dims)
        return Array(dims, value.dtype)
    arrays = _ArraysInside()
    expression: ast.expr = arrays.visit(copy.deepcopy(value))
    if not arrays.found:
        return evaluate(machine, expression, frame)
    named = {name: _example_value(machine, array, frame) for name, array in arrays.found.items()}
    return evaluate(machine, expression, replace(frame, scope=Scope(named, frame.scope, frame.scope.module)))


class _ArraysInside(ast.NodeTransformer):
    """Puts a name in the place of each ``f32[8,128]`` inside an expression: in a list, or in a call's arguments."""

    def __init__(self) -> None:
        self.found: dict[str, ArrayText] = {}

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        array = array_text(node)
        if array is None:
            self.generic_visit(node)
            return node
        # No name of a program has a space in it.
        name = f"array {len(self.found)}"
        self.found[name] = array
        return ast.copy_location(ast.Name(name, ast.Load()), node)


def _run_loose_functions(machine: Machine, entry: Entry) -> None:
    """Functions inside the entry that hold a call site but that nothing called."""
    holders = outline(entry.statement).site_holders
    position = 0
    while position < len(machine.functions_made):
        function = machine.functions_made[position]
        position += 1
        node = function.node
        if id(node) not in holders or id(node) in machine.functions_run:
            continue
        arguments = node.args
        bound: dict[str, Value] = {}
        for parameter in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            bound[parameter.arg] = _parameter(machine, parameter)
        for extra in (arguments.vararg, arguments.kwarg):
            if extra is not None:
                bound[extra.arg] = Opaque(f"*{extra.arg}", f"`{extra.arg}` {FROM_CALLER}")
        run(machine, function, Scope(bound, function.scope, function.scope.module))


@dataclass(frozen=True, slots=True)
class _Reached:
    """A call site as the program reaches it once, at this depth of calls: its worlds, and the first one's body.

    ``number`` counts all that it reaches, of every site.
    """

    number: int
    depth: int
    worlds: tuple[KernelCall, ...]
    body: FollowedBody | None


def _collect(machine: Machine, entry: Entry, bodies: FollowedBodies | None) -> dict[Span, list[_Reached]]:
    """The call sites that the program reaches, each with every time that it does, as far as these are followed."""
    called = {id(started.callable) for started in machine.started if started.operands is not None}
    own = _own_nodes_span(entry)
    found: dict[Span, list[_Reached]] = {}
    position = 0
    while position < len(machine.started):
        started = machine.started[position]
        position += 1
        span = started.callable.span
        if started.operands is None and id(started.callable) in called:
            continue
        if span.file is not None:
            continue
        if entry.kind == "call" and _inside(span, own):
            continue
        if len(found.get(span, ())) >= (6 if entry.file is None else _VARIANTS_ELSEWHERE):
            continue
        machine.steps = min(machine.steps, 30_000 if entry.file is None else STEP_LIMIT - _STEPS_ELSEWHERE)
        before = len(machine.started)
        try:
            calls, body = worlds(machine, started, entry.specialisation, ORIGINS[entry.kind], bodies)
        except (OutOfBudget, RecursionError):
            machine.recorder = None
            continue
        if bodies is not None and body is not None:
            bodies.add([body])
        called |= {id(later.callable) for later in machine.started[before:] if later.operands is not None}
        number = sum(map(len, found.values()))
        found.setdefault(span, []).append(_Reached(number, started.depth, calls, body))
    return found


def _outcome(entry: Entry, reading: str, found: dict[Span, list[_Reached]], reads: Reads, is_whole: bool) -> Outcome:
    calls: list[tuple[Span, Specialised]] = []
    placed: list[tuple[int, Placed]] = []
    for span, all_reached in found.items():
        # A call that the function makes itself comes before one that it makes by calling itself.
        nearest_first = sorted(all_reached, key=lambda one: one.depth)
        # The same site reached twice in one reading of the program: more worlds of it.
        is_one_reading = entry.kind in ("generic", "defaults")
        for index, variants in enumerate([nearest_first] if is_one_reading else [[one] for one in nearest_first]):
            name = entry.specialisation if index == 0 else f"{entry.specialisation} #{index + 1}"
            said = reading if is_one_reading or reading else f"as `{entry.specialisation.partition(' ')[2]}` calls it"
            worlds_of_all: list[KernelCall] = []
            bodies: list[KernelBody | None] = []
            for one in variants:
                if one.body is not None:
                    placed.append((one.number, Placed(len(calls), len(worlds_of_all), one.body)))
                worlds_of_all += one.worlds
                bodies += [None if one.body is None else one.body.shown, *[None] * (len(one.worlds) - 1)]
            specialised = Specialised(name, said, tuple(worlds_of_all), tuple(bodies))
            calls.append((span, specialised if is_whole else noted(specialised, _CUT_SHORT)))
    in_order = sorted(placed, key=lambda one: one[0])
    return Outcome(tuple(calls), reads, tuple(one for _, one in in_order))


def _own_nodes_span(entry: Entry) -> Span | None:
    if entry.function is None or entry.file is not None:
        return None
    node: FunctionNode = entry.function.node
    first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
    return Span(entry.statement.anchor, first - 1, 0, (node.end_lineno or node.lineno) - 1, node.end_col_offset or 0)


def _inside(span: Span, own: Span | None) -> bool:
    return own is not None and own.contains(span)
