"""Which block sizes the TPU lowering accepts, and how a buffer's tile looks.

Source of the rules: ``_check_block_mappings`` in JAX's Mosaic lowering (0.7 to
0.12.0.1), confirmed with libtpu 0.0.52. They do not depend on the dtype for rank 2
and more: a bfloat16 block of 8 rows is legal and is not padded.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import isqrt

from .dtypes import BITS
from .kernel_call import BlockDimension, BlockSpec, Dim, IndexMap, MemorySpace
from .symbolic import NO_FACTS, Expression, Facts, Integer, Minimum, equal, is_multiple
from .unknown import Unknown

LANES = 128
"""Columns of a vreg: what the last dim of a block is a multiple of."""

_MOST_DIVISORS_TRIED = 1 << 14

SUBLANES = 8
"""Rows of a vreg: what the last dim but one of a block is a multiple of."""


def memory_bits(dtype: str) -> int | None:
    """Bits of one element of ``dtype`` in VMEM and SMEM; None for a dtype that is not known.

    A bool is kept as a 32-bit integer (``BOOL_MEMREF_TYPE`` in JAX's lowering).
    """
    return 32 if dtype == "bool" else BITS.get(dtype)


def packing(dtype: str) -> int | None:
    """How many elements of ``dtype`` share a 32-bit word; 0 for 64-bit types, None where not known."""
    bits = memory_bits(dtype)
    return None if bits is None else 32 // bits


def required_multiple(rank: int, position: int) -> int:
    """What a block dim must be a multiple of unless it is the whole array dim.

    ``position`` counts from the front. 1 for dims in front of the last two. For rank 1
    the rule has more ways to be met (``legal_block_dim``); 1024 is the one that always holds.
    """
    from_last = rank - 1 - position
    if rank == 1:
        return SUBLANES * LANES
    return {0: LANES, 1: SUBLANES}.get(from_last, 1)


def legal_block_dim(
    size: Dim,
    array_dim: Dim,
    rank: int,
    position: int,
    dtype: str | Unknown,
    facts: Facts = NO_FACTS,
) -> bool | None:
    """Whether the lowering accepts block dim ``size`` (a squeezed one is 1); None where it is not known.

    ``rank`` is the block's, ``position`` counts from the front. ``dtype`` matters for
    rank 1 alone: there a power of two of at least ``128 * 32 / bits`` will do.
    """
    if isinstance(size, Unknown):
        return True if rank >= 2 and position < rank - 2 else None
    multiple = required_multiple(rank, position)
    whole = None if isinstance(array_dim, Unknown) else equal(size, array_dim, facts)
    answers = [whole, is_multiple(size, multiple, facts)]
    if rank == 1:
        answers.append(_is_large_power_of_two(size, dtype))
    if True in answers:
        return True
    alternatives = _alternatives(size)
    if alternatives and all(legal_block_dim(value, array_dim, rank, position, dtype, facts) for value in alternatives):
        return True
    return None if None in answers else False


def _alternatives(size: Integer) -> tuple[Integer, ...]:
    """The values one of which ``size`` is: ``min(m, 128)`` is legal when both ``m`` and 128 are."""
    match size:
        case Expression(terms=((((Minimum(values),)), 1),)):
            return values
        case _:
            return ()


def _is_large_power_of_two(size: Integer, dtype: str | Unknown) -> bool | None:
    if not isinstance(size, int):
        return None
    if size & (size - 1):
        return False
    share = None if isinstance(dtype, Unknown) else packing(dtype)
    if share is None:
        return None if size >= LANES else False
    return size >= LANES * share


def legal_block(spec: BlockSpec, array_shape: tuple[Dim, ...], dtype: str | Unknown) -> tuple[bool | None, ...]:
    """``legal_block_dim`` for each dim of a spec's block; empty where there is no block or its rank is not the array's.

    Says nothing of memory spaces: see ``tiling_applies``.
    """
    block = spec.block_shape
    if block is None or isinstance(block, Unknown) or len(block) != len(array_shape):
        return ()
    rank = len(block)
    return tuple(
        legal_block_dim(dimension.size, array_dim, rank, position, dtype)
        for position, (dimension, array_dim) in enumerate(zip(block, array_shape, strict=True))
    )


def tiling_applies(space: MemorySpace | Unknown, trivial_window: bool | None) -> bool | None:
    """Whether block dims are checked at all in a memory space.

    Not for semaphores, and in SMEM not where the window is the whole array. (In ANY and
    HBM nothing but the whole array is allowed, which passes the check anyway.)
    """
    if isinstance(space, Unknown):
        return None
    if space is MemorySpace.SEMAPHORE:
        return False
    if space is MemorySpace.SMEM:
        return None if trivial_window is None else not trivial_window
    return True


def is_trivial_window(
    block: tuple[BlockDimension, ...] | Unknown | None,
    array_shape: tuple[Dim, ...] | Unknown,
    index_map: IndexMap | Unknown | None,
) -> bool | None:
    """Whether the window is the whole array and its index map returns literal zeros; None where not known."""
    if block is None:
        same: bool | None = True
    elif isinstance(block, Unknown) or isinstance(array_shape, Unknown):
        same = None
    elif len(block) != len(array_shape):
        same = False
    else:
        same = _all(_same_dim(dimension, whole) for dimension, whole in zip(block, array_shape, strict=True))
    return _all((same, _returns_zeros(index_map)))


def _same_dim(dimension: BlockDimension, whole: Dim) -> bool | None:
    if isinstance(dimension.size, Unknown) or isinstance(whole, Unknown):
        return None
    return equal(dimension.size, whole)


def _returns_zeros(index_map: IndexMap | Unknown | None) -> bool | None:
    if index_map is None:
        return True
    if isinstance(index_map, Unknown):
        return None
    if index_map.is_default:
        return True
    if isinstance(index_map.results, Unknown):
        return None
    return _all(
        None if isinstance(result.value, Unknown) and result.kind == "unknown" else result.value == 0
        for result in index_map.results
    )


def _all(answers: Iterable[bool | None]) -> bool | None:
    """Three-valued "and"."""
    unknown = False
    for answer in answers:
        if answer is False:
            return False
        unknown = unknown or answer is None
    return None if unknown else True


def nearest_legal_sizes(size: int, array_dim: Dim, rank: int, position: int, dtype: str | Unknown) -> tuple[int, ...]:
    """Legal sizes nearest to ``size``, ascending: the one below, the one above; the whole dim where it is near.

    At most three; none below 1.
    """
    multiple = required_multiple(rank, position)
    near = {size // multiple * multiple, -(-size // multiple) * multiple}
    if rank == 1 and not isinstance(dtype, Unknown):
        smallest = LANES * max(packing(dtype) or 1, 1)
        power = 1 << max(size.bit_length() - 1, 0)
        near |= {value for value in (power, 2 * power) if smallest <= value < multiple}
        near.add(smallest)
    candidates = {value for value in near if value > 0}
    if isinstance(array_dim, int):
        # A block larger than its array is legal, but the whole dim says the same with less padding.
        candidates = {value for value in candidates if value < array_dim} | {array_dim}
    below = [value for value in candidates if value <= size]
    above = sorted(value for value in candidates if value > size)
    return (*((max(below),) if below else ()), *above[:1])


def dividing_sizes(size: int, array_dim: int, rank: int, position: int, dtype: str | Unknown) -> tuple[int, ...]:
    """Legal sizes that divide ``array_dim`` (no partial block at the edge): the nearest below and above ``size``."""
    if array_dim <= 0 or size <= 0:
        return ()
    multiple = required_multiple(rank, position)
    if rank == 1 and not isinstance(dtype, Unknown):
        multiple = min(multiple, LANES * max(packing(dtype) or 1, 1))
    tiles = array_dim // multiple if array_dim % multiple == 0 else 0
    small = [count for count in range(1, min(isqrt(tiles), _MOST_DIVISORS_TRIED) + 1) if tiles % count == 0]
    divisors = {*small, *(tiles // count for count in small)}
    legal = {
        count * multiple for count in divisors if legal_block_dim(count * multiple, array_dim, rank, position, dtype)
    } | {array_dim}
    below = [value for value in legal if value <= size]
    above = [value for value in legal if value > size]
    return (*((max(below),) if below else ()), *((min(above),) if above else ()))


def round_up(value: int, multiple: int) -> int:
    """The least multiple of ``multiple`` that is at least ``value``."""
    return -(-value // multiple) * multiple


def sublane_tile(rows: int, share: int, generation: int = 4) -> int:
    """Rows that the last dim but one is rounded up to a multiple of, for a buffer with ``rows`` of them.

    Starts at ``share`` elements to a word (twice that before generation 4) and doubles
    until it covers the rows, up to 8, for every dtype.
    """
    tile = share if generation >= 4 else 2 * share
    while tile < min(rows, SUBLANES):
        tile *= 2
    return tile


def padded_shape(shape: tuple[int, ...], dtype: str, generation: int = 4) -> tuple[int, ...] | None:
    """``shape`` as it lies in VMEM, rounded up to whole tiles; None for a dtype that is not known.

    Rank 1 is rounded up to 128 32-bit words. Rank 0 stays.
    """
    share = packing(dtype)
    if share is None:
        return None
    share = max(share, 1)
    if not shape:
        return ()
    if len(shape) == 1:
        return (round_up(shape[0], LANES * share),)
    rows, columns = shape[-2:]
    return (*shape[:-2], round_up(rows, sublane_tile(rows, share, generation)), round_up(columns, LANES))
