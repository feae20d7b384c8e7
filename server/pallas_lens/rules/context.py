"""What a check may ask beside its subject: the target chips, the user's JAX, how names are written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from pallas_lens.model.api_use import ApiUse
from pallas_lens.model.chip import Chip
from pallas_lens.model.versions import Version

PALLAS: Final = "jax.experimental.pallas"
PALLAS_TPU: Final = "jax.experimental.pallas.tpu"
NUMPY: Final = "jax.numpy"


@dataclass(frozen=True, slots=True)
class Context:
    """``targets``: the chips to compile for, at least one.

    ``jax_version`` is the user's, or the newest that we know where
    ``jax_version_is_known`` is False. ``modules`` maps a module's path to how the file
    writes it: ``{"jax.experimental.pallas": "pl"}``.
    """

    targets: tuple[Chip, ...]
    jax_version: Version
    jax_version_is_known: bool
    modules: Mapping[str, str] = field(default_factory=dict)

    @property
    def target_names(self) -> tuple[str, ...]:
        """The names of the targets, in their order."""
        return tuple(chip.name for chip in self.targets)

    def spelling(self, module: str, name: str) -> str | None:
        """How the file at hand writes ``name`` of ``module``; None where it does not import the module."""
        prefix = self.modules.get(module)
        return None if prefix is None else f"{prefix}.{name}"


def module_spellings(uses: Iterable[ApiUse]) -> dict[str, str]:
    """How a file writes the modules that it uses names of; the first spelling wins."""
    spellings: dict[str, str] = {}
    for use in uses:
        if use.is_import:
            continue
        module, _, name = use.path.rpartition(".")
        written, _, last = use.text.rpartition(".")
        if written and module and last == name:
            spellings.setdefault(module, written)
    return spellings
