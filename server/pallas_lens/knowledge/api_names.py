"""What became of Pallas' names from one JAX release to the next, from ``api_names.json``.

``api_replacements.json`` says what to write for those that are gone.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

from pallas_lens.model.versions import Version


class NameState(StrEnum):
    """What a name is in one release."""

    WORKS = "works"
    DEPRECATED = "deprecated"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Change:
    """A state and the release that brought it."""

    state: NameState
    since: Version


@dataclass(frozen=True, slots=True)
class Replacement:
    """What to write for a name or a keyword that is gone.

    ``use`` is the path, or the keyword, that is the same thing under another name;
    ``advice`` a clause for where it is more than a name.
    """

    use: str | None
    advice: str


@cache
def _names() -> dict[str, Any]:
    return _read("api_names.json")


@cache
def _replacements() -> dict[str, Any]:
    return _read("api_replacements.json")


def _read(name: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))
    return data


@cache
def name_state(path: str, version: Version) -> Change | None:
    """The state of ``path`` ("jax.experimental.pallas.load") in a release.

    None where the name is not known, or not yet there in that release.
    """
    found: Change | None = None
    for since, state in _names()["names"].get(path, ()):
        if Version.parse(since) <= version:
            found = Change(NameState(state), Version.parse(since))
    return found


def replacement(path: str) -> Replacement | None:
    """What to write for the name at ``path``."""
    return _replacement(_replacements()["names"].get(path))


@cache
def removed_parameter(path: str, keyword: str, version: Version) -> Version | None:
    """The release since which the callable at ``path`` no longer takes ``keyword``; None where it does or never did."""
    gone = _replacements()["parameters"].get(path, {}).get(keyword, {}).get("gone")
    if gone is not None:
        return Version.parse(gone) if Version.parse(gone) <= version else None
    taken, removed = False, None
    for since, names in _names()["parameters"].get(path, ()):
        if Version.parse(since) > version:
            break
        if keyword in names:
            taken, removed = True, None
        elif taken and removed is None and not any(name.startswith("**") for name in names):
            removed = Version.parse(since)
    return removed


def parameter_replacement(path: str, keyword: str) -> Replacement | None:
    """What to write for a keyword that is gone; ``use`` is the new keyword."""
    return _replacement(_replacements()["parameters"].get(path, {}).get(keyword))


def _replacement(entry: dict[str, str] | None) -> Replacement | None:
    return None if entry is None else Replacement(entry.get("use") or entry.get("rename"), entry.get("advice", ""))
