"""A release is reproducible, has the same version everywhere, and CHANGELOG.md names removed features."""

import hashlib
import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml

from baton.cli.commands import COMMANDS
from baton.shared.environment import CLIENT_VARIABLES, SERVER_VARIABLES
from tests.support.cases import every

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("release", ROOT / ".ci" / "release.py")
release = importlib.util.module_from_spec(spec)
spec.loader.exec_module(release)

VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text()
BEFORE = {kind: names.split() for kind, names in yaml.safe_load((ROOT / "tests/ci/released.yaml").read_text()).items()}
MOST_COMMANDS = 37


def topics():
    channels = json.loads((ROOT / "openapi" / "asyncapi.json").read_text())["channels"]
    return {name.removesuffix(".v1").rpartition(".")[2] for name in channels}


def paths():
    return set(json.loads((ROOT / "openapi" / "openapi.json").read_text())["paths"])


NOW = {
    "commands": lambda: set(COMMANDS),
    "settings": lambda: CLIENT_VARIABLES | SERVER_VARIABLES,
    "paths": paths,
    "topics": topics,
}


def named(kind, name):
    """Return whether the changelog names it in backticks. A path may be named by its first parts."""
    spans = re.findall(r"`(?:[A-Z]+ (?=/))?([^`]+)`", CHANGELOG)
    if kind == "paths":
        return any(name == span or name.startswith(f"{span}/") for span in spans)
    return ("baton " + name if kind == "commands" else name) in spans


@every("kind", sorted(BEFORE))
def test_removed_interfaces_are_in_the_changelog(kind):
    gone = set(BEFORE[kind]) - set(NOW[kind]())
    assert not {name for name in gone if not named(kind, name)}, "name what a person could miss in CHANGELOG.md"


def test_the_command_line_has_few_top_level_commands():
    assert len(COMMANDS) <= MOST_COMMANDS, f"{len(COMMANDS)} top-level commands, at most {MOST_COMMANDS}: use a group"


@every(
    ("file", "pattern"),
    [
        ("app/baton/delegate/runners/api.py", r'"version": "(\d[\d.]*)"'),
        ("app/baton/operate/openapi/examples.yaml", r"version: (\d[\d.]*)"),
        ("clients/typescript/package.json", r'"version": "(.+)"'),
        ("clients/typescript/package-lock.json", r'"name": "@?[\w/-]*baton[\w/-]*",\s+"version": "(.+)"'),
        ("compose.yaml", r"image: baton:(\S+)"),
        ("docs/delegation.md", r"server (\d\S+) answers"),
        ("docs/operations.md", r"baton-(\d[\d.]*)-py3"),
        ("docs/tour.md", r"Baton (\d\S+) at"),
        ("hooks/claude-code-plugin/.claude-plugin/plugin.json", r'"version": "(.+)"'),
        ("openapi/openapi.json", r'"version": "(\d[\d.]*)"'),
    ],
)
def test_a_version_in_a_file_is_that_of_the_project(file, pattern):
    assert set(re.findall(pattern, (ROOT / file).read_text())) == {VERSION}


def test_the_installed_version_is_that_of_the_project():
    assert version("baton") == VERSION, "run `make serve` or `make test` once: it installs the checkout again"


@every(
    "text",
    [
        "## [1.0.1] - 2026-01-01\n- x\n",
        "## [1.0.0]\n- undated\n",
        "## [1.0.0] - 2026-01-01\n\n## [0.9.0] - 2025-01-01\n- x\n",
        "## [1x0.0] - 2026-01-01\n- x\n",
    ],
)
def test_a_version_without_a_dated_section_is_not_released(text):
    with pytest.raises(ValueError, match=r"has no section for 1\.0\.0"):
        release.section(text, "1.0.0")


def test_a_release_leaves_no_change_without_a_version():
    with pytest.raises(ValueError, match="changes under"):
        release.section("## [Unreleased]\n\n### Added\n- b\n\n## [1.0.0] - 2026-01-01\n- a\n", "1.0.0")


def test_a_section_ends_at_the_next_version():
    text = "# Changelog\n## [Unreleased]\n\n## [1.1.0] - 2026-01-02\n\n### Added\n- a\n\n## [1.0.0] - 2026-01-01\n- b\n"
    assert release.section(text, "1.1.0") == "### Added\n- a\n"


@pytest.mark.slow("builds the wheel twice")
def test_two_builds_of_one_commit_have_the_same_bytes(tmp_path):
    built = []
    for run, moment in (("first", "CEST-2"), ("second", "UTC")):
        folder = tmp_path / run
        subprocess.run(
            [sys.executable, ROOT / ".ci" / "release.py", folder],
            env=os.environ | {"SOURCE_DATE_EPOCH": "1790000000", "TZ": moment},
            umask=0o022 if run == "first" else 0o077,
            capture_output=True,
            check=True,
        )
        built.append({file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.iterdir()})
    assert built[0] == built[1]
    wheel = f"baton-{VERSION}-py3-none-any.whl"
    assert set(built[0]) == {wheel, f"baton-{VERSION}.cdx.json", f"baton-{VERSION}.md"}
    assert f"baton-{VERSION}.dist-info/METADATA" in zipfile.ZipFile(folder / wheel).namelist()
    document = json.loads((folder / f"baton-{VERSION}.cdx.json").read_text())
    assert (document["bomFormat"], document["metadata"]["component"]["version"]) == ("CycloneDX", VERSION)
    assert document["metadata"]["timestamp"].startswith("2026-09-21T")
    locks = "".join((ROOT / lock).read_text() for lock in release.LOCKS)
    locked = set(re.findall(r"^([\w.-]+)(?:\[.*?\])?==([^\s;]+)", locks, re.MULTILINE))
    assert {(part["name"], part["version"]) for part in document["components"]} == locked
    assert all(part["hashes"] for part in document["components"])
    assert {one["content"] for part in document["components"] for one in part["hashes"]} == set(
        re.findall(r"sha256:(\w+)", locks)
    )


def test_the_marketplace_lists_the_plugin_by_its_own_name():
    (listed,) = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text())["plugins"]
    plugin = json.loads((ROOT / listed["source"] / ".claude-plugin" / "plugin.json").read_text())
    assert listed["name"] == plugin["name"] == "baton"
