"""Kernels: partials in place and by name, closures, lambdas, methods, stars, factories, decorators."""

import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(x_ref, o_ref, acc_ref, *, steps, scale=1.0):
    o_ref[...] = x_ref[...]


def configured(steps, x_ref, o_ref):
    o_ref[...] = x_ref[...]


def partial_in_place(x):
    return pl.pallas_call(
        functools.partial(kernel, steps=4),
        #: kernel kernel takes 3
        out_shape=x,
        scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32)],
    )(x)


def partial_by_name(x, steps):
    bound = functools.partial(kernel, steps=steps)
    bound = functools.partial(bound, scale=2.0)
    return pl.pallas_call(bound, out_shape=x)(x)  #: kernel kernel takes 3


def bound_positionals(x):
    return pl.pallas_call(functools.partial(configured, 8), out_shape=x)(x)  #: kernel configured takes 2


def bound_by_keyword_at_the_front(x):
    return pl.pallas_call(functools.partial(configured, steps=8), out_shape=x)(x)  #: kernel configured takes 0


def kernel_rebound(x):
    kernel = functools.partial(configured, 8)
    kernel = functools.partial(kernel)
    return pl.pallas_call(kernel, out_shape=x)(x)  #: kernel configured takes 2


def closure(x, y, causal):
    width = x.shape[1]

    def inner(x_ref, y_ref, o_ref):
        o_ref[...] = x_ref[...] * width

    return pl.pallas_call(inner, out_shape=x)(x, y)  #: kernel inner takes 3


def one_of_two(x, fast):
    def slow_kernel(x_ref, o_ref):
        pass

    def fast_kernel(x_ref, o_ref):
        pass

    chosen = fast_kernel if fast else slow_kernel
    return pl.pallas_call(
        chosen,
        #: kernel fast_kernel takes 2
        #: [generic/1] kernel slow_kernel takes 2
        #: worlds 2
        out_shape=x,
    )(x)


def starred(x):
    def body(*refs, count):
        pass

    return pl.pallas_call(functools.partial(body, count=2), out_shape=x)(x)  #: kernel body takes 0 or more


def starred_at_the_end(x):
    def body(x_ref, *refs):
        pass

    return pl.pallas_call(body, out_shape=x)(x)  #: kernel body takes 1 or more


def with_defaults(x):
    def body(x_ref, o_ref, acc_ref=None):
        pass

    return pl.pallas_call(body, out_shape=x)(x)  #: kernel body takes 2 to 3


def as_lambda(x):
    return pl.pallas_call(lambda x_ref, o_ref: None, out_shape=x)(x)  #: kernel <lambda> takes 2


def make_kernel(activation):
    def made(x_ref, o_ref):
        o_ref[...] = activation(x_ref[...])

    return made


def of_a_factory(x):
    return pl.pallas_call(make_kernel(jnp.tanh), out_shape=x)(x)  #: kernel made takes 2


class Op:
    def body(self, x_ref, o_ref):
        o_ref[...] = x_ref[...]

    def __call__(self, x):
        return pl.pallas_call(self.body, out_shape=x)(x)  #: kernel body takes 2

    @staticmethod
    def plain(x_ref, o_ref):
        o_ref[...] = x_ref[...]

    def run(self, x):
        return pl.pallas_call(Op.plain, out_shape=x)(x)  #: kernel plain takes 2


def decorated(x, y):
    @functools.partial(
        pl.pallas_call,
        grid=(4,),
        #: grid (4,)
        in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))] * 2,
        out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        #: kernel add takes 3
        #: counts in 2, out 1, given 2
        #: in 1 y ?? block (8, 128) at (grid0, 0)
    )
    def add(x_ref, y_ref, o_ref):
        o_ref[...] = x_ref[...] + y_ref[...]

    return add(x, y)


def a_decorator_that_is_not_known(x):
    from somewhere import traced

    @traced
    def body(x_ref, o_ref):
        pass

    return pl.pallas_call(body, out_shape=x)(x)  #: kernel body takes ?


def a_jitted_kernel(x):
    @jax.named_call
    def body(x_ref, o_ref):
        pass

    return pl.pallas_call(body, out_shape=x)(x)  #: kernel body takes 2


def from_the_caller(body, x):
    return pl.pallas_call(body, out_shape=x)(x)  #: kernel ? `body` comes from the caller


def from_elsewhere(x):
    from somewhere import body

    return pl.pallas_call(body, out_shape=x)(x)  #: kernel ? `body` could not be followed


def two_of_a_name(x):
    def body(x_ref, o_ref):
        pass

    first = pl.pallas_call(body, out_shape=x)(x)  #: kernel body takes 2

    def body(x_ref, y_ref, o_ref):
        pass

    return pl.pallas_call(body, out_shape=x)(x, first)  #: kernel body takes 3
