"""What the editor shows at a position: a kernel call, a BlockSpec, a grid axis, a kernel's ref or operation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pallas_lens.model.chip import Chip
from pallas_lens.model.kernel_body import BodyOperation, OperationKind
from pallas_lens.model.kernel_call import BlockSpec, KernelCall, KernelFunction, Operand, Semantics, SpecList
from pallas_lens.model.module_facts import CallSite, ModuleFacts, Specialised
from pallas_lens.model.span import Span
from pallas_lens.model.unknown import Unknown
from pallas_lens.source.document import Document
from pallas_lens.source.positions import TextRange

from .hover_call import call_markdown
from .hover_grid import axis_markdown
from .hover_name import named_operation
from .hover_op import operation_markdown
from .hover_ref import access_markdown, parameter_markdown
from .hover_spec import spec_markdown
from .hover_text import Seen
from .pictures.picture import PictureForm


@dataclass(frozen=True, slots=True)
class Hover:
    """Markdown (no HTML) about the part of the document at ``range``."""

    markdown: str
    range: TextRange


def hover(
    document: Document,
    facts: ModuleFacts,
    row: int,
    column: int,
    targets: Sequence[Chip],
    pictures: PictureForm = PictureForm.NONE,
) -> Hover | None:
    """What is known of the thing at a position; None where that is no part of a kernel or its call.

    A call is shown in its most concrete specialisation: an example before a caller of
    the file, that before default arguments.
    """
    place = document.statement_at(row)
    if place is None:
        return None
    at = _Position(document, place[0].anchor, row, column)
    for site in facts.sites:
        for seen in _views(site, targets, pictures):
            found = _in_body(at, seen) or _in_call(at, seen)
            if found is not None:
                return found
    return _by_name(at, facts, tuple(targets))


def _by_name(at: _Position, facts: ModuleFacts, chips: tuple[Chip, ...]) -> Hover | None:
    operation = named_operation(at.document, facts, at.row, at.column)
    where = at.range_of(operation.callee_span) if operation is not None else None
    if operation is None or where is None:
        return None
    return Hover(operation_markdown(operation, chips), where)


@dataclass(frozen=True, slots=True)
class _Position:
    document: Document
    anchor: str
    row: int
    column: int

    def range_of(self, span: Span | None) -> TextRange | None:
        """Where ``span`` stands, when the position is inside."""
        if span is None or span.anchor != self.anchor:
            return None
        where = self.document.locate(span)
        inside = (where.start_row, where.start_column) <= (self.row, self.column) < (where.end_row, where.end_column)
        return where if inside else None

    @property
    def is_on_name(self) -> bool:
        """Whether the character at the position is part of a name or a number."""
        line = self.document.lines[self.row]
        return self.column < len(line) and (line[self.column].isalnum() or line[self.column] == "_")


_CONCRETENESS = {"example": 0, "call": 1, "defaults": 2, "generic": 3}


def _views(site: CallSite, targets: Sequence[Chip], pictures: PictureForm) -> Iterator[Seen]:
    """Every specialisation and world of a site, the most concrete and likeliest first."""
    general = next((one.worlds[0] for one in site.specialisations if one.name == "generic" and one.worlds), None)

    def rank(one: Specialised) -> int:
        return _CONCRETENESS.get(one.name.split(" ")[0], 2)

    for specialised in sorted(site.specialisations, key=rank):
        for call, body in zip(specialised.worlds, specialised.bodies, strict=False):
            yield Seen(call, body, specialised, general, tuple(targets), pictures)


def _in_body(at: _Position, seen: Seen) -> Hover | None:
    if seen.body is None:
        return None
    found: list[tuple[TextRange, BodyOperation]] = []
    for operation in seen.body.operations:
        is_called = operation.callee_span != operation.span
        where = at.range_of(operation.callee_span if is_called else operation.span)
        access = operation.kind in (OperationKind.LOAD, OperationKind.STORE)
        # An operator's span holds its operands; on a name among them the reader asks for something else.
        if where is not None and (is_called or access or not at.is_on_name):
            found.append((where, operation))
    # The innermost stands last among those that start last.
    for where, operation in sorted(found, key=lambda one: (one[0].start_row, one[0].start_column), reverse=True):
        is_access = operation.kind in (OperationKind.LOAD, OperationKind.STORE)
        text = access_markdown(operation, seen) if is_access else operation_markdown(operation, seen.chips)
        if text:
            return Hover(text, where)
    return None


def _in_call(at: _Position, seen: Seen) -> Hover | None:
    call = seen.call
    if isinstance(call.kernel, KernelFunction):
        for parameter in call.kernel.parameters:
            where = at.range_of(parameter.span)
            if where is not None:
                return Hover(parameter_markdown(parameter, seen), where)
    where = at.range_of(call.callee_span)
    if where is not None:
        return Hover(call_markdown(seen), where)
    entry_spans = call.semantics.entry_spans if isinstance(call.semantics, Semantics) else ()
    for axis, span in (*enumerate(call.grid_dim_spans), *enumerate(entry_spans)):
        where = at.range_of(span)
        if where is not None and not isinstance(call.grid, Unknown) and axis < len(call.grid):
            return Hover(axis_markdown(axis, seen), where)
    for span, operands in _specs(call):
        where = at.range_of(span)
        if where is not None:
            return Hover(spec_markdown(span, operands, seen), where)
    where = at.range_of(call.grid_span)
    return Hover(call_markdown(seen), where) if where is not None else None


def _specs(call: KernelCall) -> Iterator[tuple[Span, tuple[Operand, ...]]]:
    """Each spec and scratch of the call with the operands that it describes, inner spans first."""
    operands = () if isinstance(call.operands, Unknown) else call.operands
    described: dict[Span, list[Operand]] = {}
    for specs in (call.in_specs, call.out_specs):
        if isinstance(specs, SpecList) and not isinstance(specs.specs, Unknown):
            for spec in specs.specs:
                if isinstance(spec, BlockSpec) and spec.span is not None:
                    described.setdefault(spec.span, [])
    for operand in operands:
        span = operand.spec.span if isinstance(operand.spec, BlockSpec) else operand.span
        if span is not None:
            described.setdefault(span, []).append(operand)
    inner_first = sorted(described, key=lambda span: (span.start_row, span.start_column), reverse=True)
    for span in inner_first:
        yield span, tuple(described[span])
