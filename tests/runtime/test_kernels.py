"""Each file of `kernels/`, lowered, compiled and interpreted, gives the findings that its comments mark.

`# MODE: KIND` at the end of a line expects a finding of that kind on it, `;` between several modes. A mode without a
mark expects `accepted`. The example comments are read here without the server's parser, which these tests are not of.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from jax_environments import JaxEnvironment
from pallas_lens.runtime.client import RuntimeClient
from pallas_lens.runtime.protocol import MODES, Job, TargetResult

KERNELS = sorted((Path(__file__).parent / "kernels").glob("*.py"))
_MARK = re.compile(rf"(?P<mode>{'|'.join(MODES)}): (?P<kind>[a-z-]+)")


def expected_findings(source: str, mode: str) -> list[tuple[str, int]]:
    """The kind and row of each finding that the comments of a file promise for a mode."""
    found = []
    for row, line in enumerate(source.splitlines(), start=1):
        code, hash_sign, comment = line.partition("  # ")
        if code and hash_sign:
            found += [(mark["kind"], row) for mark in _MARK.finditer(comment) if mark["mode"] == mode]
    return found


def job_of_file(path: Path, mode: str, target: str = "v5e") -> Job:
    """The job that the comments above the function of a kernel file describe."""
    source = path.read_text(encoding="utf-8")
    named = dict(re.findall(r"^# pallas-lens: (example|inputs|reference)[ =](.*)$", source, re.MULTILINE))
    return Job(
        id=f"{path.stem}-{mode}",
        mode=mode,
        path=str(path),
        function="call",
        arguments=named.get("example", ""),
        inputs=named.get("inputs"),
        reference=named.get("reference"),
        targets=(target,),
    )


def run(client: RuntimeClient, job: Job) -> TargetResult:
    (result,) = client.run(job).results
    return result


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_marked_findings(client: RuntimeClient, environment: JaxEnvironment, path: Path, mode: str) -> None:
    if mode == "compile" and environment.libtpu is None:
        pytest.skip(f"{environment.interpreter} has no libtpu")
    expected = expected_findings(path.read_text(encoding="utf-8"), mode)
    result = run(client, job_of_file(path, mode))
    assert [(finding.kind, finding.row) for finding in result.findings] == expected, result
    bad = "found" if mode == "interpret" else "refused"
    assert result.verdict == (bad if expected else "accepted")


def text_of(path: Path, result: TargetResult) -> str:
    """The text in the file which the only finding of a result covers."""
    (finding,) = result.findings
    assert finding.row is not None and finding.row == finding.end_row
    line = path.read_text(encoding="utf-8").splitlines()[finding.row - 1]
    assert finding.column is not None and finding.end_column is not None
    return line[finding.column - 1 : finding.end_column - 1]


# Before 3.11, Python knows no columns, and the whole line is given.
@pytest.mark.parametrize(
    ("name", "mode", "text"),
    [
        ("shapes_do_not_fit", "interpret", "x_ref[...] @ x_ref[...]"),
        ("shapes_do_not_fit", "lower", "x_ref[...] @ x_ref[...]"),
        ("loads_a_row_past_the_end", "interpret", "x_ref[row]"),
        ("narrow_accumulator", "lower", "x_ref[...] @ y_ref[...]"),
        ("cumulative_sum", "lower", "jnp.cumsum(x_ref[...], axis=0)"),
        ("lane_index_is_dynamic", "compile", "x_ref[:, pl.ds(start_ref[0], 128)]"),
    ],
)
def test_columns(client: RuntimeClient, environment: JaxEnvironment, name: str, mode: str, text: str) -> None:
    if mode == "compile" and environment.libtpu is None:
        pytest.skip(f"{environment.interpreter} has no libtpu")
    path = Path(__file__).parent / "kernels" / f"{name}.py"
    found = text_of(path, run(client, job_of_file(path, mode)))
    if environment.python.startswith("3.10."):
        assert text in found
    else:
        assert found == text


def test_several_targets(client: RuntimeClient) -> None:
    path = Path(__file__).parent / "kernels" / "copies_blocks.py"
    targets = ("v4", "v5e", "v5p", "v6e", "v7x")
    result = client.run(replace(job_of_file(path, "lower"), targets=targets))
    assert [(each.target, each.verdict) for each in result.results] == [(target, "accepted") for target in targets]


def test_outputs_and_comparison(client: RuntimeClient) -> None:
    path = Path(__file__).parent / "kernels" / "matmul_accumulates.py"
    result = run(client, job_of_file(path, "interpret"))
    assert result.outputs is not None and result.comparison is not None
    (output,) = result.outputs
    assert (output.shape, output.dtype, output.nan, output.finite) == ((256, 128), "bfloat16", 0, 256 * 128)
    assert output.minimum is not None and output.maximum is not None and output.minimum < 0 < output.maximum
    assert result.comparison.reference == "expected" and result.comparison.matches


def test_first_nan(client: RuntimeClient) -> None:
    path = Path(__file__).parent / "kernels" / "adds_to_memory_never_written.py"
    result = run(client, job_of_file(path, "interpret"))
    assert result.outputs is not None
    (output,) = result.outputs
    assert (output.nan, output.first_nan, output.mean) == (8 * 128, (0, 0), None)
    assert "nothing had written" in result.findings[0].message


def test_vmem_figures(client: RuntimeClient, environment: JaxEnvironment) -> None:
    if environment.libtpu is None:
        pytest.skip(f"{environment.interpreter} has no libtpu")
    kernels = Path(__file__).parent / "kernels"
    fits = run(client, job_of_file(kernels / "copies_blocks.py", "compile"))
    # Two windows of 8 rows by 128 lanes of 4 bytes, twice each.
    assert fits.vmem is not None and fits.vmem.used == 2 * 2 * 8 * 128 * 4
    refused = run(client, job_of_file(kernels / "windows_over_the_limit.py", "compile"))
    assert refused.vmem is not None
    assert (refused.vmem.used, refused.vmem.limit) == (2 * 8192 * 1024 * 4, 16 * 1024**2)
    assert "64.00 MiB" in refused.findings[0].message
