"""The part of VS Code's snippet syntax that our snippets use: tab stops, placeholders, choices and escapes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_ELEMENT = re.compile(
    r"""
      \\(?P<escaped>[$}\\])
    | \$(?P<bare>\d+)
    | \$\{(?P<number>\d+)\}
    | \$\{(?P<placeholder>\d+):(?P<default>(?:[^$}\\]|\\[$}\\])*)\}
    | \$\{(?P<choice>\d+)\|(?P<options>(?:[^|\\]|\\[,|\\])+)\|\}
    | (?P<unknown>\$)
    | (?P<text>[^$\\]+|\\)
    """,
    re.VERBOSE,
)


class SnippetError(Exception):
    """A body that VS Code would not expand as meant."""


@dataclass(frozen=True, slots=True)
class Stop:
    """One place of a tab stop: its number, and the texts offered there, the default first; none for a mirror."""

    number: int
    options: tuple[str, ...]


def parse(body: str) -> list[str | Stop]:
    """The body as texts and tab stops, in order. Raises SnippetError."""
    parts: list[str | Stop] = []
    for match in _ELEMENT.finditer(body):
        if match["unknown"]:
            raise SnippetError(f"a `$` that begins nothing: {body[match.start() : match.start() + 30]!r}")
        if match["text"] or match["escaped"]:
            parts.append(match["text"] or match["escaped"])
        elif match["placeholder"]:
            parts.append(Stop(int(match["placeholder"]), (re.sub(r"\\([$}\\])", r"\1", match["default"]),)))
        elif match["choice"]:
            options = re.split(r"(?<!\\),", match["options"])
            parts.append(Stop(int(match["choice"]), tuple(re.sub(r"\\([,|\\])", r"\1", option) for option in options)))
        else:
            parts.append(Stop(int(match["bare"] or match["number"]), ()))
    return parts


def stops(body: str) -> dict[int, tuple[str, ...]]:
    """What each tab stop offers. Raises SnippetError where one has no default, two, or its mirror comes first."""
    found: dict[int, tuple[str, ...]] = {0: ("",)}
    for part in parse(body):
        if not isinstance(part, Stop) or part.number == 0:
            continue
        if part.options and part.number in found:
            raise SnippetError(f"tab stop {part.number} has several defaults")
        if not part.options and part.number not in found:
            raise SnippetError(f"tab stop {part.number} is mirrored before it has a default")
        found.setdefault(part.number, part.options)
    return found


def expand(body: str, chosen: Mapping[int, str] | None = None) -> str:
    """The text that the snippet leaves, with the defaults or what is chosen for a tab stop."""
    values = {number: options[0] for number, options in stops(body).items()} | dict(chosen or {})
    return "".join(part if isinstance(part, str) else values[part.number] for part in parse(body))
