"""Words and tables that hovers share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pallas_lens.model.chip import Chip
from pallas_lens.model.dtypes import short_name
from pallas_lens.model.kernel_body import KernelBody
from pallas_lens.model.kernel_call import Dim, KernelCall, KernelFunction, MemorySpace, Operand, Role
from pallas_lens.model.module_facts import Specialised
from pallas_lens.model.symbolic import Integer, multiply
from pallas_lens.model.unknown import Unknown
from pallas_lens.model.vmem import BufferItem

from .pictures.picture import PictureForm


@dataclass(frozen=True, slots=True)
class Seen:
    """One world of one specialisation of a call, with the generic call and the target chips."""

    call: KernelCall
    body: KernelBody | None
    specialised: Specialised
    generic: KernelCall | None
    chips: tuple[Chip, ...]
    pictures: PictureForm = PictureForm.NONE

    @property
    def reading(self) -> str:
        """Which specialisation is shown, in italics; "" for the generic one."""
        words = self.specialised.reading or (self.specialised.name if self.specialised.name != "generic" else "")
        return f"*{words}*" if words else ""


def bytes_text(count: Integer | Unknown) -> str:
    """Bytes in the unit that reads best: "16 MiB", "1.13 MiB", "512 B"; an expression in bytes; "?"."""
    if isinstance(count, Unknown):
        return "?"
    if not isinstance(count, int):
        return f"`{count}` B"
    if count >> 60:
        # No memory is that large, and a longer number would not fit a float.
        return "more than 1 EiB"
    for unit, size in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count / size:.2f}".rstrip("0").rstrip(".") + f" {unit}"
    return f"{count} B"


def item_bytes_text(item: BufferItem) -> str:
    """Bytes of an allocation; where only its dtype is not known, how many elements it has."""
    if not isinstance(item.bytes, Unknown) or isinstance(item.shape, Unknown) or not isinstance(item.dtype, Unknown):
        return bytes_text(item.bytes)
    elements: Integer = item.buffers
    for dim in item.shape:
        if isinstance(dim, Unknown):
            return "?"
        elements = multiply(elements, dim)
    return f"{code(str(elements))} elements" if not isinstance(elements, int) else f"{number_text(elements)} elements"


_LONGEST_NAME = 28


def name_code(name: str) -> str:
    """A ref's name as inline code, cut where the expression it was taken from is long."""
    return code(name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…")


def number_text(value: float) -> str:
    """A count, or a cost with two decimals below 10, one below 100, none above; thousands apart."""
    if isinstance(value, int) or value >= 100:
        return f"{value:,.0f}".replace(",", " ")
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"


def dim_text(dim: Dim) -> str:
    """A dim as a reader writes it; "?" where it is not known."""
    return "?" if isinstance(dim, Unknown) else str(dim)


def dims_text(shape: tuple[Dim, ...] | Unknown) -> str:
    """A shape as Python prints a tuple; "?" where not even the rank is known."""
    if isinstance(shape, Unknown):
        return "?"
    inner = ", ".join(map(dim_text, shape))
    return f"({inner},)" if len(shape) == 1 else f"({inner})"


def array_text(shape: tuple[Dim, ...] | Unknown, dtype: str | Unknown) -> str:
    """An array as JAX prints avals: "f32[256,512]"; "?" for what is not known."""
    name = "?" if isinstance(dtype, Unknown) else short_name(dtype)
    inner = "?" if isinstance(shape, Unknown) else ",".join(map(dim_text, shape))
    return f"{name}[{inner}]"


def operand_array_text(operand: Operand) -> str:
    """The array behind an operand as JAX prints avals."""
    if isinstance(operand.array, Unknown):
        return "?"
    return array_text(operand.array.shape, operand.array.dtype)


def code(text: str) -> str:
    """``text`` as inline code that a table cell can hold, on one line."""
    flat = " ".join(text.split()).replace("|", "\\|")
    fence = "``" if "`" in flat else "`"
    return f"{fence}{flat}{fence}" if flat else ""


def space_text(space: MemorySpace | Unknown) -> str:
    """A memory space in capitals; "?" where not known."""
    if isinstance(space, Unknown):
        return "?"
    return "semaphores" if space is MemorySpace.SEMAPHORE else space.value.upper()


_ROLES = {Role.PREFETCH: "prefetch", Role.INPUT: "in", Role.OUTPUT: "out", Role.SCRATCH: "scratch"}


def role_text(call: KernelCall, operand: Operand) -> str:
    """ "in 0", "out", "scratch 1": the role, numbered where there are several."""
    same = call.of_role(operand.role)
    word = _ROLES[operand.role]
    if isinstance(same, Unknown) or len(same) < 2:
        return word
    number = next((index for index, one in enumerate(same) if one is operand), None)
    return word if number is None else f"{word} {number}"


def ref_name(call: KernelCall, operand: Operand) -> str:
    """What the kernel calls the operand, or the operand's own name."""
    if isinstance(call.kernel, KernelFunction) and not isinstance(call.operands, Unknown):
        for parameter in call.kernel.parameters:
            position = parameter.operand
            if position is not None and position < len(call.operands) and call.operands[position] is operand:
                return parameter.name
    return operand.name


def axes_text(axes: frozenset[int] | Unknown) -> str:
    """ "0, 2"; "none"; "?"."""
    if isinstance(axes, Unknown):
        return "?"
    return ", ".join(map(str, sorted(axes))) or "none"


def table(header: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = ()) -> str:
    """A Markdown table; columns in ``right`` are set flush right."""
    numbers = set(right)
    rule = ["---:" if column in numbers else "---" for column in range(len(header))]
    lines = [header, rule, *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def by_chip(values: Mapping[str, str]) -> str:
    """One text where it is the same on every chip, else each with its chips: "1 MiB (v5p: 512 KiB)"."""
    groups: dict[str, list[str]] = {}
    for chip, value in values.items():
        groups.setdefault(value, []).append(chip)
    if not groups:
        return ""
    common = max(groups, key=lambda value: len(groups[value]))
    rest = [f"{', '.join(chips)}: {value}" for value, chips in groups.items() if value != common]
    return f"{common} ({'; '.join(rest)})" if rest else common
