"""The rules' pages in ``docs/rules`` and the table of rules in the README."""

from __future__ import annotations

from pathlib import Path

from pallas_lens.rules.page import page
from pallas_lens.rules.registry import all_rules

from .generator import Generated, between_markers

_NOTE = "<!-- Generated from server/pallas_lens/rules/catalog by `python -m pallas_lens.generate`: edit there. -->\n\n"


def generate(root: Path) -> list[Generated]:
    """One page a rule, an index of them, and the README's table; pages of rules that are gone go."""
    folder = root / "docs" / "rules"
    pages = {folder / f"{rule.name}.md": _NOTE + page(rule) for rule in all_rules()}
    pages[folder / "index.md"] = f"{_NOTE}# Rules\n\n{table('')}\n"
    files = [Generated(path, content) for path, content in pages.items()]
    files += [Generated(path, None) for path in sorted(folder.glob("*.md")) if path not in pages]
    readme = root / "README.md"
    if readme.exists():
        files.append(Generated(readme, between_markers(readme, "rules", table("docs/rules/"))))
    return files


def table(prefix: str) -> str:
    """All rules as a Markdown table; ``prefix`` leads from the page to the folder of the rules' pages."""
    lines = ["| code | name | severity | finds |", "| --- | --- | --- | --- |"]
    lines += [
        f"| {rule.code} | [{rule.name}]({prefix}{rule.name}.md) | {rule.severity.value} | {rule.summary} |"
        for rule in all_rules()
    ]
    return "\n".join(lines)
