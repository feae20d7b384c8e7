"""Numbers of steps where there is little room."""

from __future__ import annotations


def step_text(step: int) -> str:
    """A number of steps in at most five characters: "9999", "10k", "2M"."""
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if step >= 10 * size:
            return f"{step // size}{unit}"
    return str(step)
