"""``pallas-lens run``: what is run, what is printed, which exit code."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from jax_environments import JaxEnvironment, environment_params
from pallas_lens.features.run import summary
from pallas_lens.runtime.protocol import Finding, Result, TargetResult

from .command_line import Ended, pallas_lens
from .kernel_texts import GOOD, UNALIGNED

PLAIN = "import jax.numpy as jnp  # for pallas\n\n\ndef twice(x):\n    return x * 2\n"


def write(folder: Path, text: str) -> None:
    (folder / "kernel.py").write_text(text, encoding="utf-8")


@pytest.fixture(params=environment_params())
def environment(request: pytest.FixtureRequest) -> JaxEnvironment:
    found: JaxEnvironment = request.param
    return found


def run(environment: JaxEnvironment, folder: Path, *arguments: str) -> Ended:
    return pallas_lens("run", *arguments, "--interpreter", str(environment.interpreter), folder=folder)


def test_interpret_to_the_contract(environment: JaxEnvironment, tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    ended = run(environment, tmp_path, "kernel.py", "--mode", "interpret", "--output-format", "json")
    assert ended.code == 0, ended
    report = ended.json
    assert (report["mode"], report["function"], report["jax"]) == ("interpret", "call", environment.jax)
    (result,) = report["results"]
    assert (result["verdict"], result["findings"]) == ("accepted", [])
    assert result["outputs"][0]["shape"] == [512, 256]


def test_findings_have_places_and_the_exit_code(environment: JaxEnvironment, tmp_path: Path) -> None:
    write(tmp_path, GOOD.replace("x_ref[...] * 2", "x_ref[...] * jnp.nan"))
    ended = run(environment, tmp_path, "kernel.py::call", "--output-format", "json")
    assert ended.code == 1, ended
    (finding,) = ended.json["results"][0]["findings"]
    assert finding["code"] == "nan"
    assert finding["filename"] == "kernel.py"
    assert finding["location"]["row"] >= 1
    assert ended.json["results"][0]["verdict"] == "found"


def test_full_is_for_people(environment: JaxEnvironment, tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    ended = run(environment, tmp_path, "kernel.py")
    assert ended.code == 0
    assert ended.lines[0].startswith("call ran in interpret mode: no exception, nothing out of bounds, no NaN (")
    assert "float32[512, 256]: from " in ended.lines[1]


def test_arguments_instead_of_an_example(environment: JaxEnvironment, tmp_path: Path) -> None:
    write(tmp_path, PLAIN)
    ended = run(environment, tmp_path, "kernel.py::twice", "--arg", "x=f32[8,128]", "--output-format", "json")
    assert ended.code == 0, ended
    assert ended.json["results"][0]["outputs"][0]["shape"] == [8, 128]


def test_lowering_refuses_what_the_check_refuses(environment: JaxEnvironment, tmp_path: Path) -> None:
    write(tmp_path, UNALIGNED)
    ended = run(environment, tmp_path, "kernel.py", "--mode", "lower", "--target", "v5e,v6e", "--output-format", "json")
    assert ended.code == 1, ended
    assert [(one["target"], one["verdict"]) for one in ended.json["results"]] == [
        ("v5e", "refused"),
        ("v6e", "refused"),
    ]


def test_a_trace_tells_the_kernels(environment: JaxEnvironment, tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    ended = run(environment, tmp_path, "kernel.py", "--mode", "trace", "--output-format", "json")
    assert ended.code == 0, ended
    (result,) = ended.json["results"]
    (call,) = result["calls"]
    static = pallas_lens("kernels", "kernel.py", "--output-format", "json", folder=tmp_path).json[-1]
    assert static["specialisation"].startswith("example")
    for what in ("filename", "row", "column", "form", "kernel", "grid", "kernel_arity", "vmem", "smem", "unknown"):
        assert call[what] == static[what], what
    for told, expected in zip(call["operands"], static["operands"], strict=True):
        for what in ("role", "array", "block_shape", "memory_space", "buffers", "bytes"):
            assert told[what] == expected[what], what
    assert call["operands"][0]["index_map"]["values"][0] == {"step": [0] * len(call["grid"]), "block": [0, 0]}
    for_people = run(environment, tmp_path, "kernel.py", "--mode", "trace")
    assert for_people.lines[0].startswith("JAX traced call (")
    assert any(line.startswith("    input ") for line in for_people.lines)


def test_the_text_names_the_chips(environment: JaxEnvironment, tmp_path: Path) -> None:
    write(tmp_path, UNALIGNED)
    ended = run(environment, tmp_path, "kernel.py", "--mode", "lower", "--target", "v5e,v6e")
    assert ended.code == 1, ended
    assert ended.lines[0].startswith("error[refused] on v5e, v6e: ")
    assert ended.lines[-1].endswith(" Refused on v5e, v6e.")


def test_the_compiler_does_not_tell_of_a_missing_tpu(environment: JaxEnvironment, tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    ended = run(environment, tmp_path, "kernel.py", "--mode", "compile", "--target", "v5e")
    if ended.code == 3:
        pytest.skip("no libtpu")
    assert (ended.code, ended.err) == (0, "")


def test_the_sentence_says_which_chips_accepted_it() -> None:
    refused = TargetResult("1", "v4", "refused", "compile", (Finding("refused", "too wide"),))
    accepted = [TargetResult("1", chip, "accepted", "compile") for chip in ("v5e", "v6e")]
    result = Result("compile", "call", "", "0.12.0.1", "0.0.52", (accepted[0], refused, accepted[1]))
    assert summary(result) == "call, mode compile: too wide. Refused on v4; accepted on v5e, v6e."
    nothing = Result("compile", "call", "", "0.12.0.1", "0.0.52", tuple(accepted))
    assert "accepted on" not in summary(nothing)


def test_a_main_guard_says_what_to_run(environment: JaxEnvironment, tmp_path: Path) -> None:
    text = GOOD.replace("# pallas-lens: example x=f32[512,256]\n", "")
    write(tmp_path, text + '\n\nif __name__ == "__main__":\n    print(call(jnp.ones((512, 256)))[0, 0])\n')
    ended = run(environment, tmp_path, "kernel.py")
    assert ended.code == 0, ended
    assert "2.0" in ended.err


def test_a_timeout_has_its_own_exit_code(environment: JaxEnvironment, tmp_path: Path) -> None:
    write(tmp_path, PLAIN + "\n\ndef forever():\n    # pallas\n    while True:\n        pass\n")
    assert run(environment, tmp_path, "kernel.py::forever", "--timeout", "3").code == 4


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["missing.py"], "missing.py does not exist"),
        (["kernel.py::nothing"], "has no function nothing; there are call, double"),
        (["kernel.py", "--timeout", "0"], "more than 0 seconds"),
        (["kernel.py::call", "--example", "big"], "has no example big"),
        (["plain.py"], "nothing in plain.py says what to run"),
        (["two.py"], "several functions have an example; name one of two.py::call, two.py::other"),
        (["kernel.py::call", "--arg", "x=f32[7"], "--arg 'x=f32[7' cannot be read"),
        (["kernel.py::call", "--arg", "q=1"], "call has no parameter q; it takes x"),
        (["kernel.py", "--target", "v1"], "there is no chip v1"),
    ],
)
def test_usage_errors(arguments: list[str], said: str, tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    (tmp_path / "plain.py").write_text(PLAIN, encoding="utf-8")
    two = GOOD + "\n\n# pallas-lens: example x=f32[8,128]\ndef other(x):\n    return x\n"
    (tmp_path / "two.py").write_text(two, encoding="utf-8")
    ended = pallas_lens("run", *arguments, "--interpreter", sys.executable, folder=tmp_path)
    assert ended.code == 2
    assert said in ended.err
    assert ended.out == ""


def test_an_environment_without_jax_has_its_own_exit_code(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    python = tmp_path / "no-such-python"
    ended = pallas_lens("run", "kernel.py", "--interpreter", str(python), folder=tmp_path)
    assert ended.code == 3
    assert str(python) in ended.err
    assert "Choose another Python interpreter" in ended.err
