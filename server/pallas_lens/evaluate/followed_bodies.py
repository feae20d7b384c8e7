"""Which kernel bodies need not be followed, because one that was followed shows all that rules would find in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ..model.symbolic import Expression
from .bodies import FollowedBody
from .values import Array, Condition, DictValue, Function, Guarded, Instance, ListValue, Opaque, Partial, Ref, Value


@dataclass(slots=True)
class FollowedBodies:
    """The kernel bodies of a file that were followed so far; ``leaves_out`` False: each is to be followed."""

    leaves_out: bool
    _by_kernel: dict[tuple[str, str], list[FollowedBody]] = field(default_factory=dict)

    def copy(self) -> FollowedBodies:
        """The same, to be added to apart."""
        return FollowedBodies(self.leaves_out, {kernel: list(bodies) for kernel, bodies in self._by_kernel.items()})

    def add(self, bodies: Iterable[FollowedBody]) -> None:
        """Note bodies, of which only those count that were followed."""
        for body in bodies:
            if body.name is not None and not body.is_left_out:
                self._by_kernel.setdefault((body.module.key, body.name), []).append(body)

    def cover(self, body: FollowedBody) -> bool:
        """Whether one of them shows all that ``body`` would: the same kernel, given the same but for numbers.

        Types, memory spaces, ranks and functions that this one alone is given may make other operations of it.
        What chooses a branch may be unknown to the one before, which then took both, unless the program around
        its call had chosen already.
        """
        if not self.leaves_out or body.name is None:
            return False
        return any(_cover_arguments(before, body) for before in self._by_kernel.get((body.module.key, body.name), ()))


def _cover_arguments(before: FollowedBody, body: FollowedBody) -> bool:
    takes_both_branches = not before.assumed
    given, now = before.arguments, body.arguments
    return (
        _covers(given.positional, now.positional, takes_both_branches)
        and _cover_items(given.keywords, now.keywords, takes_both_branches)
        and _covers(_bound(before.kernel), _bound(body.kernel), takes_both_branches)
    )


def _bound(kernel: Value) -> tuple[Value, ...]:
    """What the partials around a kernel give it."""
    if not isinstance(kernel, Partial):
        return ()
    return (kernel.arguments, DictValue(dict(kernel.keywords)), _bound(kernel.function))


def _covers(before: Value, now: Value, both: bool) -> bool:
    if before is now:
        return True
    match now:
        case Guarded():
            ways = (before.when_true, before.when_false) if isinstance(before, Guarded) else (before, before)
            return _covers(ways[0], now.when_true, both) and _covers(ways[1], now.when_false, both)
        case Ref() | Array():
            return type(before) is type(now) and _covers_array(before, now)
        case bool() | str() | None:
            return (both and isinstance(before, Opaque | Condition)) or (type(before) is type(now) and before == now)
        case int() | float() | Expression() | Opaque():
            return isinstance(before, int | float | Expression | Opaque) and not isinstance(before, bool)
        case tuple():
            return (
                isinstance(before, tuple)
                and len(before) == len(now)
                and all(_covers(one, other, both) for one, other in zip(before, now, strict=True))
            )
        case ListValue(items):
            return isinstance(before, ListValue) and _covers(before.items, items, both)
        case DictValue(entries):
            return isinstance(before, DictValue) and _cover_items(before.entries, entries, both)
        case Instance(class_, fields):
            return (
                isinstance(before, Instance)
                and before.class_.node is class_.node
                and _cover_items(before.fields, fields, both)
            )
        case Function(node):
            return isinstance(before, Function) and before.node is node
        case Partial(function, arguments, keywords):
            return (
                isinstance(before, Partial)
                and _covers(before.function, function, both)
                and _covers(before.arguments, arguments, both)
                and _cover_items(dict(before.keywords), dict(keywords), both)
            )
        case _:
            return type(before) is type(now) and bool(before == now)


def _covers_array(before: Array | Ref, now: Array | Ref) -> bool:
    if isinstance(now, Ref) and isinstance(before, Ref) and before.memory_space is not now.memory_space:
        return False
    if isinstance(now.dtype, str) and before.dtype != now.dtype:
        return False
    if isinstance(now.shape, Opaque):
        return True
    return isinstance(before.shape, tuple) and len(before.shape) == len(now.shape)


def _cover_items(before: Mapping[Value, Value], now: Mapping[Value, Value], both: bool) -> bool:
    return before.keys() == now.keys() and all(_covers(before[name], value, both) for name, value in now.items())
