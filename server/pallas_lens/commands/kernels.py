"""``pallas-lens kernels``: the model of each kernel call."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from pallas_lens.check import Checker
from pallas_lens.output.kernels_full import kernels_full
from pallas_lens.output.kernels_json import kernel_to_json, kernels_json

from .check import document_of
from .common import Inputs, display_name, projects_for, refuse_bad_settings


def kernels(arguments: argparse.Namespace) -> int:
    """Print every call site in every specialisation, generic first."""
    inputs = Inputs(arguments)
    projects = projects_for(arguments)
    projects.of(Path.cwd() / "anything.py")
    checker = Checker(inputs.roots)
    entries: list[dict[str, Any]] = []
    for source in inputs.sources():
        document = document_of(source)
        project = projects.of(document.path)
        refuse_bad_settings(projects)
        for site in checker.facts(document).sites:
            place = document.locate(site.span)
            entries += [
                kernel_to_json(
                    specialised,
                    display_name(source.path),
                    place.start_row + 1,
                    place.start_column + 1,
                    project.context.targets,
                )
                for specialised in site.specialisations
                if not specialised.worlds[0].is_for_callers
            ]
    sys.stdout.write(kernels_json(entries) if arguments.output_format == "json" else kernels_full(entries))
    return 0 if inputs.all_read else 1
