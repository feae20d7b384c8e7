"""How many arguments a function still takes."""

from __future__ import annotations

from ..model.kernel_call import Arity
from ..model.unknown import Unknown
from .machine import Machine
from .values import Function, Guarded, Opaque, Partial, Transformed, Value, describe


def arity_of(machine: Machine, value: Value) -> Arity | Unknown:
    """How many positional arguments ``value`` still takes."""
    match value:
        case Function():
            if value.is_rewrapped:
                return Unknown(f"a decorator of `{value.name}` may change its parameters")
            parameters = value.node.args
            names = len(parameters.posonlyargs) + len(parameters.args) - (1 if value.is_bound else 0)
            least = max(0, names - len(value.defaults))
            return Arity(least, None if parameters.vararg is not None else names)
        case Partial(function, bound, keywords):
            inner = arity_of(machine, machine.settled(function))
            if isinstance(inner, Unknown):
                return inner
            by_name = {name for name, _ in keywords}
            least, most = inner.minimum - len(bound), inner.maximum
            target = machine.target(function)
            if isinstance(target, Function):
                written = [parameter.arg for parameter in (*target.node.args.posonlyargs, *target.node.args.args)]
                written = written[1:] if target.is_bound else written
                required = written[: len(written) - len(target.defaults)]
                # A keyword for the last positional parameters takes their places away.
                least -= sum(1 for name in required if name in by_name)
                named = [index for index, name in enumerate(written) if name in by_name]
                if named and most is not None:
                    most = min(most, min(named))
                elif named:
                    most = min(named)
            if most is None:
                return Arity(max(0, least), None)
            most = max(0, most - len(bound))
            return Arity(min(max(0, least), most), most)
        case Transformed(function=function):
            return arity_of(machine, machine.settled(function))
        case Opaque(_, reason):
            return Unknown(reason)
        case Guarded():
            return Unknown(f"depends on `{value.text}`")
        case _:
            return Unknown(f"`{describe(value)}` is not a function that can be followed")
