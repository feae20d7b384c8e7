"""The reading of a call against JAX's own trace of it: every difference, in words.

`differences` compares what the reading states; `not_numeric` lists what it leaves open.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pallas_lens.evaluate.analyzer import Analyzer
from pallas_lens.features.traced_calls import model_of
from pallas_lens.knowledge.chips import CHIPS
from pallas_lens.model.kernel_call import (
    ArrayType,
    BlockSpec,
    DimensionKind,
    Form,
    IndexMap,
    KernelCall,
    KernelFunction,
    Operand,
    Role,
    Semantics,
    flat,
)
from pallas_lens.model.module_facts import CallSite, ModuleFacts, Runnable
from pallas_lens.model.symbolic import Integer, substitute
from pallas_lens.model.unknown import Unknown
from pallas_lens.model.vmem import bytes_on
from pallas_lens.runtime.client import RuntimeClient
from pallas_lens.runtime.protocol import Job, TargetResult, TracedCall, TracedIndexMap, TracedOperand
from pallas_lens.source.document import Document, open_document

CHIP = "v5e"


@dataclass(frozen=True, slots=True)
class Pair:
    """A traced call and the readings of it: of the site that it came from, one a world."""

    traced: TracedCall
    worlds: tuple[KernelCall, ...]

    def differences(self) -> list[str]:
        """Those of the world that fits best; none where a world agrees in all."""
        told = [list(differences(call, self.traced)) for call in self.worlds]
        return min(told, key=len) if told else ["the reading has no such call"]

    def not_numeric(self) -> list[str]:
        """What the first world, which is what users are shown, leaves open; not what only the run can tell."""
        dynamic = tuple(f"grid[{axis}]" for axis, size in enumerate(self.traced.grid) if size is None)
        told = not_numeric(self.worlds[0]) if self.worlds else ()
        return [text for text in told if not text.startswith(dynamic)] if dynamic else list(told)


def trace(client: RuntimeClient, path: Path, runnable: Runnable, roots: tuple[str, ...] = ()) -> TargetResult:
    """What the worker says of a function with its example."""
    job = Job(
        f"{path.stem}-{runnable.function}-{runnable.example}",
        "trace",
        str(path),
        runnable.function,
        arguments=runnable.arguments_text,
        inputs=runnable.inputs,
        targets=(CHIP,),
        import_roots=roots,
    )
    (result,) = client.run(job).results
    return result


def read(path: Path, analyzer: Analyzer | None = None) -> tuple[Document, ModuleFacts]:
    """The file's text and all that the evaluator finds in it."""
    document = open_document(path, path.read_text(encoding="utf-8"))
    return document, (analyzer or Analyzer()).analyse(document)


def pairs(document: Document, facts: ModuleFacts, runnable: Runnable, calls: Sequence[TracedCall]) -> list[Pair]:
    """Each traced call with the readings of its site in the specialisation of the example.

    A call in another file, of which the trace has no row, is found by its kernel's name.
    """
    return [Pair(call, _readings(document, facts, runnable, call)) for call in calls]


def _readings(document: Document, facts: ModuleFacts, runnable: Runnable, traced: TracedCall) -> tuple[KernelCall, ...]:
    placed = [site for site in facts.sites if _stands_at(document, site, traced) and _has_form(site, traced)]
    of_kernel = [site for site in facts.sites if _starts(document, site, traced)]
    for sites in ([one for one in placed if one in of_kernel], placed, of_kernel):
        worlds = [worlds for site in sites for worlds in _of_example(site, runnable)]
        if worlds:
            # One place may make several calls (a wrapper): each is a site of its own to the reading.
            return min(worlds, key=lambda one: len(Pair(traced, one).differences()))
    return ()


def _of_example(site: CallSite, runnable: Runnable) -> list[tuple[KernelCall, ...]]:
    """The worlds of each call that the example makes there: several where a loop or helper calls it again."""
    name = f"example {runnable.example or runnable.function}"
    return [one.worlds for one in site.specialisations if one.name == name or one.name.startswith(f"{name} #")]


def _stands_at(document: Document, site: CallSite, traced: TracedCall) -> bool:
    if traced.row is None or site.span.file is not None:
        return False
    place = document.locate(site.span)
    return place.start_row <= traced.row - 1 <= place.end_row


def _starts(document: Document, site: CallSite, traced: TracedCall) -> bool:
    return any(
        _is_form(call, traced) and isinstance(call.kernel, KernelFunction) and _is_kernel(document, call.kernel, traced)
        for one in site.specialisations
        for call in one.worlds
    )


def _has_form(site: CallSite, traced: TracedCall) -> bool:
    return any(_is_form(call, traced) for one in site.specialisations for call in one.worlds)


def _is_form(call: KernelCall, traced: TracedCall) -> bool:
    """Whether it is the same call of JAX; newer JAX makes a `core_map` a kernel on a mesh."""
    meshes = (Form.KERNEL.value, Form.CORE_MAP.value)
    return call.form.value == traced.form or (call.form.value in meshes and traced.form in meshes)


def _is_kernel(document: Document, kernel: KernelFunction, traced: TracedCall) -> bool:
    """Whether they are one function: by name or, for `name=` gives it another in the trace, by where it is defined."""
    if kernel.name == traced.kernel.rpartition(".")[2]:
        return True
    if traced.kernel_row is None or kernel.definition is None or kernel.definition.file is not None:
        return False
    place = document.locate(kernel.definition)
    return place.start_row <= traced.kernel_row - 1 <= place.end_row


def without_vmap(traced: TracedCall) -> TracedCall:
    """The call as it is written: without the grid axes that `vmap` put in front, and the dims that they walk."""
    added = len(traced.vmapped_dims)
    if traced.vmapped_dims != tuple(range(added)):
        return traced
    operands = []
    for operand in traced.operands:
        index_map = operand.index_map
        if operand.block is not None and index_map is not None and len(index_map.results) == len(operand.block):
            kept = [
                dim
                for dim, result in enumerate(index_map.results)
                if not result.axes or min(result.axes) >= added or operand.block[dim].kind != "squeezed"
            ]
            index_map = replace(index_map, results=tuple(index_map.results[dim] for dim in kept))
            shape = tuple(operand.shape[dim] for dim in kept)
            operand = replace(operand, shape=shape, block=tuple(operand.block[dim] for dim in kept))
        if index_map is not None:
            results = tuple(
                replace(result, axes=tuple(axis - added for axis in result.axes)) for result in index_map.results
            )
            index_map = replace(index_map, arity=index_map.arity - added, results=results)
        operands.append(replace(operand, index_map=index_map))
    points = tuple(point[added:] for point in traced.points)
    return replace(traced, grid=traced.grid[added:], vmapped_dims=(), points=points, operands=tuple(operands))


def differences(call: KernelCall, traced: TracedCall) -> Iterator[str]:
    """Where the reading states something else than JAX decided."""
    sizes = [size for axis, size in enumerate(traced.grid) if axis in traced.vmapped_dims]
    # Where `vmap` maps over prefetched operands, JAX calls the kernel in a loop, as it is written.
    loops = not sizes and traced.num_scalar_prefetch > 0 and bool({"while", "scan"} & set(traced.inside))
    if all(isinstance(size, int) for size in call.batch_sizes) and list(call.batch_sizes) != sizes and not loops:
        yield f"vmap over {_text(call.batch_sizes)}, traced {sizes}"
    traced = without_vmap(traced)
    if not _is_form(call, traced):
        yield f"form {call.form.value}, traced {traced.form}"
        return
    yield from _kernel(call, traced)
    if call.form in (Form.PALLAS_CALL, Form.EMIT_PIPELINE):
        yield from _grid(call, traced)
        if not _unknown(call.num_scalar_prefetch) and _prefetched(call) not in (None, traced.num_scalar_prefetch):
            yield f"num_scalar_prefetch {call.num_scalar_prefetch}, traced {traced.num_scalar_prefetch}"
        if not isinstance(call.aliases, Unknown) and sorted(call.aliases) != sorted(traced.aliases):
            yield f"aliases {call.aliases}, traced {traced.aliases}"
    yield from _semantics(call, traced)
    limit = call.vmem_limit_bytes
    if (limit is None or isinstance(limit, int)) and limit != traced.vmem_limit_bytes:
        yield f"vmem_limit_bytes {limit}, traced {traced.vmem_limit_bytes}"
    if isinstance(call.operands, tuple):
        yield from _operands(call, call.operands, traced)


def _prefetched(call: KernelCall) -> int | None:
    """How many arrays are prefetched, None where a tree of them is not known."""
    if not isinstance(call.operands, tuple):
        return call.num_scalar_prefetch if isinstance(call.num_scalar_prefetch, int) else None
    arrays = flat(operand for operand in call.operands if operand.role is Role.PREFETCH)
    return None if any(operand.is_tree for operand in arrays) else len(arrays)


def _unknown(value: object) -> bool:
    return isinstance(value, Unknown)


def _kernel(call: KernelCall, traced: TracedCall) -> Iterator[str]:
    kernel = call.kernel
    if isinstance(kernel, Unknown):
        return
    name = traced.kernel.rpartition(".")[2]
    # With `name=`, JAX calls the function by that.
    # A pipeline that is itself the kernel goes by the name of a function of JAX.
    if (
        name
        and kernel.name != name
        and traced.name is None
        and kernel.name != Form.EMIT_PIPELINE
        and "<" not in name + kernel.name
    ):
        yield f"kernel {kernel.name}, traced {traced.kernel}"
    if not isinstance(kernel.arity, Unknown) and call.form in (Form.PALLAS_CALL, Form.EMIT_PIPELINE):
        # A tree of refs is one argument of the kernel, and the trace has only its leaves.
        arguments = call.operands if isinstance(call.operands, tuple) else traced.operands
        count = len(arguments) - call.named_scratch
        if not kernel.arity.accepts(count):
            yield f"the kernel takes {kernel.arity}, traced {count}"


def _grid(call: KernelCall, traced: TracedCall) -> Iterator[str]:
    if isinstance(call.grid, Unknown):
        return
    if len(call.grid) != len(traced.grid):
        yield f"grid {_text(call.grid)}, traced {traced.grid}"
        return
    for axis, (dim, size) in enumerate(zip(call.grid, traced.grid, strict=True)):
        if isinstance(dim, int) and dim != size:
            yield f"grid axis {axis} is {dim}, traced {size}"


def _semantics(call: KernelCall, traced: TracedCall) -> Iterator[str]:
    if isinstance(call.semantics, Unknown):
        return
    entries = call.semantics.entries if isinstance(call.semantics, Semantics) else ()
    if isinstance(entries, Unknown) or any(isinstance(entry, Unknown) for entry in entries):
        return
    stated = [entry or "arbitrary" for entry in entries]
    found = list(traced.dimension_semantics or ())
    # A pipeline without them is traced with the default, one for each axis.
    if stated != found and not (not stated and set(found) == {"arbitrary"}):
        yield f"dimension_semantics {stated}, traced {found}"


def _operands(call: KernelCall, operands: Sequence[Operand], traced: TracedCall) -> Iterator[str]:
    for role in Role:
        stated = list(flat(operand for operand in operands if operand.role is role))
        found = [operand for operand in traced.operands if operand.role == role.value]
        if any(operand.is_tree for operand in stated):
            continue
        if call.form in (Form.CORE_MAP, Form.KERNEL) and role is not Role.SCRATCH:
            continue
        if role is Role.SCRATCH and call.named_scratch:
            # Named scratch comes to the kernel by keyword, which JAX sorts.
            stated = sorted(stated, key=lambda operand: operand.name)
        if role is Role.SCRATCH and call.form is Form.EMIT_PIPELINE:
            continue
        if len(stated) != len(found):
            yield f"{len(stated)} of role {role.value}, traced {len(found)}"
            continue
        for number, (operand, other) in enumerate(zip(stated, found, strict=True)):
            trees = traced.num_scalar_prefetch - (_count(call) or 0)
            for text in _operand(operand, other, call, traced, trees):
                yield f"{role.value} {number} ({other.name}): {text}"


def _count(call: KernelCall) -> int | None:
    return call.num_scalar_prefetch if isinstance(call.num_scalar_prefetch, int) else None


def _operand(operand: Operand, traced: TracedOperand, static: KernelCall, call: TracedCall, more: int) -> Iterator[str]:
    """`more`: by how many the index map's leaves outnumber its parameters, for the prefetched trees that it takes."""
    whole = model_of(replace(call, operands=(traced,)))
    assert isinstance(whole.operands, tuple)
    (modelled,) = whole.operands
    stated, found = bytes_on(operand, static.grid, CHIPS[CHIP]), bytes_on(modelled, whole.grid, CHIPS[CHIP])
    if isinstance(stated, int) and isinstance(found, int) and stated != found:
        yield f"{stated} bytes on {CHIP}, traced {found}"
    if operand.semaphore is not None or modelled.semaphore is not None:
        if operand.semaphore != modelled.semaphore and not _unknown(operand.memory_space):
            yield f"semaphore {operand.semaphore}, traced {modelled.semaphore}"
        return
    if not _unknown(operand.memory_space) and operand.memory_space is not modelled.memory_space:
        yield f"memory space {operand.memory_space}, traced {modelled.memory_space}"
    if isinstance(operand.array, ArrayType):
        yield from _shape("array", operand.array.shape, traced.shape)
        if isinstance(operand.array.dtype, str) and operand.array.dtype != traced.dtype:
            yield f"dtype {operand.array.dtype}, traced {traced.dtype}"
    if isinstance(operand.spec, Unknown) or traced.block is None:
        return
    block = operand.spec.block_shape if isinstance(operand.spec, BlockSpec) else None
    if isinstance(block, Unknown):
        return
    if block is None:
        if [(dim.kind, dim.size) for dim in traced.block] != [("blocked", size) for size in traced.shape]:
            yield f"the whole array, traced {_block(traced)}"
        return
    if [dim.kind.value for dim in block] != [dim.kind for dim in traced.block]:
        yield f"block dims {[dim.kind.value for dim in block]}, traced {_block(traced)}"
        return
    yield from _shape("block", tuple(dim.size for dim in block), tuple(dim.size for dim in traced.block))
    assert isinstance(operand.spec, BlockSpec)
    if not _unknown(operand.spec.buffer_count) and operand.spec.buffer_count != traced.buffers:
        yield f"buffers {operand.spec.buffer_count}, traced {traced.buffers}"
    if isinstance(operand.spec.index_map, IndexMap) and traced.index_map is not None:
        found = replace(traced.index_map, arity=traced.index_map.arity - more)
        yield from _index_map(operand.spec.index_map, found, call)


def _shape(what: str, stated: tuple[Integer | Unknown, ...] | Unknown, traced: tuple[int, ...]) -> Iterator[str]:
    if isinstance(stated, Unknown):
        return
    if len(stated) != len(traced):
        yield f"{what} {_text(stated)}, traced {traced}"
        return
    if any(isinstance(dim, int) and dim != size for dim, size in zip(stated, traced, strict=True)):
        yield f"{what} {_text(stated)}, traced {traced}"


def _index_map(index_map: IndexMap, traced: TracedIndexMap, call: TracedCall) -> Iterator[str]:
    if index_map.is_default:
        if any(value != 0 for result in traced.results for value in result.values):
            yield "the default index map, traced another"
        return
    if not isinstance(index_map.arity, Unknown) and not index_map.arity.accepts(traced.arity):
        yield f"the index map takes {index_map.arity}, traced {traced.arity}"
    if isinstance(index_map.results, Unknown):
        return
    if len(index_map.results) != len(traced.results):
        yield f"the index map returns {len(index_map.results)} values, traced {len(traced.results)}"
        return
    for number, (stated, found) in enumerate(zip(index_map.results, traced.results, strict=True)):
        if isinstance(stated.value, Unknown):
            continue
        for point, expected in zip(call.points, found.values, strict=True):
            value = substitute(stated.value, {f"grid{axis}": index for axis, index in enumerate(point)})
            if isinstance(value, int) and expected is not None and value != expected:
                yield f"value {number} of the index map at {point} is {value}, traced {expected}"


def _text(dims: Sequence[Integer | Unknown]) -> str:
    return f"({', '.join('?' if isinstance(dim, Unknown) else str(dim) for dim in dims)})"


def _block(traced: TracedOperand) -> str:
    return f"({', '.join(f'{dim.kind} {dim.size}' for dim in traced.block or ())})"


def not_numeric(call: KernelCall) -> Iterator[str]:
    """What the reading leaves open of grid, blocks, operands and windows, each with the reason where it has one."""
    if isinstance(call.grid, Unknown):
        yield f"grid: {call.grid.reason}"
    else:
        yield from _open_dims("grid", call.grid)
    if isinstance(call.kernel, Unknown):
        yield f"kernel: {call.kernel.reason}"
    if isinstance(call.semantics, Unknown):
        yield f"dimension_semantics: {call.semantics.reason}"
    if isinstance(call.operands, Unknown):
        yield f"operands: {call.operands.reason}"
        return
    for number, operand in enumerate(flat(call.operands)):
        yield from _open_parts(f"operand {number} ({operand.role.value})", operand, call)


def _open_parts(what: str, operand: Operand, call: KernelCall) -> Iterator[str]:
    if operand.semaphore is not None:
        return
    if operand.is_tree:
        yield f"{what}: a tree of arrays"
        return
    if isinstance(operand.array, Unknown):
        yield f"{what} array: {operand.array.reason}"
    else:
        if isinstance(operand.array.shape, Unknown):
            yield f"{what} shape: {operand.array.shape.reason}"
        else:
            yield from _open_dims(f"{what} shape", operand.array.shape)
        if isinstance(operand.array.dtype, Unknown):
            yield f"{what} dtype: {operand.array.dtype.reason}"
    if isinstance(operand.memory_space, Unknown):
        yield f"{what} memory space: {operand.memory_space.reason}"
    if isinstance(operand.spec, Unknown):
        yield f"{what} spec: {operand.spec.reason}"
    elif operand.spec is not None:
        block = operand.spec.block_shape
        if isinstance(block, Unknown):
            yield f"{what} block: {block.reason}"
        elif block is not None:
            sizes = tuple(dim.size for dim in block if dim.kind is not DimensionKind.SQUEEZED)
            yield from _open_dims(f"{what} block", sizes)
        index_map = operand.spec.index_map
        if isinstance(index_map, Unknown):
            yield f"{what} index map: {index_map.reason}"
        elif index_map is not None and isinstance(index_map.results, Unknown):
            yield f"{what} index map: {index_map.results.reason}"
    size = bytes_on(operand, call.grid, CHIPS[CHIP])
    if isinstance(size, Unknown):
        yield f"{what} bytes: {size.reason}"
    elif not isinstance(size, int):
        yield f"{what} bytes: {size}"


def _open_dims(what: str, dims: Sequence[Integer | Unknown]) -> Iterator[str]:
    for number, dim in enumerate(dims):
        if isinstance(dim, Unknown):
            yield f"{what}[{number}]: {dim.reason}"
        elif not isinstance(dim, int):
            yield f"{what}[{number}]: {dim}"


_TITLE = re.compile(r"\s+")


def title(pair: Pair) -> str:
    """A call in a few words, for the message of a test."""
    traced = pair.traced
    return _TITLE.sub(" ", f"row {traced.row}, {traced.form} of {traced.kernel}, grid {traced.grid}")


def with_examples(text: str, arguments: dict[str, str]) -> str:
    """The text of a file with an example comment above each function named, its decorators included."""
    lines = text.splitlines(keepends=True)
    rows: dict[str, int] = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and node.name in arguments:
            # The last one of a name counts: those before it are overloads.
            rows[node.name] = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    assert rows.keys() == arguments.keys(), f"no functions {arguments.keys() - rows.keys()}"
    for name, row in sorted(rows.items(), key=lambda entry: -entry[1]):
        lines.insert(row - 1, f"# pallas-lens: example {arguments[name]}\n")
    return "".join(lines)
