"""The roofline of a call: times from bytes, bundles, clock and cores, and which of them bounds it."""

from __future__ import annotations

import pytest
from pallas_lens.knowledge.chips import CHIPS
from pallas_lens.model.core_split import split_of_grid
from pallas_lens.model.roofline import Range, Roofline, StepWork, Traffic, Unit, roofline
from pallas_lens.model.symbolic import symbol
from pallas_lens.model.unknown import Unknown

MIB = 1 << 20
P, A = "parallel", "arbitrary"


def of(chip: str, steps: int, work: StepWork, traffic: Traffic, semantics: str = P) -> Roofline:
    split = split_of_grid((steps,), (semantics,), CHIPS[chip])
    told = roofline(CHIPS[chip], steps, split, traffic, work)
    assert isinstance(told, Roofline)
    return told


def exactly(count: float) -> Range:
    return Range(count, count)


def test_a_matmul_at_the_peak_of_the_mxu() -> None:
    # 2·4096³ flops take as long as at the peak of 197 Tflop/s that JAX tells for v5e.
    flops = 2 * 4096**3
    work = StepWork(exactly(flops / 64), {Unit.MXU: exactly(flops / 64 / 131072)})
    told = of("v5e", 64, work, Traffic(64 * MIB, 32 * MIB))
    assert told.seconds[Unit.MXU].least == pytest.approx(flops / 197e12)
    assert told.seconds[Unit.HBM].least == pytest.approx(96 * MIB / 820e9)
    assert told.bound is Unit.MXU
    assert told.at_best == pytest.approx(flops / 197e12)
    assert told.flops == exactly(flops)
    assert told.intensity is not None
    assert told.intensity.least == pytest.approx(flops / (96 * MIB))


@pytest.mark.parametrize(
    ("chip", "semantics", "steps", "memory_cores", "busiest"),
    [
        ("v5e", P, 8, 1, 8),
        ("v7x", P, 8, 1, 8),
        ("v5p", P, 8, 2, 4),
        ("v5p", P, 5, 2, 3),
        ("v5p", A, 8, 1, 8),
        ("v4", P, 8, 2, 4),
    ],
)
def test_cores_share_steps_and_bandwidth(
    chip: str, semantics: str, steps: int, memory_cores: int, busiest: int
) -> None:
    told = of(chip, steps, StepWork(bundles={Unit.VPU: exactly(1000)}), Traffic(MIB, 0), semantics)
    assert told.seconds == {
        Unit.HBM: exactly(pytest.approx(MIB / CHIPS[chip].hbm_bytes_per_second / memory_cores)),
        Unit.VPU: exactly(pytest.approx(busiest * 1000 / CHIPS[chip].bundles_per_second)),
    }


@pytest.mark.parametrize(
    ("mxu", "vpu", "bound", "bounds"),
    [
        (Range(500, 500), Range(0, 400), Unit.MXU, (Unit.MXU,)),
        (Range(500, 500), Range(0, 600), None, (Unit.MXU, Unit.VPU)),
        (Range(0, 500), Range(0, 400), None, (Unit.MXU, Unit.VPU)),
        (Range(500, 900), Range(600, 700), None, (Unit.MXU, Unit.VPU)),
        (Range(100, 100), Range(300, 700), Unit.VPU, (Unit.VPU,)),
    ],
)
def test_what_bounds_a_call_whatever_conditions_do(
    mxu: Range, vpu: Range, bound: Unit | None, bounds: tuple[Unit, ...]
) -> None:
    told = of("v5e", 1, StepWork(bundles={Unit.MXU: mxu, Unit.VPU: vpu}), Traffic(0, 0))
    assert (told.bound, told.bounds) == (bound, bounds)
    assert told.at_best == pytest.approx(max(mxu.least, vpu.least) / CHIPS["v5e"].bundles_per_second)


@pytest.mark.parametrize(
    ("traffic", "work"),
    [
        (Traffic(MIB, 0, ("x is copied by hand",)), StepWork(bundles={Unit.VPU: exactly(1)})),
        (Traffic(MIB, 0), StepWork(bundles={Unit.VPU: exactly(1)}, unknown=("jnp.sort: not measured",))),
    ],
)
def test_what_is_left_out_leaves_the_bound_open(traffic: Traffic, work: StepWork) -> None:
    told = of("v5e", 8, work, traffic)
    assert told.bound is None
    assert told.unknown == (*traffic.unknown, *work.unknown)
    assert told.at_best == pytest.approx(MIB / 820e9)
    assert (told.intensity is None) == bool(traffic.unknown)


def test_no_roofline_where_the_split_is_not_known() -> None:
    why = Unknown("comes from the caller")
    assert roofline(CHIPS["v5e"], 8, why, Traffic(1, 1), StepWork()) is why
    symbolic = split_of_grid((symbol("n", 1),), (A,), CHIPS["v5e"])
    assert roofline(CHIPS["v5e"], 8, symbolic, Traffic(1, 1), StepWork()) == Unknown("a core does n steps")
