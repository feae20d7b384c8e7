"""What a program says about its numbers: asserts, raises, early returns, conditions that agree."""

import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(*refs):
    pass


def early_return(x, mask=None):
    if x.ndim == 1:
        return early_return(x[None])[0]
    if x.shape[0] == 0:
        return x
    if mask is None:
        mask = jnp.ones((8, 128))
    rows, columns = x.shape
    return pl.pallas_call(
        body,
        out_shape=x,
        grid=(rows,),
        #: grid (x.shape[0],)
        in_specs=[pl.BlockSpec((1, columns), lambda i: (i, 0)), None],
        #: counts in 2, out 1, given 2
    )(x, mask)


def conditions_agree(x, scale, transpose):
    specs = [pl.BlockSpec((8, 128), lambda i: (i, 0))]
    operands = [x]
    if scale is not None:
        specs.append(pl.BlockSpec((8, 1), lambda i: (i, 0)))
    if transpose:
        out = jax.ShapeDtypeStruct((128, 64), x.dtype)
    else:
        out = jax.ShapeDtypeStruct((64, 128), x.dtype)
    if scale is not None:
        operands.append(scale)
    return pl.pallas_call(
        body,
        out_shape=out,
        grid=(8,),
        in_specs=specs,
        #: worlds 4
        #: counts in 2, out 1, given 2
        #: [generic/1] counts in 2, out 1, given 2
        #: [generic/2] counts in 1, out 1, given 1
        #: out 0 outputs[0] ?(128, 64)
        #: [generic/1] out 0 outputs[0] ?(64, 128)
    )(*operands)


def nested_conditions(x, a, b):
    if a:
        if b:
            block = 8
        else:
            block = 16
    else:
        block = 24
    return pl.pallas_call(
        body,
        out_shape=x,
        grid=(block,),
        #: grid (8,)
        #: [generic/1] grid (16,)
        #: [generic/2] grid (24,)
        #: worlds 3
    )(x)


def try_and_except(x):
    try:
        block = x.block
    except AttributeError:
        block = 128
    return pl.pallas_call(body, out_shape=x, grid=(4,))(x)  #: grid (4,)


def matched(x, mode):
    match mode:
        case "fast":
            grid = (4,)
        case "slow" | "slower":
            grid = (8,)
        case _:
            raise ValueError(mode)
    return pl.pallas_call(body, out_shape=x, grid=grid)(x)  #: worlds 2


def walrus_and_loop(x, count):
    total = 0
    for i in range(4):
        total += i
    if (half := total // 2) > 2:
        total = half
    while count > 0:
        count -= 1
    return pl.pallas_call(body, out_shape=x, grid=(total, count))(x)  #: grid (3, count#2)


def always_raises(x):
    if x.ndim != 2:
        raise ValueError("rank")
    else:
        block = 8
    return pl.pallas_call(body, out_shape=x, grid=(block,))(x)  #: grid (8,)


def boolean_values(x, a=None, b=None):
    has_either = a is not None or b is not None
    n = 3 if has_either else 2
    return pl.pallas_call(body, out_shape=x, grid=(n, 1 + int(True)))(x)  #: grid (3, 2)


def one_of_two_modes(x, y, mode):
    specs = [pl.BlockSpec((8, 128), lambda i: (i, 0))]
    operands = [x]
    if mode == "add":
        specs.append(pl.BlockSpec((8, 128), lambda i: (i, 0)))
    if mode == "multiply":
        specs.append(pl.BlockSpec((16, 128), lambda i: (i, 0)))
    if mode == "add" or mode == "multiply":
        operands.append(y)
    return pl.pallas_call(
        body,
        out_shape=x,
        grid=(8,),
        in_specs=specs,
        #: worlds 3
        #: counts in 2, out 1, given 2
        #: in 1 y ?? block (8, 128) at (grid0, 0)
        #: [generic/1] in 1 y ?? block (16, 128) at (grid0, 0)
        #: [generic/2] counts in 1, out 1, given 1
    )(*operands)


class A:
    pass


class B:
    pass


def kinds_of_objects(x, config):
    n = 1
    if isinstance(config, A):
        n = n * 2
    if isinstance(config, B):
        n = n * 3
    return pl.pallas_call(
        body,
        out_shape=x,
        grid=(n,),
        #: grid (6,)
        #: [generic/1] grid (3,)
        #: [generic/2] grid (2,)
        #: [generic/3] grid (1,)
        #: worlds 4
    )(x)
