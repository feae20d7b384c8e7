"""Watches where the user's function calls Pallas kernels, and sets what each call must be traced with."""

from __future__ import annotations

import contextlib
import functools
import importlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

from .user_position import Position, UserFile, position_of_caller

Params = dict[str, Any]

_PRIMITIVES = (
    ("jax._src.pallas.pallas_call", "pallas_call_p"),
    ("jax._src.pallas.mpmd", "mpmd_map_p"),
    ("jax._src.pallas.core", "core_map_p"),
)


class KernelCalls:
    """The places in the user's file from which kernels were called, in the order of their last call."""

    def __init__(self, user_file: UserFile) -> None:
        self.user_file = user_file
        self._positions: dict[str, Position] = {}

    @property
    def last(self) -> Position | None:
        """Where the last kernel was called."""
        return next(reversed(self._positions.values()), None)

    @property
    def only(self) -> Position | None:
        """Where kernels were called, when all were called from one place."""
        places = set(self._positions.values())
        return places.pop() if len(places) == 1 else None

    def of_kernel(self, name: str) -> Position | None:
        """Where the kernel of a name, as `kernel_name` gives it, was called last."""
        return self._positions.get(name)

    @contextlib.contextmanager
    def watching(self, change: Callable[[Params], Params]) -> Iterator[None]:
        """Within it, calls are noted, and their parameters are those that `change` makes of them."""

        def bind(original: Callable[..., Any], *operands: Any, **params: Any) -> Any:
            # Frame 0 is this one and 1 that of `replaced`.
            position = position_of_caller(sys._getframe(2), self.user_file)
            if position is not None:
                name = kernel_name(params.get("jaxpr"))
                self._positions.pop(name, None)
                self._positions[name] = position
            return original(*operands, **change(params))

        with contextlib.ExitStack() as patches:
            for module_name, primitive_name in _PRIMITIVES:
                primitive = getattr(module_or_none(module_name), primitive_name, None)
                patches.enter_context(replaced(primitive, "bind", bind))
            yield


def kernel_name(jaxpr: Any) -> str:
    """The kernel as JAX names it in messages, `k at file.py:12`, empty where it does not say."""
    return str(getattr(getattr(jaxpr, "debug_info", None), "func_src_info", ""))


def not_interpreted(params: Params) -> Params:
    """The parameters of a kernel without the interpreter that the user's code may have asked for."""
    return {**params, "interpret": False} if "interpret" in params else params


def module_or_none(name: str) -> Any:
    """A module of JAX, None where this version has none of that name."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


@contextlib.contextmanager
def replaced(owner: Any, name: str, replacement: Callable[..., Any]) -> Iterator[None]:
    """Within it, calling `owner.name` calls `replacement` with the original in front of the arguments.

    An owner without the attribute is left as it is.
    """
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
