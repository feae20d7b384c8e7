"""Programs that grow, recurse, or would do harm if anything of them ran. ``TRAP`` stands for a file to create."""

from __future__ import annotations

HEAD = """\
import dataclasses, enum, functools, math, os
from typing import NamedTuple
import jax, jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...]

"""
CALL = """\
    return pl.pallas_call(
        kernel,
        grid=(n,),
        in_specs=[pl.BlockSpec((8, t), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((64, 128), jnp.float32),
    )(x)
"""


def _run(*lines: str, before: str = "") -> str:
    """A function that does ``lines`` and then starts a kernel."""
    text = "\n".join(lines)
    indented = "".join(f"    {line}\n" for line in text.split("\n"))
    return f"{HEAD}{before}def run(x, n, t):\n{indented}{CALL}"


def _sixty(*lines: str) -> tuple[str, ...]:
    return ("for _ in range(60):", *(f"    {line}" for line in lines))


def _branches(count: int, line: str, other: str = "pass") -> str:
    return "\n".join(f"if x.a{i}:\n    {line.replace('@', str(i))}\nelse:\n    {other}" for i in range(count))


NUMBERS = {
    "powers": _run("n = 9**9**9", "t = 9**9**9**9", "u = (-8)**0.5", "v = 0**-1", "w = 10**400 / 3"),
    "shifts": _run("n = 1 << 10**9", "t = 1", *_sixty("t = t << 200"), "u = 1 << -1"),
    "long numbers": _run(f"n = {'9' * 4000}", "t = n * n", "u = f'{n}'", "v = x.shape[n]"),
    "infinities": _run(
        "n = int(float('nan'))", "t = math.ceil(1e308 * 10)", "u = int('9' * 5000)", "v = float(10**400)"
    ),
    "divisions by zero": _run("n = n % 0", "t = t // 0", "u = pl.cdiv(3, 0)", "v = divmod(n, 0)", "w = range(1, 2, 0)"),
    "products": _run("n = math.prod([10**50] * 64)", "t = math.prod([t] * 64)", "u = sum([10**70] * 64)"),
    "sizes of arrays": _run("for _ in range(64):", "    t = jnp.zeros((t, t)).size", "n = jnp.zeros((10**70,)).size"),
    "symbols": _run(*_sixty("n = n * n + n"), *_sixty("t = t // (t + 1) + t % 7")),
    "minima": _run(*_sixty("n = pl.cdiv(n, t) + min(n, t) * max(n, t)", "t = t + n")),
    "blocks of 10**70": HEAD
    + "def run(x):\n    return pl.pallas_call(kernel, grid=(10**70, 10**70), in_specs=[pl.BlockSpec((10**70, 10**70), "
    "lambda i, j: (i, 10**70))], out_shape=jax.ShapeDtypeStruct((10**70, 10**70), jnp.float32))"
    "(jnp.zeros((10**70, 10**70)))\n",
    "negative and no dims": HEAD
    + "def run(x):\n    return pl.pallas_call(kernel, grid=(-1, 0), in_specs=[pl.BlockSpec((-8, 0), lambda i, j: "
    "(i // 0, -1))], out_shape=jax.ShapeDtypeStruct((0, -5), jnp.float32))(jnp.zeros((0, -1)))\n",
}

GROWTH = {
    "strings": _run("v = 'a' * 10**9", "v = 'ab'", *_sixty("v = v + v", "w = f'{v}{v}'", "v = v.replace('a', 'aaaa')")),
    "sequences": _run("v = [0] * 10**9", "w = (0,) * 10**12", "v = [1]", *_sixty("v += v", "v = v + v", "v.extend(v)")),
    "ranges": _run("for i in range(10**9):", "    n = i", "v = [i for i in range(10**30)]", "t = sum(range(10**9))"),
    "tuples of tuples": _run(
        "v = (1, 2)", *_sixty("v = (v, v)"), "d = {v: 1}", "w = v == v", "u = f'{v}'", "n = v", "t = v / 2"
    ),
    "zips": _run("v = (1, 2)", *_sixty("v = tuple(zip(v, v))"), "w = {v: 1}"),
    "lists of lists": _run("v = [0]", *_sixty("v = [v, v]"), "n = v", "t = (v,)"),
    "dicts of dicts": _run("v = {0: 1}", *_sixty("v = {0: v, 1: v, **v}"), "n = v"),
    "objects in objects": _run(
        "a = A()", *_sixty("b = A()", "b.x = b.y = a", "a = b"), "n = a", before="class A: pass\n"
    ),
    "lists in themselves": _run("v = [0]", "v.append(v)", "v.append(v)", "d = {}", "d[0] = d[1] = d", "n = v", "t = d"),
    "objects in themselves": _run("a = A()", "a.x = a.y = a", "n = a", before="class A: pass\n"),
    "texts": _run(*_sixty("n = n / n", "t = foo(t, t)", "x = x[x]", "v = n.a[t.b]", "w = -n @ t")),
    "booleans": _run(*_sixty("n = (n or t) and (t or n)", "t = (n and t) or (n is None)", "u = x in (x, x)")),
    "a literal of 20,000": _run("n = T + T", "t = 5 in T", "for a in T: pass", before=f"T = {tuple(range(20_000))}\n"),
    "comprehensions": _run(
        "v = [1] * 64",
        "n = [[[a * b + c for a in v] for b in v] for c in v]",
        "t = [a for a in v for b in v for c in v]",
    ),
}

LOOPS = {
    "nested loops": _run(
        "for a in range(64):\n for b in range(64):\n  for c in range(64):\n   for d in range(64):\n    n = n + a * b"
    ),
    "endless loops": _run("while True:\n    n = n + 1\n    while True:\n        t = t + n"),
    "nested maps": _run(
        "v = [1] * 64", "f = lambda a: [g(b) for b in v]", "g = lambda a: map(str, v)", "n = map(f, v)"
    ),
    "loops in a kernel": HEAD.replace(
        "    o_ref[...] = x_ref[...]\n",
        "    for i in range(64):\n        for j in range(64):\n            for k in range(64):\n"
        "                o_ref[i, j] = x_ref[i, k] * x_ref[k, j]\n",
    )
    + "def run(x, n, t):\n"
    + CALL,
    "loops in an index map": HEAD
    + "def run(x, n):\n    def index_map(i):\n        for a in range(64):\n            for b in range(64):\n"
    "                i = i * 2 + a // (b + 1)\n        return i, i\n"
    "    return pl.pallas_call(kernel, grid=(n,), in_specs=[pl.BlockSpec((8, 8), index_map)] * 60, out_shape=x)(x)\n",
}

CONDITIONS = {
    "many that are joined": _run(_branches(40, "n = n * (@ + 2)", "n = (n, 1)")),
    "many that return": _run(_branches(60, "return @")),
    "many specs": _run("v = []", _branches(30, "v.append(pl.BlockSpec((8, n), lambda i: (i, @)))"), "t = v"),
    "many values": _run(*(f"n = n + 1 if x.a{i} else n * 2" for i in range(40))),
    "nested": _run("\n".join(f"{'  ' * i}if x.a{i}:" for i in range(18)) + f"\n{'  ' * 18}n = 3"),
    "matched": _run("match n:\n" + "\n".join(f"    case {i}: t = {i}" for i in range(300))),
}

RECURSION = {
    "a function in itself": _run("n = f(n) + f(100)", before="def f(n):\n    return f(n - 1) + f(n - 2)\n"),
    "functions in each other": _run(
        "n = g(n)", before="def g(n):\n    return h(n) + h(n + 1)\ndef h(n):\n    return g(n) + g(n * 2)\n"
    ),
    "lambdas": _run(
        "n = Y(lambda s: lambda n: s(n))(3)",
        "f = lambda f: f(f)",
        "t = f(f)",
        before="Y = lambda f: (lambda x: x(x))(lambda x: f(lambda *a: x(x)(*a)))\n",
    ),
    "classes": _run(
        "n = A().x",
        "t = B().z",
        "u = isinstance(D(), A)",
        before="class A(A): pass\nclass B(C): x = 1\nclass C(B): y = 2\nclass D(D, D):\n    pass\n",
    ),
    "properties": _run(
        "n = D().g",
        before="class D:\n    @property\n    def g(self): return self.h + self.h\n"
        "    @property\n    def h(self): return self.g\n",
    ),
    "decorators": HEAD
    + "def d(f):\n    return d(d(f))\n@d\ndef e(f): return e(f)\n@e\n@e\n@d\ndef run(x, n, t):\n"
    + CALL,
    "forty decorators": HEAD
    + "def twice(f):\n    return lambda *a: f(*a) + f(*a)\n"
    + "@twice\n" * 40
    + "def run(x, n, t):\n"
    + CALL,
    "names": _run("n = a + b", before="n = n + 1\na = b\nb = a\n"),
    "a long chain of names": _run("n = x0", before="".join(f"x{i} = x{i + 1} + x{i + 2}\n" for i in range(600))),
    "fields": _run(
        "n = Q(1).a.a",
        "t = P().a",
        "u = R.A.value",
        before="class P(NamedTuple):\n    a: P = P()\n    b: P = P(P(), P())\n@dataclasses.dataclass\nclass Q:\n"
        "    a: int = Q(1)\n    def __post_init__(self):\n        self.a = Q(Q(1))\nclass R(enum.Enum):\n    A = R.A\n",
    ),
}

DEPTH = {
    "brackets": _run(f"n = {'(' * 90}n{')' * 90}", f"t = {'[' * 80}t{']' * 80}"),
    "signs": _run(f"n = {'-' * 800}n", f"t = {'not ' * 400}t"),
    "attributes": _run(f"n = n{'.b' * 900}", f"t = t{'[0]' * 900}", f"x = x{'()' * 900}"),
    "functions": HEAD
    + "".join(f"{'  ' * i}def f{i}(x):\n" for i in range(60))
    + "  " * 60
    + "return 1\ndef run(x, n, t):\n"
    + CALL,
}

NONSENSE = {
    "operators": _run(
        "a = 1.5 << 2; b = 'a' - 1; c = None + 1; d = [] - []; e = {} + {}; f = (1, 2) * 1.5; g = (1, 2) * None",
        "h = -None; i = ~1.5; k = 1 < 'a'; m = [] < (); o = 1 in 5; p = 'a' in 5; q = 'abc'['a']; r = (1, 2)[1.5]",
        "u = {}[[]]; v = {[]: 1}; w = (1, 2)[::0]; y = x[1:2:3][None, ..., 'a']; z = 'abc'.split('')",
    ),
    "arrays": _run(
        "a = jnp.zeros((8, 128)); b = a[::0]; c = a[0, 0, 0, 0]; d = a[..., ..., ...]; e = a[None, 'a', 1.5]",
        "a.reshape(-1, -1); a.reshape(0, -1); a.transpose(5, 7); a.sum(axis=9); a.sum(axis=(0, 'a')); a.astype()",
        "jnp.expand_dims(a, 99); jnp.swapaxes(a, 5, 7); jnp.arange(0, 10, 0); jnp.arange(0, 10**30); jnp.zeros()",
        "jax.lax.dot_general(a, a, (((9,), (9,)), ((), ()))); jax.lax.cond(); jax.tree.map()",
        "jax.lax.fori_loop(1); jax.lax.scan(3); jnp.where(); jnp.concatenate(); jnp.transpose(a, (0, 'a')); jnp.dot(1)",
    ),
    "calls of pallas": _run(
        "pl.BlockSpec(); pl.BlockSpec(1, 2, 3, 4, 5); pl.BlockSpec(*x, **n); pl.Buffered(); pl.Element(); pl.cdiv(1)",
        "pl.ds(); pl.when(); pl.when(1)(2); pl.loop()(); pl.run_scoped(1, 2, a=3); pltpu.VMEM(1, 2, 3)",
        "pltpu.SemaphoreType.DMA(1, 2); pltpu.CompilerParams(1, 2, 3, a=4); pltpu.PrefetchScalarGridSpec()",
        "pl.pallas_call(); pl.pallas_call(1)(2); pl.pallas_call(None, None)(None); pl.kernel()(); pl.core_map(1)(2)(3)",
        "pl.pallas_call(kernel, 5, grid='a', in_specs=5, out_specs='b', scratch_shapes=7, compiler_params=3)(1, 2)",
        "pl.pallas_call(kernel, grid={}, in_specs={}, out_specs={}, out_shape={}, scratch_shapes={1: 2})({})",
        "pl.pallas_call(kernel, grid_spec=5, input_output_aliases=[1])(1)",
        "pl.pallas_call(kernel, grid_spec=pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=-1, grid=-1))(1)",
        "pl.pallas_call(kernel, grid_spec=pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=10**9, grid=10**9))(1)",
        "pl.pallas_call(kernel, grid=(1,) * 4000, in_specs=[pl.BlockSpec((8,) * 4000, lambda *a: a)] * 4000)(1)",
        "pl.pallas_call(kernel, grid=(1,), in_specs=[pl.BlockSpec((8, 8), lambda i: None)], out_shape=[1, 'a'])(1)",
        "pltpu.emit_pipeline()(); pltpu.emit_pipeline(kernel, grid=(n,), in_specs=5, out_specs=None)(x)",
    ),
}

HARM = {
    "statements": _run(
        "n = getattr(x, '__class__').__subclasses__()",
        "os.fork()",
        before="os.system('touch TRAP')\nopen('TRAP', 'w')\neval(\"open('TRAP', 'w')\")\nexec(\"open('TRAP', 'w')\")\n"
        "__import__('os').system('touch TRAP')\n",
    ),
    "methods": _run(
        "n = E() == E()",
        "t = {E(): 1}",
        "u = f'{E()!r:{n}}'",
        "v = 'a{0.x}'.format(E())",
        "w = '%s' % E()",
        "E() + E()",
        before="class M(type):\n    def __call__(c): open('TRAP', 'w')\nclass E(metaclass=M):\n"
        "    def __eq__(s, o): open('TRAP', 'w')\n    def __hash__(s): open('TRAP', 'w')\n"
        "    def __getattr__(s, n): open('TRAP', 'w')\n    def __add__(s, o): open('TRAP', 'w')\n",
    ),
    "an example": HEAD
    + "# pallas-lens: example x=f32[n,foo()], n=9**9**9, t=__import__('os').system('touch TRAP')\ndef run(x, n, t):\n"
    + CALL,
}

PROGRAMS = {
    f"{kind}: {name}": text
    for kind, programs in {
        "numbers": NUMBERS,
        "growth": GROWTH,
        "loops": LOOPS,
        "conditions": CONDITIONS,
        "recursion": RECURSION,
        "depth": DEPTH,
        "nonsense": NONSENSE,
        "harm": HARM,
    }.items()
    for name, text in programs.items()
}
