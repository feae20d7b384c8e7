"""Legal block dims, the nearest ones, and padding."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pallas_lens.model.kernel_call import Dim, MemorySpace
from pallas_lens.model.symbolic import NO_FACTS, minimum, multiply, symbol
from pallas_lens.model.tiling import (
    dividing_sizes,
    is_trivial_window,
    legal_block_dim,
    nearest_legal_sizes,
    padded_shape,
    tiling_applies,
)
from pallas_lens.model.unknown import Unknown

from model.factory import axis, block_dims, index_map

M, B = symbol("m", 1), symbol("b", 1)
WHY = Unknown("comes from the caller")


@pytest.mark.parametrize(
    ("size", "array_dim", "rank", "position", "dtype", "legal"),
    [
        # Last dim: multiples of 128, or the whole array dim.
        (128, 1000, 2, 1, "float32", True),
        (64, 1000, 2, 1, "float32", False),
        (1000, 1000, 2, 1, "float32", True),
        (200, 1000, 2, 1, "bfloat16", False),
        # Last but one: multiples of 8 for every dtype, or the whole array dim.
        (8, 100, 2, 0, "float32", True),
        (8, 100, 2, 0, "bfloat16", True),
        (8, 100, 2, 0, "int8", True),
        (4, 100, 2, 0, "int8", False),
        (100, 100, 2, 0, "float32", True),
        (1, 100, 3, 1, "float32", False),
        (1, 1, 3, 1, "float32", True),
        # Dims in front are free.
        (3, 100, 3, 0, "float32", True),
        (B, WHY, 4, 1, "float32", True),
        (WHY, WHY, 3, 0, "float32", True),
        # Rank 1: whole, multiples of 1024, or a power of two of at least 128 words.
        (100, 100, 1, 0, "float32", True),
        (1024 * 3, 10000, 1, 0, "float32", True),
        (128, 10000, 1, 0, "float32", True),
        (128, 10000, 1, 0, "bfloat16", False),
        (256, 10000, 1, 0, "bfloat16", True),
        (256, 10000, 1, 0, "int8", False),
        (384, 10000, 1, 0, "float32", False),
        # A bool is a 32-bit word in VMEM.
        (128, 10000, 1, 0, "bool", True),
        (128, 10000, 1, 0, WHY, None),
        (64, 10000, 1, 0, WHY, False),
        # Symbols.
        (B, M, 2, 0, "float32", None),
        (multiply(B, 8), M, 2, 0, "float32", True),
        (multiply(B, 8), M, 2, 1, "float32", None),
        (M, M, 2, 1, "float32", True),
        (100, M, 2, 0, "float32", None),
        (minimum([M, 128]), M, 2, 1, "float32", True),
        (minimum([M, 100]), M, 2, 1, "float32", None),
        (WHY, 100, 2, 1, "float32", None),
        (100, WHY, 2, 0, "float32", None),
    ],
)
def test_legal_block_dim(
    size: Dim, array_dim: Dim, rank: int, position: int, dtype: str | Unknown, legal: bool | None
) -> None:
    assert legal_block_dim(size, array_dim, rank, position, dtype) is legal


def test_what_the_program_established_decides() -> None:
    assert legal_block_dim(B, M, 2, 0, "float32", NO_FACTS.with_divisible(B, 16)) is True
    assert legal_block_dim(B, M, 2, 1, "float32", NO_FACTS.with_divisible(B, 16)) is None


@pytest.mark.parametrize(
    ("size", "array_dim", "rank", "position", "dtype", "nearest", "dividing"),
    [
        (100, 512, 2, 0, "float32", (96, 104), (64, 128)),
        (100, 512, 2, 1, "float32", (128,), (128,)),
        (300, 512, 2, 1, "float32", (256, 384), (256, 512)),
        (100, 60, 2, 0, "float32", (60,), (60,)),
        (4, 100, 2, 1, "float32", (100,), (100,)),
        (100, 4096, 1, 0, "float32", (128,), (128,)),
        (300, 4096, 1, 0, "bfloat16", (256, 512), (256, 512)),
        (3000, 4096, 1, 0, "bfloat16", (2048, 3072), (2048, 4096)),
        (7, 1000003, 2, 0, "float32", (8,), (1000003,)),
    ],
)
def test_suggestions(
    size: int,
    array_dim: int,
    rank: int,
    position: int,
    dtype: str,
    nearest: tuple[int, ...],
    dividing: tuple[int, ...],
) -> None:
    assert nearest_legal_sizes(size, array_dim, rank, position, dtype) == nearest
    assert dividing_sizes(size, array_dim, rank, position, dtype) == dividing


@given(
    st.integers(1, 5000),
    st.integers(1, 1 << 40),
    st.sampled_from([(1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2)]),
    st.sampled_from(["float32", "bfloat16", "int8", "int4", "bool"]),
)
def test_every_suggestion_is_legal(size: int, array_dim: int, where: tuple[int, int], dtype: str) -> None:
    near = nearest_legal_sizes(size, array_dim, *where, dtype)
    dividing = dividing_sizes(size, array_dim, *where, dtype)
    assert near and dividing
    for suggested in (*near, *dividing):
        assert legal_block_dim(suggested, array_dim, *where, dtype) is True
    assert all(array_dim % suggested == 0 for suggested in dividing)


@pytest.mark.parametrize(
    ("shape", "dtype", "padded"),
    [
        ((), "float32", ()),
        ((100,), "float32", (128,)),
        ((100,), "bfloat16", (256,)),
        ((1, 100), "float32", (1, 128)),
        ((1, 128), "bfloat16", (2, 128)),
        ((1, 128), "int8", (4, 128)),
        ((3, 128), "float32", (4, 128)),
        ((5, 128), "float32", (8, 128)),
        ((20, 200), "bfloat16", (24, 256)),
        ((64, 1, 1), "float32", (64, 1, 128)),
        ((8, 128), "int4", (8, 128)),
        ((8, 128), "no_such_dtype", None),
    ],
)
def test_padding(shape: tuple[int, ...], dtype: str, padded: tuple[int, ...] | None) -> None:
    assert padded_shape(shape, dtype) == padded


def test_a_window_is_trivial_where_it_is_the_array_at_zero() -> None:
    whole = block_dims((8, 128))
    assert is_trivial_window(None, (8, 128), None) is True
    assert is_trivial_window(whole, (8, 128), index_map((0, 0))) is True
    assert is_trivial_window(whole, (8, 128), index_map((axis(0), 0))) is False
    assert is_trivial_window(whole, (16, 128), index_map((0, 0))) is False
    assert is_trivial_window(whole, (M, 128), index_map((0, 0))) is None
    assert is_trivial_window(whole, WHY, None) is None


def test_blocks_are_not_checked_in_semaphores_nor_for_a_whole_array_in_smem() -> None:
    assert tiling_applies(MemorySpace.VMEM, True) is True
    assert tiling_applies(MemorySpace.SMEM, True) is False
    assert tiling_applies(MemorySpace.SMEM, False) is True
    assert tiling_applies(MemorySpace.SMEM, None) is None
    assert tiling_applies(MemorySpace.SEMAPHORE, False) is False
    assert tiling_applies(WHY, True) is None
