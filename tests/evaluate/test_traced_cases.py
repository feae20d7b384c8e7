"""What the evaluator reads in a call is what JAX traces of it: operands, blocks, index maps, and all the rest.

The calls are those of the kernel files in `cases/` with the arguments below, of every rule's accepted examples, and of
`examples/`.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from jax_environments import JaxEnvironment
from pallas_lens.evaluate.analyzer import Analyzer
from pallas_lens.model.versions import Version
from pallas_lens.rules.registry import all_rules
from pallas_lens.rules.rule import Valid
from pallas_lens.runtime.client import RuntimeClient

from .traced import pairs, read, title, trace, with_examples

CASES = Path(__file__).parent / "cases"
EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))

_MATRIX = "f32[256,256]"
ARGUMENTS = {
    "blocks_and_params.py": {
        "shapes_of_known_rank": "x=f32[4,16,128]",
        "buffers": f"x={_MATRIX}, n_buffers=3",
        "scratch_by_name": f"x={_MATRIX}",
        "scratch_under_a_condition": f"x={_MATRIX}, with_scale=True",
        "semantics_as_strings": f"x={_MATRIX}",
        "semantics_as_members": f"x={_MATRIX}",
        "semantics_computed": f"x={_MATRIX}",
        "semantics_of_unknown_length": f"x={_MATRIX}, grid=(4,)",
        "params_under_a_condition": f"x={_MATRIX}, megacore=True",
        "aliases": f"x={_MATRIX}, scalars=i32[8]",
        "interpreted": f"x={_MATRIX}",
        "perhaps_interpreted": f"x={_MATRIX}",
    },
    "callers.py": {
        "scale": f"x={_MATRIX}, block=64",
        "small": "",
        "twice": "",
        "through": f"x={_MATRIX}",
        "not_followed": f"x={_MATRIX}, block=64",
    },
    "calls.py": {
        "by_name": f"x={_MATRIX}, y={_MATRIX}",
        "through_jit": f"x={_MATRIX}, y={_MATRIX}",
        "named_and_jitted": f"x={_MATRIX}, y={_MATRIX}",
        "starred": f"x={_MATRIX}, y={_MATRIX}",
        "under_a_condition": f"x={_MATRIX}",
    },
    "conditions.py": {
        "conditions_agree": f"x={_MATRIX}, scale={_MATRIX}, transpose=False",
        "try_and_except": f"x={_MATRIX}",
        "matched": f"x={_MATRIX}, mode='slower'",
        "boolean_values": f"x={_MATRIX}, a={_MATRIX}",
    },
    "configs.py": {
        "of_an_enum": f"x={_MATRIX}",
        "changed_copies": f"x={_MATRIX}",
    },
    "grid_specs.py": {
        "in_place": f"indices=i32[8], x={_MATRIX}",
        "in_a_variable": "lengths=i32[8], pages=i32[8], x=f32[4,1024,128]",
        "by_position": f"x={_MATRIX}",
        "of_a_function": f"x={_MATRIX}",
    },
    "grids.py": {
        "in_a_name": f"x={_MATRIX}, block=64",
        "own_ceiling": f"x={_MATRIX}",
        "one_number": f"x={_MATRIX}",
        "no_grid": f"x={_MATRIX}",
        "empty_grid": "x=f32[8,128]",
        "traced_bound": f"x={_MATRIX}, steps=i32[2]",
        "in_a_list": f"x={_MATRIX}, splits=[1, 2]",
        "by_augmented_assignment": f"x={_MATRIX}",
        "from_the_caller": f"x={_MATRIX}, grid=(4,)",
        "clamped": f"x={_MATRIX}, block=64",
    },
    "index_maps.py": {
        "nested": "q=f32[2,8,512,64], k=f32[2,2,512,64], group=4",
        "defaults_and_stars": f"table=i32[8], lengths=i32[8], x={_MATRIX}, causal=True",
        "factories_and_closures": f"x={_MATRIX}",
        "methods_and_partials": f"x={_MATRIX}, heads=4",
        "several_statements": f"x={_MATRIX}, causal=True",
        "loop_variable_is_read_late": f"x={_MATRIX}",
    },
    "kernels.py": {
        "partial_in_place": f"x={_MATRIX}",
        "bound_positionals": f"x={_MATRIX}",
        "closure": f"x={_MATRIX}, y={_MATRIX}, causal=True",
        "one_of_two": f"x={_MATRIX}, fast=True",
        "starred": f"x={_MATRIX}",
        "starred_at_the_end": f"x={_MATRIX}",
        "with_defaults": f"x={_MATRIX}",
        "as_lambda": f"x={_MATRIX}",
        "of_a_factory": f"x={_MATRIX}",
        "decorated": f"x={_MATRIX}, y={_MATRIX}",
        "two_of_a_name": f"x={_MATRIX}",
    },
    "pipelines_and_wrappers.py": {
        "with_pipeline": f"a={_MATRIX}, b={_MATRIX}",
        "handed_on": f"x={_MATRIX}",
        "uses_the_wrapper": f"x={_MATRIX}",
    },
    "sibling.py": {"copy": f"x={_MATRIX}"},
    "spec_lists.py": {
        "bound_to_names": f"x={_MATRIX}, y={_MATRIX}",
        "appended": f"x={_MATRIX}, y={_MATRIX}, mask={_MATRIX}",
        "added": f"x={_MATRIX}, y={_MATRIX}, z={_MATRIX}",
        "repeated": f"x={_MATRIX}, operands=[{_MATRIX}]",
        "filtered": f"q={_MATRIX}, bias={_MATRIX}, segments=bf16[256,256]",
        "starred": f"x={_MATRIX}, y={_MATRIX}, z={_MATRIX}",
        "conditional_elements": f"x={_MATRIX}, bias={_MATRIX}",
        "in_a_loop": f"x={_MATRIX}, y={_MATRIX}",
        "in_a_loop_of_unknown_length": f"x={_MATRIX}, arrays=[{_MATRIX}]",
        "unpacked_from_a_helper": f"x={_MATRIX}, y={_MATRIX}, lengths=i32[8]",
        "mapped_over_a_tree": f"x={_MATRIX}, y={_MATRIX}",
    },
    "transformations.py": {
        "on_cores": f"x={_MATRIX}",
    },
    "trees.py": {},
}
"""By file of `cases/` and function of it: an example, where the file gives none. `""`: it takes no arguments."""

REFUSED = {"gradient"}
"""Functions with an example that JAX itself refuses: it takes no gradient of a kernel."""

VALID = [
    pytest.param(example, id=f"{rule.name}-{number}")
    for rule in all_rules()
    for number, example in enumerate(rule.valid)
]


def check(client: RuntimeClient, path: Path) -> int:
    """Trace each example of the file, and compare; returns how many calls agree."""
    document, facts = read(path, Analyzer((path.parent,)))
    wrong: list[str] = []
    agreeing = 0
    for runnable in facts.runnables:
        if runnable.function in REFUSED:
            continue
        result = trace(client, path, runnable)
        where = f"{path.name}: {runnable.function}({runnable.arguments_text})"
        if not result.calls:
            wrong.append(f"{where} is not traced: {[finding.message for finding in result.findings]}")
            continue
        for pair in pairs(document, facts, runnable, result.calls):
            told = pair.differences()
            agreeing += not told
            wrong += [f"{where}, {title(pair)}: {text}" for text in told]
    assert not wrong, "\n" + "\n".join(wrong)
    return agreeing


@pytest.mark.parametrize("name", ARGUMENTS)
def test_cases(client: RuntimeClient, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "cases"
    shutil.copytree(CASES, folder)
    # One case imports a project that is nowhere.
    (folder / "another_project.py").write_text("", encoding="utf-8")
    path = folder / name
    path.write_text(with_examples(path.read_text(encoding="utf-8"), ARGUMENTS[name]), encoding="utf-8")
    assert check(client, path) >= max(len(ARGUMENTS[name]), 1)


@pytest.mark.parametrize("example", VALID)
def test_accepted_examples_of_rules(
    client: RuntimeClient, environment: JaxEnvironment, tmp_path: Path, example: Valid
) -> None:
    version = Version.parse(environment.jax)
    assert version is not None
    since, until = Version.parse(example.since or "0"), Version.parse(example.until or "99")
    assert since is not None and until is not None
    if not since <= version <= until:
        pytest.skip(f"it speaks of JAX {example.since or ''} to {example.until or ''}")
    path = tmp_path / "example.py"
    path.write_text(example.source, encoding="utf-8")
    assert check(client, path) >= 1


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples(client: RuntimeClient, path: Path) -> None:
    assert check(client, path) >= 1
