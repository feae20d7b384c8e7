"""VMEM and SMEM of calls.

Bytes with the remark "libtpu" are what libtpu 0.0.52 reports for the same call; the
generated kernels of test_measured.py compare many more.
"""

from __future__ import annotations

import pytest
from pallas_lens.knowledge.chips import CHIPS
from pallas_lens.model.kernel_call import Dim, KernelCall, MemorySpace, Operand, Role
from pallas_lens.model.smem import smem_limit, smem_of
from pallas_lens.model.symbolic import Integer, multiply, symbol
from pallas_lens.model.unknown import Unknown
from pallas_lens.model.vmem import MemoryUse, buffer_bytes, buffer_counts, bytes_on, usable_vmem, vmem_limit, vmem_of

from model.factory import axis, call, prefetch, scratch, window

ROW, COLUMN = axis(0), axis(1)
M = symbol("m", 1)
KIB, MIB = 1 << 10, 1 << 20
WHY = Unknown("comes from the caller")


def use_of(made: KernelCall, chip: str = "v5e") -> MemoryUse:
    use = vmem_of(made, CHIPS[chip])
    assert isinstance(use, MemoryUse)
    return use


@pytest.mark.parametrize(
    ("shape", "dtype", "size"),
    [
        ((256, 4096), "float32", 4 * MIB),
        ((8, 128), "bfloat16", 2 * KIB),
        ((1, 128), "bfloat16", 512),
        ((64, 1, 1), "float32", 32 * KIB),
        ((512, 1), "float32", 256 * KIB),
        ((128, 512), "bool", 256 * KIB),
        ((128,), "float32", 512),
        ((8, 256), "int4", 1 * KIB),
        ((M, 128), "float32", multiply(M, 512)),
        ((multiply(M, 8), 64), "float32", multiply(M, 4096)),
        ((M, 8, 128), "bfloat16", multiply(M, 2048)),
        ((WHY, 8, 128), "bfloat16", WHY),
    ],
)
def test_bytes_of_a_buffer(shape: tuple[Dim, ...], dtype: str, size: Integer | Unknown) -> None:
    assert buffer_bytes(shape, dtype, CHIPS["v5e"]) == size


def test_a_dtype_that_is_not_known() -> None:
    assert isinstance(buffer_bytes((8, 128), "float3", CHIPS["v5e"]), Unknown)


BLOCK = (512, 512)
ARRAY = (8192, 8192)


@pytest.mark.parametrize(
    ("operand", "grid", "expected"),
    [
        (window(ARRAY, block=BLOCK, index=(ROW, COLUMN)), (16, 16), (2, 2)),
        (window(ARRAY, block=BLOCK, index=(ROW, COLUMN), buffers=1), (16, 16), (1, 1)),
        (window(ARRAY, block=BLOCK, index=(ROW, COLUMN), buffers=2), (16, 16), (2, 2)),
        (window(ARRAY, block=BLOCK, index=(1, 2)), (16, 16), (1, 1)),
        (window(ARRAY, block=BLOCK, index=(COLUMN, COLUMN)), (16, 1), (1, 1)),
        (window(ARRAY, block=BLOCK, index=(ROW, COLUMN)), (1, 1), (1, 1)),
        (window(BLOCK, block=BLOCK, index=(0, 0)), (16, 16), (1, 1)),
        (window(BLOCK, block=BLOCK), (16, 16), (1, 1)),
        (window(ARRAY), (16, 16), (1, 1)),
        (window(ARRAY, block=BLOCK, index=(ROW, 0)), (M, 1), (2, 1)),
        (window(ARRAY, block=BLOCK, index=(WHY, 0)), (16, 1), (2, 1)),
        (window((M, 8192), block=(M, 512), index=(0, COLUMN)), (16, 16), (2, 2)),
        (scratch(BLOCK), (16, 16), (1, 1)),
        (prefetch((16,)), (16, 16), (1, 1)),
    ],
)
def test_buffers(operand: Operand, grid: tuple[Dim, ...], expected: tuple[int, int]) -> None:
    assert buffer_counts(operand, grid) == expected


def matmul(rows: int = 256, columns: int = 256, depth: int = 4096, **options: object) -> KernelCall:
    """Blocks of a float32 matmul that walks rows and columns."""
    return call(
        [
            window((8192, depth), block=(rows, depth), index=(ROW, 0)),
            window((depth, 8192), block=(depth, columns), index=(0, COLUMN)),
            window((8192, 8192), block=(rows, columns), index=(ROW, COLUMN), role=Role.OUTPUT),
        ],
        (8192 // rows, 8192 // columns),
        **options,  # type: ignore[arg-type]
    )


def test_a_call_item_by_item() -> None:
    use = use_of(matmul())
    assert [item.bytes for item in use.items] == [8 * MIB, 8 * MIB, 512 * KIB]
    assert use.total == 16.5 * MIB, "libtpu"
    assert use.limit == 16 * MIB
    assert use.exceeds_limit is True
    assert use_of(matmul(), "v6e").exceeds_limit is False


@pytest.mark.parametrize(
    ("asked", "chip", "limit"),
    [
        (None, "v5e", 16 * MIB),
        (None, "v7x", 32 * MIB),
        (100 * MIB, "v5e", 100 * MIB),
        (200 * MIB, "v5e", 128 * MIB),
        (200 * MIB, "v7x", 64 * MIB - 64 * KIB),
        (1024, "v5e", 1024),
    ],
)
def test_the_limit_is_what_is_asked_for_up_to_the_capacity(asked: int | None, chip: str, limit: int) -> None:
    assert vmem_limit(matmul(limit=asked), CHIPS[chip]) == limit


def test_an_unknown_limit_is_still_below_the_capacity() -> None:
    assert use_of(matmul(limit=WHY)).exceeds_limit is None
    huge = call([window((1 << 16, 8192))], (), limit=WHY)
    assert use_of(huge).at_least > usable_vmem(CHIPS["v5e"])
    assert use_of(huge).exceeds_limit is True


def test_an_unknown_item_leaves_the_rest_certain() -> None:
    known = matmul(rows=128)
    assert isinstance(known.operands, tuple)
    more = call([*known.operands, window((8192, 8192), WHY, (8, 128), (ROW, COLUMN))], (64, 32))
    use = use_of(more)
    assert use.windows is WHY and use.total is WHY
    assert use.at_least == 4 * MIB + 8 * MIB + 256 * KIB
    assert use.exceeds_limit is None
    over = call([*known.operands, window((4096, 4096)), window((8192, 8192), WHY, (8, 128), (ROW, COLUMN))], (64, 32))
    assert use_of(over).exceeds_limit is True


def test_symbols_decide_where_a_bound_is_known() -> None:
    at_least_1024 = symbol("rows", 1024)
    made = call([window((symbol("m", 1), 8192), block=(at_least_1024, 8192), index=(ROW, 0))], (16,))
    assert use_of(made).exceeds_limit is True
    free = call([window((symbol("m", 1), 8192), block=(symbol("b", 1), 8192), index=(ROW, 0))], (16,))
    assert use_of(free).exceeds_limit is None


def test_operands_elsewhere_take_no_vmem() -> None:
    made = call([window((1 << 16, 8192), space=MemorySpace.ANY), window((1 << 16,), "int32", space=MemorySpace.SMEM)])
    use = use_of(made)
    assert use.items == () and use.total == 0 and use.exceeds_limit is False
    assert bytes_on(window((8, 128), space=MemorySpace.HBM), (), CHIPS["v5e"]) == 0


@pytest.mark.parametrize(
    ("chip", "rows", "grid", "size", "certain"),
    [
        # (9 MiB blocks of an 18 MiB array) x 2 buffers: XLA may hold such an array in the VMEM of v7x.
        ("v7x", 2304, (2,), 18 * MIB, False),
        # A 180 MiB array fits nowhere.
        ("v7x", 2304, (20,), 18 * MIB, True),
        # v4 has no VMEM beside the kernel's.
        ("v4", 2304, (2,), 18 * MIB, True),
    ],
)
def test_what_xla_may_keep_in_vmem(chip: str, rows: int, grid: tuple[int], size: int, certain: bool) -> None:
    array = (rows * grid[0], 1024)
    made = call(
        [window(array, block=(rows, 1024), index=(ROW, 0), role=role) for role in (Role.INPUT, Role.OUTPUT)], grid
    )
    use = use_of(made, chip)
    assert [item.bytes for item in use.items] == [size, size]
    assert use.exceeds_limit is True
    assert use.exceeds_wherever_placed is certain


def test_a_step_for_each_core_needs_one_buffer() -> None:
    made = call([window((2048, 512), block=(1024, 512), index=(ROW, 0))], (2,), semantics=("parallel",))
    assert use_of(made, "v5p").total == 2 * MIB, "libtpu"
    assert use_of(made, "v5e").total == 4 * MIB, "libtpu"


def test_a_step_for_each_core_needs_one_buffer_in_smem_too() -> None:
    made = call([window((16, 256), "int32", (8, 256), (ROW, 0), space=MemorySpace.SMEM)], (2,), semantics=("parallel",))
    totals = {name: use.total for name in ("v5p", "v5e") if isinstance(use := smem_of(made, CHIPS[name]), MemoryUse)}
    assert totals == {"v5p": 8 * KIB, "v5e": 16 * KIB}, "libtpu"


@pytest.mark.parametrize(
    ("operands", "bytes_", "exceeds"),
    [
        # Rank 2 is padded to 128 lanes: (2040, 1) compiles, (2048, 1) does not.
        ([prefetch((2040, 1))], 2040 * 512, False),
        ([prefetch((2048, 1))], 2048 * 512, True),
        ([prefetch((200_000,))], 200_064 * 4, False),
        ([prefetch((262_144,))], MIB, True),
        ([scratch((511, 3, 4), "int32", MemorySpace.SMEM)], 511 * 2048, False),
        ([scratch((512, 3, 4), "int32", MemorySpace.SMEM)], MIB, True),
        ([scratch((262_144,), "bool", MemorySpace.SMEM)], MIB, True),
        ([window((1 << 20,), "int32", (1 << 17,), (ROW,), space=MemorySpace.SMEM)], MIB, True),
        ([window((1 << 20,), "int32", (127 * 1024,), (ROW,), space=MemorySpace.SMEM)], 254 * 1024 * 4, False),
    ],
)
def test_smem(operands: list[Operand], bytes_: int, exceeds: bool) -> None:
    use = smem_of(call(operands, (4,)), CHIPS["v5e"])
    assert isinstance(use, MemoryUse)
    assert (use.total, use.exceeds_limit) == (bytes_, exceeds)
    assert use.limit == smem_limit(CHIPS["v5e"])


def test_unknown_operands_are_an_unknown_answer() -> None:
    assert vmem_of(call(WHY), CHIPS["v5e"]) is WHY
    assert smem_of(call(WHY), CHIPS["v5e"]) is WHY
