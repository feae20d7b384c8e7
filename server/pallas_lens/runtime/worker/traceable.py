"""Splits a call into arrays, which JAX traces, and everything else, which stays as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from .arguments import Arguments


def traceable(
    function: Callable[..., Any], arguments: Arguments
) -> tuple[Callable[..., list[Any]], list[jax.ShapeDtypeStruct]]:
    """A function of the arrays alone, and their shapes and dtypes.

    Arguments that are not arrays are closed over; outputs that are not arrays are dropped.
    """
    leaves, tree = jax.tree_util.tree_flatten((arguments.positional, arguments.keywords))
    is_traced = [isinstance(leaf, (jax.Array, np.ndarray, np.generic, jax.ShapeDtypeStruct)) for leaf in leaves]

    def of_arrays(*arrays: Any) -> list[Any]:
        remaining = iter(arrays)
        values = [next(remaining) if traced else leaf for leaf, traced in zip(leaves, is_traced, strict=True)]
        positional, keywords = jax.tree_util.tree_unflatten(tree, values)
        return array_leaves(function(*positional, **keywords))

    # The name appears in the compiler's messages.
    of_arrays.__name__ = getattr(function, "__name__", "example")
    shapes = [
        jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf, traced in zip(leaves, is_traced, strict=True) if traced
    ]
    return of_arrays, shapes


def array_leaves(outputs: Any) -> list[Any]:
    """The arrays and numbers of a function's output, in JAX's order."""
    leaves = jax.tree_util.tree_leaves(outputs)
    return [leaf for leaf in leaves if isinstance(leaf, (jax.Array, np.ndarray, np.generic, float, int, bool, complex))]
