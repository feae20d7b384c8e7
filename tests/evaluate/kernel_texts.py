"""Real kernel files to cut, mutate and edit, and what is found in a version of one."""

from __future__ import annotations

import io
import random
import tokenize
from dataclasses import dataclass, replace
from pathlib import Path

from pallas_lens.evaluate.analyzer import Analyzer
from pallas_lens.knowledge.chips import CHIPS
from pallas_lens.model.kernel_call import Form
from pallas_lens.model.module_facts import CallSite, ModuleFacts
from pallas_lens.project import NEWEST_JAX
from pallas_lens.rules import engine
from pallas_lens.rules.context import Context
from pallas_lens.source.document import Document
from pallas_lens.source.positions import TextRange

_TESTS = Path(__file__).parents[1]
PATHS = tuple(
    path
    for folder in ("evaluate/cases", "source/kernels", "runtime/kernels")
    for path in sorted((_TESTS / folder).glob("*.py"))
    if "pallas" in path.read_text(encoding="utf-8")
)
TEXTS = {path: path.read_text(encoding="utf-8") for path in PATHS}
CONTEXT = Context(tuple(CHIPS.values()), NEWEST_JAX, True)

_NO_TEXT = (tokenize.INDENT, tokenize.DEDENT, tokenize.NEWLINE, tokenize.NL, tokenize.ENDMARKER)


@dataclass(frozen=True, slots=True)
class Token:
    """A token and where it stands in the text."""

    start: int
    end: int
    type: int
    text: str


def tokens(text: str) -> list[Token]:
    """The tokens of ``text``, up to where it stops being Python."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found: list[Token] = []
    try:
        for one in tokenize.generate_tokens(io.StringIO(text).readline):
            if one.type not in _NO_TEXT:
                start = starts[one.start[0] - 1] + one.start[1]
                found.append(Token(start, starts[one.end[0] - 1] + one.end[1], one.type, one.string))
    except (tokenize.TokenError, SyntaxError):
        pass
    return found


@dataclass(frozen=True, slots=True)
class Found:
    """A finding, placed in its file."""

    where: TextRange
    code: str
    severity: str
    message: str
    specialisation: str


def findings_in(document: Document, facts: ModuleFacts) -> list[Found]:
    """What the rules say of the file itself."""
    return [
        Found(document.locate(one.span), one.code, one.severity.value, one.message, one.specialisation)
        for one in engine.findings(facts, CONTEXT)
        if one.span.file is None
    ]


def of_calls_above(document: Document, facts: ModuleFacts, row: int) -> ModuleFacts:
    """The facts of the calls that end above ``row``, but for what code that stands below may add.

    That is what callers and examples say, and all of pipelines, which a call below starts.
    """
    sites = []
    for site in facts.sites:
        own = tuple(one for one in site.specialisations if one.name in ("generic", "defaults"))
        is_pipeline = any(call.form is not Form.PALLAS_CALL for one in own for call in one.worlds)
        if own and not is_pipeline and site.span.file is None and document.locate(site.span).end_row < row:
            sites.append(CallSite(site.span, own))
    return replace(facts, sites=tuple(sites))


def analysed(document: Document, analyzer: Analyzer | None = None) -> ModuleFacts:
    """The facts of one version."""
    return (analyzer or Analyzer()).analyse(document)


SUBSTITUTES = [
    "0",
    "1",
    "-1",
    "128",
    "10**9",
    "9**9**9",
    "1<<40",
    "1.5",
    "None",
    "True",
    "...",
    "()",
    "[]",
    "{}",
    "x",
    "grid",
    "f'{x}'",
    "'text'",
    "'a'*10**9",
    "[x]*10**9",
    "range(10**9)",
]


def mutated(text: str, chosen: random.Random) -> str:
    """``text`` with one to four small accidents: tokens lost, doubled, swapped, names replaced."""
    for _ in range(chosen.choice((1, 1, 2, 4))):
        found = tokens(text)
        if len(found) < 2:
            return text
        index = chosen.randrange(len(found) - 1)
        one, after = found[index], found[index + 1]
        match chosen.choice(("lose", "double", "swap", "replace", "replace", "replace")):
            case "lose":
                text = text[: one.start] + text[one.end :]
            case "double":
                text = f"{text[: one.end]} {one.text}{text[one.end :]}"
            case "swap":
                text = text[: one.start] + after.text + text[one.end : after.start] + one.text + text[after.end :]
            case _:
                words = [two for two in found if two.type in (tokenize.NAME, tokenize.NUMBER)]
                old = chosen.choice(words) if words else one
                text = text[: old.start] + chosen.choice(SUBSTITUTES) + text[old.end :]
    return text
