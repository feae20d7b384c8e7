"""A TPU chip as JAX knows it without one: device kind, cores, the abstract mesh, the libtpu topology."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax


@dataclass(frozen=True, slots=True)
class AbstractChip:
    """`device_kind` and `cores` are what JAX's TPU lowering asks for, `topology` is libtpu's name of a small system."""

    device_kind: str
    cores: int
    topology: str


# The kinds are those which libtpu 0.0.52 reports for the devices of the topology; so are the cores, but for v4, whose
# two cores JAX drives as one device where libtpu's topology lists each on its own.
CHIPS = {
    "v4": AbstractChip("TPU v4", 2, "v4:2x2x1"),
    "v5e": AbstractChip("TPU v5 lite", 1, "v5e:2x2"),
    "v5p": AbstractChip("TPU v5", 2, "v5p:2x2x1"),
    "v6e": AbstractChip("TPU v6 lite", 1, "v6e:2x2"),
    "v7x": AbstractChip("TPU7x", 1, "tpu7x:2x2x1"),
}


def on_chip(chip: AbstractChip) -> contextlib.AbstractContextManager[Any]:
    """Within it, tracing and lowering behave as on that chip; needs neither a TPU nor libtpu."""
    if not hasattr(jax.sharding, "AbstractDevice"):
        return _on_default_device(chip)
    facts = {"device_kind": chip.device_kind, "num_cores": chip.cores, "platform": "tpu"}
    # Early JAX, such as 0.7, has no platform in it.
    known = {field.name for field in dataclasses.fields(jax.sharding.AbstractDevice)}
    device = jax.sharding.AbstractDevice(**{name: value for name, value in facts.items() if name in known})
    mesh = jax.sharding.AbstractMesh((), (), (), abstract_device=device)
    context: contextlib.AbstractContextManager[Any] = jax.sharding.use_abstract_mesh(mesh)
    return context


@contextlib.contextmanager
def _on_default_device(chip: AbstractChip) -> Iterator[None]:
    """JAX 0.7.0 knows no abstract devices: its pipelines ask the default device for the kind, and nothing else does."""
    pipeline = importlib.import_module("jax._src.pallas.mosaic.pipeline")
    original = getattr(pipeline, "get_default_device", None)
    if original is None:
        yield
        return
    device = types.SimpleNamespace(device_kind=chip.device_kind, num_cores=chip.cores, platform="tpu")
    pipeline.get_default_device = lambda: device  # type: ignore[attr-defined]
    try:
        yield
    finally:
        pipeline.get_default_device = original  # type: ignore[attr-defined]
