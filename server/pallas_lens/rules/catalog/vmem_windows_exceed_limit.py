"""Windows and scratch that do not fit into VMEM.

## What it does

Adds up what the call is sure to allocate in VMEM on each target chip: the windows of
inputs and outputs with their padding and buffers, and scratch. It compares the sum
with `vmem_limit_bytes`, or with the chip's default limit: 16 MiB on v4, v5e and v5p,
32 MiB on v6e and v7x.

## Why it is wrong

The compiler stops with `E1001: CompileTimeScopedVmemOom`. A window that moves has two
buffers, so that the next block arrives while this one is computed; the last dim is
padded to 128 lanes. `vmem_limit_bytes` can raise the limit up to the chip's VMEM:
16 MiB on v4, 128 on v5e and v6e, 64 on v5p and v7x.

## Known limits

Staying under the limit proves nothing: the compiler adds temporaries and spills. On
v7x XLA may keep a whole operand in VMEM by itself, and its window then costs nothing:
where that could help, the finding is a warning. A call whose `vmem_limit_bytes` is more
than a chip's whole VMEM is not checked for that chip, unless it is the only target. A
scratch buffer of which only a part is used, at constant indices, may be dropped by the
compiler.

## Source

Measured with libtpu 0.0.52 on the five chips: 281 kernels, no overestimate.
"""

from __future__ import annotations

from collections.abc import Iterable

from pallas_lens.model.chip import Chip
from pallas_lens.model.dtypes import short_name
from pallas_lens.model.finding import Related, Severity
from pallas_lens.model.kernel_call import BlockSpec, Form, KernelCall, Role
from pallas_lens.model.unknown import Unknown
from pallas_lens.model.vmem import BufferItem, MemoryUse, buffer_bytes, usable_vmem, vmem_limit, vmem_of

from ..context import Context
from ..example import kernel_file
from ..parts import array_shape, related
from ..rule import CallRule, Invalid, Problem, Valid
from ..wording import bytes_text, counted, listed, operand_name, shape_text

_MOST_ITEMS = 3


def check(call: KernelCall, context: Context) -> Iterable[Problem]:
    if call.form is not Form.PALLAS_CALL:
        return
    exceeding: list[tuple[Chip, MemoryUse]] = []
    certain = True
    # Buffers are padded alike on all chips, so that a call that fits where least is allowed fits everywhere.
    tightest = vmem_of(call, min(context.targets, key=lambda chip: chip.scoped_vmem_limit))
    if isinstance(tightest, Unknown) or tightest.at_least <= min(_limit(call, chip) for chip in context.targets):
        return
    for chip in context.targets:
        if len(context.targets) > 1 and _asks_for_more_than_there_is(call, chip):
            continue
        use = vmem_of(call, chip)
        if isinstance(use, MemoryUse) and use.exceeds_limit is True:
            exceeding.append((chip, use))
            certain = certain and (not chip.may_place_operands_in_vmem or _exceeds_wherever_placed(use, chip))
    if not exceeding:
        return
    use = exceeding[0][1]
    items = sorted((item for item in use.items if item.bytes_at_least), key=lambda item: -item.bytes_at_least)
    shown = items[:_MOST_ITEMS]
    more = f" and {len(items) - len(shown)} more" if len(items) > len(shown) else ""
    doubt = "" if certain else "; XLA may keep operands in VMEM by itself on v7x, where windows then cost nothing"
    yield Problem(
        call.callee_span,
        f"windows and scratch take at least {bytes_text(use.at_least)} of VMEM, more than the limit of "
        f"{_limits(exceeding)}: {listed(tuple(_item_text(call, item) for item in shown))}{more}; "
        f"{_advice(call, exceeding)}{doubt}",
        related=tuple(place for item in shown for place in _place(call, item)),
        chips=tuple(chip.name for chip, _ in exceeding),
        severity=None if certain else Severity.WARNING,
    )


def _limit(call: KernelCall, chip: Chip) -> int:
    limit = vmem_limit(call, chip)
    return usable_vmem(chip) if isinstance(limit, Unknown) else limit


def _asks_for_more_than_there_is(call: KernelCall, chip: Chip) -> bool:
    """Whether ``vmem_limit_bytes`` names more VMEM than the chip has: the kernel is not meant for that chip."""
    return isinstance(call.vmem_limit_bytes, int) and call.vmem_limit_bytes > chip.vmem_capacity


def _exceeds_wherever_placed(use: MemoryUse, chip: Chip) -> bool:
    """Whether the call does not fit even where XLA places the operands for which that is cheaper."""
    return sum(_cheapest(item, chip) for item in use.items) > usable_vmem(chip)


def _cheapest(item: BufferItem, chip: Chip) -> int:
    if item.operand.role is Role.SCRATCH:
        return item.bytes_at_least
    shape, dtype = array_shape(item.operand), item.dtype
    if isinstance(shape, Unknown) or isinstance(dtype, Unknown):
        return 0
    whole = buffer_bytes(shape, dtype, chip)
    return min(item.bytes_at_least, whole) if isinstance(whole, int) else 0


def _limits(exceeding: list[tuple[Chip, MemoryUse]]) -> str:
    by_limit: dict[int, list[str]] = {}
    for chip, use in exceeding:
        limit = use.limit if isinstance(use.limit, int) else usable_vmem(chip)
        by_limit.setdefault(limit, []).append(chip.name)
    return listed(tuple(f"{bytes_text(limit)} on {listed(tuple(names))}" for limit, names in by_limit.items()))


def _item_text(call: KernelCall, item: BufferItem) -> str:
    buffers = counted(item.buffers_at_least, "buffer")
    shape = "?" if isinstance(item.shape, Unknown) else shape_text(item.shape)
    dtype = "" if isinstance(item.dtype, Unknown) else f" {short_name(item.dtype)}"
    return f"{operand_name(call, item.operand)} {bytes_text(item.bytes_at_least)} ({buffers} of {shape}{dtype})"


def _place(call: KernelCall, item: BufferItem) -> tuple[Related, ...]:
    spec = item.operand.spec
    span = spec.span if isinstance(spec, BlockSpec) else item.operand.span
    return related(span, f"{operand_name(call, item.operand)}: {bytes_text(item.bytes_at_least)}")


def _advice(call: KernelCall, exceeding: list[tuple[Chip, MemoryUse]]) -> str:
    raisable = all(use.at_least < usable_vmem(chip) for chip, use in exceeding)
    smaller = "use smaller blocks" if call.grid_is_given else "cut the arrays into blocks with a grid"
    return f"{smaller}, or raise vmem_limit_bytes" if raisable and call.vmem_limit_bytes is None else smaller


RULE = CallRule(
    code="PAL501",
    name="vmem-windows-exceed-limit",
    severity=Severity.ERROR,
    summary="Windows and scratch take more VMEM than the call may use.",
    documentation=__doc__ or "",
    check=check,
    about_whole_call=True,
    valid=(
        Valid(
            kernel_file("""
                def double(x_ref, o_ref):
                    o_ref[...] = x_ref[...] * 2


                # pallas-lens: example a0=f32[8192,2048]
                def call(a0):
                    block = pl.BlockSpec((256, 2048), lambda i: (i, 0))
                    return pl.pallas_call(
                        double,
                        grid=(32,),
                        in_specs=[block],
                        out_specs=block,
                        out_shape=jax.ShapeDtypeStruct((8192, 2048), jnp.float32),
                    )(a0)
            """)
        ),
    ),
    invalid=(
        Invalid(
            kernel_file("""
                def double(x_ref, o_ref):
                    @pl.loop(0, x_ref.shape[0] // 8)
                    def _(i):
                        rows = pl.ds(i * 8, 8)
                        o_ref[rows] = x_ref[rows] * 2


                # pallas-lens: example a0=f32[8192,2048]
                def call(a0):
                    return pl.pallas_call(
                        double,
                        out_shape=jax.ShapeDtypeStruct((8192, 2048), jnp.float32),
                    )(a0)
            """),
            at="pl.pallas_call",
            refusal="vmem",
        ),
        Invalid(
            # 8 MiB of windows fit nearly everywhere; 16 do not where the limit is 16.
            kernel_file("""
                def double(x_ref, o_ref):
                    @pl.loop(0, x_ref.shape[0] // 8)
                    def _(i):
                        rows = pl.ds(i * 8, 8)
                        o_ref[rows] = x_ref[rows] * 2


                # pallas-lens: example a0=f32[16384,1024]
                def call(a0):
                    block = pl.BlockSpec((1280, 1024), lambda i: (i, 0))
                    return pl.pallas_call(
                        double,
                        grid=(13,),
                        in_specs=[block],
                        out_specs=block,
                        out_shape=jax.ShapeDtypeStruct((16384, 1024), jnp.float32),
                    )(a0)
            """),
            at="pl.pallas_call",
            refusal="vmem",
            chips=("v4", "v5e", "v5p"),
        ),
    ),
)
