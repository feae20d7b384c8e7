"""How the kernel is called: at once, by name, through jit, later, by another function, under a condition."""

import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(x_ref, y_ref, o_ref):
    o_ref[...] = x_ref[...] + y_ref[...]


def by_name(x, y):
    call = pl.pallas_call(body, out_shape=x)  #: counts in 2, out 1, given 2
    return call(x, y)


def through_jit(x, y):
    return jax.jit(pl.pallas_call(body, out_shape=x))(x, y)  #: counts in 2, out 1, given 2


def named_and_jitted(x, y):
    call = pl.pallas_call(body, out_shape=x, name="add")  #: counts in 2, out 1, given 2
    call = jax.jit(call)
    with jax.named_scope("add"):
        return call(x, y)


def starred(x, y):
    operands = [x]
    operands += [y]
    return pl.pallas_call(body, out_shape=x)(*operands)  #: counts in 2, out 1, given 2


def star_of_unknown_length(*operands):
    return pl.pallas_call(body, out_shape=operands[0])(*operands)  #: counts ?


def made_for_others(shape):
    return pl.pallas_call(
        body,
        out_shape=jax.ShapeDtypeStruct(shape, jnp.float32),
        grid=(4,),
        in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))] * 2,
        #: counts in 2, out 1
        #: in 1 inputs[1] ? block (8, 128) at (grid0, 0)
        #: [uses_it] counts in 2, out 1, given 2
        #: [uses_it] out 0 outputs[0] float32(64, 128)
        #: [uses_it] in 0 inputs[0] float32(64, 128) block (8, 128) at (grid0, 0)
    )


def uses_it():
    x = jnp.zeros((64, 128))
    return made_for_others((64, 128))(x, x)


class Module:
    def build(self, x):
        self.call = pl.pallas_call(body, out_shape=x)  #: counts in 2, out 1, given 2
        return self.call(x, x)


def under_a_condition(x, y=None):
    if y is None:
        return pl.pallas_call(body, out_shape=x)(x, x)  #: counts in 2, out 1, given 2
    return pl.pallas_call(
        body,
        out_shape=[x, y],
        #: counts in 2, out 2, given 2
    )(x, y)


def mapped(x, y):
    call = pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct((8, 128), x.dtype))  #: counts in 2, out 1, given 2
    return jax.vmap(call)(x, y)


def results_go_on(x, y):
    first, second = pl.pallas_call(
        lambda x_ref, a_ref, b_ref: None,
        out_shape=(jax.ShapeDtypeStruct((64, 128), jnp.bfloat16), jax.ShapeDtypeStruct((8,), jnp.int32)),
        #: counts in 1, out 2, given 1
    )(x)
    total = pl.pallas_call(
        body,
        out_shape=jax.ShapeDtypeStruct(first.shape, first.dtype),
        #: in 0 inputs[0] bfloat16(64, 128)
        #: in 1 inputs[1] int32(8,)
        #: out 0 outputs[0] bfloat16(64, 128)
    )(first, second)
    return total
