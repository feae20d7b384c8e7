"""What Pallas' names are in the JAX of the interpreter that runs this, against ``api_names.json``.

    python api_names.py            prints what differs from the file, exit status 1 where anything does
    python api_names.py --merge    writes this JAX's version into the timelines

A release that is not in the file yet comes in with ``--merge`` under an interpreter that has it, the releases in
their order: a timeline gets an entry where a name or its parameters differ from the release before.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import sys
import types
import warnings
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[1] / "api_names.json"
MODULES = ("jax.experimental.pallas", "jax.experimental.pallas.tpu")


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def state_at(timeline: list[list[Any]], version: str) -> Any:
    """The timeline's entry that holds at ``version``; None before its first."""
    found = None
    for since, state in timeline:
        if numbers(since) <= numbers(version):
            found = state
    return found


def read(path: str) -> tuple[str, Any]:
    """A name's state in this JAX ("works", "deprecated" or "gone") and its value."""
    module_name = next(module for module in reversed(MODULES) if path.startswith(module + "."))
    value: Any = importlib.import_module(module_name)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            for part in path[len(module_name) + 1 :].split("."):
                value = getattr(value, part)
        except AttributeError:
            return "gone", None
    deprecated = any(issubclass(one.category, DeprecationWarning) for one in caught)
    return "deprecated" if deprecated else "works", value


def public_names() -> list[str]:
    """What the two modules export now, submodules left out."""
    found = []
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        for name in dir(module):
            value = getattr(module, name, None)
            if not name.startswith("_") and not isinstance(value, types.ModuleType) and name != "annotations":
                found.append(f"{module_name}.{name}")
    return [name for name in found if name.rpartition(".")[2] not in ("typing", "Any")]


def parameters(function: Any) -> list[str]:
    """Names of a callable's parameters, sorted, with their stars; private ones left out."""
    stars: dict[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    found = inspect.signature(function).parameters.values()
    return sorted(stars.get(one.kind, "") + one.name for one in found if not one.name.startswith("_"))


def compare(data: dict[str, Any], version: str) -> list[tuple[str, str, Any]]:
    """What differs: (section, path, what is true now)."""
    differences: list[tuple[str, str, Any]] = []
    for path in sorted({*data["names"], *public_names()}):
        now = read(path)[0]
        if now != (state_at(data["names"].get(path, []), version) or "gone"):
            differences.append(("names", path, now))
    for path, timeline in data["parameters"].items():
        state, value = read(path)
        if state != "gone" and parameters(value) != sorted(state_at(timeline, version) or []):
            differences.append(("parameters", path, parameters(value)))
    return differences


def text_of(data: dict[str, Any]) -> str:
    """The file's form: one timeline a line, the parameters one version a line."""
    lines = ["{", f' "source": {json.dumps(data["source"])},', f' "versions": {json.dumps(data["versions"])},']
    names = [f"  {json.dumps(path)}: {json.dumps(timeline)}" for path, timeline in sorted(data["names"].items())]
    lines += [' "names": {', ",\n".join(names), " },", ' "parameters": {']
    entries = [
        f"  {json.dumps(path)}: [\n" + ",\n".join(f"   {json.dumps(entry)}" for entry in timeline) + "\n  ]"
        for path, timeline in sorted(data["parameters"].items())
    ]
    return "\n".join([*lines, ",\n".join(entries), " }", "}", ""])


def main() -> int:
    import jax

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--merge", action="store_true")
    merge = parser.parse_args().merge
    data = json.loads(FILE.read_text(encoding="utf-8"))
    differences = compare(data, jax.__version__)
    for section, path, now in differences:
        print(f"{section}: {path} in JAX {jax.__version__}: {now}")
        if merge:
            timeline = data[section].setdefault(path, [])
            timeline[:] = [entry for entry in timeline if entry[0] != jax.__version__]
            timeline.append([jax.__version__, now])
            timeline.sort(key=lambda entry: numbers(entry[0]))
    if merge:
        data["versions"] = sorted({*data["versions"], jax.__version__}, key=numbers)
        FILE.write_text(text_of(data), encoding="utf-8")
        return 0
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
