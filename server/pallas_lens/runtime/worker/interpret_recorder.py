"""Watches JAX's TPU interpret mode: what went wrong first, and on which line of the user's.

Interpret mode simulates the TPU in callbacks from compiled code, so that an exception reaches the caller as text only,
and without the user's line. The callbacks are therefore wrapped here, where the exception and JAX's record of the
equation that it belongs to are still at hand.
"""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jax.experimental.pallas import tpu as pltpu

from .kernel_calls import KernelCalls, Params, kernel_name, module_or_none, replaced
from .user_position import Position, position_in_traceback, position_of_source_info

_RACES = "jax._src.pallas.mosaic.interpret.race_detection_state"


class RaceDetected(Exception):
    """A race which this JAX version prints and does not raise."""


class InterpretRecorder:
    """The first failure of the interpreted kernels. `calls` is told of every kernel call."""

    def __init__(self, calls: KernelCalls) -> None:
        self.calls = calls
        self._current_call = ""
        self._running = threading.local()
        self._failures: list[tuple[BaseException, Position | None]] = []

    @property
    def first_error(self) -> BaseException | None:
        """The exception that interpret mode raised first; later ones follow from it."""
        return self._failures[0][0] if self._failures else None

    @property
    def first_position(self) -> Position | None:
        """Where the first exception belongs: the load, store or copy, else the kernel call."""
        return self._failures[0][1] if self._failures else None

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        """Within it, every interpreted kernel is watched. What this JAX version does not have is left alone."""
        # It has had several names; whatever defines the context manager interprets the calls within it.
        interpreter = module_or_none(pltpu.force_tpu_interpret_mode.__module__)
        with (
            self.calls.watching(_with_parallel_prefix),
            replaced(interpreter, "interpret_pallas_call", self._interpret_pallas_call),
            replaced(module_or_none("jax._src.callback"), "io_callback", self._io_callback),
            self._hearing_races(interpreter),
            self._hearing_races(module_or_none(_RACES)),
        ):
            yield

    def _interpret_pallas_call(self, original: Callable[..., Any], *operands: Any, **params: Any) -> Any:
        before = self._current_call
        self._current_call = kernel_name(params.get("jaxpr"))
        try:
            return original(*operands, **params)
        finally:
            self._current_call = before

    def _io_callback(
        self, original: Callable[..., Any], callback: Callable[..., Any], *operands: Any, **params: Any
    ) -> Any:
        source_info = getattr(callback, "keywords", {}).get("source_info")
        call = self._current_call

        def watched(*values: Any, **named_values: Any) -> Any:
            self._running.context = source_info, call
            try:
                return callback(*values, **named_values)
            except BaseException as error:
                self._record(error, source_info, call)
                raise

        return original(watched, *operands, **params)

    @contextlib.contextmanager
    def _hearing_races(self, detector: Any) -> Iterator[None]:
        """Before 0.12, JAX prints what it knows of a race, and the kernel goes on."""

        def hear(*parts: object, **options: Any) -> None:
            text = " ".join(map(str, parts))
            print(text, **options)
            if "RACE DETECTED" in text:
                self._record(RaceDetected(text), *getattr(self._running, "context", (None, "")))

        if detector is None:
            yield
            return
        detector.print = hear
        try:
            yield
        finally:
            del detector.print

    def _record(self, error: BaseException, source_info: object, call: str) -> None:
        user_file = self.calls.user_file
        position = (
            position_of_source_info(source_info, user_file)
            or position_in_traceback(error.__traceback__, user_file)
            or self.calls.of_kernel(call)
            or self.calls.last
        )
        self._failures.append((error, position))


def _with_parallel_prefix(params: Params) -> Params:
    """The params of a kernel, `parallel` after `arbitrary` read as `arbitrary`.

    The TPU takes the dimension semantics in any order, interpret mode only those with all parallel dims in front. To
    run such a dim in order gives one of the results that the TPU may give.
    """
    compiler_params = params.get("compiler_params")
    if isinstance(compiler_params, Mapping):
        # Early JAX, such as 0.7, keeps them by backend.
        by_backend = {name: _in_order(value) for name, value in compiler_params.items()}
        return {**params, "compiler_params": type(compiler_params)(by_backend)}  # type: ignore[call-arg]
    return {**params, "compiler_params": _in_order(compiler_params)} if compiler_params is not None else params


def _in_order(compiler_params: Any) -> Any:
    semantics = getattr(compiler_params, "dimension_semantics", None)
    if semantics is None:
        return compiler_params
    parallel = [str(getattr(item, "name", item)).lower() == "parallel" for item in semantics]
    prefix = parallel.index(False) if False in parallel else len(parallel)
    if not any(parallel[prefix:]):
        return compiler_params
    ordered = tuple(semantics[:prefix]) + tuple(
        "arbitrary" if is_parallel else item
        for item, is_parallel in zip(semantics[prefix:], parallel[prefix:], strict=True)
    )
    return dataclasses.replace(compiler_params, dimension_semantics=ordered)
