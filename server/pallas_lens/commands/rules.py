"""``pallas-lens rules`` and ``pallas-lens explain``: what the rules say of themselves."""

from __future__ import annotations

import argparse
import difflib
import json
import sys

from pallas_lens.cli import UsageError
from pallas_lens.rules.page import page
from pallas_lens.rules.registry import all_rules, find_rule


def rules(arguments: argparse.Namespace) -> int:
    """List every rule with its severity and summary."""
    if arguments.output_format == "json":
        listed = [
            {"code": rule.code, "name": rule.name, "severity": rule.severity.value, "summary": rule.summary}
            for rule in all_rules()
        ]
        print(json.dumps(listed, indent=2, ensure_ascii=False))
        return 0
    width = max((len(rule.name) for rule in all_rules()), default=0)
    for rule in all_rules():
        print(f"{rule.code}  {rule.name.ljust(width)}  {rule.severity.value.ljust(7)}  {rule.summary}")
    return 0


def explain(arguments: argparse.Namespace) -> int:
    """Print the page of one rule."""
    rule = find_rule(arguments.rule)
    if rule is None:
        prefix = arguments.rule.upper()
        begin = [one.code for one in all_rules() if one.code.startswith(prefix)] if prefix else []
        if begin:
            raise UsageError(f"there is no rule {arguments.rule}; codes that begin so: {', '.join(begin)}")
        words = [word for one in all_rules() for word in (one.code.lower(), one.name)]
        names = {one.name for one in all_rules()}
        near = difflib.get_close_matches(arguments.rule.lower(), words, n=1)
        # The codes were compared in lower case, but are written in capitals.
        near = [word.upper() if word not in names else word for word in near]
        hint = f"; did you mean {near[0]}?" if near else "; `pallas-lens rules` lists them"
        raise UsageError(f"there is no rule {arguments.rule}{hint}")
    sys.stdout.write(page(rule))
    return 0
