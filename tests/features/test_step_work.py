"""What a kernel does in a step: flops and bundles by unit, loops, conditions, and what is not known."""

from __future__ import annotations

import os
import subprocess
import textwrap
from pathlib import Path

import pytest
from jax_environments import JaxEnvironment, environment_params
from pallas_lens.evaluate.analyzer import Analyzer
from pallas_lens.features.step_work import matmul_flops, step_work
from pallas_lens.knowledge.chips import CHIPS
from pallas_lens.model.kernel_body import BodyOperation, KernelBody, OperationKind
from pallas_lens.model.kernel_call import ArrayType
from pallas_lens.model.roofline import Range, StepWork, Unit
from pallas_lens.model.span import Span
from pallas_lens.source.document import open_document

PROGRAM = """
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, y_ref, o_ref):
{body}


# pallas-lens: example x=f32[256,256], y=f32[256,256]
def run(x, y):
    return pl.pallas_call(
        kernel,
        grid=(4,),
        in_specs=[pl.BlockSpec((64, 256), lambda i: (i, 0)), pl.BlockSpec((256, 256), lambda i: (0, 0))],
        out_specs=pl.BlockSpec((64, 256), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((256, 256), x.dtype),
    )(x, y)
"""


def body_of(lines: str) -> KernelBody:
    text = PROGRAM.format(body=textwrap.indent(textwrap.dedent(lines).strip(), "    "))
    (site,) = Analyzer().analyse(open_document(Path("kernel.py"), text)).sites
    (body,) = next(one.bodies for one in site.specialisations if one.name.startswith("example"))
    assert body is not None
    return body


def work_of(lines: str, chip: str = "v5e") -> StepWork:
    return step_work(body_of(lines), [CHIPS[chip]])[chip]


def exactly(count: float) -> Range:
    return Range(count, count)


# A block of (64, 256) f32 fills 16 vregs; an addition takes one slot a vreg, of the 4 that the VPU of v5e has a bundle.
ADD = 16 / 4
MATMUL = 2 * 64 * 256 * 256


@pytest.mark.parametrize(
    ("lines", "flops", "bundles"),
    [
        ("o_ref[...] = x_ref[...]", 0, {}),
        ("o_ref[...] = x_ref[...] + 1.0", 0, {Unit.VPU: ADD}),
        ("o_ref[...] = x_ref[...] + x_ref[...] + 1.0", 0, {Unit.VPU: 2 * ADD}),
        ("o_ref[...] = jnp.zeros_like(o_ref)", 0, {}),
        ("o_ref[...] = jnp.dot(x_ref[...], y_ref[...])", MATMUL, {Unit.MXU: MATMUL / 131072}),
        ("o_ref[...] = x_ref[...] @ y_ref[...]", MATMUL, {Unit.MXU: MATMUL / 131072}),
        (
            "o_ref[...] = jnp.dot(x_ref[...], y_ref[...], precision=jax.lax.Precision.HIGHEST)",
            MATMUL,
            {Unit.MXU: MATMUL / 21845},
        ),
        ("o_ref[...] = jnp.dot(x_ref[...], y_ref[...], precision='highest')", MATMUL, {Unit.MXU: MATMUL / 21845}),
        (
            """
            def turn(index, carry):
                return carry + 1.0
            o_ref[...] = jax.lax.fori_loop(0, 8, turn, x_ref[...])
            """,
            0,
            {Unit.VPU: 8 * ADD},
        ),
        (
            """
            def outer(index, carry):
                return jax.lax.fori_loop(2, 5, lambda inner, value: value + 1.0, carry)
            o_ref[...] = jax.lax.fori_loop(0, 4, outer, x_ref[...])
            """,
            0,
            {Unit.VPU: 12 * ADD},
        ),
        (
            """
            @pl.loop(0, 8, step=2)
            def _(index):
                o_ref[...] = x_ref[...] + 1.0
            """,
            0,
            {Unit.VPU: 4 * ADD},
        ),
        (
            """
            for _ in range(3):
                o_ref[...] = x_ref[...] + 1.0
            """,
            0,
            {Unit.VPU: 3 * ADD},
        ),
    ],
)
def test_what_a_step_does(lines: str, flops: int, bundles: dict[Unit, float]) -> None:
    expected = {unit: exactly(pytest.approx(count)) for unit, count in bundles.items()}
    assert work_of(lines) == StepWork(exactly(flops), expected)


@pytest.mark.parametrize(
    "lines",
    [
        """
        @pl.when(pl.program_id(0) == 0)
        def _():
            o_ref[...] = x_ref[...] + 1.0
        """,
        """
        o_ref[...] = jax.lax.cond(
            pl.program_id(0) == 0, lambda value: value + 1.0, lambda value: value, x_ref[...]
        )
        """,
    ],
    ids=["when", "cond"],
)
def test_what_a_condition_may_leave_out(lines: str) -> None:
    assert work_of(lines) == StepWork(bundles={Unit.VPU: Range(0, ADD)})


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ("o_ref[...] = jnp.sort(x_ref[...])", "jnp.sort: "),
        ("o_ref[...] = jnp.einsum('ik,kj->ij', x_ref[...], y_ref[...])", "jnp.einsum: the shapes"),
        ("o_ref[...] = jnp.dot(x_ref[...], y_ref[...], precision=find())", "jnp.dot: its precision is not known"),
        (
            """
            def turn(carry):
                return carry + 1.0
            o_ref[...] = jax.lax.while_loop(lambda carry: True, turn, x_ref[...])
            """,
            "`+`: how often a `while_loop` turns",
        ),
        (
            """
            def turn(index, carry):
                return carry + 1.0
            o_ref[...] = jax.lax.fori_loop(0, pl.program_id(0), turn, x_ref[...])
            """,
            "`+`: how often the loop turns",
        ),
        (
            """
            if SOMETHING:
                return
            o_ref[...] = x_ref[...] + 1.0
            """,
            "not all of the kernel's body",
        ),
    ],
)
def test_what_is_not_known_is_named(lines: str, reason: str) -> None:
    told = work_of(lines)
    assert any(one.startswith(reason) for one in told.unknown), told


def test_no_body_no_work() -> None:
    told = step_work(None, [CHIPS["v5e"]])
    assert told == {"v5e": StepWork(unknown=("the kernel's body is not known",))}


def test_a_chip_that_refuses_the_matmul_does_not_know_it() -> None:
    lines = "o_ref[...] = jnp.dot(x_ref[...].astype(jnp.int8), y_ref[...].astype(jnp.int8))"
    assert "jnp.dot: not measured for i8 on v4" in work_of(lines, "v4").unknown
    assert work_of(lines, "v5e").bundles[Unit.MXU] == exactly(MATMUL / 262144)


@pytest.mark.parametrize(
    ("left", "right", "result", "flops"),
    [
        ((64, 128), (128, 256), (64, 256), 2 * 64 * 128 * 256),
        ((64, 128), (256, 128), (64, 256), 2 * 64 * 128 * 256),
        ((128,), (128,), (), 2 * 128),
        ((8, 64, 32), (8, 32, 16), (8, 64, 16), 2 * 8 * 64 * 32 * 16),
        ((4, 8, 64, 32), (4, 8, 32, 16), (4, 8, 64, 16), 2 * 32 * 64 * 32 * 16),
        ((64, 4, 32), (4, 32, 16), (64, 16), 2 * 64 * 128 * 16),
        ((64, 128), (100, 256), (64, 256), None),
        ((4, 4, 4), (4, 4, 4), (4, 4), None),
    ],
)
def test_flops_follow_from_the_shapes(
    left: tuple[int, ...], right: tuple[int, ...], result: tuple[int, ...], flops: int | None
) -> None:
    where = Span("f", 0, 0, 0, 1)
    arrays = [ArrayType(shape, "float32") for shape in (left, right, result)]
    dot = BodyOperation(OperationKind.DOT, "jax.numpy.dot", where, where, tuple(arrays[:2]), arrays[2])
    assert matmul_flops(dot) == flops


MATMULS = (
    "jnp.dot(x, y)",
    "x @ y",
    "jnp.matmul(x, y)",
    "jax.lax.dot_general(x, y, (((1,), (0,)), ((), ())))",
    "jax.lax.dot_general(x, y, (((0,), (1,)), ((), ())))",
    "jax.lax.dot_general(x, z, (((1,), (1,)), ((), ())))",
    "jax.lax.dot_general(x.reshape(4, 16, 256), y.reshape(4, 16, 256), (((2,), (2,)), ((0,), (0,))))",
    "jnp.dot(x, y) @ x",
)

ASK_JAX = """
import sys
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

x, y, z = jnp.zeros((64, 256)), jnp.zeros((256, 64)), jnp.zeros((128, 256))
for expression in sys.argv[1:]:
    cost = pl.estimate_cost(lambda x, y, z: eval(expression, {"jax": jax, "jnp": jnp, "x": x, "y": y, "z": z}), x, y, z)
    print(cost.flops)
"""

OPERANDS = """
x = jnp.zeros((64, 256), jnp.float32)
y = jnp.zeros((256, 64), jnp.float32)
z = jnp.zeros((128, 256), jnp.float32)
o_ref[...] = """


@pytest.mark.parametrize("environment", environment_params())
def test_the_flops_of_matmuls_are_those_that_jax_counts(environment: JaxEnvironment) -> None:
    done = subprocess.run(
        [str(environment.interpreter), "-c", ASK_JAX, *MATMULS],
        env={**os.environ, "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    counted = {expression: work_of(OPERANDS + expression).flops for expression in MATMULS}
    assert counted == {
        expression: exactly(int(flops)) for expression, flops in zip(MATMULS, done.stdout.split(), strict=True)
    }
