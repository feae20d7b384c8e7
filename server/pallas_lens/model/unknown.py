"""Unknown is a value: it carries the reason, and a hover can say it."""

from __future__ import annotations

from .value_class import value_class


@value_class()
class Unknown:
    """What could not be learned without running the program, and why.

    ``reason`` is a clause in the reader's words: "`block_q` comes from the caller".
    """

    reason: str
