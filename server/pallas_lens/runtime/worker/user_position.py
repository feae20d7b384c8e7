"""From an exception to the place in the user's file which caused it."""

from __future__ import annotations

import itertools
import re
import traceback
import types
from dataclasses import dataclass
from pathlib import Path

_LOCATION = re.compile(r'"(?P<file>[^"]+)":(?P<row>\d+):(?P<column>\d+)(?: to (?P<end_row>\d+)?:(?P<end_column>\d+))?')
_NAMED_LINE = re.compile(r"(?P<file>[^\s\"']+\.py):(?P<row>\d+)")
_DUMPED_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<row>\d+)')


@dataclass(frozen=True, slots=True)
class Position:
    """A range in the user's file: rows and columns from 1, columns in code points, end exclusive."""

    row: int
    column: int | None = None
    end_row: int | None = None
    end_column: int | None = None


class UserFile:
    """The user's file as the job sees it: its path and the lines which positions are measured in."""

    def __init__(self, path: str, source: str) -> None:
        self.path = path
        self._resolved = _resolved(path)
        self._lines = source.splitlines()

    def owns(self, filename: str) -> bool:
        """Whether a file name found in a traceback or a compiler message is this file."""
        return filename == self.path or _resolved(filename) == self._resolved

    def line(self, row: int) -> Position | None:
        """The whole of a line without its indentation, None outside the file."""
        if not 1 <= row <= len(self._lines):
            return None
        text = self._lines[row - 1]
        return Position(row, len(text) - len(text.lstrip()) + 1, row, len(text.rstrip()) + 1)

    def definition(self, row: int) -> Position | None:
        """The `def` line of a function whose code begins in a row, which is that of its first decorator."""
        for candidate in range(row, len(self._lines) + 1):
            if self._lines[candidate - 1].lstrip().startswith(("def ", "async def ", "class ")):
                return self.line(candidate)
        return self.line(row)

    def span(self, row: int, byte: int, end_row: int, end_byte: int) -> Position | None:
        """A range whose columns count UTF-8 bytes from 0, as Python's code objects hold them."""
        if not (1 <= row <= end_row <= len(self._lines)) or (row, byte) >= (end_row, end_byte):
            return self.line(row)
        return Position(row, self._column(row, byte), end_row, self._column(end_row, end_byte))

    def _column(self, row: int, byte: int) -> int:
        return len(self._lines[row - 1].encode()[:byte].decode(errors="replace")) + 1


def position_of_exception(error: BaseException, user_file: UserFile) -> Position | None:
    """The innermost place of the user's file in an exception and what it was raised from.

    A compiler error carries `loc("…"("file":line:col to :col))` in the text of its cause. An error in lowering has
    passed through JAX's loops over equations, each of which knows the user's line; that of the innermost one counts.
    """
    if isinstance(error, SyntaxError) and error.filename and user_file.owns(error.filename) and error.lineno:
        return user_file.line(error.lineno)
    chain = _chain(error)
    for link in chain:
        position = position_in_compiler_text(str(link), user_file)
        if position is not None:
            return position
    for link in chain:
        position = position_in_traceback(link.__traceback__, user_file)
        if position is not None:
            return position
    for link in chain:
        position = position_named_in_text(str(link), user_file)
        if position is not None:
            return position
    return None


def position_in_traceback(trace: types.TracebackType | None, user_file: UserFile) -> Position | None:
    """The innermost place of the user's file that a traceback's frames are in, or hold an equation of."""
    found: Position | None = None
    while trace is not None:
        frame = trace.tb_frame
        if user_file.owns(frame.f_code.co_filename):
            found = _position_of_instruction(frame.f_code, trace.tb_lasti, trace.tb_lineno, user_file)
        else:
            equation = frame.f_locals.get("eqn")
            source_info = getattr(equation, "source_info", None) or frame.f_locals.get("source_info")
            found = position_of_source_info(source_info, user_file) or found
        trace = trace.tb_next
    return found


def position_of_source_info(source_info: object, user_file: UserFile) -> Position | None:
    """The innermost place of the user's file in JAX's record of where an equation was made."""
    raw_frames = getattr(getattr(source_info, "traceback", None), "raw_frames", None)
    if raw_frames is None:
        return None
    codes, instructions = raw_frames()
    for code, instruction in zip(codes, instructions, strict=False):
        if user_file.owns(code.co_filename):
            return _position_of_instruction(code, instruction, None, user_file)
    return None


def position_in_compiler_text(text: str, user_file: UserFile) -> Position | None:
    """The first place of the user's file in MLIR locations, whose innermost call comes first."""
    for match in _LOCATION.finditer(text):
        if not user_file.owns(match["file"]):
            continue
        row = int(match["row"])
        end_column = match["end_column"]
        if end_column is None:
            return user_file.line(row)
        end_row = int(match["end_row"] or row)
        # JAX writes the columns of Python's code objects into MLIR, from 0.
        return user_file.span(row, int(match["column"]), end_row, int(end_column))
    return None


def position_named_in_text(text: str, user_file: UserFile) -> Position | None:
    """The line of the user's file that a message names as `file.py:12`."""
    for match in _NAMED_LINE.finditer(text):
        if user_file.owns(match["file"]):
            return user_file.line(int(match["row"]))
    return None


def position_in_dump(text: str, user_file: UserFile) -> Position | None:
    """The innermost line of the user's file in what `faulthandler` wrote, which prints the latest call first."""
    for match in _DUMPED_FRAME.finditer(text):
        if user_file.owns(match["file"]):
            return user_file.line(int(match["row"]))
    return None


def position_of_caller(frame: types.FrameType | None, user_file: UserFile) -> Position | None:
    """The innermost frame of a running stack that is inside the user's file."""
    while frame is not None:
        if user_file.owns(frame.f_code.co_filename):
            return _position_of_instruction(frame.f_code, frame.f_lasti, frame.f_lineno, user_file)
        frame = frame.f_back
    return None


def _position_of_instruction(
    code: types.CodeType, instruction: int, row: int | None, user_file: UserFile
) -> Position | None:
    # Code objects know columns from Python 3.11 on. A traceback rebuilt by JAX may name no instruction.
    positions = getattr(code, "co_positions", None)
    if positions is not None and instruction >= 0:
        start, end, byte, end_byte = next(itertools.islice(positions(), instruction // 2, None), (None,) * 4)
        if start is not None and end is not None and byte is not None and end_byte is not None:
            return user_file.span(start, byte, end, end_byte)
    if row is None:
        row = next((line for begin, end, line in code.co_lines() if begin <= instruction < end), None)
    return None if row is None else user_file.line(row)


def _chain(error: BaseException) -> list[BaseException]:
    """The exception and what it was raised from, outermost first."""
    chain: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in chain:
        chain.append(link)
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    return chain


def full_text(error: BaseException) -> str:
    """The exception and its causes as Python prints them, without JAX's own frames where it hides them."""
    return "".join(traceback.format_exception(type(error), error, error.__traceback__))


def _resolved(path: str) -> str:
    try:
        return str(Path(path).resolve())
    except (OSError, ValueError):
        return path
