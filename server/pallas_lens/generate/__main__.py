"""Writes what is generated, or with ``--check`` says what is out of date and exits 1."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
from pathlib import Path

from . import __path__ as package_path
from .generator import Generated, Generator, MissingMarkers


def generators() -> list[Generator]:
    """The ``generate`` of every module in this package that has one."""
    names = sorted(module.name for module in pkgutil.iter_modules(package_path) if not module.name.startswith("_"))
    modules = [importlib.import_module(f"pallas_lens.generate.{name}") for name in names]
    return [module.generate for module in modules if hasattr(module, "generate")]


def is_current(file: Generated) -> bool:
    """Whether the file on disk is as it should be."""
    if file.content is None:
        return not file.path.exists()
    return file.path.exists() and file.path.read_text(encoding="utf-8") == file.content


def write(file: Generated) -> None:
    """Bring one file up to date."""
    if file.content is None:
        file.path.unlink(missing_ok=True)
        return
    file.path.parent.mkdir(parents=True, exist_ok=True)
    file.path.write_text(file.content, encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Exit status 0; with ``--check`` 1 where a file is out of date; 2 where one has no place for what is generated."""
    parser = argparse.ArgumentParser(prog="python -m pallas_lens.generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 where a file is out of date")
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[3], help="the repository")
    options = parser.parse_args(arguments)
    stale: list[Generated] = []
    homeless: list[MissingMarkers] = []
    # A file that two generators write is written by the second over the first's text.
    for generator in generators():
        try:
            files = generator(options.root)
        except MissingMarkers as error:
            homeless.append(error)
            continue
        for file in files:
            if is_current(file):
                continue
            stale.append(file)
            if not options.check:
                write(file)
    for file in stale:
        print(f"{'out of date' if options.check else 'written'}: {file.path.relative_to(options.root)}")
    for problem in homeless:
        print(problem, file=sys.stderr)
    if homeless:
        return 2
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
