"""Block specs, index maps and grids: from values to the model."""

from __future__ import annotations

import ast
from collections.abc import Hashable
from dataclasses import replace
from typing import Final

from ..model import symbolic
from ..model.kernel_call import (
    Arity,
    BlockDimension,
    BlockSpec,
    Dim,
    DimensionKind,
    IndexMap,
    IndexMapResult,
    MemorySpace,
    SpecList,
)
from ..model.span import Span
from ..model.symbolic import Expression
from ..model.unknown import Unknown
from .arguments import Arguments
from .arity import arity_of
from .array_types import DynamicSlice
from .calling import apply
from .index_axes import axes_by_name
from .machine import Machine
from .projection import project
from .recording import model_dim
from .texts import written
from .trees import is_tree
from .values import (
    Array,
    BlockDimensionValue,
    BlockSpecValue,
    BufferedValue,
    DictValue,
    External,
    Function,
    Guarded,
    Instance,
    ListValue,
    MemorySpaceValue,
    Opaque,
    Partial,
    Ref,
    ShapeOf,
    Value,
    describe,
    item_spans,
)

# More than any kernel has; only a slip of the hand gives thousands, which would take long to go through.
_MOST_DIMS: Final = 32
_MOST_SPECS: Final = 512


A_TREE: Final = Unknown("it is a tree of specs")
"""Stands for the specs of one kernel argument that is a pytree of several arrays."""


def why(value: Value) -> Unknown:
    """The reason that ``value`` is not known."""
    match value:
        case Opaque(_, reason):
            return Unknown(reason)
        case ShapeOf(array):
            return Unknown(f"the rank of `{array.text}` is not known")
        case Guarded(_, text):
            return Unknown(f"depends on `{text}`")
        case _:
            return Unknown(f"`{describe(value)}` could not be followed")


def items_of(value: Value) -> tuple[Value, ...] | None:
    """The items of a list or tuple, None for anything else."""
    if isinstance(value, ListValue):
        value = value.items
    return value if isinstance(value, tuple) else None


def grid_dims(value: Value) -> tuple[Dim, ...] | Unknown:
    """A grid as the model has it; a traced bound is an unknown dim."""
    items = items_of(value)
    if items is None:
        if isinstance(value, int | Expression) and not isinstance(value, bool):
            return (value,)
        return why(value.items if isinstance(value, ListValue) else value)
    if len(items) > _MOST_DIMS:
        return Unknown(f"it has {len(items)} dims")
    return tuple(grid_dim(item) for item in items)


def grid_dim(item: Value) -> Dim:
    """One grid bound."""
    if isinstance(item, Array | Ref):
        return Unknown("the bound is a traced value")
    return model_dim(item)


def block_spec(
    machine: Machine, value: Value, grid_rank: int | None, prefetch: tuple[Value, ...] | None
) -> BlockSpec | Unknown | None:
    """One entry of ``in_specs`` or ``out_specs``."""
    if value is None:
        return None
    if is_tree(value):
        return A_TREE
    if not isinstance(value, BlockSpecValue):
        return why(value)
    key = (id(value), -1 if grid_rank is None else grid_rank, -1 if prefetch is None else len(prefetch))
    kept = machine.specs_made.get(key)
    if kept is not None:
        return kept[1]
    made = _made_block_spec(machine, value, grid_rank, prefetch)
    if not _varies_with_world(machine, value, grid_rank, prefetch):
        machine.specs_made[key] = (value, made)
    return made


def _varies_with_world(
    machine: Machine, value: BlockSpecValue, grid_rank: int | None, prefetch: tuple[Value, ...] | None
) -> bool:
    """Whether what the index map returns hangs on conditions that the worlds of a call decide differently."""
    if grid_rank is None or prefetch is None:
        return False
    kept = machine.index_results.get((id(value.index_map), grid_rank, len(prefetch)))
    seen: dict[Hashable, str] = {}
    if kept is not None:
        project(kept[1], {}, seen)
    return bool(seen)


def _made_block_spec(
    machine: Machine, value: BlockSpecValue, grid_rank: int | None, prefetch: tuple[Value, ...] | None
) -> BlockSpec:
    count, lookahead = _buffering(value.pipeline_mode)
    shape = block_shape(value)
    index_map = _index_map(machine, value, grid_rank, prefetch)
    if isinstance(shape, Unknown) and isinstance(index_map, IndexMap) and isinstance(index_map.results, tuple):
        # An index map gives an index for each dim of the block, or JAX refuses the call.
        shape = tuple(BlockDimension(DimensionKind.BLOCKED, shape) for _ in index_map.results)
    return BlockSpec(
        shape,
        index_map,
        memory_space(value.memory_space),
        count,
        value.span,
        value.index_map_span if value.in_old_order else value.block_shape_span,
        value.pipeline_span,
        lookahead,
        value.in_old_order,
    )


def memory_space(value: Value) -> MemorySpace | Unknown | None:
    """The ``memory_space`` of a spec; None where it is not given."""
    if value is None:
        return None
    return value.space if isinstance(value, MemorySpaceValue) else why(value)


def _buffering(value: Value) -> tuple[int | Unknown | None, bool]:
    if value is None:
        return None, False
    if isinstance(value, BufferedValue):
        count = value.count
        known = count if isinstance(count, int) and not isinstance(count, bool) else why(count)
        return known, value.lookahead is True
    return why(value), False


def block_shape(value: BlockSpecValue) -> tuple[BlockDimension, ...] | Unknown | None:
    """The dims of a spec, None for the whole array."""
    if value.in_old_order:
        return Unknown("the arguments of the BlockSpec stand in the old order")
    shape = value.block_shape
    if shape is None:
        return None
    items = items_of(shape)
    if items is None:
        return why(shape.items if isinstance(shape, ListValue) else shape)
    if len(items) > _MOST_DIMS:
        return Unknown(f"it has {len(items)} dims")
    spans = item_spans(shape.items if isinstance(shape, ListValue) else shape)
    return tuple(_dimension(item, span) for item, span in zip(items, spans, strict=True))


def _dimension(item: Value, span: Span | None) -> BlockDimension:
    match item:
        case None:
            return BlockDimension(DimensionKind.SQUEEZED, 1, span)
        case BlockDimensionValue(kind, size):
            return BlockDimension(DimensionKind(kind), model_dim(size), span)
        case External(path) if path.endswith((".squeezed", ".Squeezed")):
            return BlockDimension(DimensionKind.SQUEEZED, 1, span)
        case _:
            return BlockDimension(DimensionKind.BLOCKED, model_dim(item), span)


def _index_map(
    machine: Machine, spec: BlockSpecValue, grid_rank: int | None, prefetch: tuple[Value, ...] | None
) -> IndexMap | Unknown | None:
    value = spec.index_map
    if spec.in_old_order:
        old = Unknown("the arguments of the BlockSpec stand in the old order")
        return IndexMap("", old, old, spec.block_shape_span)
    if value is None:
        return None
    target = value
    while isinstance(target, Partial):
        target = target.function
    if not isinstance(target, Function):
        return why(value)
    arity = arity_of(machine, value)
    node = target.node
    text = written(node) if isinstance(node, ast.Lambda) else node.name
    return IndexMap(
        text,
        arity,
        _results(machine, value, target, arity, grid_rank, prefetch),
        function_span(target),
        parameters_span(target),
    )


def function_span(function: Function) -> Span:
    """A lambda as a whole, or a ``def`` from its name line to its end."""
    node = function.node
    return Span(
        function.anchor,
        node.lineno - 1,
        node.col_offset,
        (node.end_lineno or node.lineno) - 1,
        node.end_col_offset or 0,
    )


def parameters_span(function: Function) -> Span | None:
    """From the first parameter to the last; None where there is none."""
    arguments = function.node.args
    parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    parameters += [extra for extra in (arguments.vararg, arguments.kwarg) if extra is not None]
    places: list[ast.expr | ast.arg] = [*parameters, *arguments.defaults]
    places += [default for default in arguments.kw_defaults if default is not None]
    if not places:
        return None
    first = min(places, key=lambda place: (place.lineno, place.col_offset))
    last = max(places, key=lambda place: (place.end_lineno or 0, place.end_col_offset or 0))
    return Span(
        function.anchor,
        first.lineno - 1,
        first.col_offset,
        (last.end_lineno or last.lineno) - 1,
        last.end_col_offset or 0,
    )


def _results(
    machine: Machine,
    value: Value,
    target: Function,
    arity: Arity | Unknown,
    grid_rank: int | None,
    prefetch: tuple[Value, ...] | None,
) -> tuple[IndexMapResult, ...] | Unknown:
    if grid_rank is None or prefetch is None:
        return Unknown("the rank of the grid is not known")
    if isinstance(arity, Unknown):
        return arity
    if not arity.accepts(grid_rank + len(prefetch)):
        return Unknown("the index map does not take the grid indices")
    undecided: dict[Hashable, str] = {}
    result = project(_called_with_indices(machine, value, grid_rank, prefetch), machine.assumed, undecided)
    if undecided:
        return Unknown(f"depends on `{next(iter(undecided.values()))}`")
    items = items_of(result)
    if items is None:
        if isinstance(result, Opaque | ListValue) or result is None:
            return why(result) if result is not None else Unknown("the index map returns nothing that can be read")
        items = (result,)
    spans = item_spans(result.items if isinstance(result, ListValue) else result)
    if len(spans) != len(items):
        spans = (None,) * len(items)
    axes = axes_by_name(target, grid_rank) if target is value else None
    made = tuple(_result(item, span) for item, span in zip(items, spans, strict=True))
    if axes is None or len(axes) != len(made):
        return made
    return tuple(
        replace(one, axes=known) if isinstance(one.value, Unknown) else one
        for one, known in zip(made, axes, strict=True)
    )


def _called_with_indices(machine: Machine, value: Value, grid_rank: int, prefetch: tuple[Value, ...]) -> Value:
    """What the index map returns, with its conditions still open: done once for all worlds of a call."""
    key = (id(value), grid_rank, len(prefetch))
    if key not in machine.index_results:
        indices = tuple(symbolic.symbol(f"grid{axis}", 0) for axis in range(grid_rank))
        given = Arguments((*indices, *prefetch), {})
        mark = machine.journal.mark()
        facts = machine.facts
        assumed = dict(machine.assumed)
        machine.assumed.clear()
        machine.assumed.update(machine.base_assumed)
        result = apply(machine, value, given)
        machine.journal.rewind(mark)
        machine.facts = facts
        machine.assumed.clear()
        machine.assumed.update(assumed)
        machine.index_results[key] = (value, result)
    return machine.index_results[key][1]


def _result(item: Value, span: Span | None) -> IndexMapResult:
    match item:
        case bool():
            return IndexMapResult("unknown", Unknown("is a bool"), span)
        case int() | Expression():
            return IndexMapResult("integer", item, span)
        case float():
            return IndexMapResult("float", Unknown("is a float"), span)
        case Opaque(is_float=True):
            return IndexMapResult("float", Unknown(f"`{item.text}` is a float"), span)
        case DynamicSlice():
            return IndexMapResult("slice", Unknown("is a slice"), span)
        case Array(shape=(), dtype=str() as dtype):
            if dtype.startswith(("float", "bfloat")):
                return IndexMapResult("float", Unknown("is a float"), span)
            return IndexMapResult("integer", Unknown("depends on values that only the chip knows"), span)
        case Array(shape=tuple() as shape) if shape:
            return IndexMapResult("array", Unknown("is an array"), span)
        case Array(shape=()):
            return IndexMapResult("reference", Unknown("depends on a prefetched operand"), span)
        case _:
            return IndexMapResult("unknown", why(item), span)


def spec_list(
    machine: Machine, value: Value, span: Span | None, grid_rank: int | None, prefetch: tuple[Value, ...] | None
) -> SpecList | Unknown:
    """``in_specs`` or ``out_specs``: a sequence, a single spec, or unknown."""
    if isinstance(value, Instance | DictValue):
        return SpecList((A_TREE,), span, is_sequence=False)
    if isinstance(value, BlockSpecValue):
        return SpecList((block_spec(machine, value, grid_rank, prefetch),), span, is_sequence=False)
    items = items_of(value)
    if items is None:
        return why(value.items if isinstance(value, ListValue) else value)
    if len(items) > _MOST_SPECS:
        return Unknown(f"there are {len(items)} specs")
    return SpecList(tuple(block_spec(machine, item, grid_rank, prefetch) for item in items), span)
