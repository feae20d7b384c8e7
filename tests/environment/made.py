"""Environments made of files: nothing is installed, and the interpreter is an empty file."""

from __future__ import annotations

from pathlib import Path


def write(folder: Path, texts: dict[str, str]) -> None:
    """Put files below ``folder``; ``{here}`` in a text stands for that folder."""
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("{here}", str(folder)))


def environment(folder: Path, packages: dict[str, str]) -> Path:
    """The interpreter of an environment below ``folder`` with these files in its site-packages."""
    write(folder, {"env/pyvenv.cfg": "", "env/bin/python": ""})
    write(folder / "env/lib/python3.12/site-packages", packages)
    return folder / "env/bin/python"


EDITABLE_FINDER = {
    "site/__editable__.known-1.pth": "import __editable___known_1_finder; __editable___known_1_finder.install()",
    "site/__editable___known_1_finder.py": """MAPPING: dict[str, str] = {
    'known': '{here}/src/known',
    'one': '{here}/one',
}
NAMESPACES: dict[str, list[str]] = {}
""",
    "src/known/__init__.py": "",
    "src/known/inner.py": "",
    "one.py": "",
}
"""What setuptools writes for an editable install, beside the folder ``site``."""
