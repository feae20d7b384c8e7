"""A kernel whose block comes from packages of the environment, and those packages."""

from __future__ import annotations

KERNEL = """\
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
{imports}


def double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2


def call(x):
    block = pl.BlockSpec((ROWS, 1024), lambda i: (i, 0))
    return pl.pallas_call(
        double,
        grid=(8,),
        in_specs=[block],
        out_specs=block,
        out_shape=jax.ShapeDtypeStruct((4096, 1024), jnp.float32),
    )(x)
"""

PACKAGES = {
    "blocks/__init__.py": "from .inner import *\nfrom .sizes import ROWS as ROWS\n",
    "blocks/sizes.py": "ROWS = 100\n",
    "blocks/inner/__init__.py": "from blocks.inner.more import rows\n",
    "more.pth": "{here}/kept apart\n",
    "kept apart/known.py": "ROWS = 100\n",
    "blocks/inner/more.py": "def rows(n):\n    return n * 25\n",
}

IMPORTS = {
    "a name that is exported again": "from blocks import ROWS",
    "a module": "from blocks.sizes import ROWS",
    "a module as another name": "import blocks.sizes as sizes\nROWS = sizes.ROWS",
    "a package of packages": "import blocks.sizes\nROWS = blocks.sizes.ROWS",
    "a function behind stars": "from blocks import rows\nROWS = rows(4)",
    "a folder that a .pth file names": "from known import ROWS",
}


def kernel(imports: str) -> str:
    """The kernel file; its blocks are refused, since ROWS is 100."""
    return KERNEL.format(imports=imports)
