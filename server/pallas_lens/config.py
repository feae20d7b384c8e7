"""Settings: one definition of each, and the three places they are read from.

The editor writes them in camelCase (``pallasLens.runTimeout``), ``[tool.pallas-lens]``
in pyproject.toml in kebab-case (``run-timeout``), the environment in capitals
(``PALLAS_LENS_RUN_TIMEOUT``). The editor's win, as do the flags of the command line;
then the environment; then pyproject.toml. package.json and the settings page are
generated from ``SETTINGS`` (see ``generate/settings.py``).

A value that cannot be used is reported with what to do about it, and the next place
or the default is used instead.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Final

from .knowledge.chips import NAMES

SECTION: Final = "pallasLens"
PROJECT_TABLE: Final = "pallas-lens"
ENVIRONMENT_PREFIX: Final = "PALLAS_LENS_"

CHIP_NAMES: Final = NAMES
PICTURES: Final = ("image", "text", "none", "auto")
LOG_LEVELS: Final = ("error", "warning", "info", "debug")


class Kind(Enum):
    """What a setting holds."""

    TEXT = "text"
    TEXTS = "texts"
    NUMBER = "number"
    SWITCH = "switch"


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its name in camelCase, what it holds, and what it does.

    ``description`` is Markdown, ``choices`` the words allowed (of each entry, for a
    list), ``minimum`` the least number. ``editor_only`` settings decide what an editor
    starts, so no project file may set them.
    """

    name: str
    kind: Kind
    default: str | tuple[str, ...] | int | bool
    description: str
    scope: str = "resource"
    choices: tuple[str, ...] = ()
    minimum: int | None = None
    editor_only: bool = False

    @property
    def kebab_name(self) -> str:
        """The name in pyproject.toml."""
        return _words(self.name, "-")

    @property
    def attribute(self) -> str:
        """The name in ``Settings``."""
        return _words(self.name, "_")

    @property
    def variable(self) -> str:
        """The name in the environment."""
        return ENVIRONMENT_PREFIX + self.attribute.upper()


SETTINGS: Final[tuple[Setting, ...]] = (
    Setting(
        "targets",
        Kind.TEXTS,
        CHIP_NAMES,
        "The TPU chips to check for. What every one of them refuses is an error, what some refuse is a warning "
        "that names them.",
        choices=CHIP_NAMES,
    ),
    Setting(
        "select",
        Kind.TEXTS,
        (),
        "The rules to use: codes (`PAL101`), beginnings of codes (`PAL1`) or names (`block-not-tile-aligned`). "
        "Empty: all.",
    ),
    Setting(
        "ignore",
        Kind.TEXTS,
        (),
        "The rules to leave out, written as in `#pallasLens.select#`.",
    ),
    Setting(
        "jaxVersion",
        Kind.TEXT,
        "",
        "The JAX version to check for, such as `0.10.2`. Empty: the one found in the environment of "
        "`#pallasLens.interpreter#`, else the newest.",
    ),
    Setting(
        "interpreter",
        Kind.TEXT,
        "",
        "The Python that has your JAX, to run kernels with. Empty: the one the Python extension has selected, "
        "else `.venv` in the workspace folder, else the first on the `PATH`.",
        scope="machine-overridable",
    ),
    Setting(
        "serverInterpreter",
        Kind.TEXT,
        "",
        "The Python that runs the language server; 3.11 or later, nothing need be installed in it. Empty: the one "
        "of `#pallasLens.interpreter#` where that is recent enough, else one found on the `PATH`.",
        scope="machine-overridable",
        editor_only=True,
    ),
    Setting(
        "codeLens",
        Kind.SWITCH,
        True,
        "Show **Run in interpret mode** above functions that have an `example` comment.",
    ),
    Setting(
        "pictures",
        Kind.TEXT,
        "auto",
        "Pictures in hovers, of the walk over an array and of VMEM: `image`, `text` (the same in characters) or "
        "`none`. `auto`: images where the editor tells that it shows them, as VS Code does, else text.",
        choices=PICTURES,
    ),
    Setting(
        "runTimeout",
        Kind.NUMBER,
        120,
        "Seconds that a kernel may run in interpret mode before it is stopped.",
        minimum=1,
    ),
    Setting(
        "runMemoryLimit",
        Kind.NUMBER,
        8192,
        "Memory in MiB that a kernel run in interpret mode may use.",
        minimum=256,
    ),
    Setting(
        "logLevel",
        Kind.TEXT,
        "info",
        "How much the server writes to the log; `info` has what takes long and what kernels print.",
        scope="window",
        choices=LOG_LEVELS,
    ),
    Setting(
        "trace.server",
        Kind.TEXT,
        "off",
        "Write the messages between the editor and the language server to the log.",
        scope="window",
        choices=("off", "messages", "verbose"),
        editor_only=True,
    ),
)


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings in force for one file. ``run_memory_limit`` in MiB, ``run_timeout`` in seconds."""

    targets: tuple[str, ...] = CHIP_NAMES
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    jax_version: str = ""
    interpreter: str = ""
    code_lens: bool = True
    pictures: str = "auto"
    run_timeout: int = 120
    run_memory_limit: int = 8192
    log_level: str = "info"


@dataclass(frozen=True, slots=True)
class Layer:
    """What one place says: usable values by attribute name, and a sentence for each that is not."""

    values: Mapping[str, Any]
    problems: tuple[str, ...] = ()


NOTHING: Final = Layer({})


def merge(layers: Iterable[Layer]) -> Settings:
    """The settings in force, the first layer winning."""
    values: dict[str, Any] = {}
    for layer in layers:
        for name, value in layer.values.items():
            values.setdefault(name, value)
    return Settings(**{name: value for name, value in values.items() if name in Settings.__slots__})


def from_editor(section: object) -> Layer:
    """The layer of the editor's ``pallasLens`` section.

    An editor sends each setting's default where the user gave none; such a value says
    nothing, so that pyproject.toml can.
    """
    if not isinstance(section, Mapping):
        return NOTHING if section is None else Layer({}, (f"The settings `{SECTION}` are not an object.",))
    values: dict[str, Any] = {}
    problems: list[str] = []
    for setting in SETTINGS:
        given = _nested(section, setting.name)
        if given is None:
            continue
        value, problem = _accept(setting, given, f"`{SECTION}.{setting.name}`")
        if problem is not None:
            problems.append(problem)
        elif value != setting.default:
            values[setting.attribute] = value
    return Layer(values, tuple(problems))


def from_project(path: Path) -> Layer:
    """The layer of ``[tool.pallas-lens]`` in the pyproject.toml at ``path``."""
    try:
        with path.open("rb") as file:
            content = tomllib.load(file)
    except tomllib.TOMLDecodeError as error:
        return Layer({}, (f"{path}: not valid TOML ({error}); its settings are not used.",))
    except (OSError, UnicodeDecodeError) as error:
        return Layer({}, (f"{path}: cannot be read ({error}); its settings are not used.",))
    table = _table(content)
    if table is None:
        return NOTHING
    by_name = {setting.kebab_name: setting for setting in SETTINGS}
    values: dict[str, Any] = {}
    problems: list[str] = []
    for name, given in table.items():
        setting = by_name.get(name)
        if setting is None or setting.editor_only:
            allowed = ", ".join(sorted(one for one, other in by_name.items() if not other.editor_only))
            problems.append(f"{path}: [tool.{PROJECT_TABLE}] has no setting `{name}`; there are {allowed}.")
            continue
        value, problem = _accept(setting, given, f"{path}: `{name}` in [tool.{PROJECT_TABLE}]")
        if problem is not None:
            problems.append(problem)
        else:
            values[setting.attribute] = value
    return Layer(values, tuple(problems))


def from_environment(environment: Mapping[str, str]) -> Layer:
    """The layer of the variables ``PALLAS_LENS_…``; lists are separated by commas."""
    values: dict[str, Any] = {}
    problems: list[str] = []
    for setting in SETTINGS:
        text = environment.get(setting.variable)
        if setting.editor_only or text is None or not text.strip():
            continue
        value, problem = _accept(setting, _from_text(setting, text.strip()), f"the variable `{setting.variable}`")
        if problem is not None:
            problems.append(problem)
        else:
            values[setting.attribute] = value
    return Layer(values, tuple(problems))


def nearest_project_file(start: Path) -> Path | None:
    """The pyproject.toml with a ``[tool.pallas-lens]`` table in ``start`` or the nearest folder above it."""
    for folder in (start, *start.parents):
        path = folder / "pyproject.toml"
        try:
            with path.open("rb") as file:
                content = file.read()
        except OSError:
            continue
        # A file that is not valid TOML is returned as well, so that its fault is reported.
        if PROJECT_TABLE.encode() in content:
            return path
    return None


def _table(content: Mapping[str, Any]) -> Mapping[str, Any] | None:
    tool = content.get("tool")
    table = tool.get(PROJECT_TABLE) if isinstance(tool, Mapping) else None
    return table if isinstance(table, Mapping) else None


def _nested(section: Mapping[Any, Any], name: str) -> object:
    """``section["trace"]["server"]`` for ``trace.server``, or ``section["trace.server"]``."""
    if name in section:
        value: object = section[name]
        return value
    first, _, rest = name.partition(".")
    inner = section.get(first)
    return _nested(inner, rest) if rest and isinstance(inner, Mapping) else None


def _from_text(setting: Setting, text: str) -> object:
    match setting.kind:
        case Kind.TEXTS:
            return [part.strip() for part in text.split(",") if part.strip()]
        case Kind.NUMBER:
            return int(text) if re.fullmatch(r"\d+", text) else text
        case Kind.SWITCH:
            return {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}.get(
                text.lower(), text
            )
        case Kind.TEXT:
            return text


def _accept(setting: Setting, given: object, where: str) -> tuple[Any, str | None]:
    """(the value, None) or (None, what is wrong with it and what would be right)."""
    match setting.kind:
        case Kind.TEXT:
            if not isinstance(given, str):
                return None, _wrong(where, given, "a text in quotes")
            text = given.strip()
            if setting.choices and text not in setting.choices:
                return None, _wrong(where, given, f"one of {', '.join(setting.choices)}")
            if setting.name == "jaxVersion" and text and not re.match(r"\d+\.\d+", text):
                return None, _wrong(where, given, "a version such as 0.10.2")
            return text, None
        case Kind.TEXTS:
            if not isinstance(given, list | tuple) or not all(isinstance(part, str) for part in given):
                return None, _wrong(where, given, "a list of texts")
            texts = tuple(dict.fromkeys(part.strip() for part in given if part.strip()))
            strangers = [part for part in texts if setting.choices and part not in setting.choices]
            if strangers:
                return None, _wrong(where, ", ".join(strangers), f"some of {', '.join(setting.choices)}")
            return (texts or setting.default), None
        case Kind.NUMBER:
            if isinstance(given, bool) or not isinstance(given, int | float):
                return None, _wrong(where, given, "a number")
            if setting.minimum is not None and given < setting.minimum:
                return None, _wrong(where, given, f"a number from {setting.minimum} up")
            return int(given), None
        case Kind.SWITCH:
            return (given, None) if isinstance(given, bool) else (None, _wrong(where, given, "true or false"))


def _wrong(where: str, given: object, wanted: str) -> str:
    return f"{where[0].upper()}{where[1:]} is {given!r}, but must be {wanted}; it is not used."


def _words(name: str, separator: str) -> str:
    spread = re.sub(r"(?<=[a-z])(?=[A-Z])", separator, name.replace(".", separator))
    return spread.lower()
