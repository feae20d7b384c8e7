"""Numbers from config objects: dataclasses, named tuples, enums, dicts, properties, example comments with them."""

import dataclasses
import enum
import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


class Direction(enum.Enum):
    FORWARD = 0
    BACKWARD = 1


class Layout(enum.IntEnum):
    HEAD_MINOR = enum.auto()
    SEQUENCE_MINOR = enum.auto()


@dataclasses.dataclass(frozen=True)
class BlockSizes:
    block_q: int
    block_kv: int = 128
    layout: Layout = Layout.HEAD_MINOR

    def __post_init__(self):
        if self.block_q % 8:
            raise ValueError("block_q has to be a multiple of 8")

    @property
    def steps(self):
        return 1024 // self.block_kv

    def rows(self, count):
        return count // self.block_q

    @classmethod
    def default(cls):
        return cls(block_q=256, block_kv=512)


class Tiles(NamedTuple):
    m: int = 128
    n: int = 256


DEFAULTS = {"bm": 64, "bn": 128}
TILES = Tiles(n=512)


def body(x_ref, o_ref):
    o_ref[...] = x_ref[...]


# pallas-lens: example small: x=f32[1024,128], sizes=BlockSizes(block_q=64)
# pallas-lens: example large: x=bf16[4096,128], sizes=BlockSizes(512, block_kv=256)
# pallas-lens: example x=f32[2048,128], sizes=BlockSizes.default()
def of_an_object(x, sizes: BlockSizes):
    return pl.pallas_call(
        body,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        grid=(sizes.rows(x.shape[0]), sizes.steps),
        #: [small] grid (16, 8)
        #: [large] grid (8, 4)
        #: [of_an_object] grid (8, 2)
        in_specs=[pl.BlockSpec((sizes.block_q, 128), lambda i, j: (i, 0))],
        #: in 0 x ?? block (sizes.block_q, 128) at (grid0, 0)
        #: [small] in 0 inputs[0] float32(1024, 128) block (64, 128) at (grid0, 0)
        #: [large] in 0 inputs[0] bfloat16(4096, 128) block (512, 128) at (grid0, 0)
        out_specs=pl.BlockSpec((sizes.block_q, 128), lambda i, j: (i, 0)),
    )(x)


def of_the_class(x):
    sizes = BlockSizes.default()
    tiles = Tiles(sizes.block_q)
    m, n = TILES
    return pl.pallas_call(
        body,
        out_shape=x,
        grid=(tiles.n // 2, m, n, DEFAULTS["bm"]),
        #: grid (128, 128, 512, 64)
        in_specs=[pl.BlockSpec((sizes.block_q, sizes.block_kv), lambda *i: i)],
        #: in 0 x ?? block (256, 512) at (grid0, grid1, grid2, grid3)
    )(x)


def of_an_enum(x, direction=Direction.BACKWARD):
    if direction is Direction.BACKWARD:
        blocks = 4
    elif direction == Direction.FORWARD:
        blocks = 8
    else:
        raise ValueError(direction)
    if Layout.HEAD_MINOR == Layout.SEQUENCE_MINOR:
        blocks = 1000
    return pl.pallas_call(
        body,
        out_shape=x,
        grid=(blocks,),
        #: grid (4,)
        #: [generic/1] grid (8,)
    )(x)


class Attention:
    block: int = 128

    def __init__(self, heads, block=None):
        self.heads = heads
        if block is not None:
            self.block = block

    def __call__(self, x):
        return pl.pallas_call(
            body,
            out_shape=x,
            grid=(self.heads, x.shape[1] // 8),
            #: grid (self.heads, x.shape[1] // 8)
            #: [run] grid (4, 16)
            in_specs=[pl.BlockSpec((None, 8, 128), lambda h, i: (h, i, 0))],
        )(x)


def run():
    return Attention(4)(jnp.ones((4, 128, 128)))


def changed_copies(x):
    sizes = dataclasses.replace(BlockSizes.default(), block_kv=256)
    tiles = TILES._replace(m=8)
    kwargs = dict(block_q=8, **{"block_kv": 16})
    other = BlockSizes(**kwargs)
    return pl.pallas_call(
        body,
        out_shape=x,
        grid=(sizes.block_q, sizes.block_kv, tiles.m, tiles.n, other.block_q, other.block_kv),
        #: grid (256, 256, 8, 512, 8, 16)
    )(x)
