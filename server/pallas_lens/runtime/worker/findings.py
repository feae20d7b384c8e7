"""Turns an exception into a finding: its kind, a message for people, the user's line."""

from __future__ import annotations

import re

from ..protocol import Finding
from .user_position import Position, UserFile, full_text, position_of_exception

_LONGEST_ORIGINAL = 20_000
_LONGEST_MESSAGE = 1_000
_BOILERPLATE = re.compile(
    r"\s*(For simplicity, JAX has removed its internal frames.*|Please file (a bug|an issue) at \S+|"
    r"See details at \S+)",
    re.DOTALL,
)


def finding_of_exception(
    error: BaseException, kind: str, user_file: UserFile, position: Position | None = None
) -> Finding:
    """A finding for an exception, at the given position or where the exception itself says."""
    return finding(
        kind,
        message_of_exception(error),
        position or position_of_exception(error, user_file),
        original=full_text(error)[-_LONGEST_ORIGINAL:],
        exception=qualified_name(error),
    )


def finding(
    kind: str, message: str, position: Position | None, original: str = "", exception: str | None = None
) -> Finding:
    """A finding at a position, which may be unknown."""
    if position is None:
        return Finding(kind, message, original, exception)
    return Finding(
        kind, message, original, exception, position.row, position.column, position.end_row, position.end_column
    )


def message_of_exception(error: BaseException) -> str:
    """What the exception says, without the sentences that are the same in every message of JAX."""
    text = _BOILERPLATE.sub("", str(error)).strip()
    if len(text) > _LONGEST_MESSAGE:
        text = text[:_LONGEST_MESSAGE].rstrip() + " …"
    name = type(error).__name__
    return f"{name}: {text}" if text else name


def qualified_name(error: BaseException) -> str:
    """The exception class with its module: `builtins.ValueError`."""
    return f"{type(error).__module__}.{type(error).__qualname__}"
