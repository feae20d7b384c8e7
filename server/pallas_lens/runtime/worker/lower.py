"""JAX's own TPU lowering of the user's function for a chip; needs neither a TPU nor libtpu."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from .abstract_chip import AbstractChip, on_chip
from .arguments import Arguments
from .traceable import traceable


def lower(
    function: Callable[..., Any], arguments: Arguments, chip: AbstractChip, enter_stage: Callable[[str], None]
) -> None:
    """Trace and lower the function; raises what JAX or the user's code raises."""
    with on_chip(chip):
        of_arrays, shapes = traceable(function, arguments)
        enter_stage("trace")
        traced = jax.jit(of_arrays).trace(*shapes)
        enter_stage("lower")
        traced.lower(lowering_platforms=("tpu",))
