"""Draws a plane of blocks: each with the step that first needs it, arrows in the order of the walk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from math import hypot

from .block_map import BlockMap
from .steps import step_text
from .svg import HATCHED, INK, WARNING, box, document, number, path, width_of, words

_MOST_ARROWS = 16
_LEFT, _TOP = 2.0, 21.0
_LEGEND = 470.0
_GAP = 18.0
_LINE = 17.0
_INDENT = 18.0
_SHADES = (
    ("#1f5fb4", "#fff"),
    ("#4585d6", "#fff"),
    ("#7fb0ea", "#0b2545"),
    ("#a9cbf3", "#0b2545"),
    ("#cfe2f9", "#0b2545"),
)
"""Fill and ink of the blocks, from those that the walk visits first to the last."""
_ARROW = "#f08c00"
_ARROW_HEAD = (
    '<marker id="a" viewBox="0 0 6 6" refX="5" refY="3" markerWidth="5" markerHeight="5" orient="auto">'
    f'<path d="M0 0L6 3L0 6z" fill="{_ARROW}"/></marker>'
)
_ARROW_LINE = f'fill="none" stroke="{_ARROW}" stroke-width="1.6"'
_JUMP = 'stroke-dasharray="4 2" stroke-width="1.2" '
_SMALL = 'font-size="10.5" font-weight="600"'
_THIN = f'stroke="{INK}" stroke-width=".7"'


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where each block shown begins, and the size of a block, in pixels."""

    lefts: dict[int, float]
    tops: dict[int, float]
    width: float
    height: float

    @property
    def right(self) -> float:
        return max(self.lefts.values()) + self.width

    @property
    def bottom(self) -> float:
        return max(self.tops.values()) + self.height

    def lane(self, at: tuple[int, int]) -> tuple[float, float] | None:
        """Where arrows meet in a block, below its number; None where it is left out."""
        if at[0] not in self.tops or at[1] not in self.lefts:
            return None
        return self.lefts[at[1]] + self.width / 2, self.tops[at[0]] + self.height * 0.62


def blocks_svg(plane: BlockMap) -> str:
    """The plane as an SVG document."""
    layout = _layout(plane)
    shades = _shades(plane)
    parts = [
        words(_LEFT, 13, _title(plane)),
        *_blocks(plane, layout, shades),
        *_gaps(plane, layout),
        *_arrows(plane, layout),
        *_numbers(plane, layout, shades),
    ]
    x, y = _LEFT, layout.bottom + 19
    width = max(layout.right, _LEFT + width_of(_title(plane)))
    for sign, text in _legend(plane):
        taken = (_INDENT if sign else 0) + width_of(text)
        if x > _LEFT and x + taken > max(layout.right, _LEGEND):
            x, y = _LEFT, y + _LINE
        text_at = x + (_INDENT if sign else 0)
        parts.append(f'<g transform="translate({number(x)} {number(y)})">{sign}</g>{words(text_at, y, text)}')
        x += taken + 12
        width = max(width, x - 12)
    return document(width + 4, y + 7, parts, _ARROW_HEAD)


def _title(plane: BlockMap) -> str:
    # No-break spaces: others would be drawn as one.
    return "\u00a0\u00a0\u00a0".join(plane.titles)


def _layout(plane: BlockMap) -> _Layout:
    """Blocks in their own shape, as far as words still fit into one and all of them into the height of a hover."""
    ratio = 1.0 if plane.down.dim is None else plane.across.block / plane.down.block
    # Few blocks can be larger.
    wide, high = 1.3 if len(plane.across.shown) <= 4 else 1.0, 1.5 if len(plane.down.shown) <= 3 else 1.0
    width = round(wide * min(max(44 * ratio**0.5, 38), 72))
    height = round(high * min(max(28 / ratio**0.5, 26), 32))
    return _Layout(_places(plane.across.shown, width, _LEFT), _places(plane.down.shown, height, _TOP), width, height)


def _places(shown: Sequence[int | None], size: float, start: float) -> dict[int, float]:
    """Where each block begins; a gap takes less room than a block."""
    places: dict[int, float] = {}
    for index in shown:
        if index is not None:
            places[index] = start
        start += _GAP if index is None else size
    return places


def _shades(plane: BlockMap) -> dict[tuple[int, int], tuple[str, str]]:
    """Fill and ink of each block that is shown and visited, by its place among these."""
    return {at: _SHADES[rank * len(_SHADES) // len(plane.cells)] for rank, at in enumerate(plane.cells)}


def _blocks(plane: BlockMap, layout: _Layout, shades: dict[tuple[int, int], tuple[str, str]]) -> Iterator[str]:
    """The blocks by their fill, what of them lies outside of the array, and the array's outline."""
    filled: dict[str, str] = {}
    outside = ""
    for row, top in layout.tops.items():
        for column, left in layout.lefts.items():
            width, height = layout.width * plane.across.inside(column), layout.height * plane.down.inside(row)
            inner = box(left, top, width, height) if width and height else ""
            fill, _ = shades.get((row, column), ("none", ""))
            if inner:
                filled[fill] = filled.get(fill, "") + inner
            whole = box(left, top, layout.width, layout.height)
            if fill != "none" and inner != whole:
                outside += whole + inner
    for fill, boxes in filled.items():
        yield path(boxes, f'fill="{fill}" {_THIN}')
    if outside:
        # Where a block and its inner part overlap, the rule leaves a hole.
        yield path(outside, f'fill="{HATCHED}" fill-rule="evenodd" {_THIN}')
    last, lowest = plane.across.count - 1, plane.down.count - 1
    left, top = layout.lefts[0], layout.tops[0]
    right = layout.lefts[last] + layout.width * plane.across.inside(last)
    bottom = layout.tops[lowest] + layout.height * plane.down.inside(lowest)
    yield path(box(left, top, right - left, bottom - top), f'fill="none" stroke="{INK}" stroke-width="2"')


def _gaps(plane: BlockMap, layout: _Layout) -> Iterator[str]:
    """Dots where blocks are left out."""
    yield '<g text-anchor="middle">'
    for before, behind in plane.across.gaps:
        x = (layout.lefts[before] + layout.width + layout.lefts[behind]) / 2
        yield from (words(x, top + layout.height / 2 + 4, "⋯") for top in layout.tops.values())
    for before, behind in plane.down.gaps:
        y = (layout.tops[before] + layout.height + layout.tops[behind]) / 2
        yield from (words(left + layout.width / 2, y + 4, "⋮") for left in layout.lefts.values())
    yield "</g>"


def _arrows(plane: BlockMap, layout: _Layout) -> Iterator[str]:
    """The first moves of the walk, each once, as far as they are between blocks that are shown; jumps dashed."""
    yield f"<g {_ARROW_LINE}>"
    start = layout.lane(plane.moves[0])
    if start is not None:
        yield f'<circle cx="{number(start[0])}" cy="{number(start[1])}" r="2" fill="{_ARROW}"/>'
    for before, behind in dict.fromkeys(islice(pairwise(plane.moves), _MOST_ARROWS)):
        a, b = layout.lane(before), layout.lane(behind)
        if a is None or b is None or a == b:
            continue
        across, down = b[0] - a[0], b[1] - a[1]
        length = hypot(across, down)
        # It ends short of the middle, so that the next one's beginning stays in sight, and keeps to its right, so
        # that the way back is another line.
        x, y = a[0] - down / length * 2.5, a[1] + across / length * 2.5
        part = 1 - 5 / length
        is_jump = max(abs(before[0] - behind[0]), abs(before[1] - behind[1])) > 1
        yield (
            f'<path d="M{number(x)} {number(y)}l{number(across * part)} {number(down * part)}" '
            f'{_JUMP if is_jump else ""}marker-end="url(#a)"/>'
        )
    yield "</g>"


def _numbers(plane: BlockMap, layout: _Layout, shades: dict[tuple[int, int], tuple[str, str]]) -> Iterator[str]:
    """In each block the step that first needs it, and how often it is copied where that is more than once."""
    steps: dict[str, str] = {}
    copies: dict[str, str] = {}
    for at, (fill, ink) in shades.items():
        cell, inside = plane.cells[at], plane.inside(at)
        left, top = layout.lefts[at[1]], layout.tops[at[0]]
        step, times = step_text(cell.step), f"×{step_text(cell.copies)}" if cell.copies > 1 else ""
        fits = 7 * len(step + times) + 8 < layout.width
        if inside < 1:
            # The hatching would make the numbers hard to read.
            fill, ink = (fill, ink) if inside else (WARNING, "#fff")
            step, times = f"{step} {times}".rstrip() if fits else step, ""
            steps[ink] = steps.get(ink, "") + path(box(left + 1, top + 1, 6 + 6.5 * len(step), 13), f'fill="{fill}"')
        steps[ink] = steps.get(ink, "") + words(left + 4, top + 12, step)
        if times:
            # Beside the step where there is room, away from the arrows.
            base = top + 12 if fits else top + layout.height - 4
            copies[ink] = copies.get(ink, "") + words(left + layout.width - 3, base, times)
    for ink, told in steps.items():
        yield f'<g fill="{ink}" {_SMALL}>{told}</g>'
    for ink, told in copies.items():
        yield f'<g fill="{ink}" {_SMALL} text-anchor="end">{told}</g>'


def _legend(plane: BlockMap) -> Iterator[tuple[str, str]]:
    """Signs, drawn from the base line of their words, and the words."""
    swatch = 'd="M0 -9h12v10h-12z"'
    again = ", ×2: copied twice" if plane.copies_again else ""
    yield f'<path {swatch} fill="{_SHADES[0][0]}"/>', f"number: the first step of the block{again}"
    if len(plane.moves) > 1:
        told = "order of the copies" if len(plane.moves) <= _MOST_ARROWS + 1 else f"the first {_MOST_ARROWS} moves"
        yield f'<path d="M0 -4h12" {_ARROW_LINE} marker-end="url(#a)"/>', told
    if plane.skips_blocks:
        yield f'<path {swatch} fill="none" {_THIN}/>', "not needed by any step"
    if plane.leaves_the_array:
        yield f'<path {swatch} fill="{HATCHED}"/>', "outside of the array"
    if plane.plane:
        yield "", plane.plane
