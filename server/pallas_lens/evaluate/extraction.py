"""From a started kernel to the model's KernelCall, one for each world."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product
from typing import Final

from ..model.kernel_call import (
    Arity,
    ArrayType,
    BlockSpec,
    Dim,
    DimensionKind,
    Form,
    KernelCall,
    KernelFunction,
    MemorySpace,
    Missing,
    Operand,
    Parameter,
    Role,
    Semantics,
    SpecList,
)
from ..model.span import Span
from ..model.symbolic import Expression, Integer
from ..model.unknown import Unknown
from .arity import arity_of
from .array_types import dtype_name, known_shape, shape_tuple
from .bodies import FollowedBody, follow_body, read_whole, target_of
from .followed_bodies import FollowedBodies
from .machine import Machine, Started, assumption
from .projection import project
from .recording import array_type, model_dim
from .specs import block_spec, function_span, grid_dims, items_of, parameters_span, spec_list, why
from .trees import is_tree, leaves
from .values import (
    MISSING,
    Array,
    BlockSpecValue,
    CompilerParamsValue,
    DictValue,
    External,
    Function,
    GridSpecValue,
    KernelCallable,
    ListValue,
    Opaque,
    Partial,
    Ref,
    ScratchValue,
    ShapeOf,
    Value,
    item_spans,
)
from .wrappers import comes_from_caller

WORLD_LIMIT: Final = 8
_ALL_WAYS: Final = 3
"""Of so many conditions all combinations are followed; of more, each one flipped alone."""
_MOST_PREFETCHED: Final = 64
"""No kernel has as many operands; a larger number is a slip of the hand."""
_GRID_SPEC_KEYWORDS: Final = ("grid", "in_specs", "out_specs", "scratch_shapes")


def worlds(
    machine: Machine, started: Started, specialisation: str, origin: str, bodies: FollowedBodies | None
) -> tuple[tuple[KernelCall, ...], FollowedBody | None]:
    """One call for each way that the conditions in its parts may go, the likeliest first, with the first one's body.

    ``bodies`` None: without it.
    """
    seen: dict[Hashable, str] = {}
    _project_started(started, started.assumed, seen)
    keys = list(seen)
    machine.base_assumed = started.assumed
    machine.index_results = {}
    machine.specs_made = {}
    built: list[_World] = []
    for assumed in _assignments(started.assumed, keys):
        decided = _project_started(started, assumed, {})
        with _assuming_world(machine, started, assumed):
            built.append(_World(assumed, *_Extraction(machine, decided, specialisation, origin).build()))
    # Of equally likely worlds the one comes first whose grid and operands can be told.
    built.sort(key=lambda world: isinstance(world.call.grid, Unknown) + isinstance(world.call.operands, Unknown))
    first, *others = built
    with _assuming_world(machine, started, first.assumed):
        followed = None if bodies is None else follow_body(machine, first.call, first.kernel, first.refs, bodies.cover)
    for world in others:
        if followed is None or target_of(followed.kernel) is not target_of(world.kernel):
            read_whole(machine, world.kernel)
    calls: list[KernelCall] = []
    for world in built:
        if world.call not in calls:
            calls.append(world.call)
    if len(keys) > _ALL_WAYS:
        ways = f"it hangs on {len(keys)} conditions, and {len(built)} of the ways that they may go are followed"
        calls[0] = replace(calls[0], missing=(*calls[0].missing, Missing("worlds", ways)))
    return tuple(calls), followed


@dataclass(frozen=True, slots=True, eq=False)
class _World:
    """A kernel call as one way of the open conditions makes it."""

    assumed: dict[Hashable, bool]
    call: KernelCall
    kernel: Value
    refs: tuple[Value, ...] | None


@contextmanager
def _assuming_world(machine: Machine, started: Started, assumed: dict[Hashable, bool]) -> Iterator[None]:
    """Around what is evaluated as if the program had come to the start of the kernel by ``assumed``."""
    saved, facts = dict(machine.assumed), machine.facts
    machine.assumed.clear()
    machine.assumed.update(assumed)
    machine.facts = started.facts
    mark = machine.journal.mark()
    try:
        yield
    finally:
        machine.journal.rewind(mark)
        machine.assumed.clear()
        machine.assumed.update(saved)
        machine.facts = facts


def _assignments(known: dict[Hashable, bool], keys: list[Hashable]) -> list[dict[Hashable, bool]]:
    if len(keys) <= _ALL_WAYS:
        made = [
            _assuming(known, dict(zip(keys, ways, strict=True))) for ways in product((True, False), repeat=len(keys))
        ]
    else:
        base = dict.fromkeys(keys, True)
        flips = [{**base, key: False} for key in keys[: WORLD_LIMIT - 2]]
        made = [_assuming(known, ways) for ways in (base, *flips, dict.fromkeys(keys, False))]
    return [one for index, one in enumerate(made) if one not in made[:index]]


def _assuming(known: dict[Hashable, bool], ways: dict[Hashable, bool]) -> dict[Hashable, bool]:
    """``known`` and ``ways``, of which those are false that others rule out."""
    assumed = dict(known)
    for key, way in ways.items():
        ruled = assumption(assumed, key)
        assumed[key] = way if ruled is None else ruled
    return assumed


def _project_started(started: Started, assumed: dict[Hashable, bool], seen: dict[Hashable, str]) -> Started:
    callable_ = started.callable
    arguments = {
        name: (project(value, assumed, seen), span)
        for name, (value, span) in callable_.arguments.items()
        if name not in ("name", "debug", "cost_estimate", "metadata")
    }
    projected = type(callable_)(
        callable_.form,
        project(callable_.kernel, assumed, seen),
        callable_.kernel_span,
        arguments,
        callable_.is_open,
        callable_.span,
        callable_.callee_span,
        callable_.owner,
        callable_.order,
        callable_.wrapper,
    )
    operands = started.operands
    if isinstance(operands, tuple):
        operands = tuple(project(item, assumed, seen) for item in operands)
    return Started(
        projected,
        assumed,
        started.facts,
        started.depth,
        operands,
        started.operands_span,
        started.keywords,
        started.ranks,
        tuple(project(size, assumed, seen) for size in started.batch_sizes),
    )


class _Extraction:
    """Builds one KernelCall; an object only so that its parts can share what is already known."""

    def __init__(self, machine: Machine, started: Started, specialisation: str, origin: str) -> None:
        self.machine = machine
        self.started = started
        self.callable = started.callable
        self.specialisation = specialisation
        self.origin = origin
        self.missing: list[Missing] = []
        self.arguments = dict(started.callable.arguments)
        self.spec = self.arguments.get("grid_spec", (None, None))[0]
        self.grid_rank: int | None = None
        self.prefetch: tuple[Value, ...] | None = None

    def note(self, what: str, value: object) -> None:
        if isinstance(value, Unknown):
            self.missing.append(Missing(what, value.reason))

    def part(self, name: str) -> tuple[Value, Span | None]:
        """The argument called ``name``, from the grid spec where there is one."""
        if isinstance(self.spec, GridSpecValue):
            if name in self.spec.arguments:
                return self.spec.arguments[name]
            if name in _GRID_SPEC_KEYWORDS:
                return MISSING, None
        elif self.spec is not None and name in (*_GRID_SPEC_KEYWORDS, "num_scalar_prefetch"):
            return Opaque("grid_spec", why(self.spec).reason), None
        if name in self.arguments:
            return self.arguments[name]
        if self.callable.is_open:
            return Opaque(name, f"`{name}` may be among `**` arguments that are not known"), None
        return MISSING, None

    def build(self) -> tuple[KernelCall, Value, tuple[Value, ...] | None]:
        form = Form(self.callable.form)
        grid_value, grid_span = self.part("grid")
        grid_is_given = grid_value is not MISSING and grid_value is not None
        grid = grid_dims(grid_value) if grid_is_given else ()
        count = self._prefetch_count()
        self.note("grid", grid)
        self.note("num_scalar_prefetch", count)
        grid_rank = self._rank_by_index_maps(count) if isinstance(grid, Unknown) else len(grid)
        prefetch = self._prefetch_refs(count)
        self.grid_rank, self.prefetch = grid_rank, prefetch
        in_specs = self._specs("in_specs", grid_rank, prefetch)
        out_specs = self._specs("out_specs", grid_rank, prefetch)
        by_role = self._by_role(count, in_specs, out_specs)
        for role, some in by_role.items():
            self.note(role, some)
        operands = _all_of(by_role.values())
        kernel_value = self.callable.kernel
        kernel = self._kernel(kernel_value, operands)
        self.note("kernel", kernel)
        if isinstance(kernel, KernelFunction):
            self.note("kernel_arity", kernel.arity)
        out_shape, out_shape_span = self._out_shape()
        semantics = self._semantics()
        limit, limit_span = self._compiler_param("vmem_limit_bytes")
        aliases_value, alias_span = self.part("input_output_aliases")
        scratch_value, scratch_span = self.part("scratch_shapes")
        if form is Form.KERNEL:
            scratch_value, scratch_span = self.part("scratch_types")
        scratch_items = scratch_value if isinstance(scratch_value, DictValue) else None
        call = KernelCall(
            form=form,
            name=self.callable.owner,
            specialisation=self.specialisation,
            span=self.callable.span,
            callee_span=self.callable.callee_span,
            grid=grid,
            grid_span=grid_span,
            grid_dim_spans=_spans(grid_value),
            grid_is_given=grid_is_given,
            grid_spec_span=self.arguments.get("grid_spec", (None, None))[1],
            grid_beside_grid_spec=self._beside_grid_spec(),
            num_scalar_prefetch=count,
            prefetch_span=self.part("num_scalar_prefetch")[1],
            in_specs=in_specs,
            out_specs=out_specs,
            out_shape_count=None
            if isinstance(out_shape, Opaque) and self._is_operand(out_shape)
            else _out_count(out_shape),
            out_shape_span=out_shape_span,
            argument_count=self._argument_count(),
            arguments_span=self.started.operands_span,
            operands=operands,
            some_operands=()
            if isinstance(operands, tuple)
            else tuple(one for some in by_role.values() if isinstance(some, tuple) for one in some),
            scratch_span=scratch_span,
            named_scratch=len(scratch_items.entries) if scratch_items is not None else 0,
            kernel=kernel,
            semantics=semantics,
            vmem_limit_bytes=_integer_or_none(limit),
            vmem_limit_span=limit_span,
            aliases=_aliases(aliases_value),
            alias_span=alias_span,
            facts=self.started.facts,
            missing=tuple(self.missing),
            origin=self.origin,
            own_buffers="allocations" in self.started.keywords,
            wrapper=self.callable.wrapper,
            is_for_callers=self._is_for_callers(form, grid, kernel_value),
            batch_sizes=tuple(map(model_dim, self.started.batch_sizes)),
            always_interpreted=_is_interpreted(self.part("interpret")[0]),
        )
        return call, kernel_value, self._refs(operands)

    def _rank_by_index_maps(self, prefetched: int | Unknown) -> int | None:
        """The rank of a grid that is not known: what all index maps take, since JAX refuses any other."""
        if isinstance(prefetched, Unknown):
            return None
        arities = {
            arity_of(self.machine, spec.index_map)
            for name in ("in_specs", "out_specs")
            for spec in _listed_value(self.part(name)[0]) or ()
            if isinstance(spec, BlockSpecValue) and spec.index_map is not None
        }
        if len(arities) != 1:
            return None
        (arity,) = arities
        if isinstance(arity, Unknown) or arity.minimum != arity.maximum or arity.minimum <= prefetched:
            return None
        return arity.minimum - prefetched

    def _is_for_callers(self, form: Form, grid: tuple[Dim, ...] | Unknown, kernel: Value) -> bool:
        """Whether the function around only forwards: then what matters is given by its callers."""
        if self.callable.wrapper is not None:
            return False
        has_no_grid = form in (Form.KERNEL, Form.CORE_MAP)
        is_open = isinstance(grid, Unknown) or self.callable.is_open or has_no_grid
        return is_open and comes_from_caller(self.machine, kernel)

    def _beside_grid_spec(self) -> tuple[str, ...]:
        if self.spec is None:
            return ()
        return tuple(
            name for name in _GRID_SPEC_KEYWORDS if name in self.arguments and _says_something(self.arguments[name][0])
        )

    def _argument_count(self) -> int | Unknown | None:
        operands = self.started.operands
        if operands is None:
            return None
        return Unknown(operands.reason) if isinstance(operands, Opaque) else len(operands)

    def _prefetch_count(self) -> int | Unknown:
        value, _ = self.part("num_scalar_prefetch")
        if value is MISSING:
            return 0
        if not isinstance(value, int) or isinstance(value, bool):
            return why(value)
        return value if 0 <= value <= _MOST_PREFETCHED else Unknown("`num_scalar_prefetch` is no count")

    def _prefetch_refs(self, count: int | Unknown) -> tuple[Value, ...] | None:
        if isinstance(count, Unknown):
            return None
        operands = self.started.operands
        refs: list[Value] = []
        for index in range(count):
            given = operands[index] if isinstance(operands, tuple) and index < len(operands) else None
            refs.append(_prefetched_ref(f"prefetch[{index}]", given))
        return tuple(refs)

    def _specs(self, name: str, grid_rank: int | None, prefetch: tuple[Value, ...] | None) -> SpecList | Unknown | None:
        value, span = self.part(name)
        if value is MISSING or value is None or _is_no_spec(value):
            return None
        specs = spec_list(self.machine, value, span, grid_rank, prefetch)
        self.note(name, specs)
        if isinstance(specs, SpecList) and isinstance(specs.specs, tuple):
            for index, spec in enumerate(specs.specs):
                self.note(f"{name}[{index}]", spec)
                if isinstance(spec, BlockSpec):
                    self.note(f"{name}[{index}].block_shape", spec.block_shape)
                    self.note(f"{name}[{index}].index_map", spec.index_map)
        return specs

    def _array(self, value: Value) -> ArrayType | Unknown:
        return _array(value, self.started.ranks)

    def _out_shape(self) -> tuple[Value, Span | None]:
        for name in ("out_shape", "out_type"):
            value, span = self.part(name)
            if value is not MISSING:
                return value, span
        return MISSING, None

    def _by_role(
        self, count: int | Unknown, in_specs: SpecList | Unknown | None, out_specs: SpecList | Unknown | None
    ) -> dict[str, tuple[Operand, ...] | Unknown]:
        """The operands in the kernel's order, the prefetched with the inputs."""
        inputs = count if isinstance(count, Unknown) else self._inputs(count, in_specs)
        return {"inputs": inputs, "outputs": self._outputs(out_specs), "scratch": self._scratch()}

    def _windowed(self, role: Role, name: str, value: Value, spec: BlockSpec | Unknown | None) -> Operand:
        """An input or output with the spec that cuts it into blocks."""
        span = spec.span if isinstance(spec, BlockSpec) else None
        if isinstance(value, ScratchValue | External):
            made = _scratch_operand(name, value)
            if made.semaphore is not None:
                return replace(made, role=role, spec=spec, span=span)
        space = _space_of(spec)
        if isinstance(value, ScratchValue) and self.callable.form != "pallas_call":
            # A kernel on a mesh works on the array where it is. ``pallas_call`` puts a window of it in VMEM.
            space = value.space
        return Operand(name, role, self._array(value), spec, space, span)

    def _argument(
        self, role: Role, name: str, value: Value, spec: BlockSpec | Unknown | None, spec_value: Value
    ) -> Operand:
        """An input or output as the kernel gets it: one array, or a tree of them with a tree of specs."""
        spec = _whole(value, spec, spec_value)
        if not is_tree(value) and not (is_tree(spec_value) and spec_value is not None):
            return self._windowed(role, name, value, spec)
        if value is None and isinstance(spec_value, BlockSpecValue):
            return self._windowed(role, name, value, spec)
        # Buffers of the author's own class get the tree as it is.
        found = None if "allocations" in self.started.keywords else leaves(value, spec_value, name)
        return Operand(
            name,
            role,
            self._array(value),
            spec,
            _space_of(spec),
            None,
            is_tree=True,
            leaves=None
            if found is None
            else tuple(
                self._windowed(role, path, leaf, _whole(leaf, self._block_spec(leaf_spec), leaf_spec))
                for path, leaf, leaf_spec in found
            ),
        )

    def _block_spec(self, value: Value) -> BlockSpec | Unknown | None:
        """The spec of one leaf of a tree, None where there is none."""
        if value is MISSING or value is None:
            return None
        return block_spec(self.machine, value, self.grid_rank, self.prefetch)

    def _spec_value(self, name: str, index: int) -> Value:
        """The entry of ``in_specs`` or ``out_specs`` as the program made it."""
        value = self.part(name)[0]
        items = items_of(value)
        if items is None:
            return value if index == 0 else MISSING
        return items[index] if index < len(items) else MISSING

    def _prefetched(self, name: str, value: Value) -> Operand:
        whole = Operand(
            name,
            Role.PREFETCH,
            self._array(value),
            None,
            MemorySpace.SMEM,
            self.started.operands_span,
            is_tree(value),
        )
        found = leaves(value, MISSING, name) if is_tree(value) else None
        if found is None:
            return whole
        return replace(whole, leaves=tuple(self._prefetched(path, leaf) for path, leaf, _ in found))

    def _inputs(self, count: int, in_specs: SpecList | Unknown | None) -> tuple[Operand, ...] | Unknown:
        given = self.started.operands
        made: list[Operand] = []
        for index in range(count):
            value = given[index] if isinstance(given, tuple) and index < len(given) else MISSING
            made.append(self._prefetched(_operand_name(value, f"prefetch[{index}]"), value))
        specs = _listed(in_specs)
        if self.callable.form == "emit_pipeline" and isinstance(given, tuple):
            given = given[: len(specs)] if specs is not None else given
        values = given[count:] if isinstance(given, tuple) else None
        if specs is None and values is None:
            if isinstance(in_specs, Unknown):
                return in_specs
            return Unknown(given.reason if isinstance(given, Opaque) else "the call of the kernel was not found")
        number = len(specs) if specs is not None else len(values or ())
        for index in range(number):
            value = values[index] if values is not None and index < len(values) else MISSING
            spec: BlockSpec | Unknown | None = in_specs if isinstance(in_specs, Unknown) else None
            if specs is not None:
                spec = specs[index]
            name = _operand_name(value, f"inputs[{index}]")
            made.append(self._argument(Role.INPUT, name, value, spec, self._spec_value("in_specs", index)))
        return tuple(made)

    def _outputs(self, out_specs: SpecList | Unknown | None) -> tuple[Operand, ...] | Unknown:
        value, _ = self._out_shape()
        if self.callable.form == "emit_pipeline":
            return self._pipeline_outputs(out_specs)
        if value is MISSING or value is None:
            return () if not self.callable.is_open else Unknown("`out_shape` is not known")
        if isinstance(value, Opaque) and not self._is_operand(value):
            return Unknown(value.reason)
        if isinstance(value, ListValue) and not isinstance(value.items, tuple):
            return why(value.items)
        items = items_of(value)
        leaves = items if items is not None else (value,)
        specs = _listed(out_specs)
        made: list[Operand] = []
        for index, leaf in enumerate(leaves):
            spec: BlockSpec | Unknown | None = None
            if specs is not None:
                spec = specs[index] if index < len(specs) else None
            elif isinstance(out_specs, Unknown):
                spec = out_specs
            value_of_spec = self._spec_value("out_specs", index)
            made.append(self._argument(Role.OUTPUT, f"outputs[{index}]", leaf, spec, value_of_spec))
        return tuple(made)

    def _is_operand(self, value: Opaque) -> bool:
        """Whether ``value`` is also handed to the kernel: ``out_shape=x`` of an operand ``x`` is one array."""
        given = self.started.operands
        return isinstance(given, tuple) and any(isinstance(one, Opaque) and one == value for one in given)

    def _pipeline_outputs(self, out_specs: SpecList | Unknown | None) -> tuple[Operand, ...] | Unknown:
        specs = _listed(out_specs)
        if isinstance(out_specs, Unknown):
            return out_specs
        if specs is None:
            return ()
        in_count = len(_listed_value(self.part("in_specs")[0]) or ())
        given = self.started.operands
        made: list[Operand] = []
        for index, spec in enumerate(specs):
            position = in_count + index
            value = given[position] if isinstance(given, tuple) and position < len(given) else MISSING
            name = _operand_name(value, f"outputs[{index}]")
            made.append(self._argument(Role.OUTPUT, name, value, spec, self._spec_value("out_specs", index)))
        return tuple(made)

    def _scratch(self) -> tuple[Operand, ...] | Unknown:
        if self.callable.form == "emit_pipeline":
            return self._handed_over()
        value, _ = self.part("scratch_types" if self.callable.form == "kernel" else "scratch_shapes")
        if value is MISSING or value is None:
            return ()
        if isinstance(value, DictValue):
            if value.is_open:
                return Unknown("the keys of `scratch_shapes` are not known")
            return tuple(_scratch_operand(str(name), item) for name, item in value.entries.items())
        items = items_of(value)
        if items is None:
            if isinstance(value, ScratchValue):
                return (_scratch_operand("scratch[0]", value),)
            return why(value.items if isinstance(value, ListValue) else value)
        return tuple(_scratch_operand(f"scratch[{index}]", item) for index, item in enumerate(items))

    def _handed_over(self) -> tuple[Operand, ...] | Unknown:
        """The scratch that the call of a pipeline gives its body: buffers that belong to the code around it."""
        value = self.started.keywords.get("scratches", ())
        items = () if value is None else items_of(value)
        if items is None:
            return why(value.items if isinstance(value, ListValue) else value)
        return tuple(
            Operand(
                _operand_name(item, f"scratch[{index}]"),
                Role.SCRATCH,
                self._array(item),
                None,
                item.memory_space
                if isinstance(item, Ref) and item.memory_space is not None
                else Unknown("it is handed over by the code around the pipeline"),
                None,
                is_tree(item),
            )
            for index, item in enumerate(items)
        )

    def _kernel(self, value: Value, operands: tuple[Operand, ...] | Unknown) -> KernelFunction | Unknown:
        bound_positional = 0
        bound_names: set[str] = set()
        target = value
        while isinstance(target, Partial):
            bound_positional += len(target.arguments)
            bound_names |= {name for name, _ in target.keywords}
            target = target.function
        bodies = items_of(target)
        if bodies and all(isinstance(one, Function | Partial) for one in bodies):
            return self._several_bodies(bodies, operands)
        if isinstance(target, KernelCallable):
            return self._pipeline_as_kernel(target, bound_positional)
        if not isinstance(target, Function):
            return why(value)
        node = target.node
        named = [operand.name for operand in self._scratch_by_name(operands)]
        names = [*node.args.posonlyargs, *node.args.args]
        free = names[bound_positional + (1 if target.is_bound else 0) :]
        parameters = tuple(
            Parameter(
                argument.arg,
                Span(
                    target.anchor,
                    argument.lineno - 1,
                    argument.col_offset,
                    (argument.end_lineno or argument.lineno) - 1,
                    argument.end_col_offset or argument.col_offset,
                ),
                self._operand_of(argument.arg, index, operands),
            )
            for index, argument in enumerate(argument for argument in free if argument.arg not in bound_names)
        )
        return KernelFunction(
            target.name,
            arity_of(self.machine, Partial(value, (), tuple((name, None) for name in named), None)),
            parameters,
            self.callable.kernel_span,
            function_span(target),
            parameters_span(target),
        )

    def _several_bodies(
        self, bodies: tuple[Value, ...], operands: tuple[Operand, ...] | Unknown
    ) -> KernelFunction | Unknown:
        """``pl.kernel(body=[…], mesh=[…])``: one body for each mesh, all given the same refs."""
        kernels = [self._kernel(body, operands) for body in bodies]
        known = [kernel for kernel in kernels if isinstance(kernel, KernelFunction)]
        if len(known) != len(kernels):
            return Unknown("not every body could be followed")
        same = len({kernel.arity for kernel in known}) == 1
        return replace(
            known[0],
            name=", ".join(kernel.name for kernel in known),
            arity=known[0].arity if same else Unknown("the bodies take different numbers of refs"),
        )

    def _pipeline_as_kernel(self, pipeline: KernelCallable, bound: int) -> KernelFunction:
        """What ``emit_pipeline`` returns is itself a kernel: it takes the refs of its inputs and outputs."""
        counts = [_listed_value(pipeline.arguments.get(name, (MISSING, None))[0]) for name in ("in_specs", "out_specs")]
        arity: Arity | Unknown = Unknown("the specs of the pipeline are not known")
        if all(counts):
            count = sum(len(items or ()) for items in counts) - bound
            arity = Arity(count, count)
        return KernelFunction(pipeline.form, arity, (), self.callable.kernel_span, None)

    def _scratch_by_name(self, operands: tuple[Operand, ...] | Unknown) -> tuple[Operand, ...]:
        """Scratch that the kernel gets as keyword arguments (a dict of ``scratch_shapes``)."""
        value = self.part("scratch_types" if self.callable.form == "kernel" else "scratch_shapes")[0]
        if isinstance(operands, Unknown) or not isinstance(value, DictValue) or not value.entries:
            return ()
        return operands[-len(value.entries) :]

    def _operand_of(self, name: str, index: int, operands: tuple[Operand, ...] | Unknown) -> int | None:
        if isinstance(operands, Unknown):
            return None
        by_name = self._scratch_by_name(operands)
        for position, operand in enumerate(by_name):
            if operand.name == name:
                return len(operands) - len(by_name) + position
        return index if index < len(operands) - len(by_name) else None

    def _compiler_param(self, name: str) -> tuple[Value, Span | None]:
        value, _ = self.part("compiler_params")
        if isinstance(value, CompilerParamsValue):
            if name in value.arguments:
                return value.arguments[name]
            if value.is_open:
                return Opaque(name, f"`{name}` may be among `**` arguments that are not known"), None
            return MISSING, None
        if value is MISSING or value is None:
            if name == "dimension_semantics" and self.callable.form == "emit_pipeline":
                return self.part(name)
            return MISSING, None
        return Opaque(name, why(value).reason), None

    def _semantics(self) -> Semantics | Unknown | None:
        value, span = self._compiler_param("dimension_semantics")
        if value is MISSING or value is None:
            return None
        if isinstance(value, str):
            return Semantics(tuple(value), span)
        items = items_of(value)
        if items is None:
            unknown = why(value.items if isinstance(value, ListValue) else value)
            self.note("dimension_semantics", unknown)
            return unknown
        spans = _spans(value)
        return Semantics(tuple(_semantic(item) for item in items), span, spans)

    def _refs(self, operands: tuple[Operand, ...] | Unknown) -> tuple[Value, ...] | None:
        if isinstance(operands, Unknown):
            return None
        refs: list[Value] = []
        for operand in operands:
            if operand.leaves == ():
                refs.append(None)
                continue
            if operand.is_tree or operand.semaphore is not None or isinstance(operand.memory_space, Unknown):
                refs.append(
                    Opaque(operand.name, "it is a tree of refs" if operand.is_tree else "a semaphore has no value")
                )
                continue
            shape, dtype = _ref_type(operand)
            refs.append(Ref(operand.name, shape, dtype, operand.memory_space))
        return tuple(refs)


def _whole(value: Value, spec: BlockSpec | Unknown | None, spec_value: Value) -> BlockSpec | Unknown | None:
    """``spec``; it cuts nothing off where it is ``BlockSpec(x.shape, …)`` and ``value`` is ``x`` or has its shape."""
    if not isinstance(spec, BlockSpec) or not isinstance(spec_value, BlockSpecValue):
        return spec
    shape = spec_value.block_shape
    if not isinstance(shape, ShapeOf):
        return spec
    is_all = value.shape == shape_tuple(shape) if isinstance(value, Array) else value == shape.array
    return replace(spec, block_shape=None) if is_all else spec


def _is_no_spec(value: Value) -> bool:
    """JAX's own default for ``in_specs`` and ``out_specs``."""
    return isinstance(value, External) and value.path.endswith(".no_block_spec")


def _all_of(parts: Iterable[tuple[Operand, ...] | Unknown]) -> tuple[Operand, ...] | Unknown:
    """All operands one after the other, or why the first unknown part is not known."""
    made: list[Operand] = []
    for part in parts:
        if isinstance(part, Unknown):
            return part
        made += part
    return tuple(made)


def _prefetched_ref(name: str, given: Value) -> Value:
    """The ref, or the tuple of refs, of a prefetched operand."""
    if isinstance(given, Array | Ref):
        return Ref(name, given.shape, given.dtype, MemorySpace.SMEM)
    items = items_of(given)
    if items is not None:
        return tuple(_prefetched_ref(f"{name}[{index}]", item) for index, item in enumerate(items))
    return Ref(name, Opaque("shape", "is not known"), Opaque("dtype", "is not known"), MemorySpace.SMEM)


def _is_interpreted(value: Value) -> bool:
    """Whether ``interpret`` surely keeps the TPU compiler out of it."""
    return value is True or (isinstance(value, External) and value.path.endswith(".InterpretParams"))


def _says_something(value: Value) -> bool:
    """Whether an argument is surely more than the default that JAX takes for "not given"."""
    items = items_of(value)
    if items is not None:
        return bool(items)
    return isinstance(value, BlockSpecValue | DictValue | int | Expression) and not isinstance(value, bool)


def _ref_type(operand: Operand) -> tuple[tuple[Value, ...] | Opaque, str | Opaque]:
    """The shape and dtype of the ref that the kernel sees."""
    array = operand.array
    dtype: str | Opaque = Opaque(f"{operand.name}.dtype", "the dtype of the operand is not known")
    whole: tuple[Value, ...] | Opaque = Opaque(f"{operand.name}.shape", "the shape of the operand is not known")
    if isinstance(array, ArrayType):
        if isinstance(array.dtype, str):
            dtype = array.dtype
        if not isinstance(array.shape, Unknown):
            whole = tuple(_value(dim) for dim in array.shape)
    spec = operand.spec
    if isinstance(spec, Unknown):
        return Opaque(f"{operand.name}.shape", spec.reason), dtype
    if spec is None or spec.block_shape is None:
        return whole, dtype
    if isinstance(spec.block_shape, Unknown):
        return Opaque(f"{operand.name}.shape", spec.block_shape.reason), dtype
    return (
        tuple(_value(dim.size) for dim in spec.block_shape if dim.kind is not DimensionKind.SQUEEZED),
        dtype,
    )


def _value(dim: Integer | Unknown) -> Value:
    return Opaque("dim", dim.reason) if isinstance(dim, Unknown) else dim


def _spans(value: Value) -> tuple[Span | None, ...]:
    items = value.items if isinstance(value, ListValue) else value
    return item_spans(items)


def _listed(specs: SpecList | Unknown | None) -> tuple[BlockSpec | Unknown | None, ...] | None:
    if isinstance(specs, SpecList) and isinstance(specs.specs, tuple):
        return specs.specs
    return None


def _listed_value(value: Value) -> tuple[Value, ...] | None:
    items = items_of(value)
    if items is not None:
        return items
    return None if value is MISSING or value is None else (value,)


def _operand_name(value: Value, otherwise: str) -> str:
    return value.text if isinstance(value, Opaque) else otherwise


def _array(value: Value, ranks: dict[str, Value]) -> ArrayType | Unknown:
    if value is MISSING:
        return Unknown("the call of the kernel was not found")
    if isinstance(value, ScratchValue):
        shape = items_of(value.shape)
        named = dtype_name(value.dtype)
        return array_type(Array(shape if shape is not None else Opaque("shape", why(value.shape).reason), named))
    if isinstance(value, Array | Ref | bool | int | float | Expression):
        return array_type(value)
    if isinstance(value, Opaque):
        unknown = Unknown(value.reason)
        shape = known_shape(value, ranks.get(value.text))
        return ArrayType(unknown if shape is None else tuple(map(model_dim, shape)), unknown)
    if is_tree(value):
        return Unknown("it is a tree of arrays")
    return why(value)


def _space_of(spec: BlockSpec | Unknown | None) -> MemorySpace | Unknown:
    if isinstance(spec, Unknown):
        return spec
    if spec is None or spec.memory_space is None:
        return MemorySpace.VMEM
    return spec.memory_space


def _scratch_operand(name: str, value: Value) -> Operand:
    if isinstance(value, ScratchValue):
        if value.semaphore is not None:
            return Operand(
                name,
                Role.SCRATCH,
                Unknown("a semaphore"),
                None,
                MemorySpace.SEMAPHORE,
                value.span,
                semaphore=value.semaphore,
            )
        return Operand(name, Role.SCRATCH, _array(value, {}), None, value.space, value.span)
    if isinstance(value, External) and ".SemaphoreType." in value.path:
        kind = value.path.rpartition(".")[2].lower()
        return Operand(name, Role.SCRATCH, Unknown("a semaphore"), None, MemorySpace.SEMAPHORE, None, semaphore=kind)
    unknown = why(value)
    found = leaves(value, MISSING, name) if is_tree(value) else None
    parts = None if found is None else tuple(_scratch_operand(path, leaf) for path, leaf, _ in found)
    return Operand(name, Role.SCRATCH, unknown, None, unknown, None, is_tree(value), leaves=parts)


def _out_count(value: Value) -> int | Unknown | None:
    if value is MISSING or value is None:
        return 0
    if isinstance(value, Opaque):
        return Unknown(value.reason)
    if isinstance(value, ListValue) and not isinstance(value.items, tuple):
        return why(value.items)
    items = items_of(value)
    return None if items is None else len(items)


def _integer_or_none(value: Value) -> Integer | Unknown | None:
    if value is MISSING or value is None:
        return None
    if isinstance(value, int | Expression) and not isinstance(value, bool):
        return value
    return why(value)


def _aliases(value: Value) -> tuple[tuple[int, int], ...] | Unknown:
    if value is MISSING or value is None:
        return ()
    if isinstance(value, DictValue) and not value.is_open:
        pairs = tuple(value.entries.items())
        if all(isinstance(key, int) and isinstance(target, int) for key, target in pairs):
            return pairs
    return why(value)


def _semantic(item: Value) -> str | Unknown | None:
    if item is None:
        return None
    if isinstance(item, str):
        return item
    if isinstance(item, External):
        return item.path.rpartition(".")[2].lower()
    return why(item)
