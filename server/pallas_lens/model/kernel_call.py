"""One call of a Pallas kernel: grid, operands, specs, scratch, kernel, and where each part stands.

Whatever may be unknown is typed ``X | Unknown``. Where the same call has several
shapes under conditions that are not known, the evaluator gives one ``KernelCall`` a
world (see ``worlds`` there), and a rule speaks only when all worlds that have the
part agree.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from .span import Span
from .symbolic import NO_FACTS, Facts, Integer
from .unknown import Unknown
from .value_class import value_class

Dim = Integer | Unknown


class Role(StrEnum):
    """What a ref is to the call."""

    PREFETCH = "prefetch"
    INPUT = "input"
    OUTPUT = "output"
    SCRATCH = "scratch"


class Form(StrEnum):
    """The call that starts the kernel."""

    PALLAS_CALL = "pallas_call"
    EMIT_PIPELINE = "emit_pipeline"
    KERNEL = "kernel"
    CORE_MAP = "core_map"


class MemorySpace(StrEnum):
    """Where a buffer lives, by JAX's names."""

    VMEM = "vmem"
    SMEM = "smem"
    ANY = "any"
    HBM = "hbm"
    HOST = "host"
    CMEM = "cmem"
    VMEM_SHARED = "vmem_shared"
    SEMAPHORE = "semaphore_mem"


class DimensionKind(StrEnum):
    """How a block dim walks its array dim."""

    BLOCKED = "blocked"
    SQUEEZED = "squeezed"
    ELEMENT = "element"
    BOUNDED_SLICE = "bounded_slice"
    INDIRECT = "indirect"


@dataclass(frozen=True, slots=True)
class Arity:
    """How many positional arguments a function takes; ``maximum`` None is "any number"."""

    minimum: int
    maximum: int | None

    def accepts(self, count: int) -> bool:
        """Whether a call with ``count`` positional arguments binds."""
        return self.minimum <= count and (self.maximum is None or count <= self.maximum)

    def __str__(self) -> str:
        if self.maximum is None:
            return f"{self.minimum} or more"
        return str(self.minimum) if self.minimum == self.maximum else f"{self.minimum} to {self.maximum}"


@value_class()
class ArrayType:
    """An operand's shape and dtype, as far as known. ``shape`` unknown: not even the rank."""

    shape: tuple[Dim, ...] | Unknown
    dtype: str | Unknown


@dataclass(frozen=True, slots=True)
class BlockDimension:
    """One dim of a block shape, in elements. A squeezed dim has size 1 and no ref dim."""

    kind: DimensionKind
    size: Dim
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class IndexMapResult:
    """One value that an index map returns.

    ``value`` is an integer over the grid symbols ``grid0``, ``grid1``, … where it is
    plain arithmetic. ``kind`` says what else it may be: an "integer", a "float"
    (refused), an "array" (refused), a "reference" (an element of a prefetched operand), "slice", or "unknown".
    """

    kind: str
    value: Integer | Unknown
    span: Span | None = None
    axes: frozenset[int] | None = None
    """Grid axes that the value depends on, where they are known although the value is not (``s[i]``: axis of ``i``)."""


@dataclass(frozen=True, slots=True)
class IndexMap:
    """The function from grid indices (and prefetch refs) to block indices."""

    text: str
    arity: Arity | Unknown
    results: tuple[IndexMapResult, ...] | Unknown
    span: Span | None
    parameters_span: Span | None = None
    is_default: bool = False


@dataclass(frozen=True, slots=True)
class BlockSpec:
    """A ``pl.BlockSpec``. ``block_shape`` None: the whole array."""

    block_shape: tuple[BlockDimension, ...] | Unknown | None
    index_map: IndexMap | Unknown | None
    memory_space: MemorySpace | Unknown | None
    buffer_count: int | Unknown | None
    span: Span | None
    block_shape_span: Span | None = None
    buffer_span: Span | None = None
    has_lookahead: bool = False
    in_old_order: bool = False


@dataclass(frozen=True, slots=True)
class Operand:
    """One ref that the kernel receives, with the array and the spec behind it.

    ``spec`` None: the call gives none (the whole array, in VMEM) or the operand takes
    none (prefetch, scratch). For scratch, ``array`` is the buffer. ``is_tree`` marks
    one argument that is a pytree of several arrays, or of none (``None``).
    """

    name: str
    role: Role
    array: ArrayType | Unknown
    spec: BlockSpec | Unknown | None
    memory_space: MemorySpace | Unknown
    span: Span | None
    is_tree: bool = False
    semaphore: str | None = None
    leaves: tuple[Operand, ...] | None = None
    """The arrays of a tree in JAX's order, each with its own spec; None where its structure is not known."""


def flat(operands: Iterable[Operand]) -> tuple[Operand, ...]:
    """The arrays behind the operands, as JAX counts them: trees whose leaves are known give way to those."""
    return tuple(
        leaf for operand in operands for leaf in (operand.leaves if operand.leaves is not None else (operand,))
    )


@dataclass(frozen=True, slots=True)
class SpecList:
    """``in_specs`` or ``out_specs`` as written: the entries in order (None: no spec for that one)."""

    specs: tuple[BlockSpec | Unknown | None, ...] | Unknown
    span: Span | None
    is_sequence: bool | Unknown = True


@dataclass(frozen=True, slots=True)
class Parameter:
    """One positional parameter of the kernel and the operand it receives."""

    name: str
    span: Span | None
    operand: int | None


@dataclass(frozen=True, slots=True)
class KernelFunction:
    """The kernel: its name, what it accepts beyond what ``functools.partial`` bound."""

    name: str
    arity: Arity | Unknown
    parameters: tuple[Parameter, ...]
    span: Span | None
    """The name or lambda as it stands in the call."""
    definition: Span | None
    """The ``def`` or lambda itself."""
    signature: Span | None = None
    """The parameter list of the definition."""


@dataclass(frozen=True, slots=True)
class Semantics:
    """``dimension_semantics``: one entry a grid axis, lower case; None in an entry is "arbitrary"."""

    entries: tuple[str | Unknown | None, ...] | Unknown
    span: Span | None
    entry_spans: tuple[Span | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Missing:
    """One thing that stayed unknown, for ``pallas-lens kernels`` and hovers."""

    what: str
    why: str


@dataclass(frozen=True, slots=True)
class KernelCall:
    """One call site in one specialisation (and one world)."""

    form: Form
    name: str
    """The enclosing function, or the name the kernel is bound to."""
    specialisation: str
    span: Span
    """The whole ``pl.pallas_call(...)`` expression (or the decorator)."""
    callee_span: Span
    """``pl.pallas_call`` itself, for code lenses and short squiggles."""
    grid: tuple[Dim, ...] | Unknown
    grid_span: Span | None
    grid_dim_spans: tuple[Span | None, ...]
    grid_is_given: bool
    """False where neither ``grid`` nor ``grid_spec`` gives one: the kernel runs once."""
    grid_spec_span: Span | None
    grid_beside_grid_spec: tuple[str, ...]
    """Keywords of ``pallas_call`` that collide with ``grid_spec`` (``grid``, ``in_specs`` …)."""
    num_scalar_prefetch: int | Unknown
    prefetch_span: Span | None
    in_specs: SpecList | Unknown | None
    out_specs: SpecList | Unknown | None
    out_shape_count: int | Unknown | None
    """Number of entries of ``out_shape`` when a sequence, None when a single leaf."""
    out_shape_span: Span | None
    argument_count: int | Unknown | None
    """Number of positional arguments of the call of the returned function; None: not called here."""
    arguments_span: Span | None
    operands: tuple[Operand, ...] | Unknown
    """Prefetch, inputs, outputs, scratch, in the kernel's order; named scratch last."""
    scratch_span: Span | None
    named_scratch: int
    """How many scratch refs are passed by keyword (dict ``scratch_shapes``)."""
    kernel: KernelFunction | Unknown
    semantics: Semantics | Unknown | None
    vmem_limit_bytes: Integer | Unknown | None
    vmem_limit_span: Span | None
    aliases: tuple[tuple[int, int], ...] | Unknown
    alias_span: Span | None
    some_operands: tuple[Operand, ...] = ()
    """Where ``operands`` is not known: all inputs (the prefetched too), all outputs, all scratch, as far as known."""
    facts: Facts = NO_FACTS
    """What the program has asserted about the symbols in this call."""
    always_interpreted: bool = False
    """``interpret`` is given and true whatever the caller says: the TPU compiler never sees the kernel."""
    wrapper: str | None = None
    """The function that stands in place of JAX's: the parts are as given to it, and it may change them."""
    is_for_callers: bool = False
    """The grid and the kernel come from the caller of the function around: its calls are the call sites."""
    batch_sizes: tuple[Dim, ...] = ()
    """What each ``jax.vmap`` around the call maps over, the outermost first. For each, JAX puts a parallel axis
    before the grid and a squeezed dim into the blocks of the operands that are mapped (``_pallas_call_batching_rule``
    in jax/_src/pallas/pallas_call.py); all else here is the call as it is written."""
    own_buffers: bool = False
    """The pipeline is run with ``allocations``: buffers whose class is the author's, who may cut arrays otherwise."""
    missing: tuple[Missing, ...] = field(default=())
    origin: str = "static"
    """Where the numbers came from: static, default argument, call, example, trace or compiler."""

    def of_role(self, role: Role) -> tuple[Operand, ...] | Unknown:
        """The operands of one role, in order."""
        if isinstance(self.operands, Unknown):
            return self.operands
        return tuple(operand for operand in self.operands if operand.role is role)
