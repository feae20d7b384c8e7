"""Arrays for an example: the types as JAX prints them (`f32[8,128]`) and the values they are filled with."""

from __future__ import annotations

import zlib
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


class ExampleError(Exception):
    """An example that cannot be evaluated; the text says what to write instead."""


_NARROW_INTEGER_BITS = 16


def dtype_names() -> dict[str, str]:
    """Every dtype of this JAX by each name it goes by: `f32`, `float32`, `bf16`, `f8e4m3fn`, `f8_e4m3fn`, …"""
    names = ["bool", "bfloat16"]
    names += [f"{kind}{bits}" for kind in ("int", "uint") for bits in (2, 4, 8, 16, 32, 64)]
    names += ["float16", "float32", "float64", "complex64", "complex128"]
    names += [name for name in dir(jnp) if name.startswith(("float8_", "float4_"))]
    table = {}
    for name in names:
        if not hasattr(jnp, name):
            continue
        short = name.replace("bfloat", "bf").replace("float", "f").replace("complex", "c")
        short = short.replace("uint", "u").replace("int", "i")
        table.update({name: name, short: name, short.replace("_", ""): name})
    return table


def make_array(name: str, dtype_name: str, dims: tuple[Any, ...], seed: int) -> jax.Array:
    """An array of the given dtype and dims, the same one for the same name and seed.

    Floats are drawn from a normal distribution, booleans evenly, integers of up to 16 bits from 0 to 7. Wider integers
    are zeros: in a Pallas call they are most often indices, and zero is an index into anything. Where other values are
    wanted, the example can call a function of the file, or `inputs=` can name one. Raises ExampleError.
    """
    for dim in dims:
        if not isinstance(dim, (int, np.integer)) or isinstance(dim, bool) or dim < 0:
            raise ExampleError(f"{dtype_name}[…] of argument {name!r} needs dims that are integers, not {dim!r}.")
    shape = tuple(int(dim) for dim in dims)
    dtype = jnp.dtype(getattr(jnp, dtype_name))
    if dtype.itemsize >= 8 and dtype_name != "complex64" and not jax.config.jax_enable_x64:
        raise ExampleError(
            f"argument {name!r} is {dtype_name}, which JAX has only where jax_enable_x64 is set: "
            "use a 32-bit type, or set it in the file."
        )
    random = np.random.default_rng([seed, zlib.crc32(name.encode())])
    if dtype == jnp.bool_:
        return jnp.asarray(random.integers(0, 2, shape, dtype=np.int8).astype(bool))
    if jnp.issubdtype(dtype, jnp.integer):
        if is_filled_with_zeros(dtype_name):
            return jnp.zeros(shape, dtype)
        highest = min(8, int(jnp.iinfo(dtype).max) + 1)
        return jnp.asarray(random.integers(0, highest, shape, dtype=np.int8).astype(dtype))
    if jnp.issubdtype(dtype, jnp.complexfloating):
        parts = random.standard_normal((2, *shape), dtype=np.float32)
        return jnp.asarray((parts[0] + 1j * parts[1]).astype(dtype))
    return jnp.asarray(random.standard_normal(shape, dtype=np.float32).astype(dtype))


def is_filled_with_zeros(dtype_name: str) -> bool:
    """Whether arrays of the dtype are made of zeros: integers of more than 16 bits."""
    dtype = jnp.dtype(getattr(jnp, dtype_name))
    return bool(jnp.issubdtype(dtype, jnp.integer)) and int(jnp.iinfo(dtype).bits) > _NARROW_INTEGER_BITS
