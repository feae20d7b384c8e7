"""The environments of the projects at hand, one lookup for each interpreter."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..user_environment import package_folders
from .lookup import EnvironmentLookup


@dataclass(slots=True, eq=False)
class Environments:
    """The first three as in ``EnvironmentLookup``; ``variables`` are those of the user's Python."""

    waits: bool
    ask_process: bool = True
    seconds: float = 4.0
    variables: Mapping[str, str] = field(default_factory=lambda: os.environ)
    _lookups: dict[Path, EnvironmentLookup] = field(default_factory=dict)

    def of(self, interpreter: Path) -> EnvironmentLookup:
        """What the packages of ``interpreter`` hold."""
        found = self._lookups.get(interpreter)
        if found is None:
            named = [Path(entry) for entry in self.variables.get("PYTHONPATH", "").split(os.pathsep) if entry]
            folders = (*(path.absolute() for path in named if path.is_dir()), *package_folders(interpreter))
            found = EnvironmentLookup(tuple(dict.fromkeys(folders)), self.waits, self.ask_process, self.seconds)
            self._lookups[interpreter] = found
        return found

    @property
    def is_wanted(self) -> bool:
        """Whether something was asked for that ``look`` would look for."""
        return any(lookup.is_wanted for lookup in self._lookups.values())

    def look(self, cancelled: Callable[[], bool] = lambda: False) -> None:
        """Look for all that was asked for; may take seconds. To be called in a thread, one at a time."""
        for lookup in list(self._lookups.values()):
            lookup.look(cancelled)

    def look_again(self) -> None:
        """Where packages have been installed or removed, look anew for what is asked from now on."""
        for interpreter, lookup in list(self._lookups.items()):
            if lookup.has_changed:
                lookup.close()
                del self._lookups[interpreter]

    def forget(self) -> None:
        """Packages may have been installed or removed: look anew."""
        for lookup in self._lookups.values():
            lookup.close()
        self._lookups.clear()

    def close(self) -> None:
        """End the processes."""
        for lookup in self._lookups.values():
            lookup.close()
