"""A use of a name of JAX's API, with what may be wrong about it by version."""

from __future__ import annotations

from dataclasses import dataclass

from .span import Span


@dataclass(frozen=True, slots=True)
class Keyword:
    """A keyword argument: its name, the span of the name alone, of ``name=value``, and the text of a plain value.

    ``value_text`` is "" where the value is neither a constant nor a dict.
    """

    name: str
    name_span: Span
    span: Span
    value_text: str
    value_is_dict: bool = False


@dataclass(frozen=True, slots=True)
class ApiUse:
    """``path`` is canonical (``jax.experimental.pallas.tpu.TPUCompilerParams``).

    ``span`` is the written dotted name, ``attribute_span`` its last component.
    ``guarded``: stands under ``hasattr``, ``try`` or a version test, so that an absent
    name is expected. ``keywords`` is filled where the name is called.
    """

    path: str
    span: Span
    attribute_span: Span
    text: str
    guarded: bool
    is_call: bool = False
    call_span: Span | None = None
    keywords: tuple[Keyword, ...] = ()
    is_import: bool = False
