"""What a generator is: a function from the repository's root to the files as they should be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Generated:
    """One file as it should be. ``content`` None: the file should not exist."""

    path: Path
    content: str | None


Generator = Callable[[Path], list[Generated]]
"""Takes the root of the repository. Every module of this package that has a ``generate`` of this type is run."""


class MissingMarkers(Exception):
    """A file has no place for what is to be generated into it."""


def between_markers(path: Path, name: str, content: str) -> str:
    """The text of ``path`` with ``content`` between its two marks for ``name``.

    The marks are ``<!-- begin generated: NAME -->`` and ``<!-- end generated: NAME -->``.

    Raises:
        MissingMarkers: when the file lacks the marks.
    """
    text = path.read_text(encoding="utf-8")
    begin, end = f"<!-- begin generated: {name} -->", f"<!-- end generated: {name} -->"
    before, found, rest = text.partition(begin)
    _, closed, behind = rest.partition(end)
    if not found or not closed:
        raise MissingMarkers(f"{path.name} lacks the lines {begin} and {end}")
    return f"{before}{begin}\n{content.strip()}\n{end}{behind}"
