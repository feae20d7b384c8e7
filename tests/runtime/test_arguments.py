"""The text of an example becomes the arguments of the user's function."""

from __future__ import annotations

from pathlib import Path

import pytest
from pallas_lens.runtime.client import RuntimeClient
from pallas_lens.runtime.protocol import Job, OutputFacts, TargetResult

_FILE = """
import dataclasses
import jax
import jax.numpy as jnp

ROWS = 16
f32 = jnp.float32

@dataclasses.dataclass
class Config:
    heads: int = 1
    widths: tuple = (1, 2)

    class Nested:
        @staticmethod
        def double(x):
            return 2 * x

def offsets(n):
    return jnp.arange(n, dtype=jnp.int32)

def identity(*args, **kwargs):
    return [*args, *kwargs.values()]

def width(x, cfg=None, block=8, name="a"):
    assert block == 256 and name == "wide"
    return jnp.zeros((cfg.heads * block, *cfg.widths), x.dtype)

def difference(pair):
    return pair[0] - pair[1]

def per_item(x, n):
    return 0 * x / n

def as_tuple():
    return jnp.ones((2,)), 3.0

def as_dict():
    return {"b": jnp.ones((3,))}

def as_array():
    return jnp.ones((4,))

def fails():
    raise RuntimeError("no inputs today")

class Holder:
    def __call__(self, x):
        return x

NOT_A_FUNCTION = 3
"""


def run(client: RuntimeClient, arguments: str, function: str = "identity", **more: object) -> TargetResult:
    job = Job(
        id="1",
        mode="interpret",
        path="/nowhere/arguments_file.py",
        function=function,
        source=_FILE,
        arguments=arguments,
        working_directory=str(Path(__file__).parent),
        **more,  # type: ignore[arg-type]
    )
    (result,) = client.run(job).results
    return result


def outputs(result: TargetResult) -> tuple[OutputFacts, ...]:
    assert result.outputs is not None, result
    return result.outputs


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("x=f32[8,128]", [((8, 128), "float32")]),
        ("f32[8,128], bf16[4]", [((8, 128), "float32"), ((4,), "bfloat16")]),
        ("f32[]", [((), "float32")]),
        ("x = f32[] , y=i32[ ]", [((), "float32"), ((), "int32")]),
        ("x=float32[2], y=bfloat16[2], z=bool[2]", [((2,), "float32"), ((2,), "bfloat16"), ((2,), "bool")]),
        ("i8[2], u8[2], i16[2], u32[2]", [((2,), "int8"), ((2,), "uint8"), ((2,), "int16"), ((2,), "uint32")]),
        ("i4[8], u4[8]", [((8,), "int4"), ((8,), "uint4")]),
        ("f8e4m3fn[8], f8_e5m2[8]", [((8,), "float8_e4m3fn"), ((8,), "float8_e5m2")]),
        ("f16[8], c64[8]", [((8,), "float16"), ((8,), "complex64")]),
        ("f32[ROWS, 2 * ROWS]", [((16, 32), "float32")]),
        ("[f32[8], {'a': bf16[2], 'b': (i32[3],)}]", [((8,), "float32"), ((2,), "bfloat16"), ((3,), "int32")]),
        ("offsets(5), offsets(n=ROWS)", [((5,), "int32"), ((16,), "int32")]),
        ("jnp.zeros((2, 3)), jax.numpy.ones(4, f32)", [((2, 3), "float32"), ((4,), "float32")]),
        ("f32[0]", [((0,), "float32")]),
        ("x=f32[2],", [((2,), "float32")]),
        ("\n  x=f32[2],\n  y=f32[]\n", [((2,), "float32"), ((), "float32")]),
        ("", []),
    ],
)
def test_arrays(client: RuntimeClient, arguments: str, expected: list[tuple[tuple[int, ...], str]]) -> None:
    assert [(output.shape, output.dtype) for output in outputs(run(client, arguments))] == expected


def test_other_values(client: RuntimeClient) -> None:
    result = run(client, "x=bf16[1], block=256, cfg=Config(heads=2, widths=(3, 4)), name='wide'", "width")
    assert [(output.shape, output.dtype) for output in outputs(result)] == [((512, 3, 4), "bfloat16")]


def test_values(client: RuntimeClient) -> None:
    """Floats are normal, narrow integers small, wide ones zero; the same each time, another with another seed."""
    example = "x=f32[1000], n=i8[1000], k=i32[1000], b=bool[1000]"
    x, n, k, b = outputs(run(client, example))
    assert x.mean is not None and x.minimum is not None and x.maximum is not None
    assert abs(x.mean) < 0.2 and x.minimum < -2 and x.maximum > 2
    assert (n.minimum, n.maximum) == (0, 7)
    assert (k.minimum, k.maximum) == (0, 0)
    assert (b.minimum, b.maximum) == (0, 1)
    assert outputs(run(client, example)) == (x, n, k, b)
    assert outputs(run(client, example, seed=1))[0] != x
    (difference,) = outputs(run(client, "(f32[8], f32[8])", "difference"))
    assert difference.maximum != 0


def test_zeros_are_named_where_they_may_be_the_reason(client: RuntimeClient) -> None:
    (finding,) = run(client, "x=f32[8], n=i32[]", "per_item").findings
    assert finding.kind == "nan" and "fills n with zeros" in finding.message
    (finding,) = run(client, "x=f32[8], n=0", "per_item").findings
    assert finding.kind == "nan" and "with zeros" not in finding.message


@pytest.mark.parametrize(
    ("inputs", "arguments", "shapes"),
    [
        ("as_tuple", "", [(2,), ()]),
        ("as_dict", "a=f32[5], b=f32[6]", [(5,), (3,)]),
        ("as_array", "", [(4,)]),
    ],
)
def test_inputs(client: RuntimeClient, inputs: str, arguments: str, shapes: list[tuple[int, ...]]) -> None:
    assert [output.shape for output in outputs(run(client, arguments, inputs=inputs))] == shapes


def test_function_in_a_class(client: RuntimeClient) -> None:
    assert run(client, "f32[8]", "Config.Nested.double").verdict == "accepted"


@pytest.mark.parametrize(
    ("function", "arguments", "more", "message"),
    [
        ("identity", "x=f32[8", {}, "is not a list of arguments"),
        ("identity", "x=f32[8]) + (1", {}, "is not a list of arguments"),
        ("identity", "x f32[8]", {}, "is not a list of arguments"),
        ("identity", "x='", {}, "is not a list of arguments"),
        ("identity", "x=f31[8]", {}, "name 'f31' is not defined"),
        ("identity", "x=f32[8.5]", {}, "needs dims that are integers, not 8.5"),
        ("identity", "x=f32[-1]", {}, "needs dims that are integers, not -1"),
        ("identity", "x=f32[:8]", {}, "needs dims that are integers"),
        ("identity", "*[1, 2]", {}, "`*` has no meaning"),
        ("identity", "**{}", {}, "`**` has no meaning"),
        ("identity", "x=f64[8]", {}, "jax_enable_x64"),
        ("identity", "x=i64[8]", {}, "jax_enable_x64"),
        ("identity", "x=1 / 0", {}, "ZeroDivisionError"),
        ("width", "y=f32[8]", {}, "does not fit width(x, cfg=None"),
        ("nothing", "", {}, "has no function 'nothing'"),
        ("NOT_A_FUNCTION", "", {}, "is not a function but int"),
        ("identity", "", {"inputs": "nothing"}, "has no function 'nothing'"),
        ("identity", "", {"inputs": "fails"}, "RuntimeError: no inputs today"),
        ("identity", "", {"reference": "nothing"}, "has no function 'nothing'"),
        ("identity", "", {"targets": ("v9",)}, "there is no chip 'v9'"),
    ],
)
def test_what_is_wrong(
    client: RuntimeClient, function: str, arguments: str, more: dict[str, object], message: str
) -> None:
    result = run(client, arguments, function, **more)
    assert result.verdict == "failed"
    (finding,) = result.findings
    assert message in finding.message and "Traceback" not in finding.message
