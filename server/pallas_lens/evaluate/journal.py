"""Changes that can be undone, so that both branches of an undecided condition can be followed."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from .values import MISSING, DictValue, Guarded, ListValue, Missing, Opaque, Value

Place = tuple[int, Hashable]


@dataclass(slots=True)
class Journal:
    """Every assignment to a variable, attribute, list or dict goes through here."""

    entries: list[tuple[object, Hashable, Value]] = field(default_factory=list)

    def write(self, owner: object, key: Hashable, value: Value) -> None:
        """Set ``key`` of ``owner`` (a plain dict, or a container whose contents are at "items")."""
        self.entries.append((owner, key, _read(owner, key)))
        _store(owner, key, value)

    def mark(self) -> int:
        """A point to go back to."""
        return len(self.entries)

    def rewind(self, mark: int) -> dict[Place, tuple[object, Hashable, Value]]:
        """Undo all since ``mark``; returns what each touched place held before undoing."""
        touched: dict[Place, tuple[object, Hashable, Value]] = {}
        while len(self.entries) > mark:
            owner, key, old = self.entries.pop()
            place = (id(owner), key)
            if place not in touched:
                touched[place] = (owner, key, _read(owner, key))
            _store(owner, key, old)
        return touched

    def replay(self, touched: dict[Place, tuple[object, Hashable, Value]]) -> None:
        """Do again what ``rewind`` undid."""
        for owner, key, value in touched.values():
            self.write(owner, key, value)

    def merge(
        self,
        when_true: dict[Place, tuple[object, Hashable, Value]],
        when_false: dict[Place, tuple[object, Hashable, Value]],
        join: Callable[[Value, Value], Value],
    ) -> None:
        """Write for each place that either branch touched what ``join`` makes of both outcomes."""
        for place, (owner, key, _) in {**when_true, **when_false}.items():
            before = _read(owner, key)
            true_value = when_true[place][2] if place in when_true else before
            false_value = when_false[place][2] if place in when_false else before
            if isinstance(true_value, Missing):
                value = false_value
            elif isinstance(false_value, Missing):
                value = true_value
            else:
                value = join(true_value, false_value)
            self.write(owner, key, value)


def _read(owner: object, key: Hashable) -> Value:
    if isinstance(owner, dict):
        return owner.get(key, MISSING)
    if isinstance(owner, ListValue):
        return owner.items
    assert isinstance(owner, DictValue)
    return (owner.entries, owner.is_open)


def _store(owner: object, key: Hashable, value: Value) -> None:
    if isinstance(owner, dict):
        if value is MISSING:
            owner.pop(key, None)
        else:
            owner[key] = value
    elif isinstance(owner, ListValue):
        owner.items = value
    elif isinstance(owner, DictValue):
        if isinstance(value, tuple):
            owner.entries, owner.is_open = value
        else:
            # A join of two different dicts: keep what both agree on.
            owner.entries, owner.is_open = _common(value), True


def _common(value: Value) -> dict[Value, Value]:
    if (
        not isinstance(value, Guarded)
        or not isinstance(value.when_true, tuple)
        or not isinstance(value.when_false, tuple)
    ):
        return {}
    left, right = value.when_true[0], value.when_false[0]
    return {
        key: left.get(key, Opaque(str(key), f"is only set where {value.text}"))
        if key in left and key in right and left[key] is right[key]
        else Guarded(value.key, value.text, left.get(key, MISSING), right.get(key, MISSING))
        for key in {**left, **right}
    }
