"""Tiers, vregs, and the measured costs behind a name."""

from __future__ import annotations

import json
from pathlib import Path

import pallas_lens.knowledge.op_costs_file as costs_file
import pytest
from pallas_lens.knowledge.chips import CHIPS, NAMES, chip
from pallas_lens.knowledge.op_costs import cost_of, matmul_rows, rows_of, slots
from pallas_lens.model.op_cost import Tier, bounding_unit, tier, vregs

NAMES_FILE = json.loads(costs_file.PATH.with_name("op_names.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("bundles", "expected"),
    [(0.19, Tier.CHEAP), (1.0, Tier.CHEAP), (1.01, Tier.MEDIUM), (10.0, Tier.MEDIUM), (10.1, Tier.EXPENSIVE)],
)
def test_tiers(bundles: float, expected: Tier) -> None:
    assert tier(bundles) is expected


@pytest.mark.parametrize(
    ("shape", "dtype", "count"),
    [
        ((8, 128), "float32", 1),
        ((16, 128), "bfloat16", 1),
        ((8, 128), "bfloat16", 1),
        ((32, 128), "int8", 1),
        ((512, 256), "float32", 128),
        ((64, 1, 1), "float32", 64),
        ((64, 1), "float32", 8),
        ((1024,), "float32", 1),
        ((), "float32", 0),
        ((8, 128), "float3", None),
    ],
)
def test_vregs(shape: tuple[int, ...], dtype: str, count: int | None) -> None:
    assert vregs(shape, dtype) == count


@pytest.mark.parametrize(
    ("name", "dtype", "chip_name", "bundles", "unit"),
    [
        ("jax.numpy.exp", "float32", "v5e", 1.38, "EUP"),
        ("jax.lax.exp", "float32", "v6e", 1.12, "EUP"),
        ("operator.add", "bfloat16", "v5e", 1.53, "VALU"),
        ("operator.floordiv", "int32", "v5e", 26.69, "VALU"),
        ("operator.floordiv", "float32", "v5e", 14.81, "VALU"),
        ("jax.numpy.sin", "bfloat16", "v6e", 70.38, "VALU"),
        ("jax.Array.sum", "float32", "v5e", 2.5, "XLU"),
        ("jax.numpy.transpose", "float32", "v6e", 2.0, "XLU"),
    ],
)
def test_measured_costs(name: str, dtype: str, chip_name: str, bundles: float, unit: str) -> None:
    cost = cost_of(name)
    assert cost is not None
    figure = next(row for row in cost.rows if row.dtype == dtype).figures[chip_name]
    assert figure.bundles == pytest.approx(bundles, abs=0.01)
    assert bounding_unit(figure, slots(chip_name)) == unit


def test_what_is_refused_has_no_figure() -> None:
    figure = rows_of("add")[-1].figures["v5e"]
    assert rows_of("add")[-1].dtype == "int8"
    assert figure.bundles is None and figure.refused_by == "libtpu"
    cumsum = cost_of("jax.numpy.cumsum")
    assert cumsum is not None and {figure.refused_by for figure in cumsum.rows[0].figures.values()} == {"JAX"}


def test_a_name_that_was_not_measured() -> None:
    assert cost_of("jax.numpy.fft.fft") is None


def test_documented_tiers() -> None:
    told = {name: cost_of(name) for name in ("jax.numpy.exp", "jax.numpy.cos", "operator.mod", "jax.lax.rsqrt")}
    assert [cost.documented if cost else "absent" for cost in told.values()] == [
        Tier.MEDIUM,
        Tier.EXPENSIVE,
        Tier.MEDIUM,
        None,
    ]


def test_every_row_that_a_name_points_to_exists_and_names_are_said_once() -> None:
    names = [name for entries in NAMES_FILE["kinds"].values() for entry in entries for name in entry["names"]]
    assert len(names) == len(set(names))
    for entries in NAMES_FILE["kinds"].values():
        for entry in entries:
            for title in entry.get("rows", ()):
                assert rows_of(title), f"{title} is not in op_costs.json"


def test_every_figure_is_there_for_every_chip_and_physically_possible() -> None:
    data = costs_file.load()
    for section in ("elementwise", "structural"):
        for title, rows in data[section].items():
            for dtype, row in rows.items():
                assert tuple(row["chips"]) == NAMES, (title, dtype)
                for name, figure in row["chips"].items():
                    if "refused" in figure:
                        continue
                    # A chain that is too short to fill the pipeline shows fewer bundles than its slots need;
                    # cheap operations cannot help showing some of that, twice as many were a wrong measurement.
                    for unit, used in figure["units"].items():
                        needed = used / slots(name)[unit]
                        assert needed <= figure["bundles"] * 1.9 + 0.05, (title, dtype, name, unit)
    assert all(tuple(row.figures) == NAMES for row in matmul_rows())


def test_matmul_peaks() -> None:
    peaks = {
        name: max(
            figure.flops_per_bundle or 0
            for row in matmul_rows()
            if row.dtype == "bfloat16" and (figure := row.figures[name])
        )
        for name in NAMES
    }
    assert peaks == {"v4": 131072, "v5e": 131072, "v5p": 131072, "v6e": 524288, "v7x": 524288}


def test_the_costs_file_is_written_as_it_is_read() -> None:
    text = Path(costs_file.PATH).read_text(encoding="utf-8")
    assert costs_file.dump(json.loads(text)) == text


def test_chips() -> None:
    assert tuple(CHIPS) == NAMES
    assert chip("v7x").may_place_operands_in_vmem and not chip("v5e").may_place_operands_in_vmem
    assert {name: one.scoped_vmem_limit >> 20 for name, one in CHIPS.items()} == {
        "v4": 16,
        "v5e": 16,
        "v5p": 16,
        "v6e": 32,
        "v7x": 32,
    }
    data = json.loads(costs_file.PATH.with_name("chips.json").read_text(encoding="utf-8"))
    figures = set(data["chips"]["v4"])
    assert set(data["figures"]) == figures and set(data["figures"].values()) <= set(data["sources"])
    with pytest.raises(KeyError):
        chip("v3")
