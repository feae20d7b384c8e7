"""What the evaluator and hovers ask about one environment: answered from what is known, the rest looked for apart."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ..evaluate.packages import NotRead
from .client import EnvironmentProcess
from .package_files import PackageFiles
from .protocol import Answer

_PENDING: Final = NotRead("it is being looked for in your Python environment")
_SECONDS: Final = 10.0
"""For one question, where nobody waits for the answer."""
_MOST_DOCUMENTATION: Final = 500


@dataclass(frozen=True, slots=True)
class Documentation:
    """What the user's own version of a library says of a name."""

    signature: str
    text: str


@dataclass(slots=True, eq=False)
class EnvironmentLookup:
    """The packages of one environment.

    ``waits`` True, as on the command line: what is not known is looked for at once. False,
    as in an editor: it is noted, and ``look`` looks for it, in a thread. ``ask_process``
    False, in a workspace that is not trusted: only files are looked at.
    """

    folders: tuple[Path, ...]
    waits: bool
    ask_process: bool = True
    seconds: float = 4.0
    """Where it waits: for all that is asked of the process together."""
    _files: PackageFiles = field(init=False)
    _process: EnvironmentProcess = field(init=False)
    _modules: dict[str, Path | None] = field(default_factory=dict)
    _definitions: dict[tuple[str, str], tuple[int, tuple[Path, str] | NotRead | None]] = field(default_factory=dict)
    _documentation: dict[str, Documentation | None] = field(default_factory=dict)
    _wanted: dict[tuple[str, str], None] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _stamps: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        self._files = PackageFiles(self.folders)
        self._stamps = tuple(map(_changed, self.folders))
        self._process = EnvironmentProcess(self.folders)

    # For the evaluator

    def module(self, dotted: str) -> Path | NotRead | None:
        """The source file of a module; None where the environment has none of that name."""
        if dotted not in self._modules:
            if not self.waits:
                self._want(dotted, "")
                return _PENDING
            self._modules[dotted] = self._files.find(dotted)
        return self._modules[dotted]

    def definition(self, module: str, name: str) -> tuple[Path, str] | NotRead | None:
        """The file in which ``name`` of ``module`` is defined, and its name there; None where nobody can tell."""
        if not self.ask_process:
            return None
        file = self.module(module)
        if isinstance(file, NotRead):
            return file
        key = (module, name)
        kept = self._definitions.get(key)
        if kept is None or kept[0] != _changed(file):
            if file is None and not self._files.has(module.partition(".")[0]):
                return None
            if not self.waits:
                self._want(module, name)
                return _PENDING
            kept = self._look_for(module, name, file)
        return kept[1]

    # Looking

    @property
    def is_wanted(self) -> bool:
        """Whether something was asked for that ``look`` would look for."""
        return bool(self._wanted)

    def look(self, cancelled: Callable[[], bool] = lambda: False) -> None:
        """Look for all that was asked for; may take seconds. To be called in a thread, one at a time."""
        while self._wanted and not cancelled():
            with self._lock:
                module, name = next(iter(self._wanted))
            if module not in self._modules:
                self._modules[module] = self._files.find(module)
            if name:
                self._look_for(module, name, self._modules[module])
            with self._lock:
                self._wanted.pop((module, name), None)

    def documentation(self, dotted: str, seconds: float) -> Documentation | None:
        """What the environment says of a name, where it can be had in ``seconds``; kept. May be called in a thread."""
        if dotted in self._documentation:
            return self._documentation[dotted]
        if not self.ask_process or not self._files.has(dotted.partition(".")[0]):
            return None
        answer = self._process.ask("documentation", dotted, seconds)
        if answer.why and not answer.id:
            return None
        found = Documentation(answer.signature, answer.documentation) if answer.documentation else None
        if len(self._documentation) >= _MOST_DOCUMENTATION:
            self._documentation.clear()
        self._documentation[dotted] = found
        return found

    def has_looked_for(self, dotted: str) -> bool:
        """Whether ``known_documentation`` has the answer."""
        return dotted in self._documentation

    def known_documentation(self, dotted: str) -> Documentation | None:
        """What was found before."""
        return self._documentation.get(dotted)

    @property
    def has_changed(self) -> bool:
        """Whether packages have been installed or removed since."""
        return self._stamps != tuple(map(_changed, self.folders))

    def close(self) -> None:
        """End the process."""
        self._process.close()

    def _want(self, module: str, name: str) -> None:
        with self._lock:
            self._wanted[(module, name)] = None

    def _look_for(self, module: str, name: str, file: Path | None) -> tuple[int, tuple[Path, str] | NotRead | None]:
        seconds = self.seconds if self.waits else _SECONDS
        answer = Answer(0, why="the time for reading the environment is used up")
        if seconds > 0:
            answer, taken = _timed(lambda: self._process.ask("definition", f"{module}.{name}", seconds))
            self.seconds -= taken if self.waits else 0.0
        found: tuple[Path, str] | NotRead | None = (Path(answer.file), answer.name) if answer.file else None
        if answer.id == 0:
            found = NotRead(answer.why)
        kept = self._definitions[(module, name)] = (_changed(file), found)
        return kept


def _timed(action: Callable[[], Answer]) -> tuple[Answer, float]:
    from time import monotonic

    start = monotonic()
    return action(), monotonic() - start


def _changed(file: Path | None) -> int:
    """What changes with the file; 0 where there is none."""
    try:
        return os.stat(file).st_mtime_ns if file is not None else 0
    except OSError:
        return 0
