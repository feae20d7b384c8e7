"""What the functions of Python, JAX and Pallas give, without running them."""

from __future__ import annotations

from ..arguments import Arguments
from ..array_types import is_array_like
from ..machine import Machine
from ..values import ListValue, Value, describe
from .jax import FUNCTIONS as JAX_FUNCTIONS
from .jax import array_method, elementwise_fallback
from .machine_facts import FUNCTIONS as MACHINE_FACTS
from .machine_facts import fact
from .meshes import FUNCTIONS as MESHES
from .meshes import mesh_attribute
from .pallas import BUFFER_MAKERS, results_of
from .pallas import FUNCTIONS as PALLAS_FUNCTIONS
from .python import FUNCTIONS as PYTHON_FUNCTIONS
from .python import method
from .shapes import FUNCTIONS as SHAPES
from .transformations import FUNCTIONS as TRANSFORMATIONS
from .transformations import run_transformed

__all__ = [
    "BUFFER_MAKERS",
    "call_external",
    "call_method",
    "fact",
    "mesh_attribute",
    "results_of",
    "run_transformed",
]

_FUNCTIONS = {
    **PYTHON_FUNCTIONS,
    **JAX_FUNCTIONS,
    **SHAPES,
    **MACHINE_FACTS,
    **MESHES,
    **TRANSFORMATIONS,
    **PALLAS_FUNCTIONS,
}


def call_external(machine: Machine, path: str, arguments: Arguments) -> Value:
    """Call the function at the canonical dotted ``path``."""
    function = _FUNCTIONS.get(path)
    if function is not None:
        return function(machine, arguments)
    if path.startswith("jax."):
        value = elementwise_fallback(machine, path, arguments)
        if value is not None:
            return value
    name = path.rpartition(".")[2]
    text = f"{name}({', '.join(map(describe, arguments.positional))})"
    if path.startswith("builtins.") or path.startswith("jax."):
        return machine.fresh(text, f"`{text}` is not followed")
    for value in (*arguments.positional, *arguments.keywords.values()):
        if isinstance(value, ListValue):
            machine.journal.write(value, "items", machine.fresh("the list", f"`{name}` may have changed it"))
    return machine.fresh(text, f"`{name}` is outside the project")


def call_method(machine: Machine, owner: Value, name: str, arguments: Arguments) -> Value:
    """Call the method ``name`` of a value that is no object of the program."""
    owner = machine.settled(owner)
    if is_array_like(owner):
        return array_method(machine, owner, name, arguments)
    return method(machine, owner, name, arguments)
