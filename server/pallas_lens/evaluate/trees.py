"""Pytrees: one argument of a kernel that holds several arrays, specs or scratch types, or, like None, none at all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from .values import DictValue, Instance, ListValue, Value

_DEEPEST: Final = 8
_MOST_LEAVES: Final = 512


def is_tree(value: Value) -> bool:
    """Whether JAX takes ``value`` apart, as far as can be told of an object of the program."""
    return value is None or isinstance(value, Instance | tuple | ListValue | DictValue)


def children(value: Value) -> tuple[tuple[str, Value], ...] | None:
    """The parts of a tree in JAX's order, each with its name behind the tree's; None where they are not known."""
    if isinstance(value, ListValue):
        value = value.items
    match value:
        case None:
            return ()
        case tuple():
            return tuple((f"[{index}]", item) for index, item in enumerate(value))
        case DictValue(entries, is_open):
            if is_open or len({type(key) for key in entries}) > 1:
                return None
            # Keys are all strings or all numbers, the only ones that JAX can sort.
            ordered = sorted(entries, key=lambda key: key if isinstance(key, int) else str(key))
            return tuple((f"[{key!r}]", entries[key]) for key in ordered)
        case Instance(class_, fields) if class_.kind in ("dataclass", "namedtuple"):
            names = [name for name, _ in class_.fields]
            if any(name not in fields for name in names):
                return None
            return tuple((f".{name}", fields[name]) for name in names)
        case _:
            return None


def leaves(value: Value, like: Value, name: str) -> list[tuple[str, Value, Value]] | None:
    """The leaves of a tree, each with its name and the leaf at the same place of ``like``.

    A ``like`` that is no tree belongs to every leaf below. None where a structure is not known, or they differ.
    """
    found: list[tuple[str, Value, Value]] = []
    try:
        for leaf in _walk(value, like, name, 0):
            found.append(leaf)
            if len(found) > _MOST_LEAVES:
                return None
    except _Unknown:
        return None
    return found


class _Unknown(Exception):
    """The structure of a tree cannot be told."""


def _walk(value: Value, like: Value, name: str, depth: int) -> Iterator[tuple[str, Value, Value]]:
    if not is_tree(value):
        if isinstance(like, tuple | ListValue | DictValue):
            raise _Unknown
        yield name, value, like
        return
    parts = children(value)
    if parts is None or depth > _DEEPEST:
        raise _Unknown
    others: tuple[Value, ...] = (like,) * len(parts)
    if is_tree(like) and like is not None:
        known = children(like)
        if known is None or len(known) != len(parts):
            raise _Unknown
        others = tuple(other for _, other in known)
    for (part, item), other in zip(parts, others, strict=True):
        yield from _walk(item, other, f"{name}{part}", depth + 1)
