"""What a kernel does with its refs: a flat list of operations in source order."""

from __future__ import annotations

from enum import StrEnum

from .kernel_call import ArrayType
from .span import Span
from .symbolic import Integer
from .unknown import Unknown
from .value_class import value_class


class OperationKind(StrEnum):
    """The families of operations that rules and hovers tell apart."""

    LOAD = "load"
    STORE = "store"
    DOT = "dot"
    CALL = "call"
    OPERATOR = "operator"
    LOOP = "loop"
    WHEN = "when"
    DMA = "dma"


@value_class()
class BodyOperation:
    """One operation.

    ``name`` is the canonical dotted path (``jax.numpy.exp``) or the operator
    (``operator.add``); ``operands`` and ``result`` are known as far as the evaluator
    could follow shapes and dtypes; ``result_dtype_asked`` is what
    ``preferred_element_type`` says ("" where it is not given, None where not known).
    ``precision`` is the name that the argument says ("" where it is not given, None where
    not known). ``turns``: how often the loops around it run it in one step of the grid;
    ``is_conditional``: a condition that only the run decides may leave it out.
    """

    kind: OperationKind
    name: str
    span: Span
    callee_span: Span
    operands: tuple[ArrayType, ...] = ()
    result: ArrayType | None = None
    ref: str | None = None
    result_dtype_asked: str | None = ""
    precision: str | None = ""
    turns: Integer | Unknown = 1
    is_conditional: bool = False


@value_class()
class KernelBody:
    """The operations of one kernel function, evaluated with the refs of one call."""

    kernel: str
    span: Span
    operations: tuple[BodyOperation, ...]
    specialisation: str = "generic"
    returned: Span | None = None
    """The value that the kernel is sure to return, where it should return nothing."""
    is_whole: bool = True
    """False where operations may be missing: the evaluator gave up before the end, a condition may end the kernel
    before that, or a pipeline runs inside."""
