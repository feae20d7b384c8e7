"""Values with their conditions decided: one world of a kernel call."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any, Final

from .values import (
    Array,
    BlockSpecValue,
    CompilerParamsValue,
    DictValue,
    GridSpecValue,
    Guarded,
    Instance,
    ListValue,
    Missing,
    Partial,
    ScratchValue,
    SpannedTuple,
    Transformed,
    Value,
)


def project(value: Value, assumed: dict[Hashable, bool], seen: dict[Hashable, str]) -> Value:
    """``value`` with every guard inside decided by ``assumed``; undecided ones are noted in ``seen``.

    An undecided guard counts as true, so that the caller can flip it on the next round.
    What holds no guard is returned as it is, so that its identity can serve as a key.
    """
    return _Projection(assumed, seen).of(value)


class _Projection:
    """One round of ``project``. A value that is met again, also inside itself, is projected once."""

    __slots__ = ("assumed", "known", "seen")

    def __init__(self, assumed: dict[Hashable, bool], seen: dict[Hashable, str]) -> None:
        self.assumed = assumed
        self.seen = seen
        # The value is kept beside its projection so that its id stays its own.
        self.known: dict[int, tuple[Value, Value]] = {}

    def of(self, value: Value) -> Value:
        handler = _PROJECTIONS.get(type(value))
        if handler is None:
            return value
        known = self.known.get(id(value))
        if known is not None:
            return known[1]
        self.known[id(value)] = (value, value)
        made = handler(self, value)
        self.known[id(value)] = (value, made)
        return made

    def of_guarded(self, value: Guarded) -> Value:
        if value.key not in self.assumed:
            self.seen.setdefault(value.key, value.text)
        return self.of(value.when_true if self.assumed.get(value.key, True) else value.when_false)

    def of_tuple(self, value: tuple[Value, ...]) -> Value:
        items = [self.of(item) for item in value]
        if all(new is old for new, old in zip(items, value, strict=True)):
            return value
        return SpannedTuple.of(items, value.spans, value.span) if isinstance(value, SpannedTuple) else tuple(items)

    def of_list(self, value: ListValue) -> Value:
        items = self.of(value.items)
        return value if items is value.items else ListValue(items)

    def of_dict(self, value: DictValue) -> Value:
        entries = {key: self.of(item) for key, item in value.entries.items()}
        kept = {key: item for key, item in entries.items() if not isinstance(item, Missing)}
        return DictValue(kept, value.is_open, value.key_spans)

    def of_partial(self, value: Partial) -> Value:
        function = self.of(value.function)
        arguments = self.of(value.arguments)
        keywords = tuple((key, self.of(item)) for key, item in value.keywords)
        unchanged = all(new is old for (_, new), (_, old) in zip(keywords, value.keywords, strict=True))
        if function is value.function and arguments is value.arguments and unchanged:
            return value
        return Partial(function, arguments, keywords, value.span)

    def of_instance(self, value: Instance) -> Value:
        fields = {name: self.of(item) for name, item in value.fields.items()}
        return value if all(fields[name] is value.fields[name] for name in fields) else Instance(value.class_, fields)

    def of_arguments(self, value: GridSpecValue | CompilerParamsValue) -> Value:
        arguments = {key: (self.of(item), span) for key, (item, span) in value.arguments.items()}
        return replace(value, arguments=arguments)

    def of_fields(self, value: Value) -> Value:
        """A dataclass, of which only the fields in ``_PROJECTED_FIELDS`` hold values."""
        changed = {}
        for name in _PROJECTED_FIELDS[type(value)]:
            old = getattr(value, name)
            new = self.of(old)
            if new is not old:
                changed[name] = new
        return replace(value, **changed) if changed else value


_PROJECTED_FIELDS: Final[dict[type, tuple[str, ...]]] = {
    BlockSpecValue: ("block_shape", "index_map", "memory_space", "pipeline_mode"),
    ScratchValue: ("shape", "dtype"),
    Array: ("shape", "dtype"),
    Transformed: ("function",),
}
_PROJECTIONS: Final[dict[type, Callable[[_Projection, Any], Value]]] = {
    Guarded: _Projection.of_guarded,
    tuple: _Projection.of_tuple,
    SpannedTuple: _Projection.of_tuple,
    ListValue: _Projection.of_list,
    DictValue: _Projection.of_dict,
    Partial: _Projection.of_partial,
    Instance: _Projection.of_instance,
    GridSpecValue: _Projection.of_arguments,
    CompilerParamsValue: _Projection.of_arguments,
    **dict.fromkeys(_PROJECTED_FIELDS, _Projection.of_fields),
}
