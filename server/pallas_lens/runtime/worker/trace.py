"""Every Pallas kernel in the program that JAX makes of the user's function, with what JAX decided about each."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any

import jax

from ..protocol import TracedCall
from .abstract_chip import AbstractChip, on_chip
from .arguments import Arguments
from .kernel_calls import module_or_none, replaced
from .traceable import traceable
from .traced_call import FORMS, traced_calls_of
from .user_position import Position, UserFile, position_of_source_info

_MOST_CALLS = 2000
# Without it, JAX writes a pipeline into the kernel as loops and copies, of which grid and specs cannot be told.
_PIPELINE_AS_ONE_EQUATION = "jax_use_emit_pipeline_primitive"
_PIPELINE_MODULES = ("jax.experimental.pallas.tpu", "jax._src.pallas.mosaic.pipeline")


def trace(
    function: Callable[..., Any],
    arguments: Arguments,
    chip: AbstractChip,
    user_file: UserFile,
    enter_stage: Callable[[str], None],
) -> tuple[TracedCall, ...]:
    """The calls in the order of the program, equal ones once; raises what JAX or the user's code raises."""
    with on_chip(chip):
        of_arrays, shapes = traceable(function, arguments)
        enter_stage("trace")
        program = None
        # The option is not what users run with: what it refuses is judged without it.
        with contextlib.suppress(Exception), _pipelines_as_equations():
            program = jax.jit(of_arrays).trace(*shapes).jaxpr
        if program is None:
            program = jax.jit(of_arrays).trace(*shapes).jaxpr
    found: dict[TracedCall, int] = {}
    for call in _calls_in(program.jaxpr, (), None, user_file):
        found[call] = found.get(call, 0) + 1
        if len(found) >= _MOST_CALLS:
            break
    return tuple(dataclasses.replace(call, times=times) for call, times in found.items())


@contextlib.contextmanager
def _pipelines_as_equations() -> Iterator[None]:
    if not hasattr(jax.config, _PIPELINE_AS_ONE_EQUATION):
        yield
        return
    before = getattr(jax.config, _PIPELINE_AS_ONE_EQUATION)
    jax.config.update(_PIPELINE_AS_ONE_EQUATION, True)
    try:
        with contextlib.ExitStack() as patches:
            for name in _PIPELINE_MODULES:
                patches.enter_context(replaced(module_or_none(name), "emit_pipeline", _returning_nothing))
            yield
    finally:
        jax.config.update(_PIPELINE_AS_ONE_EQUATION, before)


def _returning_nothing(original: Callable[..., Any], *given: Any, **options: Any) -> Callable[..., None]:
    """A pipeline that returns None, as JAX asks of one that is itself the kernel; as an equation it returns a list."""
    pipeline = original(*given, **options)

    @functools.wraps(pipeline)
    def run(*refs: Any, **more: Any) -> None:
        pipeline(*refs, **more)

    return run


def _calls_in(
    jaxpr: Any, inside: tuple[str, ...], around: Position | None, user_file: UserFile
) -> Iterator[TracedCall]:
    for equation in jaxpr.eqns:
        # What JAX itself makes, such as the loop of a `vmap` over prefetched operands, knows no line of the user's.
        position = position_of_source_info(equation.source_info, user_file) or around
        if equation.primitive.name in FORMS:
            yield from traced_calls_of(equation, inside, position, user_file)
        within = (*inside, _title(equation))
        for inner in _jaxprs_in(equation.params):
            yield from _calls_in(inner, within, position, user_file)


def _title(equation: Any) -> str:
    name = str(equation.primitive.name)
    if name in ("jit", "pjit"):
        return f"jit {equation.params.get('name', '')}".strip()
    return name


def _jaxprs_in(params: dict[str, Any]) -> Iterator[Any]:
    for value in params.values():
        for one in value if isinstance(value, (tuple, list)) else (value,):
            inner = getattr(one, "jaxpr", one)
            if hasattr(inner, "eqns"):
                yield inner
