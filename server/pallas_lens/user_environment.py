"""The user's Python environment, read as files: which interpreter, and which JAX is in it. Nothing of it runs."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from .model.versions import Version


@dataclass(frozen=True, slots=True)
class UserEnvironment:
    """An interpreter with what its packages say of themselves. ``jax`` and ``libtpu`` None: not installed."""

    interpreter: Path
    jax: Version | None
    libtpu: Version | None
    origin: str
    """Where the interpreter was found, in words: "the setting", "VIRTUAL_ENV" …"""


def find_environment(
    interpreter: str, roots: tuple[Path, ...], variables: Mapping[str, str] = os.environ
) -> UserEnvironment | None:
    """The environment of the user's kernels.

    ``interpreter`` is what a setting or the editor names ("" for nothing): then that one
    alone counts. Else the first environment with JAX in it, else the first one, of:
    VIRTUAL_ENV, ``.venv`` or ``venv`` in ``roots`` or a folder above, CONDA_PREFIX, the
    Python that runs this, and the PATH.
    """
    first: UserEnvironment | None = None
    for path, origin in _candidates(interpreter, roots, variables):
        environment = read_environment(path, origin)
        if environment.jax is not None:
            return environment
        first = first or environment
    return first


def read_environment(interpreter: Path, origin: str) -> UserEnvironment:
    """What the packages that ``interpreter`` would import say of themselves."""
    jax: Version | None = None
    libtpu: Version | None = None
    for folder in package_folders(interpreter):
        jax = jax or _installed(folder, "jax")
        libtpu = libtpu or _installed(folder, "libtpu")
    return UserEnvironment(interpreter, jax, libtpu, origin)


def package_folders(interpreter: Path) -> list[Path]:
    """The site-packages folders of ``interpreter``, in the order Python searches them."""
    environment = interpreter.parent.parent
    configuration = _virtual_environment_configuration(environment)
    folders: list[Path] = []
    if configuration is not None:
        folders += _site_packages(environment)
        if configuration.get("include-system-site-packages", "").lower() != "true":
            return folders
        home = configuration.get("home")
        if home:
            folders += _base_packages(Path(home) / interpreter.name)
        return folders
    return _base_packages(interpreter)


def _base_packages(interpreter: Path) -> list[Path]:
    try:
        resolved = interpreter.resolve()
    except (OSError, RuntimeError):
        resolved = interpreter
    found: list[Path] = []
    version = re.search(r"python(\d+\.\d+)", resolved.name)
    for prefix in dict.fromkeys((interpreter.parent.parent, resolved.parent.parent, interpreter.parent)):
        found += _site_packages(prefix, version[1] if version else None)
    if version:
        found.append(Path.home() / ".local" / "lib" / f"python{version[1]}" / "site-packages")
    return found


def _site_packages(prefix: Path, version: str | None = None) -> list[Path]:
    pattern = f"python{version}" if version else "python3*"
    folders = [
        library / name
        for part in ("lib", "lib64", "local/lib")
        for library in sorted((prefix / part).glob(pattern))
        for name in ("site-packages", "dist-packages")
    ]
    # Debian keeps what apt installs apart from what pip does.
    folders += [prefix / "lib" / "python3" / "dist-packages", prefix / "Lib" / "site-packages"]
    return [folder for folder in dict.fromkeys(folders) if folder.is_dir()]


def _virtual_environment_configuration(folder: Path) -> dict[str, str] | None:
    try:
        text = (folder / "pyvenv.cfg").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    pairs = (line.partition("=") for line in text.splitlines())
    return {key.strip().lower(): value.strip() for key, _, value in pairs}


def _installed(folder: Path, package: str) -> Version | None:
    """The version that the package's metadata gives, else the one in its own ``version.py``."""
    try:
        names = [name for name in os.listdir(folder) if name.startswith(f"{package}-")]
    except OSError:
        return None
    for name in sorted(names):
        match = re.fullmatch(rf"{package}-(\d[^-]*)(?:-py\d.*)?\.(?:dist-info|egg-info)", name)
        if match:
            return Version.parse(match[1])
    if package == "jax":
        return _version_in_source(folder / "jax" / "version.py")
    return None


def _version_in_source(path: Path) -> Version | None:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    match = re.search(r"^_version\s*=\s*['\"](\d[\d.]*)", text, re.MULTILINE)
    return Version.parse(match[1]) if match else None


def _candidates(interpreter: str, roots: tuple[Path, ...], variables: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    if interpreter:
        named = _expanded(interpreter, roots, variables)
        if named.is_dir():
            named = _python_in(named) or named
        elif named.name == interpreter and not named.exists():
            found = shutil.which(interpreter)
            named = Path(found) if found else named
        yield named, "the setting"
        return
    for variable in ("VIRTUAL_ENV",):
        yield from _with_origin(variables.get(variable), variable)
    for root in roots:
        for folder in (root, *root.parents):
            for name in (".venv", "venv"):
                yield from _with_origin(str(folder / name), f"{name} in {folder}")
    yield from _with_origin(variables.get("CONDA_PREFIX"), "CONDA_PREFIX")
    if sys.executable:
        yield Path(sys.executable), "the Python that runs Pallas Lens"
    for name in ("python3", "python"):
        found = shutil.which(name, path=variables.get("PATH"))
        if found:
            yield Path(found), "the PATH"


def _with_origin(folder: str | None, origin: str) -> Iterator[tuple[Path, str]]:
    python = _python_in(Path(folder)) if folder else None
    if python is not None:
        yield python, origin


def _python_in(environment: Path) -> Path | None:
    for name in ("bin/python", "bin/python3", "Scripts/python.exe", "python.exe"):
        path = environment / name
        if path.is_file():
            return path
    return None


def _expanded(interpreter: str, roots: tuple[Path, ...], variables: Mapping[str, str]) -> Path:
    """The path with ``~``, ``${workspaceFolder}`` and ``${env:NAME}`` replaced, relative to the first root."""
    root = str(roots[0]) if roots else ""
    text = interpreter.replace("${workspaceFolder}", root)
    text = re.sub(r"\$\{env:([^}]+)\}", lambda match: variables.get(match[1], ""), text)
    path = Path(text).expanduser()
    # A bare name is looked for on the PATH, as a shell does.
    if roots and not path.is_absolute() and len(path.parts) > 1:
        path = roots[0] / path
    return path
