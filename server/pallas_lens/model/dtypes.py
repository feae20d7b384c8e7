"""Element types by the name that JAX's ``dtype.name`` gives, and their width."""

from __future__ import annotations

import re
from typing import Final

BITS: Final[dict[str, int]] = {
    "bool": 8,
    "int2": 2,
    "int4": 4,
    "int8": 8,
    "int16": 16,
    "int32": 32,
    "int64": 64,
    "uint2": 2,
    "uint4": 4,
    "uint8": 8,
    "uint16": 16,
    "uint32": 32,
    "uint64": 64,
    "bfloat16": 16,
    "float16": 16,
    "float32": 32,
    "float64": 64,
    "float4_e2m1fn": 4,
    "float8_e3m4": 8,
    "float8_e4m3": 8,
    "float8_e4m3fn": 8,
    "float8_e4m3fnuz": 8,
    "float8_e4m3b11fnuz": 8,
    "float8_e5m2": 8,
    "float8_e5m2fnuz": 8,
    "float8_e8m0fnu": 8,
    "complex64": 64,
    "complex128": 128,
}

_WORDS = {"f": "float", "bf": "bfloat", "i": "int", "u": "uint", "s": "int"}


def from_short_name(text: str) -> str | None:
    """The dtype that JAX prints as ``text`` in an aval (``f32``, ``bf16``, ``f8e4m3fn``) or its full name."""
    if text in BITS:
        return text
    if text == "bool_" or text == "pred":
        return "bool"
    eight = re.fullmatch(r"f([48])_?(e\d+m\d+\w*)", text)
    if eight:
        name = f"float{eight[1]}_{eight[2]}"
        return name if name in BITS else None
    plain = re.fullmatch(r"(bf|f|i|u|s)(\d+)", text)
    if plain:
        name = _WORDS[plain[1]] + plain[2]
        return name if name in BITS else None
    return None


def short_name(dtype: str) -> str:
    """``dtype`` as JAX prints it in an aval."""
    match = re.fullmatch(r"(bfloat|float|int|uint)(\d+)(?:_(\w+))?", dtype)
    if not match:
        return dtype
    letters = {"bfloat": "bf", "float": "f", "int": "i", "uint": "u"}[match[1]]
    return f"{letters}{match[2]}{match[3] or ''}"


def is_floating(dtype: str) -> bool:
    """Whether ``dtype`` is a floating-point type."""
    return dtype.startswith(("float", "bfloat"))
