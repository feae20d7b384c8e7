"""Pictures of hovers: what the plane of blocks shows, in characters and as an SVG of bounded size."""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import product
from math import ceil
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pallas_lens.features.pictures.block_map import BlockWalk, block_map
from pallas_lens.features.pictures.blocks_svg import blocks_svg
from pallas_lens.features.pictures.blocks_text import blocks_text
from pallas_lens.features.pictures.memory_bar import Bar, Part, memory_picture
from pallas_lens.features.pictures.picture import Picture, PictureForm
from pallas_lens.features.pictures.steps import step_text
from pallas_lens.model.grid import Copies

MOST_BYTES = 8192
MIB = 1 << 20


def walk(
    array: Sequence[int], block: Sequence[int], grid: Sequence[int], index_map: Callable[..., tuple[int, ...]]
) -> BlockWalk:
    """The copies of a window, step by step."""
    steps: list[int] = []
    blocks: list[tuple[int, ...]] = []
    for step, at in enumerate(product(*map(range, grid))):
        if not blocks or blocks[-1] != index_map(*at):
            steps.append(step)
            blocks.append(index_map(*at))
    return BlockWalk(tuple(array), tuple(block), Copies(tuple(steps), tuple(blocks), Counter(blocks)))


CASES = {
    "row by row": (
        walk((512, 384), (256, 128), (2, 3), lambda i, j: (i, j)),
        """
        ↓ dim 0: 512 = 2 × 256 · → dim 1: 384 = 3 × 128
        0 1 2
        3 4 5
        number: the first step of the block
        """,
    ),
    "copied again": (
        walk((512, 1024), (256, 512), (2, 2, 2), lambda i, j, k: (i, k)),
        """
        ↓ dim 0: 512 = 2 × 256 · → dim 1: 1024 = 2 × 512
        0×2 1×2
        4×2 5×2
        number: the first step of the block · ×2: copied twice
        """,
    ),
    "kept over the inner axis": (
        walk((512, 128), (256, 128), (2, 4), lambda i, j: (i, 0)),
        """
        ↓ dim 0: 512 = 2 × 256 · → dim 1: 128
        0
        4
        number: the first step of the block
        """,
    ),
    "partial blocks": (
        walk((300, 200), (128, 128), (3, 2), lambda i, j: (i, j)),
        """
        ↓ dim 0: 300 = 2 × 128 + 44 · → dim 1: 200 = 1 × 128 + 72
         0 1~
         2 3~
        4~ 5~
        number: the first step of the block · ~ partly outside of the array
        """,
    ),
    "beyond the end": (
        walk((4096,), (1024,), (5,), lambda i: (i,)),
        """
        → dim 0: 4096 = 4 × 1024
         0  1  2  3 4!
        number: the first step of the block · ! outside of the array
        """,
    ),
    "far beyond the end and before the start": (
        walk((256,), (128,), (2,), lambda i: (9 * i - 1,)),
        """
        → dim 0: 256 = 2 × 128
        0!  ·  ·  … 1!
        number: the first step of the block · · not needed by any step · ! outside of the array
        """,
    ),
    "some blocks left alone, from the end": (
        walk((512, 512), (128, 256), (4,), lambda i: (3 - i, 1)),
        """
        ↓ dim 0: 512 = 4 × 128 · → dim 1: 512 = 2 × 256
        · 3
        · 2
        · 1
        · 0
        number: the first step of the block · · not needed by any step
        """,
    ),
    "rank 4": (
        walk((2, 4, 256, 128), (1, 1, 128, 128), (2, 4, 2), lambda b, h, i: (b, h, i, 0)),
        """
        ↓ dim 1: 4 = 4 × 1 · → dim 2: 256 = 2 × 128
        0 1
        2 3
        4 5
        6 7
        number: the first step of the block
        dim 0 at block 0, the first of the walk, dim 3 at block 0
        """,
    ),
    "large": (
        walk((4096, 2048), (128, 128), (32, 16), lambda i, j: (i, j)),
        """
        ↓ dim 0: 4096 = 32 × 128 · → dim 1: 2048 = 16 × 128
          0   1   2   3   4   5   6   7   …  15
         16  17  18  19  20  21  22  23   …  31
         32  33  34  35  36  37  38  39   …  47
         48  49  50  51  52  53  54  55   …  63
          …   …   …   …   …   …   …   …   …   …
        496 497 498 499 500 501 502 503   … 511
        number: the first step of the block
        """,
    ),
}


@pytest.mark.parametrize(("shown", "text"), CASES.values(), ids=CASES)
def test_blocks_in_characters(shown: BlockWalk, text: str) -> None:
    plane = block_map(shown)
    assert plane is not None
    wanted = [line[8:] for line in text.strip("\n").splitlines()[:-1]]
    assert blocks_text(plane).splitlines() == wanted


@pytest.mark.parametrize(
    "empty",
    [
        BlockWalk((), (), Copies((0,), ((),), {(): 1})),
        BlockWalk((8,), (8,), Copies((), (), {})),
        BlockWalk((0, 8), (8, 8), Copies((0,), ((0, 0),), {(0, 0): 1})),
        BlockWalk((8, 8), (0, 8), Copies((0,), ((0, 0),), {(0, 0): 1})),
    ],
    ids=["no dim", "no step", "no element", "empty block"],
)
def test_what_cannot_be_drawn(empty: BlockWalk) -> None:
    assert block_map(empty) is None


def elements(svg: str) -> ElementTree.Element:
    assert len(svg.encode()) < MOST_BYTES
    assert "http" not in svg.replace('xmlns="http://www.w3.org/2000/svg"', "")
    return ElementTree.fromstring(svg)


def words(svg: str) -> str:
    return " ".join(element.text or "" for element in elements(svg).iter() if element.tag.endswith("text"))


@pytest.mark.parametrize("shown", [shown for shown, _ in CASES.values()], ids=CASES)
def test_the_image_says_what_the_characters_say(shown: BlockWalk) -> None:
    plane = block_map(shown)
    assert plane is not None
    svg = blocks_svg(plane)
    said = words(svg)
    for line in blocks_text(plane).splitlines()[1:]:
        if not re.search("[a-z]", line):
            for number in re.findall(r"×?\d+", line):
                assert number in said.split(), (number, said)
    assert all(title in said.replace("\N{NO-BREAK SPACE}", " ") for title in plane.titles)
    assert ("outside of the array" in said) == any(sign in blocks_text(plane) for sign in ("~ ", "! "))


def test_a_large_walk_with_copies_and_an_edge_stays_small() -> None:
    plane = block_map(walk((8000, 8000), (256, 256), (32, 2, 32), lambda i, j, k: (i, k)))
    assert plane is not None and plane.copies_again and plane.leaves_the_array
    elements(blocks_svg(plane))


def test_arrows_follow_the_walk() -> None:
    plane = block_map(walk((256, 256), (128, 128), (2, 2), lambda i, j: (i, j)))
    assert plane is not None
    moves = re.findall(r'<path d="M(\S+) (\S+)l(\S+) (\S+)" (stroke-dasharray)?', blocks_svg(plane))
    directions = [(float(x) > 0, float(y) > 0, bool(dash)) for _, _, x, y, dash in moves]
    assert directions == [(True, False, False), (False, True, False), (True, False, False)]


@given(st.data())
def test_any_walk_is_drawn_small(data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, 4))
    array = data.draw(st.lists(st.integers(1, 5000), min_size=rank, max_size=rank))
    block = data.draw(st.lists(st.integers(1, 1024), min_size=rank, max_size=rank))
    places = st.tuples(*(st.integers(-3, ceil(size / part) + 3) for size, part in zip(array, block, strict=True)))
    visited = data.draw(st.lists(places, min_size=1, max_size=80))
    copies = Copies(tuple(range(10**9, 10**9 + len(visited))), tuple(visited), Counter(visited))
    plane = block_map(BlockWalk(tuple(array), tuple(block), copies))
    assert plane is not None
    elements(blocks_svg(plane))
    assert all(len(line) < 200 for line in blocks_text(plane).splitlines())


@pytest.mark.parametrize(
    ("step", "text"), [(0, "0"), (9999, "9999"), (10_000, "10k"), (2_500_000, "2500k"), (10_000_000, "10M")]
)
def test_steps_take_little_room(step: int, text: str) -> None:
    assert step_text(step) == text


def test_the_forms_of_a_picture() -> None:
    picture = Picture("walk of refs[0]", "<svg/>", "0 1\n2 3")
    image = picture.markdown(PictureForm.IMAGE)
    found = re.fullmatch(r"!\[walk of refs\(0\)\]\(data:image/svg\+xml;base64,(\S+)\)", image)
    assert found is not None
    assert base64.b64decode(found[1]).decode() == "<svg/>"
    assert picture.markdown(PictureForm.TEXT) == "```text\n0 1\n2 3\n```"
    assert picture.markdown(PictureForm.NONE) == ""


def bar(chip: str, parts: dict[str, float], limit: float, is_whole: bool = True) -> Bar:
    """Sizes in MiB."""
    return Bar((chip,), tuple(Part(name, int(size * MIB)) for name, size in parts.items()), int(limit * MIB), is_whole)


BARS = {
    "chips of one limit together": (
        [bar(chip, {"x": 4, "y": 2, "o": 1}, limit) for chip, limit in (("v4", 16), ("v5e", 16), ("v6e", 32))],
        """
        v4, v5e [aaaaaaaaaabbbbbccc······················] 44 % of 16 MiB
        v6e     [aaaaabbbc·······························] 22 % of 32 MiB
                a x 4 MiB  b y 2 MiB  c o 1 MiB
        """,
    ),
    "over the limit": (
        [bar("v5e", {"x": 12, "y": 8}, 16)],
        """
        v5e [aaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbbbbbbbbb]bbbbbbbbbb 125 % of 16 MiB
            a x 12 MiB  b y 8 MiB
        """,
    ),
    "far over the limit": (
        [bar("v5e", {"x": 60, "y": 4}, 16)],
        """
        v5e [aaaaaaaaaaaa]aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbb 400 % of 16 MiB
            a x 60 MiB  b y 4 MiB
        """,
    ),
    "small parts and unknown ones": (
        [bar("v5e", {"x": 0.01, "y": 0.02}, 16, is_whole=False)],
        """
        v5e [ab······································] at least 0 % of 16 MiB
            a x 10.24 KiB  b y 20.48 KiB
        """,
    ),
    "many parts": (
        [bar("v5e", {f"r{size}": size for size in range(1, 11)}, 80)],
        """
        v5e [aabbccccdddeeeefffffgggghhhh············] 69 % of 80 MiB
            a r4 4 MiB  b r5 5 MiB  c r6 6 MiB  d r7 7 MiB  e r8 8 MiB  f r9 9 MiB  g r10 10 MiB  h 3 more 6 MiB
        """,
    ),
}


@pytest.mark.parametrize(("bars", "text"), BARS.values(), ids=BARS)
def test_memory_as_bars(bars: list[Bar], text: str) -> None:
    picture = memory_picture(bars)
    assert picture is not None
    assert picture.text.splitlines() == [line[8:] for line in text.strip("\n").splitlines()[:-1]]
    said = words(picture.svg)
    for one in bars:
        assert one.label in said and one.chips_text in said
    assert ("url(#h)" in picture.svg) == any(one.total > one.limit for one in bars)


def test_no_bar_without_a_part() -> None:
    assert memory_picture([]) is None
    assert memory_picture([bar("v5e", {}, 16)]) is None
