"""What the commands share: the files asked for, the project of each, complaints on standard error."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pallas_lens.cli import UsageError
from pallas_lens.config import Layer
from pallas_lens.environment.environments import Environments
from pallas_lens.environment.lookup import EnvironmentLookup
from pallas_lens.file_discovery import SourceFile, Unreadable, files_under, read_source
from pallas_lens.project import Projects, project_root


class Inputs:
    """The files of one run. ``all_read`` turns False when one could not be."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._paths = [Path(path) for path in arguments.paths]
        for path in self._paths:
            if not path.exists():
                raise UsageError(f"{path} does not exist")
        self.all_read = True

    @property
    def roots(self) -> tuple[Path, ...]:
        """The projects that the paths belong to: where imports are looked for."""
        folders = [path.absolute() if path.is_dir() else path.absolute().parent for path in self._paths]
        return tuple(dict.fromkeys(root for folder in folders for root in (folder, project_root(folder))))

    def sources(self) -> Iterator[SourceFile]:
        """The files that speak of Pallas; one that cannot be read is complained of and left out."""
        for path in files_under(self._paths):
            source = read_source(path)
            if isinstance(source, Unreadable):
                self.all_read = False
                complain(f"{source.path}: not checked: {source.reason}")
            elif source is not None:
                yield source


def projects_for(arguments: argparse.Namespace) -> Projects:
    """The projects, with the flags of the command line winning over all settings."""
    values: dict[str, Any] = {}
    for flag, setting in (("target", "targets"), ("select", "select"), ("ignore", "ignore")):
        given = getattr(arguments, flag, None)
        if given:
            values[setting] = given
    interpreter = getattr(arguments, "interpreter", None)
    if interpreter:
        values["interpreter"] = interpreter
    return Projects(Layer(values))


def packages_of(projects: Projects) -> Callable[[Path | None], EnvironmentLookup | None]:
    """The packages that the files of a project can import: those of the environment that its settings lead to."""
    environments = Environments(waits=True)

    def of(path: Path | None) -> EnvironmentLookup | None:
        environment = projects.of(path).environment
        return None if environment is None else environments.of(environment.interpreter)

    return of


def refuse_bad_settings(projects: Projects) -> None:
    """Settings that cannot be used end the command: a check that leaves out what was asked for would mislead."""
    problems = projects.take_problems()
    if problems:
        raise UsageError("\n".join(problems))


def complain(message: str) -> None:
    """One line on standard error."""
    print(f"pallas-lens: {message}", file=sys.stderr)


def display_name(path: Path) -> str:
    """The path as the user gave it, or would: relative where it lies below the current folder."""
    if path.is_absolute():
        try:
            return str(path.relative_to(Path.cwd()))
        except ValueError:
            return str(path)
    return str(path)
