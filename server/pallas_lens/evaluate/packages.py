"""What the evaluator asks about modules that are no files of the project."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol


@dataclass(frozen=True, slots=True)
class NotRead:
    """A module or name of the user's environment that is not known, yet or at all, and why."""

    why: str


class Packages(Protocol):
    """The user's environment. Answers at once; what it has to look for first is ``NotRead`` until then."""

    def module(self, dotted: str) -> Path | NotRead | None:
        """The source file of a module; None where the environment has none of that name."""

    def definition(self, module: str, name: str) -> tuple[Path, str] | NotRead | None:
        """The file in which ``name`` of ``module`` is defined, and its name there; None where nobody can tell."""


# What the tables of the library know by name is never read as source.
_KNOWN: Final = frozenset(
    {"jax", "jaxlib", "numpy", "scipy", "functools", "math", "typing", "dataclasses", "enum", "itertools", "operator"}
    | {"collections", "contextlib", "os", "sys", "re", "abc", "absl", "pytest", "ml_dtypes", "jaxtyping", "torch"}
)
KERNEL_PACKAGE: Final = "jax.experimental.pallas.ops"

# Frameworks that are long to read, and whose objects say nothing about the kernels of those who use them.
_NOT_ABOUT_KERNELS: Final = frozenset(
    {"flax", "haiku", "optax", "orbax", "equinox", "chex", "einops", "tensorflow", "transformers", "triton", "vllm"}
    | {"pandas", "matplotlib", "sklearn", "IPython", "ray", "tqdm", "pydantic", "google", "hypothesis", "beartype"}
    | {"typing_extensions", "typeguard", "setuptools", "attr", "attrs", "cattrs", "immutabledict", "yaml", "requests"}
)


def is_known(dotted: str) -> bool:
    """Whether a module is one that the evaluator's tables know by name."""
    return dotted.partition(".")[0] in _KNOWN and not dotted.startswith(KERNEL_PACKAGE)


def is_worth_reading(dotted: str) -> bool:
    """Whether a module of the environment may say something about kernels."""
    top = dotted.partition(".")[0]
    return not is_known(dotted) and top not in sys.stdlib_module_names and top not in _NOT_ABOUT_KERNELS
