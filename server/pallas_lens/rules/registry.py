"""All rules, found by looking into the ``catalog`` folder."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from . import catalog
from .rule import Rule


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule, by code."""
    found: list[Rule] = []
    for module in pkgutil.iter_modules(catalog.__path__):
        rule = importlib.import_module(f"{catalog.__name__}.{module.name}").RULE
        assert isinstance(rule, Rule)
        assert rule.name == module.name.replace("_", "-"), f"{module.name}.py declares {rule.name}"
        found.append(rule)
    return tuple(sorted(found, key=lambda rule: rule.code))


def find_rule(code_or_name: str) -> Rule | None:
    """The rule of that code or name, in any case and with "_" for "-"."""
    wanted = code_or_name.strip().lower().replace("_", "-")
    for rule in all_rules():
        if wanted in (rule.code.lower(), rule.name):
            return rule
    return None
