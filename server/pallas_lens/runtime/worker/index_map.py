"""What an index map's jaxpr says: which grid axes each result hangs on, and its value at chosen steps."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from ..protocol import TracedIndex, TracedIndexMap

_LONGEST_TEXT = 4000
# JAX's integer division rounds towards zero and its remainder has the sign of the dividend.
_PLAIN: dict[str, Callable[..., Any]] = {
    "add": lambda left, right: left + right,
    "sub": lambda left, right: left - right,
    "mul": lambda left, right: left * right,
    "max": max,
    "min": min,
    "neg": lambda value: -value,
    "abs": abs,
    "sign": lambda value: (value > 0) - (value < 0),
    "div": lambda left, right: int(math.copysign(abs(left) // abs(right), left * right)),
    "rem": lambda left, right: int(math.copysign(abs(left) % abs(right), left)),
    "eq": lambda left, right: left == right,
    "ne": lambda left, right: left != right,
    "lt": lambda left, right: left < right,
    "le": lambda left, right: left <= right,
    "gt": lambda left, right: left > right,
    "ge": lambda left, right: left >= right,
    "and": lambda left, right: left & right,
    "or": lambda left, right: left | right,
    "xor": lambda left, right: left ^ right,
    "not": lambda value: not value if isinstance(value, bool) else ~value,
    "shift_left": lambda left, right: left << right,
    "shift_right_arithmetic": lambda left, right: left >> right,
    "shift_right_logical": lambda left, right: (left & 0xFFFFFFFF) >> right,
    "select_n": lambda which, *cases: cases[int(which)],
    "integer_pow": lambda value, y: value**y,
    "clamp": lambda low, value, high: min(max(value, low), high),
    "stop_gradient": lambda value: value,
    "copy": lambda value: value,
    "convert_element_type": lambda value: value,
    "broadcast_in_dim": lambda value: value,
    "reshape": lambda value: value,
    "squeeze": lambda value: value,
}

# The primitives that run a jaxpr of their own on their operands.
_CALLS = ("jit", "pjit", "closed_call", "custom_jvp_call")


@dataclass(frozen=True)
class _Traced:
    """A value inside the index map: what it hangs on, and the number that it is, if one can be told."""

    axes: frozenset[int] = frozenset()
    reads: bool = False
    value: int | bool | None = None


def sample_points(grid: Sequence[int | None]) -> tuple[tuple[int, ...], ...]:
    """The first, a middle and the last step of a grid, each once; a size that is not known counts as 3."""
    sizes = [3 if size is None else size for size in grid]
    if any(size < 1 for size in sizes):
        return ()
    chosen = (
        tuple(0 for _ in sizes),
        tuple(size // 2 for size in sizes),
        tuple(size - 1 for size in sizes),
    )
    return tuple(dict.fromkeys(chosen))


def read_index_map(mapping: Any, rank: int, points: Sequence[tuple[int, ...]]) -> TracedIndexMap:
    """An index map as a block mapping holds it, evaluated at some steps of a grid of `rank` axes."""
    closed = mapping.index_map_jaxpr
    jaxpr = getattr(closed, "jaxpr", closed)
    samples = [_evaluate(jaxpr, rank, point) for point in points] or [_evaluate(jaxpr, rank, (0,) * rank)]
    leaves = [
        TracedIndex(
            tuple(sorted(frozenset().union(*(one.axes for one in at)))),
            any(one.reads for one in at),
            tuple(None if one.value is None else int(one.value) for one in at)[: len(points)],
        )
        for at in zip(*samples, strict=True)
    ]
    results = _of_block_dims(leaves, getattr(mapping, "index_map_out_tree", None))
    return TracedIndexMap(str(jaxpr)[:_LONGEST_TEXT], len(jaxpr.invars), results)


def _of_block_dims(leaves: list[TracedIndex], tree: Any) -> tuple[TracedIndex, ...]:
    """One entry a block dim: a slice, whose start and size are leaves of their own, has no one number."""
    try:
        grouped = jax.tree_util.tree_unflatten(tree, list(range(len(leaves))))
    except (TypeError, ValueError, AttributeError):
        return tuple(leaves)
    if not isinstance(grouped, (tuple, list)):
        grouped = (grouped,)
    results = []
    for group in grouped:
        if isinstance(group, int):
            results.append(leaves[group])
            continue
        parts = [leaves[index] for index in jax.tree_util.tree_leaves(group) if isinstance(index, int)]
        axes = frozenset(itertools.chain.from_iterable(part.axes for part in parts))
        count = len(parts[0].values) if parts else 0
        results.append(TracedIndex(tuple(sorted(axes)), any(part.reads_prefetch for part in parts), (None,) * count))
    return tuple(results)


def _evaluate(jaxpr: Any, rank: int, point: tuple[int, ...]) -> list[_Traced]:
    given = [
        _Traced(frozenset({index}), False, point[index]) if index < rank else _Traced(reads=True)
        for index in range(len(jaxpr.invars))
    ]
    return _run(jaxpr, given)


def _run(jaxpr: Any, given: list[_Traced]) -> list[_Traced]:
    known: dict[Any, _Traced] = dict.fromkeys(jaxpr.constvars, _Traced(reads=True))
    known.update(zip(jaxpr.invars, given, strict=True))

    def look_up(atom: Any) -> _Traced:
        if hasattr(atom, "val"):
            return _Traced(value=_number(atom.val))
        return known.get(atom, _Traced(reads=True))

    for equation in jaxpr.eqns:
        inputs = [look_up(atom) for atom in equation.invars]
        known.update(zip(equation.outvars, _results(equation, inputs), strict=True))
    return [look_up(atom) for atom in jaxpr.outvars]


def _results(equation: Any, inputs: list[_Traced]) -> list[_Traced]:
    name = equation.primitive.name
    if name in _CALLS:
        inner = equation.params.get("jaxpr", equation.params.get("call_jaxpr"))
        inner = getattr(inner, "jaxpr", inner)
        if hasattr(inner, "eqns") and not inner.constvars:
            return _run(inner, inputs)
    axes = frozenset(itertools.chain.from_iterable(one.axes for one in inputs))
    reads = any(one.reads for one in inputs)
    value: int | bool | None = None
    numbers = [one.value for one in inputs]
    plain = _PLAIN.get(name)
    if plain is not None and None not in numbers and not equation.outvars[0].aval.shape:
        more = {"y": equation.params["y"]} if name == "integer_pow" else {}
        try:
            value = _number(plain(*numbers, **more))
        except (ArithmeticError, TypeError, ValueError, IndexError):
            value = None
    return [_Traced(axes, reads, value)] * len(equation.outvars)


def _number(value: Any) -> int | bool | None:
    if isinstance(value, bool):
        return value
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, np.bool_):
        return bool(value)
    if getattr(value, "shape", None) == () and getattr(value, "dtype", np.dtype(float)).kind in "iub":
        return _number(np.asarray(value).item())
    return None
