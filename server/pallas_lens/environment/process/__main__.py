"""Answers questions about an environment on standard input until that ends: ``python -m … FOLDER… CACHE``.

CACHE is a folder for files of this process; it is gone when the process is.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from pathlib import Path
from typing import BinaryIO, Final

from ..package_files import PackageFiles
from ..protocol import Answer, Ask, decode_ask, encode
from .definitions import Definitions, documentation_of, signature_of
from .jedi_answers import JediAnswers

_LARGEST_MEMORY: Final = 400 * 1024 * 1024
"""Bytes; a process that has grown beyond answers once more and ends: the next question starts a new one."""
_ADDRESS_SPACE: Final = 2 * 1024 * 1024 * 1024


class Answerer:
    """Answers from files where they tell, else from jedi."""

    def __init__(self, folders: tuple[Path, ...], cache: Path) -> None:
        self._files = PackageFiles(folders)
        self._cache = cache
        self._definitions = Definitions(self._files)
        self._jedi: JediAnswers | None = None

    def answer(self, ask: Ask) -> Answer:
        """The answer, whatever happens."""
        try:
            found = self._definitions.find(ask.name)
            if found is not None:
                return Answer(
                    ask.id,
                    str(found.file),
                    found.name,
                    found.node.lineno,
                    signature_of(found.name, found.node),
                    documentation_of(found.node),
                )
            if self._jedi is None:
                self._jedi = JediAnswers(self._files, self._cache)
            inferred = self._jedi.find(ask.name)
            if inferred is None:
                return Answer(ask.id, why=f"no source in the environment defines `{ask.name}`")
            return Answer(
                ask.id,
                str(inferred.file),
                inferred.name,
                inferred.line,
                inferred.signature,
                inferred.documentation,
            )
        except MemoryError:
            raise
        except Exception as error:
            # jedi meets every kind of code; whatever it stumbles over is one unknown more.
            return Answer(ask.id, why=f"looking for `{ask.name}` failed: {type(error).__name__}: {error}")


def main(stdin: BinaryIO, stdout: BinaryIO, folders: tuple[Path, ...], cache: Path) -> None:
    """Answer until the questions end or the memory is used up."""
    _be_modest()
    answerer = Answerer(folders, cache)
    try:
        for line in stdin:
            ask = decode_ask(line)
            if ask is None:
                continue
            stdout.write(encode(answerer.answer(ask)))
            stdout.flush()
            if _memory() > _LARGEST_MEMORY:
                return
    finally:
        shutil.rmtree(cache, ignore_errors=True)


def _be_modest() -> None:
    """Let whoever types go first, and fail here rather than push others out of the memory."""
    if sys.platform == "win32":
        return
    import resource

    with contextlib.suppress(OSError, ValueError):
        os.nice(5)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, resource.getrlimit(resource.RLIMIT_AS)[1]))


def _memory() -> int:
    """The most memory that the process has had, in bytes; 0 where that is not told."""
    if sys.platform == "win32":
        return 0
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


if __name__ == "__main__":
    # What any library prints goes to the log, not among the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):
        *places, last = map(Path, sys.argv[1:])
        main(sys.stdin.buffer, answers, tuple(places), last)
