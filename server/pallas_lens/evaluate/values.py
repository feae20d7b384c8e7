"""What an expression can be worth while its program is read and not run.

Known Python constants stand for themselves (``int``, ``float``, ``str``, ``bool``,
``None``, ``tuple``); a symbolic integer is a ``model.symbolic.Expression``. The
classes here are the rest. Everything but the mutable containers is immutable;
those are changed through the machine's journal, so that a branch can be undone.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..model.kernel_call import MemorySpace
from ..model.span import Span
from ..model.symbolic import Expression, Integer

if TYPE_CHECKING:
    from .module import Module

# A value is any of the classes below, an Expression, or a Python constant.
Value = Any


class SpannedTuple(tuple[Value, ...]):
    """A tuple that remembers where each of its items was written."""

    spans: tuple[Span | None, ...]
    span: Span | None

    @staticmethod
    def of(items: Iterable[Value], spans: Iterable[Span | None], span: Span | None) -> SpannedTuple:
        """The tuple of ``items``, each with its span, written at ``span``."""
        made = SpannedTuple(items)
        made.spans = tuple(spans)
        made.span = span
        return made


def item_spans(value: Value) -> tuple[Span | None, ...]:
    """Where the items of a tuple stand, as far as known."""
    if isinstance(value, SpannedTuple):
        return value.spans
    return (None,) * len(value) if isinstance(value, tuple) else ()


@dataclass(frozen=True, slots=True)
class Opaque:
    """A value that only running the program would give.

    ``text`` names it in the reader's words and identifies it: two opaque values of
    the same text are the same value. ``reason`` completes "unknown, because …".
    """

    text: str
    reason: str
    integer_minimum: int | None = field(default=None, compare=False)
    may_be_array: bool = field(default=True, compare=False)


@dataclass(frozen=True, slots=True)
class ShapeOf:
    """The ``.shape`` of an opaque array whose rank is not known yet."""

    array: Opaque


@dataclass(frozen=True, slots=True)
class Comparison:
    """What an undecided condition compares, kept so that assuming it teaches something."""

    operator: str
    left: Integer
    right: Integer


@dataclass(frozen=True, slots=True)
class Condition:
    """A truth value that is not known. The same ``key`` always has the same outcome."""

    key: Hashable
    text: str
    negated: bool = False
    comparison: Comparison | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, eq=False)
class Guarded:
    """One value if the condition ``key`` holds, another if not."""

    key: Hashable
    text: str
    when_true: Value
    when_false: Value


@dataclass(frozen=True, slots=True)
class Array:
    """An array (or ``ShapeDtypeStruct``) whose rank is known or not.

    ``shape`` is a tuple of integers and Opaque dims, or Opaque. ``dtype`` is a name or Opaque.
    """

    shape: tuple[Value, ...] | Opaque
    dtype: str | Opaque
    is_struct: bool = False
    weak: bool = False


@dataclass(frozen=True, slots=True)
class Ref:
    """A ref inside a kernel: a window on ``shape``."""

    name: str
    shape: tuple[Value, ...] | Opaque
    dtype: str | Opaque
    memory_space: MemorySpace | None = None


@dataclass(frozen=True, slots=True)
class Dtype:
    """An element type as a value."""

    name: str


@dataclass(eq=False, slots=True)
class ListValue:
    """A list: ``items`` is a tuple, a Guarded of tuples, or Opaque where the length is not known."""

    items: Value


@dataclass(eq=False, slots=True)
class DictValue:
    """A dict with constant keys. ``is_open``: more keys may be there."""

    entries: dict[Value, Value]
    is_open: bool = False
    key_spans: dict[Value, Span] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Scope:
    """The variables of one activation (or of a module)."""

    variables: dict[str, Value]
    parent: Scope | None
    module: Module
    is_class: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A ``def`` or lambda with what it closes over."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    scope: Scope
    anchor: str
    defaults: tuple[Value, ...] = ()
    keyword_defaults: tuple[tuple[str, Value], ...] = ()
    bound_self: Value = None
    is_bound: bool = False
    is_rewrapped: bool = False
    """A decorator that is not understood may have changed the signature."""

    @property
    def name(self) -> str:
        return "<lambda>" if isinstance(self.node, ast.Lambda) else self.node.name


@dataclass(frozen=True, slots=True, eq=False)
class Partial:
    """``functools.partial(function, *arguments, **keywords)``."""

    function: Value
    arguments: tuple[Value, ...]
    keywords: tuple[tuple[str, Value], ...]
    span: Span | None


@dataclass(frozen=True, slots=True)
class External:
    """A name outside the workspace, by its canonical dotted path."""

    path: str


@dataclass(frozen=True, slots=True, eq=False)
class BoundExternal:
    """A method of a value that the library tables know: ``x.astype``, ``specs.append``."""

    owner: Value
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Class:
    """A class of the program with its evaluated namespace and bases."""

    node: ast.ClassDef
    scope: Scope
    bases: tuple[Value, ...]
    kind: str
    """"dataclass", "namedtuple", "enum" or "plain"."""
    fields: tuple[tuple[str, Value], ...]
    """Declared fields with defaults (``MISSING`` where there is none), bases first."""


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """An object of a program's class; attributes live in ``fields`` (journaled)."""

    class_: Class
    fields: dict[str, Value]


@dataclass(frozen=True, slots=True)
class Missing:
    """A field without a default, a variable not set on this path."""


MISSING = Missing()


@dataclass(frozen=True, slots=True, eq=False)
class BlockSpecValue:
    """``pl.BlockSpec(...)`` as constructed."""

    block_shape: Value
    index_map: Value
    memory_space: Value
    pipeline_mode: Value
    span: Span
    block_shape_span: Span | None
    index_map_span: Span | None
    pipeline_span: Span | None
    in_old_order: bool


@dataclass(frozen=True, slots=True)
class BlockDimensionValue:
    """``pl.Element(8)``, ``pl.Squeezed()``, ``pl.BoundedSlice(8)``, …"""

    kind: str
    size: Value


@dataclass(frozen=True, slots=True)
class BufferedValue:
    """``pl.Buffered(buffer_count=…, use_lookahead=…)``."""

    count: Value
    lookahead: Value


@dataclass(frozen=True, slots=True, eq=False)
class GridSpecValue:
    """``pl.GridSpec`` or ``pltpu.PrefetchScalarGridSpec``; values and spans by keyword."""

    arguments: dict[str, tuple[Value, Span]]
    span: Span


@dataclass(frozen=True, slots=True)
class MemorySpaceValue:
    """A memory space; called with a shape and dtype it is scratch."""

    space: MemorySpace


@dataclass(frozen=True, slots=True, eq=False)
class ScratchValue:
    """``pltpu.VMEM((8, 128), jnp.float32)`` or a semaphore type."""

    shape: Value
    dtype: Value
    space: MemorySpace
    span: Span | None
    semaphore: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class CompilerParamsValue:
    """``pltpu.CompilerParams(...)``; values and spans by keyword."""

    arguments: dict[str, tuple[Value, Span]]
    is_open: bool
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class KernelCallable:
    """What ``pl.pallas_call(...)`` returns: called with operands, it is a kernel call."""

    form: str
    kernel: Value
    kernel_span: Span | None
    arguments: dict[str, tuple[Value, Span]]
    is_open: bool
    span: Span
    callee_span: Span
    owner: str
    order: int


CONSTANTS = (int, float, str, bool, bytes, complex, type(None), type(Ellipsis))


def is_integer(value: Value) -> bool:
    """Whether ``value`` is an integer that arithmetic can use, known or symbolic (not a bool)."""
    return isinstance(value, Expression) or (isinstance(value, int) and not isinstance(value, bool))


def describe(value: Value) -> str:
    """A short text for ``value`` as a reader would write it."""
    match value:
        case Opaque(text):
            return text
        case ShapeOf(array):
            return f"{array.text}.shape"
        case Condition(_, text, negated):
            return f"not ({text})" if negated else text
        case External(path):
            return path.rpartition(".")[2]
        case Function():
            return value.name
        case Dtype(name):
            return name
        case Array():
            return "array"
        case Guarded(_, text):
            return f"(… if {text} else …)"
        case tuple():
            inner = ", ".join(describe(item) for item in value)
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        case Expression():
            return str(value)
        case _ if isinstance(value, CONSTANTS):
            return "..." if value is Ellipsis else repr(value)
        case _:
            return "…"
