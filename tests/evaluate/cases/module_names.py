"""Names of the module: constants, one after the other, environment, star and sibling imports, rebinding."""

import os
from math import prod

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from . import sibling
from .missing import LIMIT
from .sibling import BLOCK, copy_kernel, row_spec
from .sibling import Tile as T

LANES = 128
SUBLANES: int = 8
TILE = (SUBLANES, LANES)
ELEMENTS = prod(TILE)
WIDE = LANES * 4 if LANES > 64 else LANES
FROM_OUTSIDE = int(os.environ.get("BLOCK", "8"))
first = second = 3
(a, b), *rest = (1, 2), 3, 4


def constants(x):
    return pl.pallas_call(
        copy_kernel,
        #: kernel copy_kernel takes 2
        out_shape=x,
        grid=(ELEMENTS, WIDE, first + second, a + b, rest[1]),
        #: grid (1024, 512, 6, 3, 4)
        in_specs=[pl.BlockSpec(TILE, lambda *g: (0, 0))],
        #: in 0 x ?? block (8, 128) at (0, 0)
    )(x)


def imported(x):
    return pl.pallas_call(
        sibling.copy_kernel,
        #: kernel copy_kernel takes 2
        out_shape=x,
        grid=(sibling.BLOCK, BLOCK // 2, T.rows * 2),
        #: grid (64, 32, 32)
        in_specs=[row_spec(BLOCK)],
        #: in 0 x ?? block (64, 128) at ? taking 1
    )(x)


def not_found(x):
    return pl.pallas_call(
        copy_kernel,
        out_shape=x,
        grid=(LIMIT, FROM_OUTSIDE),
        in_specs=[pl.BlockSpec((LIMIT, 128), lambda i, j: (i, j))],
        #: in 0 x ?? block (LIMIT, 128) at (grid0, grid1)
    )(x)


block = 16


def reads_a_name_that_is_bound_again(x):
    return pl.pallas_call(copy_kernel, out_shape=x, grid=(block,))(x)  #: grid (16,)


block = 32


def reads_the_later_one(x):
    return pl.pallas_call(copy_kernel, out_shape=x, grid=(block,))(x)  #: grid (32,)


at_module_level = pl.pallas_call(copy_kernel, out_shape=jnp.zeros(TILE), grid=(block,))  #: grid (32,)
RESULT = at_module_level(jnp.ones((256, 128), jnp.bfloat16))
