"""Matmul in a kernel whose result is narrower than 32 bits.

## What it does

Finds `@`, `jnp.dot`, `jnp.matmul`, `jnp.tensordot`, `jnp.inner`, `jnp.einsum`, `lax.dot`
and `lax.dot_general` of narrow types (bfloat16, int8, float8 …) in kernels that do not ask
for a 32-bit result with `preferred_element_type`.

## Why it is wrong

The MXU accumulates in 32 bits and the compiler takes no other result type. Without
`preferred_element_type` the result has the type of the operands, and the lowering
stops with a message that sends you to file a bug: "'tpu.matmul' op Expected matmul acc
to be 32-bit". Interpret mode accepts it.

## Known limits

Says nothing where the types of the operands are not known, nor about `jnp.einsum` whose
formula is not a text with `->` that contracts two operands. The fix changes the type of
the result: convert it back where it is stored into a narrow ref.

## Source

The verifier of `tpu.matmul`, measured with JAX 0.10.2 and 0.12.0.1.
"""

from __future__ import annotations

from collections.abc import Iterable

from pallas_lens.model.dtypes import BITS, is_floating, short_name
from pallas_lens.model.finding import Severity
from pallas_lens.model.fix import Fix, InsertArgument
from pallas_lens.model.kernel_body import BodyOperation, KernelBody, OperationKind
from pallas_lens.model.kernel_call import ArrayType
from pallas_lens.model.unknown import Unknown

from ..context import NUMPY, Context
from ..example import kernel_file
from ..rule import BodyRule, Invalid, Problem, Valid

_OPERATOR = "operator.matmul"
_CALLS = (
    "jax.numpy.dot",
    "jax.numpy.matmul",
    "jax.numpy.tensordot",
    "jax.numpy.inner",
    "jax.numpy.einsum",
    "jax.lax.dot",
)
_CALLS_WITHOUT_PROMOTION = ("jax.lax.dot", "jax.lax.dot_general")


def check(body: KernelBody, context: Context) -> Iterable[Problem]:
    for operation in body.operations:
        if operation.kind is not OperationKind.DOT or operation.name not in (
            _OPERATOR,
            *_CALLS,
            *_CALLS_WITHOUT_PROMOTION,
        ):
            continue
        asked = operation.result_dtype_asked
        if asked is None:
            continue
        dtypes = _operand_dtypes(operation)
        if dtypes is None:
            continue
        result = asked or _result_dtype(*dtypes)
        if result is None or result not in BITS or BITS[result] >= 32 or not all(BITS[one] < 32 for one in dtypes):
            continue
        wide = "float32" if is_floating(dtypes[0]) or is_floating(dtypes[1]) else "int32"
        numpy = context.spelling(NUMPY, wide) or f"jnp.{wide}"
        yield Problem(
            operation.span,
            f"a matmul of {short_name(dtypes[0])} and {short_name(dtypes[1])} with a {short_name(result)} result: the "
            f"MXU accumulates in 32 bits and gives no other; {_advice(operation, asked, numpy)}",
            fix=_fix(operation, asked, numpy),
        )


def _operand_dtypes(operation: BodyOperation) -> tuple[str, str] | None:
    if len(operation.operands) != 2:
        return None
    found = [_dtype_of_array(operand) for operand in operation.operands]
    first, second = found
    return None if first is None or second is None else (first, second)


def _dtype_of_array(operand: ArrayType) -> str | None:
    """The dtype of a known array of rank 1 or more: ``jnp.dot`` of a scalar multiplies."""
    if isinstance(operand.dtype, Unknown) or operand.dtype not in BITS or operand.dtype == "bool":
        return None
    return operand.dtype if not isinstance(operand.shape, Unknown) and operand.shape else None


def _result_dtype(first: str, second: str) -> str | None:
    """What JAX promotes two narrow types to, where that is sure."""
    if first == second:
        return first
    floats = [dtype for dtype in (first, second) if dtype in ("bfloat16", "float16")]
    integers = [dtype for dtype in (first, second) if not is_floating(dtype)]
    return floats[0] if len(floats) == 1 and len(integers) == 1 else None


def _advice(operation: BodyOperation, asked: str, numpy: str) -> str:
    if operation.name == _OPERATOR:
        return f"write jnp.dot(…, preferred_element_type={numpy}) and convert the result"
    return f"{'ask for' if asked else 'give'} preferred_element_type={numpy} and convert the result"


def _fix(operation: BodyOperation, asked: str, numpy: str) -> Fix | None:
    """Only a call can be given an argument. Unsafe: the result has another type then."""
    if operation.name == _OPERATOR or asked:
        return None
    text = f"preferred_element_type={numpy}"
    return Fix(f"Add {text}", (InsertArgument(operation.span, text),))


RULE = BodyRule(
    code="PAL601",
    name="narrow-matmul-accumulator",
    severity=Severity.ERROR,
    summary="A matmul of narrow types does not ask for a 32-bit result.",
    documentation=__doc__ or "",
    check=check,
    valid=(
        Valid(
            kernel_file("""
                def matmul(a_ref, b_ref, o_ref):
                    product = jnp.dot(a_ref[...], b_ref[...], preferred_element_type=jnp.float32)
                    o_ref[...] = product.astype(o_ref.dtype)


                # pallas-lens: example a0=bf16[128,128], a1=bf16[128,128]
                def call(a0, a1):
                    return pl.pallas_call(
                        matmul,
                        out_shape=jax.ShapeDtypeStruct((128, 128), jnp.bfloat16),
                    )(a0, a1)
            """)
        ),
        Valid(
            kernel_file("""
                def matmul(a_ref, b_ref, o_ref):
                    o_ref[...] = a_ref[...].astype(jnp.float32) @ b_ref[...]


                # pallas-lens: example a0=bf16[128,128], a1=bf16[128,128]
                def call(a0, a1):
                    return pl.pallas_call(
                        matmul,
                        out_shape=jax.ShapeDtypeStruct((128, 128), jnp.float32),
                    )(a0, a1)
            """)
        ),
    ),
    invalid=(
        Invalid(
            kernel_file("""
                def matmul(a_ref, b_ref, o_ref):
                    o_ref[...] = jnp.dot(a_ref[...], b_ref[...]).astype(jnp.bfloat16)


                # pallas-lens: example a0=bf16[128,128], a1=bf16[128,128]
                def call(a0, a1):
                    return pl.pallas_call(
                        matmul,
                        out_shape=jax.ShapeDtypeStruct((128, 128), jnp.bfloat16),
                    )(a0, a1)
            """),
            at="jnp.dot(a_ref[...], b_ref[...])",
            refusal="Expected matmul acc to be 32-bit",
        ),
        Invalid(
            kernel_file("""
                def matmul(a_ref, b_ref, o_ref):
                    o_ref[...] = a_ref[...] @ b_ref[...]


                # pallas-lens: example a0=bf16[128,128], a1=bf16[128,128]
                def call(a0, a1):
                    return pl.pallas_call(
                        matmul,
                        out_shape=jax.ShapeDtypeStruct((128, 128), jnp.bfloat16),
                    )(a0, a1)
            """),
            at="a_ref[...] @ b_ref[...]",
            refusal="Expected matmul acc to be 32-bit",
        ),
        Invalid(
            kernel_file("""
                def matmul(a_ref, b_ref, o_ref):
                    product = jnp.matmul(a_ref[...], b_ref[...], preferred_element_type=jnp.bfloat16)
                    o_ref[...] = product.astype(jnp.float32)


                # pallas-lens: example a0=bf16[128,128], a1=bf16[128,128]
                def call(a0, a1):
                    return pl.pallas_call(
                        matmul,
                        out_shape=jax.ShapeDtypeStruct((128, 128), jnp.float32),
                    )(a0, a1)
            """),
            at="jnp.matmul(a_ref[...], b_ref[...], preferred_element_type=jnp.bfloat16)",
            refusal="Expected matmul acc to be 32-bit",
        ),
        Invalid(
            kernel_file("""
                def matmul(a_ref, b_ref, o_ref):
                    product = jnp.einsum("ij,jk->ik", a_ref[...], b_ref[...])
                    o_ref[...] = product.astype(jnp.float32)


                # pallas-lens: example a0=bf16[128,128], a1=bf16[128,128]
                def call(a0, a1):
                    return pl.pallas_call(
                        matmul,
                        out_shape=jax.ShapeDtypeStruct((128, 128), jnp.float32),
                    )(a0, a1)
            """),
            at='jnp.einsum("ij,jk->ik", a_ref[...], b_ref[...])',
            refusal="Expected matmul acc to be 32-bit",
        ),
    ),
)
