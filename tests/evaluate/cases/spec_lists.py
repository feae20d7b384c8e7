"""Lists of specs: bound to a name, appended to, added, repeated, made by loops, helpers and comprehensions."""

import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def any_kernel(*refs):
    pass


def spec(block, axis=0):
    return pl.BlockSpec((block, 128), lambda i: (i, axis))


def bound_to_names(x, y):
    row = pl.BlockSpec((8, 128), lambda i: (i, 0))
    in_specs = [row, row]
    out_spec = row
    return pl.pallas_call(
        any_kernel,
        out_shape=x,
        grid=(4,),
        in_specs=in_specs,
        out_specs=out_spec,
        #: counts in 2, out 1, given 2
    )(x, y)


def appended(x, y, mask):
    in_specs = [spec(8), spec(16)]
    operands = [x, y]
    if mask is not None:
        in_specs.append(spec(32))
        operands.append(mask)
    return pl.pallas_call(
        any_kernel,
        out_shape=x,
        grid=(4,),
        in_specs=in_specs,
        #: worlds 2
        #: counts in 3, out 1, given 3
        #: [generic/1] counts in 2, out 1, given 2
        #: in 2 mask ?? block (32, 128) at (grid0, 0)
        out_specs=spec(8),
    )(*operands)


def added(x, y, z, with_tail=False):
    in_specs = [spec(8)] + [spec(16)] * 2
    if with_tail:
        in_specs += [spec(24, 1)]
    out_specs = [spec(8)] + [spec(16)]
    return pl.pallas_call(
        any_kernel,
        out_shape=[x] * 2,
        grid=(4,),
        in_specs=in_specs,
        #: worlds 2
        #: in 1 y ?? block (16, 128) at (grid0, 0)
        #: in 3 inputs[3] ? block (24, 128) at (grid0, 1)
        #: counts in 4, out 2, given 3
        #: [generic/1] counts in 3, out 2, given 3
        out_specs=out_specs,
    )(x, y, z)


def repeated(x, operands):
    n = len(operands)
    return pl.pallas_call(
        any_kernel,
        out_shape=x,
        grid=(4,),
        in_specs=[spec(8)] * n,
        #: unknown in_specs the count `len(operands)` is not known
        #: counts ?
        out_specs=spec(8),
    )(*operands)


def comprehended(x, y, z):
    operands = (x, y, z)
    return pl.pallas_call(
        any_kernel,
        out_shape=x,
        grid=(4,),
        in_specs=[spec(8 * (i + 1)) for i in range(len(operands))],
        #: in 2 z ?? block (24, 128) at (grid0, 0)
        out_specs=tuple(spec(8) for _ in range(1)),
        #: counts in 3, out 1, given 3
    )(*operands)


def filtered(q, bias, segments):
    specs = [spec(8), None if bias is None else spec(16), spec(24)]
    in_specs = [one for one in specs if one is not None]
    operands = [one for one in (q, bias, segments) if one is not None]
    return pl.pallas_call(
        any_kernel,
        out_shape=q,
        grid=(4,),
        in_specs=in_specs,
        #: in 1 bias ?? block (16, 128) at (grid0, 0)
        #: [generic/0] counts in 3, out 1, given 3
        out_specs=spec(8),
    )(*operands)


def starred(x, y, z):
    tail = (spec(16), spec(24))
    return pl.pallas_call(
        any_kernel,
        out_shape=x,
        grid=(4,),
        in_specs=[spec(8), *tail],
        #: in 2 z ?? block (24, 128) at (grid0, 0)
        #: counts in 3, out 1, given 3
        out_specs=spec(8),
    )(x, *(y, z))


def conditional_elements(x, bias):
    return pl.pallas_call(
        any_kernel,
        out_shape=x,
        grid=(4,),
        in_specs=[spec(8), spec(16) if bias is not None else None],
        #: worlds 2
        #: in 1 bias ?? block (16, 128) at (grid0, 0)
        #: [generic/1] in 1 bias ??
        #: counts in 2, out 1, given 2
        out_specs=spec(8),
    )(x, bias)


def in_a_loop(x, y):
    in_specs = []
    for width in (8, 16):
        in_specs.append(pl.BlockSpec((width, 128), lambda i, width=width: (i, width)))
    return pl.pallas_call(
        any_kernel,
        out_shape=x,
        grid=(4,),
        in_specs=in_specs,
        #: in 0 x ?? block (8, 128) at (grid0, 8)
        #: in 1 y ?? block (16, 128) at (grid0, 16)
        out_specs=spec(8),
    )(x, y)


def in_a_loop_of_unknown_length(x, arrays):
    in_specs = []
    for array in arrays:
        in_specs.append(spec(array.shape[0]))
    return pl.pallas_call(
        any_kernel,
        out_shape=x,
        grid=(4,),
        in_specs=in_specs,
        #: unknown in_specs `the list` changes in a loop whose number of turns is not known
        out_specs=spec(8),
    )(*arrays)


def make_specs(block, *, causal):
    in_specs = [spec(block), spec(block)]
    if causal:
        in_specs.insert(0, pl.BlockSpec(memory_space=pltpu.SMEM))
    return in_specs, spec(block)


def unpacked_from_a_helper(x, y, lengths):
    in_specs, out_specs = make_specs(64, causal=True)
    return pl.pallas_call(
        any_kernel,
        out_shape=x,
        grid=(4,),
        in_specs=in_specs,
        #: in 0 lengths ?? whole in smem
        #: in 1 x ?? block (64, 128) at (grid0, 0)
        #: counts in 3, out 1, given 3
        out_specs=out_specs,
    )(lengths, x, y)


def from_the_caller(x, in_specs):
    return pl.pallas_call(
        any_kernel,
        out_shape=x,
        grid=(4,),
        in_specs=in_specs,
        #: unknown in_specs `in_specs` comes from the caller
        #: in 0 x ?? block ? in ?
    )(x)


def mapped_over_a_tree(x, y):
    in_specs = jax.tree.map(lambda _: spec(8), [x, y])
    return pl.pallas_call(
        any_kernel,
        out_shape=x,
        grid=(4,),
        in_specs=in_specs,
        #: in 1 y ?? block (8, 128) at (grid0, 0)
        #: counts in 2, out 1, given 2
    )(x, y)
