"""The picture of a call's VMEM: for each chip a bar of the windows and scratch against the limit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..hover_text import bytes_text
from .picture import Picture
from .svg import HATCHED, INK, WARNING, box, document, number, path, width_of, words

_MOST_PARTS = 8
_LINE = 18.0
_BAR, _BAR_HEIGHT = 240.0, 18.0
_MOST_PAST_LIMIT = 1.25
_BOLD = 1.12
_CHARACTERS = 40
_COLOURS = ("#4585d6", "#e08c1a", "#2f9e6e", "#9c62d4", "#d1578f", "#1f9aa8", "#a08a1e", "#8a939d")
_LETTERS = "abcdefgh"


@dataclass(frozen=True, slots=True)
class Part:
    """One allocation: the ref's name, and its bytes with padding and all buffers."""

    name: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Bar:
    """What a call allocates on a chip. ``limit`` in bytes, above 0; ``is_whole``: there is nothing of unknown size."""

    chips: tuple[str, ...]
    parts: tuple[Part, ...]
    limit: int
    is_whole: bool

    @property
    def total(self) -> int:
        """Bytes of all parts."""
        return sum(part.bytes for part in self.parts)

    @property
    def chips_text(self) -> str:
        """The chips that the bar is for."""
        return ", ".join(self.chips)

    @property
    def label(self) -> str:
        """ "at least 45 % of 16 MiB"."""
        share = 100 * self.total / self.limit
        return f"{'' if self.is_whole else 'at least '}{share:.0f} % of {bytes_text(self.limit)}"


def memory_picture(bars: Sequence[Bar]) -> Picture | None:
    """The bars with a legend of their parts; equal bars are drawn once. None where there is nothing to draw."""
    together: dict[tuple[tuple[Part, ...], int, bool], tuple[str, ...]] = {}
    for bar in bars:
        key = (_largest(bar.parts), bar.limit, bar.is_whole)
        together[key] = together.get(key, ()) + bar.chips
    drawn = [Bar(chips, parts, limit, is_whole) for (parts, limit, is_whole), chips in together.items() if parts]
    if not drawn:
        return None
    return Picture("VMEM against the limit", _svg(drawn), _text(drawn))


def _largest(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """The parts in their order; where there are too many to tell apart, the smallest as one."""
    if len(parts) <= _MOST_PARTS:
        return parts
    by_size = sorted(range(len(parts)), key=lambda index: parts[index].bytes, reverse=True)
    kept = sorted(by_size[: _MOST_PARTS - 1])
    rest = by_size[_MOST_PARTS - 1 :]
    return (*(parts[index] for index in kept), Part(f"{len(rest)} more", sum(parts[index].bytes for index in rest)))


def _names(bars: Sequence[Bar]) -> list[str]:
    """The names of all parts in order: a part has the same sign in every bar."""
    return list(dict.fromkeys(part.name for bar in bars for part in bar.parts))


def _legend(bars: Sequence[Bar]) -> Iterator[tuple[int, str]]:
    """The position of each part's sign, and its words; sizes apart where chips differ."""
    for position, name in enumerate(_names(bars)):
        sizes = dict.fromkeys(bytes_text(part.bytes) for bar in bars for part in bar.parts if part.name == name)
        yield position, f"{name} {' or '.join(sizes)}"


def _svg(bars: Sequence[Bar]) -> str:
    names = _names(bars)
    left = 4 + max(width_of(bar.chips_text) for bar in bars) + 8
    right = left + max(max(bar.total, bar.limit) * _pixels(bar) for bar in bars) + 8
    parts: list[str] = []
    for row, bar in enumerate(bars):
        top = 4 + row * (_BAR_HEIGHT + 8)
        base = top + 13
        parts += [words(4, base, bar.chips_text), *_bar(bar, names, left, top)]
        over = f'fill="{WARNING}" font-weight="600"' if bar.total > bar.limit else ""
        parts.append(words(right, base, bar.label, over))
    bottom = 4 + len(bars) * (_BAR_HEIGHT + 8)
    width = right + max(width_of(bar.label) for bar in bars) * _BOLD
    x, y = 4.0, bottom + 12
    for position, text in _legend(bars):
        taken = 18 + width_of(text)
        if x > 4 and x + taken > width:
            x, y = 4.0, y + _LINE
        parts.append(path(box(x, y - 9, 12, 10), f'fill="{_colour(position)}"') + words(x + 17, y, text))
        x += taken + 10
    return document(width, y + 6, parts)


def _colour(position: int) -> str:
    return _COLOURS[position % len(_COLOURS)]


def _pixels(bar: Bar) -> float:
    """Pixels of a byte."""
    return min(_BAR / bar.limit, _BAR * _MOST_PAST_LIMIT / bar.total)


def _bar(bar: Bar, names: list[str], left: float, top: float) -> Iterator[str]:
    scale = _pixels(bar)
    limit = left + scale * bar.limit
    x = left
    for part in bar.parts:
        width = scale * part.bytes
        yield path(box(x, top, width, _BAR_HEIGHT), f'fill="{_colour(names.index(part.name))}"')
        if width > width_of(part.name) * _BOLD + 6 and x + width <= limit:
            yield words(x + 4, top + 13, part.name, 'fill="#fff" font-weight="600"')
        x += width
    if x > limit:
        yield path(box(limit, top, x - limit, _BAR_HEIGHT), f'fill="{HATCHED}"')
    yield path(box(left, top, limit - left, _BAR_HEIGHT), f'fill="none" stroke="{INK}"')
    line = WARNING if x > limit else INK
    yield path(f"M{number(limit)} {number(top - 3)}v{number(_BAR_HEIGHT + 6)}", f'stroke="{line}" stroke-width="2"')


def _text(bars: Sequence[Bar]) -> str:
    names = _names(bars)
    width = max(len(bar.chips_text) for bar in bars)
    lines = [f"{bar.chips_text.ljust(width)} {_bar_text(bar, names)} {bar.label}" for bar in bars]
    legend = "  ".join(f"{_letter(position)} {text}" for position, text in _legend(bars))
    return "\n".join([*lines, f"{' ' * width} {legend}"])


def _letter(position: int) -> str:
    return _LETTERS[position % len(_LETTERS)]


def _bar_text(bar: Bar, names: list[str]) -> str:
    """A letter for each fortieth of the limit, at least one for each part; "]" is the limit."""
    scale = _pixels(bar) * _CHARACTERS / _BAR
    signs = ""
    filled = 0
    for part in bar.parts:
        start, filled = filled, filled + part.bytes
        signs += _letter(names.index(part.name)) * max(round(filled * scale) - round(start * scale), 1)
    limit = round(bar.limit * scale)
    if bar.total <= bar.limit:
        signs = signs[:limit].ljust(limit, "·")
    return f"[{signs[:limit]}]{signs[limit:]}"
