"""Each snippet, with its defaults and with every choice it offers, is a kernel that is found, accepted and right."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from jax_environments import JaxEnvironment
from kernel_checks import CHIPS, JUDGED_JAX, OLDEST_JAX, compiled, document_at, findings, interpreted, runnables
from pallas_lens.runtime.client import RuntimeClient

from .snippet_syntax import SnippetError, expand, parse, stops

ROOT = Path(__file__).parents[2]
SNIPPETS = json.loads((ROOT / "snippets" / "pallas.json").read_text(encoding="utf-8"))
IMPORTS = """\
import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


"""
# What each snippet computes, in plain JAX.
REFERENCES = {
    "pallas-matmul": """\
def expected(x, y):
    return jnp.dot(x, y, preferred_element_type=jnp.float32).astype(x.dtype)
""",
    "pallas-elementwise": """\
def expected(x):
    return jax.nn.gelu(x)
""",
    "pallas-gather": """\
def expected(indices, x):
    return x[indices]
""",
}
# An example fills indices with zeros, which would show little.
INDICES = ("indices=i32[4]", "indices=jnp.array([11, 0, 15, 11])")


@dataclass(frozen=True, slots=True)
class Expansion:
    """A snippet's text with its defaults (``chosen`` empty) or with one other choice."""

    prefix: str
    chosen: str
    text: str


def body_of(snippet: dict[str, object]) -> str:
    body = snippet["body"]
    assert isinstance(body, list)
    return "\n".join(body)


def expansions() -> list[Expansion]:
    found = []
    for snippet in SNIPPETS.values():
        body = body_of(snippet)
        found.append(Expansion(snippet["prefix"], "", expand(body)))
        for number, options in stops(body).items():
            found += [Expansion(snippet["prefix"], option, expand(body, {number: option})) for option in options[1:]]
    return found


each_snippet = pytest.mark.parametrize("name", SNIPPETS)
each_expansion = pytest.mark.parametrize(
    "expansion", expansions(), ids=lambda one: f"{one.prefix}-{one.chosen}" if one.chosen else one.prefix
)


@each_snippet
def test_declaration(name: str) -> None:
    snippet = SNIPPETS[name]
    assert set(snippet) == {"scope", "prefix", "description", "body"}
    assert snippet["scope"] == "python"
    assert re.fullmatch(r"pallas-[a-z-]+", snippet["prefix"])
    assert snippet["description"].endswith(".")


@each_snippet
def test_tab_stops_are_numbered_alike(name: str) -> None:
    body = body_of(SNIPPETS[name])
    found = stops(body)
    assert sorted(found) == list(range(len(found)))
    assert body.endswith("\n$0")
    # The same number means the same in every snippet: 1 names the function, 2 is the element type.
    assert f"\ndef ${{1:{found[1][0]}}}_kernel(" in f"\n{body}" and "\ndef $1(" in body
    assert set(found[2]) == {"f32", "bf16"}


@each_snippet
def test_a_name_is_written_once(name: str) -> None:
    """Typing over a placeholder changes all that goes by its name; names that only look alike stay."""
    body = body_of(SNIPPETS[name])
    (function, *_) = stops(body)[1]
    renamed = expand(body, {1: "something_else"})
    tree = ast.parse(renamed)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    names |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    assert {"something_else", "something_else_kernel"} <= names
    assert not {function, f"{function}_kernel"} & names


@each_expansion
def test_is_python_with_one_example(expansion: Expansion) -> None:
    assert all(len(line) <= 120 for line in expansion.text.splitlines())
    document = document_at(ROOT / "snippet.py", IMPORTS + expansion.text)
    assert len(runnables(document)) == 1


@pytest.mark.parametrize("version", (OLDEST_JAX, *JUDGED_JAX))
@each_expansion
def test_has_no_findings(expansion: Expansion, version: str) -> None:
    assert findings(document_at(ROOT / "snippet.py", IMPORTS + expansion.text), version) == ()


@each_expansion
def test_is_accepted_by_the_compiler(client: RuntimeClient, environment: JaxEnvironment, expansion: Expansion) -> None:
    document = document_at(ROOT / "snippet.py", IMPORTS + expansion.text)
    (runnable,) = runnables(document)
    result = compiled(client, environment, document, runnable, CHIPS)
    assert [(each.target, each.verdict) for each in result.results] == [(chip, "accepted") for chip in CHIPS], result


@each_expansion
def test_computes_what_it_says(client: RuntimeClient, expansion: Expansion) -> None:
    text = f"{IMPORTS}{expansion.text}\n\n{REFERENCES[expansion.prefix]}"
    document = document_at(ROOT / "snippet.py", text)
    (runnable,) = runnables(document)
    arguments = runnable.arguments_text.replace(*INDICES)
    (result,) = interpreted(client, document, replace(runnable, reference="expected", arguments_text=arguments)).results
    assert result.verdict == "accepted", result
    assert result.comparison is not None and result.comparison.matches, result


def test_package_contributes_the_file() -> None:
    manifest = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))
    assert manifest["contributes"]["snippets"] == [{"language": "python", "path": "./snippets/pallas.json"}]


@pytest.mark.parametrize(
    ("body", "chosen", "text"),
    [
        ("def ${1:f}(): $1()", {}, "def f(): f()"),
        ("def ${1:f}(): ${1}()", {1: "g"}, "def g(): g()"),
        ("${1|a,b|} $1$0", {}, "a a"),
        ("${1|a\\,b,c\\|d|}", {1: "c|d"}, "c|d"),
        ("\\$1 ${1:{\\}}", {}, "$1 {}"),
        ("f\\n", {}, "f\\n"),
    ],
)
def test_expander(body: str, chosen: dict[int, str], text: str) -> None:
    assert expand(body, chosen) == text


@pytest.mark.parametrize("body", ["$x", "${1:a} ${1:b}", "$1 ${1:a}", "${name}"])
def test_expander_refuses(body: str) -> None:
    with pytest.raises(SnippetError):
        stops(body)
    assert parse("plain") == ["plain"]
