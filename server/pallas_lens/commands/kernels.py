"""``pallas-lens kernels``: the model of each kernel call."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pallas_lens.check import Checker
from pallas_lens.model.chip import Chip
from pallas_lens.model.module_facts import CallSite, Specialised
from pallas_lens.output.kernel_drawing import kernel_drawing
from pallas_lens.output.kernels_full import kernels_full
from pallas_lens.output.kernels_json import kernel_to_json, kernels_json
from pallas_lens.source.document import Document

from .check import document_of
from .common import Inputs, display_name, packages_of, projects_for, refuse_bad_settings


def kernels(arguments: argparse.Namespace) -> int:
    """Print every call site in every specialisation, generic first."""
    inputs = Inputs(arguments)
    projects = projects_for(arguments)
    projects.of(Path.cwd() / "anything.py")
    checker = Checker(inputs.roots, packages_of=packages_of(projects))
    checker.index_imports()
    is_json = arguments.output_format == "json"
    entries: list[dict[str, Any]] = []
    drawings: list[str] = []
    for source in inputs.sources():
        document = document_of(source, checker)
        project = projects.of(document.path)
        refuse_bad_settings(projects)
        sites = checker.facts(document).sites
        targets = project.context.targets
        entries += kernel_entries(sites, document, display_name(source.path), targets)
        if not is_json:
            drawings += [kernel_drawing(specialised, targets) for _, specialised in _shown(sites)]
    sys.stdout.write(kernels_json(entries) if is_json else kernels_full(entries, drawings))
    return 0 if inputs.all_read else 1


def kernel_entries(
    sites: Iterable[CallSite], document: Document, filename: str, chips: Sequence[Chip]
) -> list[dict[str, Any]]:
    """Every call site in every specialisation that is shown, as JSON values."""
    entries: list[dict[str, Any]] = []
    for site, specialised in _shown(sites):
        place = document.locate(site.span)
        entries.append(kernel_to_json(specialised, filename, place.start_row + 1, place.start_column + 1, chips))
    return entries


def _shown(sites: Iterable[CallSite]) -> Iterator[tuple[CallSite, Specialised]]:
    """Every call site in every specialisation, without what only forwards for its callers."""
    for site in sites:
        for specialised in site.specialisations:
            if not specialised.worlds[0].is_for_callers:
                yield site, specialised
