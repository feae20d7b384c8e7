"""Turns an exception into a finding: its kind, a message for people, the user's line."""

from __future__ import annotations

import re

from ..protocol import Finding
from .user_position import Position, UserFile, full_text, position_of_exception

_LONGEST_ORIGINAL = 20_000
_LONGEST_MESSAGE = 1_000
# What is the same in every message of its kind, or speaks of JAX's insides; `original` keeps it.
_BOILERPLATE = re.compile(
    r"\s*(For simplicity, JAX has removed its internal frames.*"
    r"|=== Source Location Trace: ===.*"
    r"|The MLIR operation involved:.*"
    r"|see current operation: .*"
    r"|at location: .*"
    r"|Please (file|report) (a bug|an issue) at:? \S+"
    r"|See (details at )?https?://\S+( for more details\.?)?"
    r"|Pallas encountered an internal verification error\."
    r"|Error details:(?= )"
    r"|^ *clock: [^\n]*)",
    re.DOTALL | re.MULTILINE,
)
_COMPILER_PREFIX = re.compile(
    r"^(INTERNAL: |RESOURCE_EXHAUSTED: |INVALID_ARGUMENT: )?"
    r"(Mosaic failed to compile TPU kernel with MLIR module name `[^`]*` HLO name `[^`]*`: )?"
)


def finding_of_exception(
    error: BaseException,
    kind: str,
    user_file: UserFile,
    position: Position | None = None,
    otherwise: Position | None = None,
) -> Finding:
    """A finding for an exception: at `position`, else where the exception itself says, else at `otherwise`."""
    return finding(
        kind,
        message_of_exception(error),
        position or position_of_exception(error, user_file) or otherwise,
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
    """What the exception says, with its class in front."""
    name = type(error).__name__
    text = clean_text(str(error))
    return f"{name}: {text}" if text else name


def clean_text(text: str) -> str:
    """A message of JAX or the compiler without what is the same in all of them, cut where it is very long."""
    text = _COMPILER_PREFIX.sub("", _BOILERPLATE.sub("", text)).strip()
    return text if len(text) <= _LONGEST_MESSAGE else text[:_LONGEST_MESSAGE].rstrip() + " …"


def qualified_name(error: BaseException) -> str:
    """The exception class with its module: `builtins.ValueError`."""
    return f"{type(error).__module__}.{type(error).__qualname__}"
