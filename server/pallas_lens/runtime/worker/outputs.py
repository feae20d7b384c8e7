"""What the outputs of a run hold, and how they differ from a reference's."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..protocol import Comparison, OutputFacts
from .traceable import array_leaves

# A kernel may sum in another order than its reference, in a wider type, and round at other places. By the bits of the
# output's type: how many of its roundings, as a share of the largest value, still count as equal.
_ROUNDINGS = {64: 1024.0, 32: 1024.0, 16: 8.0, 8: 2.0}


def output_facts(outputs: Any) -> tuple[OutputFacts, ...]:
    """Shape, dtype and statistics of each output array; names are JAX's key paths, `output` for a single one."""
    paths, _ = jax.tree_util.tree_flatten_with_path(outputs)
    facts = []
    for path, leaf in paths:
        if array_leaves(leaf):
            facts.append(_facts(f"output{jax.tree_util.keystr(path)}", np.asarray(leaf)))
    return tuple(facts)


def compare(outputs: Any, expected: Any, reference: str) -> Comparison:
    """The comparison of all output arrays with those of the reference, in order."""
    ours = [np.asarray(leaf) for leaf in array_leaves(outputs)]
    theirs = [np.asarray(leaf) for leaf in array_leaves(expected)]
    our_shapes = [array.shape for array in ours]
    their_shapes = [array.shape for array in theirs]
    if our_shapes != their_shapes:
        detail = f"the outputs have shapes {our_shapes}, those of the reference {their_shapes}"
        return Comparison(reference, False, 0.0, None, None, detail)
    tolerance = max([_tolerance(array) for array in (*ours, *theirs)], default=0.0)
    worst_absolute = worst_relative = 0.0
    matches = True
    detail = ""
    for index, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
        mine_wide, other_wide = _wide(mine), _wide(other)
        both_equal = (mine_wide == other_wide) | (np.isnan(mine_wide) & np.isnan(other_wide))
        difference = np.where(both_equal, 0.0, np.abs(mine_wide - other_wide))
        finite = np.abs(other_wide[np.isfinite(other_wide)])
        scale = float(finite.max()) if finite.size else 0.0
        wrong = ~(difference <= tolerance * scale)
        known = difference[np.isfinite(difference)]
        largest = float(known.max()) if known.size else 0.0
        worst_absolute = max(worst_absolute, largest)
        if largest > 0:
            worst_relative = max(worst_relative, largest / scale if scale else float("inf"))
        if wrong.any():
            matches = False
            first = tuple(int(axis[0]) for axis in np.nonzero(wrong))
            detail = detail or (
                f"output {index} differs in {int(wrong.sum())} of {wrong.size} elements, first at "
                f"{list(first)}: {mine[first]} where the reference has {other[first]}"
            )
    relative = worst_relative if np.isfinite(worst_relative) else None
    return Comparison(reference, matches, tolerance, worst_absolute, relative, detail)


def _facts(name: str, array: np.ndarray[Any, Any]) -> OutputFacts:
    wide = _wide(array)
    nan = np.isnan(wide)
    infinite = np.isinf(wide)
    finite = wide[~(nan | infinite)].real
    first_nan = tuple(int(axis[0]) for axis in np.nonzero(nan)) if nan.any() else None
    return OutputFacts(
        name=name,
        shape=tuple(array.shape),
        dtype=str(array.dtype),
        finite=int(finite.size),
        nan=int(nan.sum()),
        infinite=int(infinite.sum()),
        minimum=float(finite.min()) if finite.size else None,
        maximum=float(finite.max()) if finite.size else None,
        mean=float(finite.mean()) if finite.size else None,
        first_nan=first_nan,
    )


def _wide(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return array.astype(np.complex128 if np.iscomplexobj(array) else np.float64)


def _tolerance(array: np.ndarray[Any, Any]) -> float:
    if not jnp.issubdtype(array.dtype, jnp.inexact):
        return 0.0
    info = jnp.finfo(array.dtype)
    return float(info.eps) * _ROUNDINGS.get(int(info.bits), 2.0)
