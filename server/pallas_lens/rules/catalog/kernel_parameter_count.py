"""Kernel that takes another number of refs than the call hands it.

## What it does

Counts the refs that the kernel receives by position (scalar prefetch, inputs, outputs,
scratch, in this order) and compares them with its parameters: what `functools.partial`
has bound is taken off, default arguments and `*args` make it a range, scratch given as
a dict comes by name.

## Why it is wrong

The kernel is called with all of its refs; the message is Python's own: "k() takes 2
positional arguments but 3 were given". Most often a scratch buffer or the second
output has no parameter.

## Known limits

Says nothing where `in_specs` and the arguments, or `out_specs` and `out_shape`, already
disagree, and nothing about kernels from files that could not be read.

## Source

`_trace_kernel_to_jaxpr` in `jax/_src/pallas/pallas_call.py`, JAX 0.7 to 0.12.
"""

from __future__ import annotations

from collections.abc import Iterable

from pallas_lens.model.finding import Severity
from pallas_lens.model.kernel_call import Form, KernelCall, KernelFunction, Operand, Role, SpecList
from pallas_lens.model.unknown import Unknown

from ..context import Context
from ..example import kernel_file
from ..parts import related
from ..rule import CallRule, Invalid, Problem, Valid
from ..wording import arity_text, counted
from .in_specs_count import missing_specs

_NOUNS = {
    Role.PREFETCH: "prefetched operand",
    Role.INPUT: "input",
    Role.OUTPUT: "output",
    Role.SCRATCH: "scratch buffer",
}


def check(call: KernelCall, context: Context) -> Iterable[Problem]:
    kernel = call.kernel
    if call.form is not Form.PALLAS_CALL or isinstance(kernel, Unknown) or isinstance(kernel.arity, Unknown):
        return
    if isinstance(call.operands, Unknown) or missing_specs(call) or _outputs_disagree(call) or kernel.span is None:
        return
    by_position = call.operands[: len(call.operands) - call.named_scratch]
    count = len(by_position)
    if kernel.arity.accepts(count):
        return
    takes = f"takes {arity_text(kernel.arity, 'positional parameter')}"
    yield Problem(
        kernel.span,
        f"kernel `{kernel.name}` {takes}, but the call hands it {counted(count, 'ref')}: "
        f"{_breakdown(by_position)}; {_advice(kernel, by_position)}",
        related=related(kernel.signature or kernel.definition, f"`{kernel.name}` {takes}"),
    )


def _outputs_disagree(call: KernelCall) -> bool:
    specs, outputs = call.out_specs, call.out_shape_count
    if not isinstance(specs, SpecList) or isinstance(specs.specs, Unknown) or isinstance(outputs, Unknown):
        return False
    return specs.is_sequence is True and outputs is not None and outputs != len(specs.specs)


def _breakdown(operands: tuple[Operand, ...]) -> str:
    counts = [(role, sum(operand.role is role for operand in operands)) for role in Role]
    return ", ".join(counted(count, _NOUNS[role]) for role, count in counts if count) or "none"


def _advice(kernel: KernelFunction, operands: tuple[Operand, ...]) -> str:
    assert not isinstance(kernel.arity, Unknown)
    maximum = kernel.arity.maximum
    if maximum is None or len(operands) < kernel.arity.minimum:
        surplus = kernel.arity.minimum - len(operands)
        return f"{counted(surplus, 'parameter')} would get nothing"
    without = operands[maximum:]
    roles = {operand.role for operand in without}
    what = _NOUNS[without[0].role] if len(roles) == 1 else "ref"
    return f"add {counted(len(without), 'parameter')} for the {what}{'s' if len(without) > 1 else ''} at the end"


RULE = CallRule(
    code="PAL108",
    name="kernel-parameter-count",
    severity=Severity.ERROR,
    summary="The kernel has more or fewer parameters than refs that it receives.",
    documentation=__doc__ or "",
    every_backend=True,
    check=check,
    valid=(
        Valid(
            kernel_file("""
                def double(x_ref, o_ref, scratch_ref):
                    scratch_ref[...] = x_ref[...] * 2
                    o_ref[...] = scratch_ref[...]


                # pallas-lens: example a0=f32[8,128]
                def call(a0):
                    return pl.pallas_call(
                        double,
                        out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
                        scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32)],
                    )(a0)
            """)
        ),
        Valid(
            kernel_file("""
                def scale(factor, x_ref, o_ref, *, offset=0.0):
                    o_ref[...] = x_ref[...] * factor + offset


                # pallas-lens: example a0=f32[8,128]
                def call(a0):
                    kernel = functools.partial(scale, 2.0, offset=1.0)
                    return pl.pallas_call(
                        kernel,
                        out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
                    )(a0)
            """)
        ),
        Valid(
            kernel_file("""
                def add(*refs):
                    *inputs, o_ref = refs
                    o_ref[...] = sum(ref[...] for ref in inputs)


                # pallas-lens: example a0=f32[8,128], a1=f32[8,128]
                def call(a0, a1):
                    return pl.pallas_call(
                        add,
                        out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
                    )(a0, a1)
            """)
        ),
    ),
    invalid=(
        Invalid(
            kernel_file("""
                def double(x_ref, o_ref):
                    o_ref[...] = x_ref[...] * 2


                # pallas-lens: example a0=f32[8,128]
                def call(a0):
                    return pl.pallas_call(
                        double,
                        out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
                        scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32)],
                    )(a0)
            """),
            at="double",
            occurrence=1,
            refusal="positional arguments but 3 were given",
        ),
        Invalid(
            kernel_file("""
                def add(x_ref, y_ref, o_ref):
                    o_ref[...] = x_ref[...] + y_ref[...]


                # pallas-lens: example a0=f32[8,128]
                def call(a0):
                    return pl.pallas_call(
                        add,
                        out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
                    )(a0)
            """),
            at="add",
            occurrence=1,
            refusal="missing 1 required positional argument",
        ),
    ),
)
