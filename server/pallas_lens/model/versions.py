"""JAX versions as rules compare them."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """A release such as 0.12.0.1; anything behind the numbers ("rc1", ".dev2026") is dropped."""

    parts: tuple[int, ...]

    @staticmethod
    def parse(text: str) -> Version:
        """The version that ``text`` starts with.

        Raises:
            ValueError: when ``text`` does not start with a number.
        """
        match = re.match(r"\d+(?:\.\d+)*", text)
        if match is None:
            raise ValueError(f"not a version: {text!r}")
        return Version(tuple(int(part) for part in match[0].split(".")))

    def __str__(self) -> str:
        return ".".join(map(str, self.parts))
