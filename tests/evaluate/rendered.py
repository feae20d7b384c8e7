"""A kernel call as lines of text, which the marks in the kernel files of ``cases/`` state.

    #: grid (cdiv(x.shape[0], bm), 4)          the grid; "none" where none is given
    #: prefetch 1                              num_scalar_prefetch
    #: kernel name takes 3                     the function, and how many refs it still takes
    #: counts in 2, out 1, scratch 1           refs by role; "named 1": scratch by keyword; "given 2": arguments
    #: in 0 x float32(m, k) block (bm, k) at (grid0, 0)
    #: in 1 pair tree of 2                     one argument that holds two arrays: "in 1.0" and "in 1.1" are those
    #: semantics parallel, arbitrary
    #: vmapped (x.shape[0],)                   what each `vmap` around the call maps over
    #: wrapper project_call                    the function that stands in place of JAX's
    #: for callers true                        the function around only forwards
    #: unknown in_specs: `specs` comes from the caller

An input, output, scratch or prefetched operand is a line of its own ("in 0", "out 0", "scratch 0", "prefetch 0"):
name, dtype and shape, block, what the index map returns, and where they are given, memory space and buffers.
"?" stands for what is not known. ``#: [example] …`` speaks of another specialisation than the generic one,
``#: [generic/1] …`` of its second world.
"""

from __future__ import annotations

from collections.abc import Iterator

from pallas_lens.model.kernel_call import (
    ArrayType,
    BlockDimension,
    BlockSpec,
    Dim,
    DimensionKind,
    KernelCall,
    MemorySpace,
    Operand,
    Role,
    Semantics,
)
from pallas_lens.model.unknown import Unknown

_ROLES = {Role.PREFETCH: "prefetch", Role.INPUT: "in", Role.OUTPUT: "out", Role.SCRATCH: "scratch"}


def rendered(call: KernelCall) -> Iterator[tuple[str, str]]:
    """(key, text) of everything that a mark can state."""
    yield "grid", _dims(call.grid) if call.grid_is_given else "none"
    yield "prefetch", _known(call.num_scalar_prefetch)
    if isinstance(call.kernel, Unknown):
        yield "kernel", f"? {call.kernel.reason}"
    else:
        yield "kernel", f"{call.kernel.name} takes {_known(call.kernel.arity)}"
    yield "counts", _counts(call)
    for what, operand in _operands(call):
        yield what, _operand(operand)
    if isinstance(call.semantics, Semantics) and not isinstance(call.semantics.entries, Unknown):
        yield "semantics", ", ".join(_known(entry) for entry in call.semantics.entries)
    else:
        yield "semantics", _known(call.semantics)
    yield "vmem limit", _known(call.vmem_limit_bytes)
    yield "aliases", _known(call.aliases)
    yield "vmapped", _dims(call.batch_sizes)
    yield "wrapper", str(call.wrapper)
    yield "for callers", str(call.is_for_callers).lower()
    yield "interpreted", str(call.always_interpreted).lower()
    for missing in call.missing:
        yield f"unknown {missing.what}", missing.why


def _known(value: object) -> str:
    return "?" if isinstance(value, Unknown) else str(value)


def _dims(dims: tuple[Dim, ...] | Unknown) -> str:
    if isinstance(dims, Unknown):
        return "?"
    inner = ", ".join(map(_known, dims))
    return f"({inner},)" if len(dims) == 1 else f"({inner})"


def _operands(call: KernelCall) -> Iterator[tuple[str, Operand]]:
    if isinstance(call.operands, Unknown):
        return
    numbers = dict.fromkeys(Role, 0)
    for operand in call.operands:
        key = f"{_ROLES[operand.role]} {numbers[operand.role]}"
        yield key, operand
        for index, leaf in enumerate(operand.leaves or ()):
            yield f"{key}.{index}", leaf
        numbers[operand.role] += 1


def _counts(call: KernelCall) -> str:
    if isinstance(call.operands, Unknown):
        return "?"
    parts = []
    for role in Role:
        count = sum(operand.role is role for operand in call.operands)
        if count and role is not Role.PREFETCH:
            parts.append(f"{_ROLES[role]} {count}")
    if call.named_scratch:
        parts.append(f"named {call.named_scratch}")
    if call.argument_count is not None:
        parts.append(f"given {_known(call.argument_count)}")
    return ", ".join(parts)


def _operand(operand: Operand) -> str:
    if operand.is_tree:
        return f"{operand.name} tree" + ("" if operand.leaves is None else f" of {len(operand.leaves)}")
    parts = [operand.name, _array(operand.array)]
    if operand.semaphore is not None:
        parts = [operand.name, f"{operand.semaphore} semaphore"]
    if isinstance(operand.spec, Unknown):
        parts.append("block ?")
    elif operand.spec is not None:
        parts.append(_spec(operand.spec))
    default = MemorySpace.SMEM if operand.role is Role.PREFETCH else MemorySpace.VMEM
    if operand.memory_space is not default and operand.semaphore is None:
        parts.append(f"in {_known(operand.memory_space)}")
    return " ".join(parts)


def _array(array: ArrayType | Unknown) -> str:
    return "?" if isinstance(array, Unknown) else f"{_known(array.dtype)}{_dims(array.shape)}"


def _spec(spec: BlockSpec) -> str:
    if isinstance(spec.block_shape, Unknown):
        parts = ["block ?"]
    elif spec.block_shape is None:
        parts = ["whole"]
    else:
        inner = ", ".join(map(_block_dim, spec.block_shape))
        parts = [f"block ({inner},)" if len(spec.block_shape) == 1 else f"block ({inner})"]
    if isinstance(spec.index_map, Unknown):
        parts.append("at ?")
    elif spec.index_map is not None:
        results = spec.index_map.results
        if isinstance(results, Unknown):
            parts.append(f"at ? taking {_known(spec.index_map.arity)}")
        else:
            inner = ", ".join(
                f"{result.kind}" if isinstance(result.value, Unknown) else str(result.value) for result in results
            )
            parts.append(f"at ({inner},)" if len(results) == 1 else f"at ({inner})")
    if spec.buffer_count is not None:
        parts.append(f"buffers {_known(spec.buffer_count)}")
    return " ".join(parts)


def _block_dim(dimension: BlockDimension) -> str:
    if dimension.kind is DimensionKind.SQUEEZED:
        return "None"
    size = _known(dimension.size)
    return size if dimension.kind is DimensionKind.BLOCKED else f"{dimension.kind}:{size}"
