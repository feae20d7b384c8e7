"""Words that rules share: counts with their noun, operands and dims by name."""

from __future__ import annotations

from pallas_lens.model.kernel_call import Arity, Dim, KernelCall, Operand, Role
from pallas_lens.model.unknown import Unknown


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """ "1 parameter", "2 parameters", "no parameters"."""
    if count == 1:
        return f"1 {noun}"
    return f"{count or 'no'} {plural or noun + 's'}"


def arity_text(arity: Arity, noun: str = "argument") -> str:
    """ "1 argument", "2 to 3 arguments", "2 or more arguments"."""
    return f"{arity} {noun}{'' if str(arity) == '1' else 's'}"


def operand_name(call: KernelCall, operand: Operand) -> str:
    """ "input 0 (`x_ref`)": which operand of its role, and the kernel's name for it."""
    same = call.of_role(operand.role)
    number = "" if isinstance(same, Unknown) or len(same) < 2 else f" {same.index(operand)}"
    role = {Role.PREFETCH: "prefetched operand", Role.SCRATCH: "scratch"}.get(operand.role, operand.role.value)
    name = _ref_name(call, operand)
    return f"{role}{number} (`{name}`)" if name else f"{role}{number}"


def _ref_name(call: KernelCall, operand: Operand) -> str:
    """The kernel's parameter for the operand, else the operand's own name where that is one."""
    if not isinstance(call.kernel, Unknown) and not isinstance(call.operands, Unknown):
        for parameter in call.kernel.parameters:
            if parameter.operand is not None and call.operands[parameter.operand] is operand:
                return parameter.name
    return operand.name if operand.name.isidentifier() else ""


def dim_text(dim: Dim) -> str:
    """A dim as a reader writes it; "?" where it is not known."""
    return "?" if isinstance(dim, Unknown) else str(dim)


def shape_text(shape: tuple[Dim, ...]) -> str:
    """A shape as Python prints a tuple."""
    inner = ", ".join(map(dim_text, shape))
    return f"({inner},)" if len(shape) == 1 else f"({inner})"


def bytes_text(count: int) -> str:
    """Bytes in the unit that reads best: "16 MiB", "1.13 MiB", "512 B"."""
    if count >> 60:
        # No memory is that large, and a longer number would not fit a float.
        return "more than 1 EiB"
    for unit, size in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count / size:.2f}".rstrip("0").rstrip(".") + f" {unit}"
    return f"{count} B"


def listed(words: tuple[str, ...]) -> str:
    """ "a", "a and b", "a, b and c"."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
