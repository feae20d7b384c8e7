"""The evaluated arguments of a call."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import field

from ..model.span import Span
from ..model.value_class import value_class
from .machine import Frame
from .values import MISSING, Value

Place = ast.AST | Span
"""Where something is written: a node of the code that a frame runs, or a span. Spans are made for those that ask."""


@value_class(eq=False)
class Arguments:
    """The evaluated arguments of one call.

    ``rest`` is the reason why more positional arguments may follow (``*args`` of
    unknown length), ``open_keywords`` the same for ``**kwargs``. ``node`` is the call as
    ``frame`` runs it, and ``place`` what stands for it where that is something else.
    """

    positional: tuple[Value, ...]
    keywords: dict[str, Value]
    positional_places: tuple[Place | None, ...] = ()
    keyword_places: Mapping[str, Place] = field(default_factory=dict)
    rest: str | None = None
    open_keywords: bool = False
    node: ast.Call | None = None
    frame: Frame | None = None
    place: Place | None = None

    def get(self, position: int | None, name: str, default: Value = MISSING) -> Value:
        """The argument called ``name``, or the one at ``position``."""
        if name in self.keywords:
            return self.keywords[name]
        if position is not None and position < len(self.positional):
            return self.positional[position]
        return default

    @property
    def span(self) -> Span | None:
        """Where the call stands."""
        return self._span(self.node if self.place is None else self.place)

    def span_of(self, position: int | None, name: str) -> Span | None:
        """Where the value of an argument stands."""
        if name in self.keyword_places:
            return self._span(self.keyword_places[name])
        return None if position is None else self._span_at(position)

    @property
    def keyword_spans(self) -> dict[str, Span]:
        """Where the values of the keyword arguments stand."""
        spans = {name: self._span(place) for name, place in self.keyword_places.items()}
        return {name: span for name, span in spans.items() if span is not None}

    def spans_from(self, position: int) -> tuple[Span | None, ...]:
        """Where the positional arguments from ``position`` on stand."""
        return tuple(map(self._span_at, range(position, len(self.positional))))

    def _span_at(self, position: int) -> Span | None:
        return self._span(self.positional_places[position]) if position < len(self.positional_places) else None

    def _span(self, place: Place | None) -> Span | None:
        if place is None or isinstance(place, Span):
            return place
        return None if self.frame is None else self.frame.span(place)

    def behind(self, positional: tuple[Value, ...], keywords: Mapping[str, Value]) -> Arguments:
        """These arguments behind ``positional``, and on top of ``keywords``."""
        return Arguments(
            (*positional, *self.positional),
            {**keywords, **self.keywords},
            (None,) * len(positional) + self.positional_places,
            self.keyword_places,
            self.rest,
            self.open_keywords,
            self.node,
            self.frame,
            self.place,
        )
