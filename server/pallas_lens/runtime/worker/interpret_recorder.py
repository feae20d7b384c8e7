"""Watches JAX's TPU interpret mode: which callback failed first, in which pallas_call, on which line of the user's.

Interpret mode simulates the TPU in callbacks from compiled code, so that an exception reaches the caller as text only,
and without the user's line. The callbacks are therefore wrapped here, where the exception and JAX's record of the
equation that it belongs to are still at hand.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

from .user_position import Position, UserFile, position_in_traceback, position_of_caller, position_of_source_info

_PRIMITIVES = (
    ("jax._src.pallas.pallas_call", "pallas_call_p"),
    ("jax._src.pallas.mpmd", "mpmd_map_p"),
    ("jax._src.pallas.core", "core_map_p"),
)


class InterpretRecorder:
    """What went wrong first, and where the kernels were called."""

    def __init__(self, user_file: UserFile) -> None:
        self._user_file = user_file
        self._call_positions: dict[str, Position] = {}
        self._current_call = ""
        self._failures: list[tuple[BaseException, Position | None]] = []

    @property
    def first_error(self) -> BaseException | None:
        """The exception that interpret mode raised first; later ones follow from it."""
        return self._failures[0][0] if self._failures else None

    @property
    def first_position(self) -> Position | None:
        """Where the first exception belongs: the load, store or copy, else the pallas_call."""
        return self._failures[0][1] if self._failures else None

    @property
    def last_call(self) -> Position | None:
        """Where the last kernel was called."""
        return next(reversed(self._call_positions.values()), None)

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        """Within it, every interpreted kernel is watched. What this JAX version does not have is left alone."""
        with contextlib.ExitStack() as patches:
            for module_name, primitive_name in _PRIMITIVES:
                primitive = _attribute(module_name, primitive_name)
                if primitive is not None:
                    patches.enter_context(_replaced(primitive, "bind", self._bind))
            interpreter = _module("jax._src.pallas.mosaic.interpret.interpret_pallas_call")
            patches.enter_context(_replaced(interpreter, "interpret_pallas_call", self._interpret_pallas_call))
            patches.enter_context(_replaced(_module("jax._src.callback"), "io_callback", self._io_callback))
            yield

    def _bind(self, original: Callable[..., Any], *operands: Any, **params: Any) -> Any:
        position = position_of_caller(sys._getframe(2), self._user_file)
        if position is not None and "jaxpr" in params:
            name = _kernel_name(params["jaxpr"])
            self._call_positions.pop(name, None)
            self._call_positions[name] = position
        return original(*operands, **_with_parallel_prefix(params))

    def _interpret_pallas_call(self, original: Callable[..., Any], *operands: Any, **params: Any) -> Any:
        before = self._current_call
        self._current_call = _kernel_name(params.get("jaxpr"))
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
            try:
                return callback(*values, **named_values)
            except BaseException as error:
                self._failures.append((error, self._position(error, source_info, call)))
                raise

        return original(watched, *operands, **params)

    def _position(self, error: BaseException, source_info: object, call: str) -> Position | None:
        return (
            position_of_source_info(source_info, self._user_file)
            or position_in_traceback(error.__traceback__, self._user_file)
            or self._call_positions.get(call)
            or self.last_call
        )


def _with_parallel_prefix(params: dict[str, Any]) -> dict[str, Any]:
    """The params of a kernel, `parallel` after `arbitrary` read as `arbitrary`.

    The TPU takes the dimension semantics in any order, interpret mode only those with all parallel dims in front. To
    run such a dim in order gives one of the results that the TPU may give.
    """
    compiler_params = params.get("compiler_params")
    semantics = getattr(compiler_params, "dimension_semantics", None)
    if semantics is None or not dataclasses.is_dataclass(compiler_params) or isinstance(compiler_params, type):
        return params
    parallel = [str(getattr(item, "name", item)).lower() == "parallel" for item in semantics]
    prefix = parallel.index(False) if False in parallel else len(parallel)
    if not any(parallel[prefix:]):
        return params
    ordered = tuple(semantics[:prefix]) + tuple(
        "arbitrary" if is_parallel else item
        for item, is_parallel in zip(semantics[prefix:], parallel[prefix:], strict=True)
    )
    return {**params, "compiler_params": dataclasses.replace(compiler_params, dimension_semantics=ordered)}


def _kernel_name(jaxpr: Any) -> str:
    """The kernel as JAX names it in messages, `k at file.py:12`, empty where it does not say."""
    return str(getattr(getattr(jaxpr, "debug_info", None), "func_src_info", ""))


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _attribute(module_name: str, name: str) -> Any:
    return getattr(_module(module_name), name, None)


@contextlib.contextmanager
def _replaced(owner: Any, name: str, replacement: Callable[..., Any]) -> Iterator[None]:
    original = getattr(owner, name, None)
    if original is None:
        yield
        return

    @functools.wraps(original)
    def call(*operands: Any, **params: Any) -> Any:
        return replacement(original, *operands, **params)

    had_own = name in vars(owner)
    setattr(owner, name, call)
    try:
        yield
    finally:
        if had_own:
            setattr(owner, name, original)
        else:
            delattr(owner, name)
