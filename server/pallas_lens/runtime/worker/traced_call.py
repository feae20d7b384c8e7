"""One equation of a jaxpr that starts a kernel, as the facts which the protocol carries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..protocol import TracedCall, TracedDim, TracedOperand
from .index_map import read_index_map, sample_points
from .user_position import Position, UserFile

# By the name of JAX's primitive.
FORMS = {
    "pallas_call": "pallas_call",
    "emit_pipeline": "emit_pipeline",
    "mpmd_map": "kernel",
    "core_map": "core_map",
}
_KINDS = {
    "Blocked": "blocked",
    "Squeezed": "squeezed",
    "Mapped": "squeezed",
    "Element": "element",
    "Unblocked": "element",
    "BoundedSlice": "bounded_slice",
    "Indirect": "indirect",
}
_WHERE = re.compile(r"(?P<name>.*?) at (?P<file>.*):(?P<row>\d+)$", re.DOTALL)
# How JAX says that nothing was chosen.
_NO_SPACE = ("none", "default")


def traced_calls_of(
    equation: Any, inside: tuple[str, ...], position: Position | None, user_file: UserFile
) -> list[TracedCall]:
    """The calls that an equation of one of `FORMS` stands for: one, or one for each mesh of an `mpmd_map`."""
    return [
        _call(equation, form, jaxpr, inside, position, user_file, **facts)
        for form, jaxpr, facts in _kernels_of(equation)
    ]


def _kernels_of(equation: Any) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """The form and jaxpr of each kernel that the equation starts, and what is particular to it."""
    form, params = FORMS[equation.primitive.name], equation.params
    if form in ("pallas_call", "emit_pipeline"):
        jaxpr = _jaxpr(params["jaxpr" if form == "pallas_call" else "body_jaxpr"])
        yield form, jaxpr, _on_grid(params["grid_mapping"], form, jaxpr)
        return
    jaxprs = params.get("jaxprs") or (params["jaxpr"],)
    meshes = params.get("meshes") or (params.get("mesh"),)
    for jaxpr, mesh in zip(map(_jaxpr, jaxprs), meshes, strict=False):
        info = params.get("debug_info") or getattr(jaxpr, "debug_info", None)
        # Since JAX 0.11 `core_map` is written with the primitive of `pl.kernel`.
        closes_over = "closed_over" in str(getattr(info, "traced_for", ""))
        yield "core_map" if closes_over else form, jaxpr, _on_mesh(equation, jaxpr, mesh)


def _on_grid(mapping: Any, form: str, jaxpr: Any) -> dict[str, Any]:
    """A `pallas_call` or a pipeline: the grid mapping says it all but the names and scratch of the kernel."""
    grid = tuple(size if isinstance(size, int) else None for size in mapping.grid)
    points = sample_points(grid)
    prefetched, windows = mapping.num_index_operands, len(mapping.block_mappings)
    # A pipeline's body also gets what it takes from the code around it, in front.
    skipped = 0 if form == "pallas_call" else max(len(jaxpr.invars) - windows, 0)
    refs = list(zip(_names(jaxpr), (variable.aval for variable in jaxpr.invars), strict=True))[skipped:]
    operands = [_buffer(name, "prefetch", aval) for name, aval in refs[:prefetched]]
    for index, (block_mapping, (name, aval)) in enumerate(
        zip(mapping.block_mappings, refs[prefetched : prefetched + windows], strict=True)
    ):
        role = "input" if index < mapping.num_inputs else "output"
        mode = getattr(block_mapping, "pipeline_mode", None)
        # Early JAX, such as 0.7, has the one of these two for the other.
        array = getattr(block_mapping, "array_aval", None) or block_mapping.array_shape_dtype
        operands.append(
            TracedOperand(
                name=name,
                role=role,
                shape=_shape(array),
                dtype=_dtype(array),
                block=tuple(_block_dim(dim) for dim in block_mapping.block_shape),
                memory_space=_space(aval),
                buffers=_count(getattr(mode, "buffer_count", None)),
                index_map=read_index_map(block_mapping, len(grid), points),
            )
        )
    operands += [_buffer(name, "scratch", aval) for name, aval in refs[prefetched + windows :]]
    return {
        "grid": grid,
        "vmapped_dims": tuple(mapping.vmapped_dims),
        "num_scalar_prefetch": prefetched,
        "points": points,
        "operands": tuple(operands),
    }


def _on_mesh(equation: Any, jaxpr: Any, mesh: Any) -> dict[str, Any]:
    """A kernel over the cores of a mesh: its operands are whole arrays."""
    # The primitive of early JAX takes the refs that the body closes over as constants.
    inputs = 0 if equation.primitive.name == "core_map" else len(equation.invars)
    outputs = len(equation.params.get("out_avals") or ())
    roles = ["input"] * inputs + ["output"] * outputs
    roles += ["scratch"] * max(len(jaxpr.invars) - len(roles), 0)
    operands = tuple(
        _buffer(name, role, variable.aval)
        for name, role, variable in zip(_names(jaxpr), roles, jaxpr.invars, strict=False)
    )
    sizes = dict(getattr(mesh, "shape", None) or {}).values()
    return {
        "grid": tuple(size for size in sizes if isinstance(size, int)),
        "vmapped_dims": (),
        "num_scalar_prefetch": 0,
        "points": (),
        "operands": operands,
    }


def _call(
    equation: Any,
    form: str,
    jaxpr: Any,
    inside: tuple[str, ...],
    position: Position | None,
    user_file: UserFile,
    **facts: Any,
) -> TracedCall:
    params = equation.params
    info = params.get("debug_info") or getattr(jaxpr, "debug_info", None)
    kernel, kernel_row = _kernel(str(getattr(info, "func_src_info", "") or ""), user_file)
    compiler = _compiler_params(params.get("compiler_params"))
    semantics = compiler.get("dimension_semantics")
    if form == "emit_pipeline":
        semantics = params.get("dimension_semantics")
    limit = compiler.get("vmem_limit_bytes")
    aliases = params.get("input_output_aliases") or ()
    pairs = aliases.items() if isinstance(aliases, Mapping) else aliases
    name = params.get("name")
    return TracedCall(
        form=form,
        name=None if name is None else str(name),
        kernel=kernel,
        kernel_row=kernel_row,
        dimension_semantics=None if semantics is None else tuple(_word(one) for one in semantics),
        vmem_limit_bytes=None if limit is None else int(limit),
        aliases=tuple((int(source), int(target)) for source, target in pairs),
        inside=inside,
        row=position.row if position else None,
        column=position.column if position else None,
        end_row=position.end_row if position else None,
        end_column=position.end_column if position else None,
        **facts,
    )


def _kernel(text: str, user_file: UserFile) -> tuple[str, int | None]:
    """The function's name and row from `name at file.py:12`."""
    match = _WHERE.match(text)
    if match is None:
        return text, None
    return match["name"], int(match["row"]) if user_file.owns(match["file"]) else None


def _compiler_params(params: Any) -> dict[str, Any]:
    """Field by field, whether it is a dataclass or, as in early JAX, one inside a mapping by backend."""
    if isinstance(params, Mapping):
        inner = next(iter(params.values()), None)
        if isinstance(inner, Mapping) or hasattr(inner, "dimension_semantics"):
            return _compiler_params(inner)
        return {str(key): value for key, value in params.items()}
    return {name: getattr(params, name, None) for name in ("dimension_semantics", "vmem_limit_bytes")}


def _word(value: Any) -> str:
    """An entry of `dimension_semantics`, an enum or a string; None means the default."""
    return "arbitrary" if value is None else str(getattr(value, "value", value)).lower()


def _buffer(name: str, role: str, aval: Any) -> TracedOperand:
    return TracedOperand(name, role, _shape(aval), _dtype(aval), None, _space(aval), None, None)


def _shape(aval: Any) -> tuple[int, ...]:
    return tuple(size if isinstance(size, int) else -1 for size in getattr(aval, "shape", ()))


def _dtype(aval: Any) -> str:
    dtype = getattr(aval, "dtype", None)
    inner = getattr(aval, "inner_aval", None)
    if dtype is None:
        dtype = getattr(inner, "dtype", None)
    return str(getattr(dtype, "name", dtype if dtype is not None else inner))


def _space(aval: Any) -> str | None:
    space = getattr(aval, "memory_space", None)
    # The memory of a core of a mesh wraps the memory itself.
    space = getattr(space, "memory_space", space)
    word = str(getattr(space, "value", space)).lower()
    return None if word in _NO_SPACE else word


def _block_dim(dim: Any) -> TracedDim:
    if dim is None:
        return TracedDim("squeezed", 1)
    if isinstance(dim, int):
        return TracedDim("blocked", dim)
    kind = _KINDS.get(type(dim).__name__, "blocked")
    size = getattr(dim, "block_size", 1)
    return TracedDim(kind, 1 if kind == "squeezed" else int(size))


def _count(value: Any) -> int | None:
    """Buffers of a window: a pair tells those of a window that is read and written, which share one slot."""
    if isinstance(value, Iterable):
        return sum(int(one) for one in value) - 1
    return None if value is None else int(value)


def _names(jaxpr: Any) -> list[str]:
    names = getattr(getattr(jaxpr, "debug_info", None), "arg_names", None) or ()
    known = [str(name) if name is not None else "" for name in names]
    if len(known) != len(jaxpr.invars):
        known = [""] * len(jaxpr.invars)
    return [name or f"ref[{index}]" for index, name in enumerate(known)]


def _jaxpr(jaxpr: Any) -> Any:
    return getattr(jaxpr, "jaxpr", jaxpr)
