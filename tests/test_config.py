"""Settings: one definition, and what each of the three places makes of it."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from pallas_lens import config
from pallas_lens.config import SETTINGS, Kind, Settings
from pallas_lens.model.versions import Version
from pallas_lens.rule_selection import RuleSelection, unknown_selectors
from pallas_lens.user_environment import find_environment

ROOT = Path(__file__).parents[1]


def test_defaults_are_those_of_the_definition() -> None:
    declared = {setting.attribute: setting.default for setting in SETTINGS if not setting.editor_only}
    assert dataclasses.asdict(Settings()) == declared
    assert config.merge(()) == Settings()


def test_the_manifest_declares_every_setting() -> None:
    properties = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))["contributes"]["configuration"][
        "properties"
    ]
    assert list(properties) == [f"pallasLens.{setting.name}" for setting in SETTINGS]
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    assert all(f"`pallasLens.{setting.name}`" in page for setting in SETTINGS)


EXAMPLES = {
    Kind.TEXT: ("some text", "some text"),
    Kind.TEXTS: ("PAL101, PAL2", ("PAL101", "PAL2")),
    Kind.NUMBER: ("1234", 1234),
    Kind.SWITCH: ("false", False),
}


@pytest.mark.parametrize("setting", [one for one in SETTINGS if not one.editor_only], ids=lambda one: one.name)
def test_every_place_sets_every_setting(setting: config.Setting, tmp_path: Path) -> None:
    text, value = EXAMPLES[setting.kind]
    if setting.choices:
        text = setting.choices[0]
        value = (text,) if setting.kind is Kind.TEXTS else text
    if setting.name == "jaxVersion":
        text = value = "0.10.2"
    plain = list(value) if isinstance(value, tuple) else value
    project = tmp_path / "pyproject.toml"
    project.write_text(f"[tool.pallas-lens]\n{setting.kebab_name} = {json.dumps(plain)}\n", encoding="utf-8")
    layers = (
        config.from_environment({setting.variable: text}),
        config.from_editor({setting.name: plain}),
        config.from_project(project),
    )
    for layer in layers:
        assert layer == config.Layer({setting.attribute: value})
        assert getattr(config.merge((layer,)), setting.attribute) == value


def test_an_editors_default_says_nothing() -> None:
    """An editor sends the defaults too; they must not hide what the project says."""
    layer = config.from_editor(
        {setting.name: setting.default for setting in SETTINGS if setting.name != "trace.server"}
    )
    assert layer == config.NOTHING


@pytest.mark.parametrize(
    ("selection", "code", "included"),
    [
        (RuleSelection(), "PAL101", True),
        (RuleSelection(select=("PAL1",)), "PAL101", True),
        (RuleSelection(select=("PAL2",)), "PAL101", False),
        (RuleSelection(select=("pal101",)), "PAL101", True),
        (RuleSelection(select=("a_name",)), "PAL101", True),
        (RuleSelection(ignore=("PAL101",)), "PAL101", False),
        (RuleSelection(ignore=("PAL",)), "PAL101", False),
        (RuleSelection(select=("PAL1",), ignore=("PAL101",)), "PAL101", False),
        (RuleSelection(select=("PAL101",), ignore=("PAL1",)), "PAL101", True),
        (RuleSelection(select=("PAL1",), ignore=("PAL1",)), "PAL101", False),
        (RuleSelection(select=("all",), ignore=("PAL2",)), "PAL101", True),
    ],
)
def test_rule_selection(selection: RuleSelection, code: str, included: bool) -> None:
    assert selection.includes(code, "a-name") is included


def test_selectors_that_mean_nothing_are_told() -> None:
    rules = [("PAL101", "block-not-tile-aligned"), ("PAL201", "index-map-arity")]
    assert unknown_selectors(["PAL1", "PAL201", "index_map_arity", "all"], rules) == []
    (near, far) = unknown_selectors(["block-not-tile-alined", "PAL9"], rules)
    assert near == "There is no rule `block-not-tile-alined`; did you mean `block-not-tile-aligned`?"
    assert far.startswith("There is no rule `PAL9`")


class TestEnvironment:
    """Environments are made of empty files: nothing of them may be run."""

    def make(self, folder: Path, version: str | None) -> Path:
        packages = folder / "lib" / "python3.12" / "site-packages"
        packages.mkdir(parents=True)
        (folder / "bin").mkdir()
        (folder / "bin" / "python").write_text("")
        (folder / "pyvenv.cfg").write_text("home = /nowhere\n")
        if version is not None:
            (packages / f"jax-{version}.dist-info").mkdir()
            (packages / f"jaxlib-{version}.dist-info").mkdir()
        return folder / "bin" / "python"

    def test_what_is_named_wins_and_stands_alone(self, tmp_path: Path) -> None:
        named = self.make(tmp_path / "named", None)
        self.make(tmp_path / ".venv", "0.10.2")
        found = find_environment(str(named), (tmp_path,), {"PATH": ""})
        assert found is not None
        assert (found.interpreter, found.jax) == (named, None)

    def test_an_environment_with_jax_goes_before_one_without(self, tmp_path: Path) -> None:
        self.make(tmp_path / "active", None)
        venv = self.make(tmp_path / "project" / ".venv", "0.12.0.1")
        inner = tmp_path / "project" / "src"
        inner.mkdir()
        found = find_environment("", (inner,), {"PATH": "", "VIRTUAL_ENV": str(tmp_path / "active")})
        assert found is not None
        assert (found.interpreter, found.jax) == (venv, Version((0, 12, 0, 1)))

    def test_folders_and_variables_are_understood(self, tmp_path: Path) -> None:
        python = self.make(tmp_path / "here", "0.9.0")
        for text in (
            str(tmp_path / "here"),
            "${workspaceFolder}/here/bin/python",
            "${env:PLACE}/here",
            "here/bin/python",
        ):
            found = find_environment(text, (tmp_path,), {"PATH": "", "PLACE": str(tmp_path)})
            assert found is not None
            assert (found.interpreter, found.jax) == (python, Version((0, 9, 0))), text
