"""A generated module with one ``pallas_call``: as a function for libtpu, and as the evaluator reads it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from pallas_lens.check import Checker
from pallas_lens.model.kernel_call import KernelCall
from pallas_lens.source.document import open_document

NAME: Final = "generated_kernel"
"""What every generated kernel is called, for finding it in dumps."""


@dataclass(frozen=True, slots=True)
class KernelSource:
    """A module's text; ``call`` is its function, ``inputs`` the (shape, dtype) of each argument.

    An example comment tells the evaluator the same of the arguments.
    """

    text: str
    inputs: tuple[tuple[tuple[int, ...], str], ...]


@cache
def call_in(text: str) -> KernelCall:
    """The only call in a module's text, read with its example."""
    (site,) = Checker().facts(open_document(Path("generated.py"), text)).sites
    return site.specialisations[-1].worlds[0]


def function_in(text: str) -> Callable[..., Any]:
    """What the module calls ``call``."""
    names: dict[str, Any] = {}
    exec(text, names)
    function: Callable[..., Any] = names["call"]
    return function
