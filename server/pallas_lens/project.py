"""What holds for a file: its settings, the user's environment, and what rules are told of both."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from . import config
from .config import Layer, Settings
from .knowledge.chips import chip
from .model.versions import Version
from .rule_selection import RuleSelection, unknown_selectors
from .rules.context import Context
from .rules.registry import all_rules
from .user_environment import UserEnvironment, find_environment

NEWEST_JAX = Version((0, 12, 0, 1))
"""What is assumed where no JAX is found: the newest release whose compiler has judged the rules."""


@dataclass(frozen=True, slots=True)
class Project:
    """What holds for the files of one folder. ``environment`` None: no Python was found."""

    root: Path
    settings: Settings
    environment: UserEnvironment | None
    context: Context
    selection: RuleSelection


class Projects:
    """Finds the project of a file and keeps it until ``forget``.

    ``first`` is the layer of the editor or of the command line's flags; ``interpreter``
    what the editor says the user's Python is; ``roots`` the folders open in it.
    """

    def __init__(
        self,
        first: Layer = config.NOTHING,
        interpreter: str = "",
        roots: tuple[Path, ...] = (),
        variables: Mapping[str, str] = os.environ,
    ) -> None:
        self._first = first
        self._interpreter = interpreter
        self._roots = roots
        self._variables = variables
        self._from_environment = config.from_environment(variables)
        self._by_folder: dict[Path, Project] = {}
        self._environments: dict[tuple[str, Path], UserEnvironment | None] = {}
        self._problems: list[str] = []
        self._told: set[str] = set()
        self._note(*first.problems, *self._from_environment.problems)

    def of(self, path: Path | None) -> Project:
        """The project of the file at ``path``; of the first root, or the current folder, where it has none."""
        folder = path.absolute().parent if path is not None else (self._roots[0] if self._roots else Path.cwd())
        found = self._by_folder.get(folder)
        if found is None:
            found = self._by_folder[folder] = self._read(folder)
        return found

    def forget(self) -> None:
        """Read everything anew when it is next asked for: a project file or an environment has changed."""
        self._by_folder.clear()
        self._environments.clear()

    def take_problems(self) -> list[str]:
        """What was wrong with the settings, each told once."""
        problems, self._problems = self._problems, []
        return problems

    def _note(self, *problems: str) -> None:
        for problem in problems:
            if problem not in self._told:
                self._told.add(problem)
                self._problems.append(problem)

    def _read(self, folder: Path) -> Project:
        project_file = config.nearest_project_file(folder)
        layer = config.from_project(project_file) if project_file else config.NOTHING
        self._note(*layer.problems)
        settings = config.merge((self._first, self._from_environment, layer))
        rules = [(rule.code, rule.name) for rule in all_rules()]
        self._note(*unknown_selectors((*settings.select, *settings.ignore), rules))
        root = self._root_of(folder, project_file)
        environment = self._environment(settings.interpreter or self._interpreter, root)
        return Project(
            root,
            settings,
            environment,
            _context(settings, environment),
            RuleSelection(settings.select, settings.ignore),
        )

    def _root_of(self, folder: Path, project_file: Path | None) -> Path:
        inside = [root for root in self._roots if folder.is_relative_to(root)]
        if inside:
            return max(inside, key=lambda root: len(root.parts))
        if project_file is not None:
            return project_file.parent
        return project_root(folder)

    def _environment(self, interpreter: str, root: Path) -> UserEnvironment | None:
        key = (interpreter, root)
        if key not in self._environments:
            self._environments[key] = find_environment(interpreter, (root,), self._variables)
        return self._environments[key]


def project_root(folder: Path) -> Path:
    """The nearest folder upwards that looks like the top of a project, else ``folder``."""
    for candidate in (folder, *folder.parents):
        if (candidate / ".git").exists() or (candidate / "pyproject.toml").is_file():
            return candidate
    return folder


def _context(settings: Settings, environment: UserEnvironment | None) -> Context:
    version = Version.parse(settings.jax_version) if settings.jax_version else None
    if version is None and environment is not None:
        version = environment.jax
    return Context(
        targets=tuple(chip(name) for name in settings.targets),
        jax_version=version or NEWEST_JAX,
        jax_version_is_known=version is not None,
    )
