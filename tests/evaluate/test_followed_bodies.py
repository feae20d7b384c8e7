"""A kernel body is left out where another shows all that rules would find in it, and is there on demand."""

from __future__ import annotations

from functools import partial

import pytest
from pallas_lens.evaluate.analyzer import Analyzer
from pallas_lens.model.module_facts import ModuleFacts
from pallas_lens.rules import engine
from pallas_lens.source.document import open_document, update_document

from .kernel_texts import CONTEXT

TEXT = """import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(x_ref, y_ref, o_ref, *, transpose, rate):
    if transpose:
        o_ref[...] = x_ref[...] @ y_ref[...].T
    else:
        o_ref[...] = x_ref[...] + rate


def call(x, y, transpose, rate, space):
    return pl.pallas_call(
        functools.partial(kernel, transpose=transpose, rate=rate),
        in_specs=[pl.BlockSpec(memory_space=space), pl.BlockSpec(memory_space=pltpu.VMEM)],
        out_shape=jax.ShapeDtypeStruct((x.shape[0], y.shape[0]), x.dtype),
    )(x, y)


def first():
    return call(jnp.ones((64, 128), jnp.bfloat16), jnp.ones((64, 128), jnp.bfloat16), False, 1, pltpu.VMEM)


def second():
    return call(ARGUMENTS)
"""
NARROW = "jnp.ones((32, 128), jnp.bfloat16), jnp.ones((32, 128), jnp.bfloat16)"
GUARDED = TEXT.replace("    return pl.pallas_call(", "    rate = 1 if transpose else 2\n    return pl.pallas_call(")


def followed(facts: ModuleFacts) -> dict[str, bool]:
    """Whether the body was followed, of each specialisation."""
    (site,) = facts.sites
    return {one.name: one.bodies[0] is not None for one in site.specialisations}


analysed = partial(Analyzer().analyse, all_bodies=False)


@pytest.mark.parametrize(
    ("arguments", "is_followed"),
    [
        pytest.param(f"{NARROW}, False, 1, pltpu.VMEM", False, id="other sizes"),
        pytest.param(f"{NARROW}, False, 7, pltpu.VMEM", False, id="another number"),
        pytest.param(f"{NARROW}, True, 1, pltpu.VMEM", True, id="another branch"),
        pytest.param(f"{NARROW}, False, 1, pltpu.SMEM", True, id="another memory space"),
        pytest.param("jnp.ones((64, 128)), jnp.ones((64, 128)), False, 1, pltpu.VMEM", True, id="another type"),
        pytest.param("jnp.ones((2, 64, 128)), jnp.ones((2, 64, 128)), False, 1, pltpu.VMEM", True, id="another rank"),
    ],
)
def test_what_may_show_something_new_is_followed(arguments: str, is_followed: bool) -> None:
    document = open_document(None, TEXT.replace("ARGUMENTS", arguments), uri=arguments)
    assert followed(analysed(document)) == {"generic": True, "call first": True, "call second": is_followed}


@pytest.mark.parametrize("flag", ["True", "None"])
def test_a_branch_that_the_call_had_chosen_already_is_not_taken_for_both(flag: str) -> None:
    text = GUARDED.replace("ARGUMENTS", f"x, y, {flag}, 1, pltpu.VMEM").replace("def second():", "def second(x, y):")
    document = open_document(None, text, uri=flag)
    assert followed(analysed(document))["call second"]


def test_a_body_that_was_left_out_is_there_on_demand_and_after_an_edit() -> None:
    text = TEXT.replace("ARGUMENTS", f"{NARROW}, False, 1, pltpu.VMEM")
    document = open_document(None, text)
    analyzer = Analyzer()
    assert not followed(analyzer.analyse(document, all_bodies=False))["call second"]
    every = analyzer.analyse(document)
    assert all(followed(every).values())
    assert every == Analyzer().analyse(document)
    document = update_document(document, text.replace("+ rate", "- rate"), 2, (12, 0))
    needed = analyzer.analyse(document, all_bodies=False)
    assert not followed(needed)["call second"]
    assert needed == Analyzer().analyse(document, all_bodies=False)
    assert analyzer.analyse(document) == Analyzer().analyse(document)


def test_what_is_left_out_hides_no_finding() -> None:
    text = TEXT.replace("ARGUMENTS", f"{NARROW}, True, 1, pltpu.VMEM")
    document = open_document(None, text)
    found = []
    for all_bodies in (False, True):
        facts = Analyzer().analyse(document, all_bodies=all_bodies)
        (site,) = facts.sites
        found.append(engine.site_findings(site, engine.rules_for(facts), engine.context_of(facts, CONTEXT)))
    assert found[0] == found[1]
    assert "narrow-matmul-accumulator" in {finding.name for finding in found[0]}
