"""All that is known of one file: its call sites, the API it uses, what can be run."""

from __future__ import annotations

from dataclasses import dataclass

from .api_use import ApiUse
from .kernel_body import KernelBody
from .kernel_call import KernelCall
from .span import Span


@dataclass(frozen=True, slots=True)
class Specialised:
    """One call site evaluated with one set of known values.

    ``name`` is "generic", "defaults", "call FUNCTION:LINE" or "example NAME" and
    ``reading`` says it in a sentence ("with block_q=100, the default"; "" for generic).
    ``worlds`` holds one call for each way that conditions of unknown outcome may go,
    the likeliest first; at least one. ``bodies`` are parallel to ``worlds``.
    """

    name: str
    reading: str
    worlds: tuple[KernelCall, ...]
    bodies: tuple[KernelBody | None, ...]


@dataclass(frozen=True, slots=True)
class CallSite:
    """One place that starts a kernel; ``specialisations`` has "generic" first."""

    span: Span
    specialisations: tuple[Specialised, ...]


@dataclass(frozen=True, slots=True)
class Runnable:
    """A function that can be run as it stands: it has an example comment.

    ``function`` is the qualified name; ``span`` the name in its ``def`` line.
    ``inputs`` and ``reference`` are the functions that comments of these names give.
    """

    function: str
    span: Span
    example: str
    arguments_text: str
    inputs: str | None = None
    reference: str | None = None


@dataclass(frozen=True, slots=True)
class CommentFault:
    """A ``pallas-lens:`` comment that could not be read: rows and columns of the document from 0."""

    row: int
    start_column: int
    end_column: int
    message: str


@dataclass(frozen=True, slots=True)
class ModuleFacts:
    """What the evaluator found in one file."""

    sites: tuple[CallSite, ...] = ()
    api_uses: tuple[ApiUse, ...] = ()
    runnables: tuple[Runnable, ...] = ()
    comment_faults: tuple[CommentFault, ...] = ()
