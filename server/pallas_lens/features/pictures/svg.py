"""The few shapes of SVG that pictures are made of, in colours that light and dark themes can show."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Final

INK: Final = "#7d8590"
"""Lines and words beside the shapes: readable on white and on a dark theme's background."""

WARNING: Final = "#e5484d"
"""What is over a limit or lies outside."""

HATCHED: Final = "url(#h)"
"""The fill of what is over a limit or lies outside."""

_HATCH: Final = (
    '<pattern id="h" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    f'<path d="M1 0V5" stroke="{WARNING}" stroke-width="1.5"/></pattern>'
)


def document(width: float, height: float, parts: Iterable[str], definitions: str = "") -> str:
    """An SVG of that size in pixels, transparent; its words have about the size of a hover's."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{number(width)}" height="{number(height)}" '
        f'font-family="system-ui,sans-serif" font-size="12" fill="{INK}">'
        f"<defs>{_HATCH}{definitions}</defs>{''.join(parts)}</svg>"
    )


def width_of(text: str) -> float:
    """About how many pixels a line of text takes, and not less: fonts differ."""
    return 6.7 * len(text)


def number(value: float) -> str:
    """A coordinate with one decimal at most."""
    return f"{value:.1f}".removesuffix(".0")


def words(x: float, y: float, text: str, attributes: str = "") -> str:
    """A line of text whose base line begins at (x, y)."""
    return f'<text x="{number(x)}" y="{number(y)}"{" " * bool(attributes)}{attributes}>{escape(text)}</text>'


def box(x: float, y: float, width: float, height: float) -> str:
    """A rectangle as part of a path's ``d``."""
    return f"M{number(x)} {number(y)}h{number(width)}v{number(height)}h{number(-width)}z"


def path(d: str, attributes: str) -> str:
    """One path for all shapes that look the same, which takes less room than an element each."""
    return f'<path d="{d}" {attributes}/>'
