"""Examples of rules: whole files, with the imports that each needs put in front."""

from __future__ import annotations

import re
from textwrap import dedent

_IMPORTS = (
    ("functools", "import functools"),
    ("jax", "import jax"),
    ("jnp", "import jax.numpy as jnp"),
    ("pl", "from jax.experimental import pallas as pl"),
    ("pltpu", "from jax.experimental.pallas import tpu as pltpu"),
)


def kernel_file(body: str) -> str:
    """``body`` without its indentation, below the imports of the modules that it names."""
    body = dedent(body).strip("\n")
    standard = [line for name, line in _IMPORTS[:1] if _names(body, name)]
    others = [line for name, line in _IMPORTS[1:] if _names(body, name)]
    return "\n\n".join("\n".join(block) for block in (standard, others) if block) + f"\n\n\n{body}\n"


def _names(body: str, module: str) -> bool:
    return re.search(rf"(?<![\w.]){module}\.", body) is not None
