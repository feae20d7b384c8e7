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
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

from ..model.kernel_call import MemorySpace
from ..model.span import Span
from ..model.symbolic import Expression, Integer
from ..model.value_class import value_class

if TYPE_CHECKING:
    from .module import Module

# A value is any of the classes below, an Expression, or a Python constant.
Value = Any

FROM_CALLER: Final = "comes from the caller"
"""Ends the reason of what a parameter gives."""
LONGEST_TEXT: Final = 160
"""Characters of a text that names a value."""
LARGEST_TREE: Final = 8192
"""Items of a nest of tuples and lists, all levels counted."""


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


@value_class()
class Opaque:
    """A value that only running the program would give.

    ``text`` names it in the reader's words and identifies it: two opaque values of
    the same text are the same value. ``reason`` completes "unknown, because …".
    """

    text: str
    reason: str
    integer_minimum: int | None = field(default=None, compare=False)
    may_be_array: bool = field(default=True, compare=False)
    is_float: bool = field(default=False, compare=False)
    is_array: bool = field(default=False, compare=False)
    """An annotation says that it is one array, not a tree of them."""

    def __post_init__(self) -> None:
        if len(self.text) > LONGEST_TEXT:
            # A text made of texts can double with every step; it still has to tell values apart.
            digest = blake2b(self.text.encode("utf-8", "replace"), digest_size=6).hexdigest()
            object.__setattr__(self, "text", f"{self.text[: LONGEST_TEXT // 2]}… ({digest})")


@value_class()
class ShapeOf:
    """The ``.shape`` of an opaque array whose rank is not known yet."""

    array: Opaque


@value_class(eq=False)
class Itself:
    """A key that only this very value has; it keeps the value, so that no other can get its identity."""

    value: Value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Itself) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


@value_class()
class Comparison:
    """What an undecided condition compares, kept so that assuming it teaches something."""

    operator: str
    left: Integer
    right: Integer


@value_class()
class Condition:
    """A truth value that is not known. The same ``key`` always has the same outcome."""

    key: Hashable
    text: str
    negated: bool = False
    comparison: Comparison | None = field(default=None, compare=False)


@value_class(eq=False)
class Guarded:
    """One value if the condition ``key`` holds, another if not."""

    key: Hashable
    text: str
    when_true: Value
    when_false: Value
    depth: int = field(init=False)
    """How many conditions deep it is."""

    def __post_init__(self) -> None:
        # Kept, for it is asked of ever deeper values while they are put together.
        object.__setattr__(self, "depth", 1 + max(guard_depth(self.when_true), guard_depth(self.when_false)))


def guard_depth(value: Value) -> int:
    """How many conditions deep a guarded value is, 0 for any other."""
    return value.depth if isinstance(value, Guarded) else 0


def conditions_of(*values: Value) -> frozenset[Hashable]:
    """The keys of the conditions that guarded values hang on."""
    keys: set[Hashable] = set()
    passed: set[int] = set()
    stack = list(values)
    while stack:
        value = stack.pop()
        if isinstance(value, Guarded) and id(value) not in passed:
            passed.add(id(value))
            keys.add(value.key)
            stack += (value.when_true, value.when_false)
    return frozenset(keys)


@value_class()
class Array:
    """An array (or ``ShapeDtypeStruct``) whose rank is known or not.

    ``shape`` is a tuple of integers and Opaque dims, or Opaque. ``dtype`` is a name or Opaque.
    """

    shape: tuple[Value, ...] | Opaque
    dtype: str | Opaque
    is_struct: bool = False
    weak: bool = False


@value_class()
class Ref:
    """A ref inside a kernel: a window on ``shape``."""

    name: str
    shape: tuple[Value, ...] | Opaque
    dtype: str | Opaque
    memory_space: MemorySpace | None = None


@value_class()
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


@value_class(eq=False)
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


@value_class(eq=False)
class Partial:
    """``functools.partial(function, *arguments, **keywords)``."""

    function: Value
    arguments: tuple[Value, ...]
    keywords: tuple[tuple[str, Value], ...]
    span: Span | None


@value_class(eq=False)
class Transformed:
    """``jax.vmap(function, …)`` and its like: called, the function runs on other arrays than it is given.

    ``transformation`` is the last part of the name in JAX or ``REPEATEDLY``; ``options`` are the arguments
    besides the function.
    """

    transformation: str
    function: Value
    options: dict[str, Value]


REPEATEDLY: Final = "repeated"
"""Stands for a transformation that a loop applies a number of times that is not known."""


@value_class(eq=False)
class MeshValue:
    """A mesh of devices: the size of each axis by its name."""

    axes: dict[str, Value]


@value_class()
class PartitionSpecValue:
    """``PartitionSpec("x", None, ("y", "z"))``: which axes of a mesh cut each dim."""

    entries: tuple[Value, ...]


@value_class()
class External:
    """A name outside the workspace, by its canonical dotted path."""

    path: str


@value_class(eq=False)
class BoundExternal:
    """A method of a value that the library tables know: ``x.astype``, ``specs.append``."""

    owner: Value
    name: str


@value_class(eq=False)
class Class:
    """A class of the program with its evaluated namespace and bases."""

    node: ast.ClassDef
    scope: Scope
    bases: tuple[Value, ...]
    kind: str
    """"dataclass", "namedtuple", "enum" or "plain"."""
    fields: tuple[tuple[str, Value], ...]
    """Declared fields with defaults (``MISSING`` where there is none), bases first."""


@value_class(eq=False)
class Instance:
    """An object of a program's class; attributes live in ``fields`` (journaled)."""

    class_: Class
    fields: dict[str, Value]


@value_class()
class Missing:
    """A field without a default, a variable not set on this path."""


MISSING = Missing()


@value_class(eq=False)
class BlockSpecValue:
    """``pl.BlockSpec(...)`` as constructed."""

    block_shape: Value
    index_map: Value
    memory_space: Value
    pipeline_mode: Value
    span: Span | None
    block_shape_span: Span | None
    index_map_span: Span | None
    pipeline_span: Span | None
    in_old_order: bool


@value_class()
class BlockDimensionValue:
    """``pl.Element(8)``, ``pl.Squeezed()``, ``pl.BoundedSlice(8)``, …"""

    kind: str
    size: Value


@value_class()
class BufferedValue:
    """``pl.Buffered(buffer_count=…, use_lookahead=…)``."""

    count: Value
    lookahead: Value


@value_class(eq=False)
class GridSpecValue:
    """``pl.GridSpec`` or ``pltpu.PrefetchScalarGridSpec``; values and spans by keyword."""

    arguments: dict[str, tuple[Value, Span]]
    span: Span


@value_class()
class MemorySpaceValue:
    """A memory space; called with a shape and dtype it is scratch."""

    space: MemorySpace


@value_class(eq=False)
class ScratchValue:
    """``pltpu.VMEM((8, 128), jnp.float32)`` or a semaphore type."""

    shape: Value
    dtype: Value
    space: MemorySpace
    span: Span | None
    semaphore: str | None = None


@value_class(eq=False)
class CompilerParamsValue:
    """``pltpu.CompilerParams(...)``; values and spans by keyword."""

    arguments: dict[str, tuple[Value, Span]]
    is_open: bool
    span: Span


@value_class(eq=False)
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
    wrapper: str | None = None
    """The function of the project that was called in place of JAX's, where it may have changed the parts."""


@value_class(eq=False)
class ModuleValue:
    """Another module of the workspace as a value."""

    module: Module

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ModuleValue) and self.module is other.module

    def __hash__(self) -> int:
        return id(self.module)


CONSTANTS = (int, float, str, bool, bytes, complex, type(None), type(Ellipsis))


def is_integer(value: Value) -> bool:
    """Whether ``value`` is an integer that arithmetic can use, known or symbolic (not a bool)."""
    return isinstance(value, Expression) or (isinstance(value, int) and not isinstance(value, bool))


def tree_size(value: Value) -> int:
    """How many values a nest of tuples and lists holds, counted no further than just above ``LARGEST_TREE``.

    Values are shared freely, so that sixty lines ``t = (t, t)`` make a nest with more
    leaves than there is time to look at.
    """
    count = 0
    queue = [value]
    while queue and count <= LARGEST_TREE:
        current = queue.pop()
        count += 1
        if isinstance(current, ListValue):
            queue.append(current.items)
        elif isinstance(current, tuple):
            queue.extend(current[: LARGEST_TREE + 1])
        elif isinstance(current, Guarded):
            queue += (current.when_true, current.when_false)
    return count


def describe(value: Value) -> str:
    """A short text for ``value`` as a reader would write it."""
    return _described(value, 0)


def _described(value: Value, depth: int) -> str:
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
        case Class(node):
            return node.name
        case Instance(class_, fields) if class_.kind == "enum":
            return f"{class_.node.name}.{fields.get('name')}"
        case Guarded(_, text):
            return f"(… if {text} else …)"
        case tuple():
            if depth == _DEEPEST or len(value) > _LONGEST_TUPLE:
                return "(…)"
            inner = ", ".join(_described(item, depth + 1) for item in value)
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        case Expression():
            return str(value)
        case _ if isinstance(value, CONSTANTS):
            return "..." if value is Ellipsis else _shortened(value)
        case _:
            return "…"


_DEEPEST: Final = 3
_LONGEST_TUPLE: Final = 12


def _shortened(constant: Value) -> str:
    if isinstance(constant, int) and constant.bit_length() > 512:
        return "a number of many digits"
    text = repr(constant)
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT // 2] + "…"
