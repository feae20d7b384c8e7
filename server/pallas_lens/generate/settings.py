"""The settings in package.json and their page, ``docs/settings.md``, from ``config.SETTINGS``."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from pallas_lens.config import PROJECT_TABLE, SECTION, SETTINGS, Kind, Setting

from .generator import Generated

_PAGE = """\
<!-- Generated from server/pallas_lens/config.py by `python -m pallas_lens.generate`: edit there. -->

# Settings

In the editor each setting is `{section}.name`, in `pyproject.toml` the same words stand in
`[tool.{table}]`, and the environment has them in capitals. The editor's win, as do the flags
of the command line; then the environment; then `pyproject.toml`. A value that cannot be used is
reported and the default used instead; the command line ends with exit code 2.

```toml
[tool.{table}]
targets = ["v5e", "v6e"]
ignore = ["narrow-matmul-accumulator"]
```

| editor | pyproject.toml | environment | default | |
| --- | --- | --- | --- | --- |
{rows}
"""


def generate(root: Path) -> list[Generated]:
    """package.json with the settings of today, and the page."""
    manifest = root / "package.json"
    page = _PAGE.format(section=SECTION, table=PROJECT_TABLE, rows="\n".join(map(_row, SETTINGS)))
    files = [Generated(root / "docs" / "settings.md", page)]
    if manifest.exists():
        content = json.loads(manifest.read_text(encoding="utf-8"))
        content["contributes"]["configuration"]["properties"] = {
            f"{SECTION}.{setting.name}": property_of(setting) for setting in SETTINGS
        }
        files.append(Generated(manifest, json.dumps(content, indent=2, ensure_ascii=False) + "\n"))
    return files


def property_of(setting: Setting) -> dict[str, Any]:
    """The setting as VS Code declares it."""
    default = list(setting.default) if isinstance(setting.default, tuple) else setting.default
    declared: dict[str, Any] = {"type": _TYPES[setting.kind], "default": default, "scope": setting.scope}
    if setting.kind is Kind.TEXTS:
        declared["items"] = {"type": "string", **({"enum": list(setting.choices)} if setting.choices else {})}
        declared["uniqueItems"] = True
    elif setting.choices:
        declared["enum"] = list(setting.choices)
    if setting.minimum is not None:
        declared["minimum"] = setting.minimum
    return {**declared, "markdownDescription": setting.description}


_TYPES = {Kind.TEXT: "string", Kind.TEXTS: "array", Kind.NUMBER: "integer", Kind.SWITCH: "boolean"}


def _row(setting: Setting) -> str:
    project = "" if setting.editor_only else f"`{setting.kebab_name}`"
    variable = "" if setting.editor_only else f"`{setting.variable}`"
    description = re.sub(rf"`#{SECTION}\.([\w.]+)#`", r"`\1`", setting.description)
    choices = f" One of {_listed(setting.choices)}." if setting.choices and setting.kind is Kind.TEXT else ""
    cells = [f"`{SECTION}.{setting.name}`", project, variable, f"`{_default(setting)}`", description + choices]
    return f"| {' | '.join(cells)} |"


def _default(setting: Setting) -> str:
    default = list(setting.default) if isinstance(setting.default, tuple) else setting.default
    return json.dumps(default)


def _listed(words: tuple[str, ...]) -> str:
    return ", ".join(f"`{word}`" for word in words)
