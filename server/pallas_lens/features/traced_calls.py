"""What the worker traced, as the model: the same KernelCall that the evaluator makes of the text, with every number."""

from __future__ import annotations

from collections.abc import Sequence

from pallas_lens.model.kernel_call import (
    Arity,
    ArrayType,
    BlockDimension,
    BlockSpec,
    DimensionKind,
    Form,
    IndexMap,
    IndexMapResult,
    KernelCall,
    KernelFunction,
    MemorySpace,
    Operand,
    Parameter,
    Role,
    Semantics,
    SpecList,
)
from pallas_lens.model.span import Span
from pallas_lens.model.unknown import Unknown
from pallas_lens.runtime.protocol import TracedCall, TracedIndex, TracedIndexMap, TracedOperand

NOWHERE = Span("", 0, 0, 0, 0)
"""The place of a traced call: rows and columns of the text as it was run are in the traced call itself."""


def model_of(traced: TracedCall) -> KernelCall:
    """The call as the model holds it. A grid dim that only the run decides is unknown, and says so."""
    operands = tuple(_operand(operand) for operand in traced.operands)
    semantics = None
    if traced.dimension_semantics is not None:
        semantics = Semantics(traced.dimension_semantics, None)
    outputs = [operand for operand in operands if operand.role is Role.OUTPUT]
    arity = Arity(len(operands), len(operands))
    return KernelCall(
        form=Form(traced.form),
        name=traced.name or traced.kernel,
        specialisation="trace",
        span=NOWHERE,
        callee_span=NOWHERE,
        grid=tuple(Unknown("it is known only when the program runs") if dim is None else dim for dim in traced.grid),
        grid_span=None,
        grid_dim_spans=(),
        grid_is_given=bool(traced.grid),
        grid_spec_span=None,
        grid_beside_grid_spec=(),
        num_scalar_prefetch=traced.num_scalar_prefetch,
        prefetch_span=None,
        in_specs=_specs(operands, Role.INPUT),
        out_specs=_specs(operands, Role.OUTPUT),
        out_shape_count=len(outputs),
        out_shape_span=None,
        argument_count=len([one for one in operands if one.role in (Role.PREFETCH, Role.INPUT)]),
        arguments_span=None,
        operands=operands,
        scratch_span=None,
        named_scratch=0,
        kernel=KernelFunction(
            traced.kernel,
            arity,
            tuple(Parameter(operand.name, None, index) for index, operand in enumerate(operands)),
            None,
            None,
        ),
        semantics=semantics,
        vmem_limit_bytes=traced.vmem_limit_bytes,
        vmem_limit_span=None,
        aliases=traced.aliases,
        alias_span=None,
        origin="trace",
    )


def _specs(operands: Sequence[Operand], role: Role) -> SpecList | None:
    specs = tuple(operand.spec for operand in operands if operand.role is role)
    return SpecList(specs, None) if any(spec is not None for spec in specs) else None


def _operand(traced: TracedOperand) -> Operand:
    role = Role(traced.role)
    if traced.dtype.endswith("_sem") or traced.memory_space == MemorySpace.SEMAPHORE:
        kind = traced.dtype.removesuffix("_sem").replace("semaphore", "regular")
        return Operand(traced.name, role, Unknown("a semaphore"), None, MemorySpace.SEMAPHORE, None, semaphore=kind)
    space = _space(traced.memory_space)
    return Operand(traced.name, role, ArrayType(traced.shape, traced.dtype), _spec(traced), space, None)


def _space(word: str | None) -> MemorySpace | Unknown:
    if word is None:
        return MemorySpace.VMEM
    try:
        return MemorySpace(word)
    except ValueError:
        return Unknown(f"it is in {word}")


def _spec(traced: TracedOperand) -> BlockSpec | None:
    if traced.block is None:
        return None
    return BlockSpec(
        tuple(BlockDimension(DimensionKind(dim.kind), dim.size) for dim in traced.block),
        None if traced.index_map is None else _index_map(traced.index_map),
        None if traced.memory_space is None else _space(traced.memory_space),
        traced.buffers,
        None,
    )


def _index_map(traced: TracedIndexMap) -> IndexMap:
    return IndexMap(traced.text, Arity(traced.arity, traced.arity), tuple(_result(one) for one in traced.results), None)


def _result(traced: TracedIndex) -> IndexMapResult:
    """A number where the map always returns the same, else the axes that it hangs on."""
    if not traced.axes and not traced.reads_prefetch and traced.values and traced.values[0] is not None:
        return IndexMapResult("integer", traced.values[0])
    reason = Unknown("the trace gives its value at some steps only")
    return IndexMapResult("reference" if traced.reads_prefetch else "integer", reason, axes=frozenset(traced.axes))
