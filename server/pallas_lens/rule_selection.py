"""Which rules are asked for: codes, beginnings of codes, or names."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RuleSelection:
    """``select`` empty is all rules; of a selector in both, the longer, else ``ignore``, wins."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    def includes(self, code: str, name: str) -> bool:
        """Whether findings of this rule are wanted."""
        asked = max((_weight(one, code, name) for one in self.select), default=0 if self.select else 1)
        refused = max((_weight(one, code, name) for one in self.ignore), default=0)
        return asked > refused


def unknown_selectors(selectors: Iterable[str], rules: Iterable[tuple[str, str]]) -> list[str]:
    """A sentence for each selector that no rule, given as (code, name), answers to."""
    known = list(rules)
    words = [word for pair in known for word in pair]
    problems: list[str] = []
    for selector in selectors:
        if any(_weight(selector, code, name) for code, name in known):
            continue
        near = difflib.get_close_matches(_canonical(selector), words, n=1)
        hint = f"; did you mean `{near[0]}`?" if near else "; `pallas-lens rules` lists them."
        problems.append(f"There is no rule `{selector}`{hint}")
    return problems


def _weight(selector: str, code: str, name: str) -> int:
    """0 where the selector does not mean the rule, more the closer it names it."""
    wanted = _canonical(selector)
    if wanted in ("PAL", "ALL"):
        return 1
    if wanted in (code, name):
        return 100
    return len(wanted) if re.fullmatch(r"PAL\d+", wanted) and code.startswith(wanted) else 0


def _canonical(selector: str) -> str:
    text = selector.strip()
    return text.upper() if re.fullmatch(r"(?i)pal\d*|all", text) else text.lower().replace("_", "-")
