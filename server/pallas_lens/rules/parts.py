"""Parts of a call that several rules look at."""

from __future__ import annotations

from collections.abc import Iterator

from pallas_lens.model.finding import Related
from pallas_lens.model.kernel_call import BlockSpec, Dim, KernelCall, MemorySpace, Operand, Role, SpecList
from pallas_lens.model.span import Span
from pallas_lens.model.tiling import is_trivial_window
from pallas_lens.model.unknown import Unknown

from .wording import shape_text

WHOLE_ARRAY_SPACES = (MemorySpace.ANY, MemorySpace.HBM)
"""Memory spaces that take no window but the whole array."""


def windowed_operands(call: KernelCall) -> Iterator[tuple[Operand, BlockSpec]]:
    """Inputs and outputs that have a BlockSpec; arguments that are trees of arrays are left out."""
    if isinstance(call.operands, Unknown):
        return
    for operand in call.operands:
        if operand.role in (Role.INPUT, Role.OUTPUT) and isinstance(operand.spec, BlockSpec) and not operand.is_tree:
            yield operand, operand.spec


def all_specs(call: KernelCall) -> Iterator[BlockSpec]:
    """Every BlockSpec of the call once, also where the arrays are not known."""
    seen: set[Span] = set()
    for specs in (call.in_specs, call.out_specs):
        if isinstance(specs, SpecList) and not isinstance(specs.specs, Unknown):
            for spec in specs.specs:
                if isinstance(spec, BlockSpec) and (spec.span is None or spec.span not in seen):
                    if spec.span is not None:
                        seen.add(spec.span)
                    yield spec
    for _, spec in windowed_operands(call):
        if spec.span is not None and spec.span not in seen:
            seen.add(spec.span)
            yield spec


def has_known_windows(call: KernelCall) -> bool:
    """Whether blocks are cut from arrays as BlockSpecs say; classes of buffers of the author's own may do otherwise."""
    return not call.own_buffers


def array_shape(operand: Operand) -> tuple[Dim, ...] | Unknown:
    """The shape of the operand's array."""
    return operand.array if isinstance(operand.array, Unknown) else operand.array.shape


def has_trivial_window(operand: Operand, spec: BlockSpec) -> bool | None:
    """Whether the operand's window is the whole array at index 0."""
    return is_trivial_window(spec.block_shape, array_shape(operand), spec.index_map)


def grid_of(call: KernelCall) -> tuple[Dim, ...] | Unknown:
    """The grid; unknown also where it is given twice, which is a fault of its own."""
    if call.grid_beside_grid_spec:
        return Unknown("the grid is given beside a grid spec")
    return call.grid


def runs_once(call: KernelCall) -> bool | None:
    """Whether the call has no grid; None where that is not known."""
    grid = grid_of(call)
    return None if isinstance(grid, Unknown) else grid == ()


def related(span: Span | None, message: str) -> tuple[Related, ...]:
    """One related place, or none where nothing shows where it is."""
    return () if span is None else (Related(span, message),)


def grid_related(call: KernelCall) -> tuple[Related, ...]:
    """The grid as a related place."""
    if isinstance(call.grid, Unknown):
        return ()
    return related(call.grid_span, f"the grid is {shape_text(call.grid)}")


def array_related(operand: Operand, call: KernelCall) -> tuple[Related, ...]:
    """Where an output's shape is given; nothing for inputs, whose arrays come from elsewhere."""
    shape = array_shape(operand)
    if operand.role is not Role.OUTPUT or isinstance(shape, Unknown):
        return ()
    return related(call.out_shape_span, f"the output is {shape_text(shape)}")
