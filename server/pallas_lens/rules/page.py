"""The page of a rule, in Markdown: what ``explain`` prints and what stands in ``docs/rules``."""

from __future__ import annotations

import re

from .rule import HEADINGS, Invalid, Rule, Valid


def page(rule: Rule) -> str:
    """All that there is to say about a rule.

    Raises:
        ValueError: when the rule's documentation lacks a heading.
    """
    title, sections = documentation_sections(rule)
    what, why, limits, source = (sections[heading] for heading in HEADINGS)
    parts = [
        f"# {rule.code} {rule.name}",
        f"{title} Severity: {rule.severity.value}. Silence it with `# pallas-lens: ignore[{rule.name}]`.",
        f"## What it does\n\n{what}",
        f"## Why it is wrong\n\n{why}",
        f"## Example\n\n{_example(rule.invalid[0])}",
        f"## Use instead\n\n{_example(rule.valid[0])}",
        f"## Known limits\n\n{limits}",
        f"## Source\n\n{source}",
    ]
    return "\n\n".join(parts) + "\n"


def documentation_sections(rule: Rule) -> tuple[str, dict[str, str]]:
    """The first line of a rule's documentation, and its sections by heading.

    Raises:
        ValueError: when the headings are not those of ``HEADINGS`` in their order.
    """
    title, *rest = re.split(r"^## (.+)$", rule.documentation, flags=re.MULTILINE)
    sections = {heading.strip(): text.strip() for heading, text in zip(rest[::2], rest[1::2], strict=True)}
    if tuple(sections) != HEADINGS:
        raise ValueError(f"{rule.name}: the headings must be {', '.join(HEADINGS)}")
    return title.strip(), sections


def _example(example: Invalid | Valid) -> str:
    note = ""
    if example.since is not None:
        note = f"Since JAX {example.since}:\n\n"
    elif example.until is not None:
        note = f"Until JAX {example.until}:\n\n"
    return f"{note}```python\n{example.source.rstrip()}\n```"
