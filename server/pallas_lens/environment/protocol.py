"""What server and process say to each other: one JSON object a line. The standard library alone."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Literal

Question = Literal["definition", "documentation"]


@dataclass(frozen=True, slots=True)
class Ask:
    """``name`` is a dotted path: ``mylib.blocks.spec_for``, ``jax.experimental.pallas.BlockSpec``."""

    id: int
    question: Question
    name: str


@dataclass(frozen=True, slots=True)
class Answer:
    """Where a name is defined, or what its documentation says; ``file`` "" and ``why`` where that was not found.

    ``name`` is what it is called in ``file``, and ``line`` the line of the statement, from 1.
    """

    id: int
    file: str = ""
    name: str = ""
    line: int = 0
    signature: str = ""
    documentation: str = ""
    why: str = ""


def encode(message: Ask | Answer) -> bytes:
    """The message as a line."""
    return json.dumps(asdict(message)).encode() + b"\n"


def decode_ask(line: bytes) -> Ask | None:
    """The question in a line, None where it holds none."""
    found = _fields(line)
    match found:
        case {"id": int(number), "question": "definition" | "documentation" as question, "name": str(name)}:
            return Ask(number, question, name)
        case _:
            return None


def decode_answer(line: bytes) -> Answer | None:
    """The answer in a line, None where it holds none."""
    found = _fields(line)
    number = found.get("id")
    if not isinstance(number, int):
        return None
    texts = {
        key: value
        for key in ("file", "name", "signature", "documentation", "why")
        if isinstance(value := found.get(key), str)
    }
    row = found.get("line")
    return Answer(number, line=row if isinstance(row, int) else 0, **texts)


def _fields(line: bytes) -> dict[str, object]:
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
