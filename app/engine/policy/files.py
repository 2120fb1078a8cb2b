"""Which text of a policy set is what, and how a team's texts lie over the shipped ones. It reads no folder."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from app.engine.agents import Roster
from app.engine.policy.model import Config, RuleFile
from app.engine.policy.problems import Problem
from app.engine.yaml_lines import Lines, ProblemError, YamlError, did_you_mean, fit, line_of, parse

TEAM = "team:"


def shipped_layer(files: Mapping[str, str]) -> dict[str, str]:
    """The files of a laid-over set that are not the team's."""
    return {path: text for path, text in files.items() if not path.startswith(TEAM)}


class Parsed:
    """The texts of a set, read and typed; `problems` collects what is wrong with them."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.files = files
        self.problems: list[Problem] = []
        self.lines: dict[str, Lines] = {}
        self.rules: dict[str, RuleFile] = {}
        self.sources: dict[str, str] = {}
        self.rosters: dict[str, Roster] = {}
        self.shell: dict[str, str] = {}
        self.config = Config()
        self.config_file = "config.yaml"
        configs: list[tuple[str, Any]] = []
        for path in sorted(files, key=lambda p: (p.startswith(TEAM), p)):
            name = path.removeprefix(TEAM)
            if name != "config.yaml" and TEAM + path in files:
                continue
            if name == "config.yaml":
                data = self._read(path, Config)
                if data is not None:
                    configs.append((path, data[0]))
            elif name.startswith("shell/"):
                self.shell[path] = files[path]
            elif name.startswith("agents/"):
                self._roster(path)
            else:
                self._rule(path)
        if configs:
            self.config_file = configs[-1][0]
            self.config = fit(self.config_file, _merge([data for _, data in configs]), {}, Config)

    def report(self, path: str, at: tuple[str | int, ...], text: str) -> None:
        """Add a problem at a place of a file."""
        self.problems.append(Problem(path, line_of(self.lines.get(path, {}), at), text))

    def report_at_text(self, path: str, needle: str, text: str) -> None:
        """Add a problem at the first line of a file that holds a text."""
        lines = self.files[path].splitlines()
        line = next((number for number, content in enumerate(lines, 1) if needle in content), 1)
        self.problems.append(Problem(path, line, text))

    def _read(self, path: str, kind: type[Any]) -> tuple[Any, Any] | None:
        try:
            data, self.lines[path] = parse(self.files[path])
            return data, fit(path, {} if data is None and kind is Config else data, self.lines[path], kind)
        except YamlError as error:
            self.problems.append(Problem(path, error.line, error.text))
        except ProblemError as error:
            self.problems.append(error.problem)
        return None

    def _roster(self, path: str) -> None:
        read = self._read(path, Roster)
        if read is None:
            return
        roster: Roster = read[1]
        expected = path.removeprefix(TEAM).removeprefix("agents/").removesuffix(".yaml")
        if roster.id != expected:
            self.report(path, ("id",), f"`id` is `{roster.id}`; a roster's id is its file's name: `{expected}`")
        self.rosters[roster.id] = roster

    def _rule(self, path: str) -> None:
        read = self._read(path, RuleFile)
        if read is None:
            return
        rule: RuleFile = read[1]
        expected = path.removeprefix(TEAM).removesuffix(".yaml")
        if not path.endswith(".yaml") or "/" not in path:
            self.problems.append(
                Problem(path, 1, "allowed: `config.yaml`, `agents/….yaml`, `shell/….yaml` and rules, `folder/….yaml`")
            )
        elif rule.id != expected:
            self.report(path, ("id",), f"`id` is `{rule.id}`; a rule's id is its path: `{expected}`")
        self.rules[expected] = rule
        self.sources[expected] = path


def overlay(shipped: Mapping[str, str], team: Mapping[str, str]) -> dict[str, str]:
    """Lay a team's files over the shipped ones: each replaces the one of its path, `config.yaml` adds to it by key.

    The layers stay apart in the result, so that each is tested with its own configuration, and a team's entries win.
    """
    return dict(shipped) | {TEAM + path: text for path, text in team.items()}


def revision(files: Mapping[str, str]) -> str:
    """The first 12 hex digits of the SHA-256 over all texts with their paths, whatever their order."""
    digest = sha256()
    for path in sorted(files):
        for text in (path, files[path]):
            data = text.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()[:12]


def _merge(layers: list[dict[str, Any] | None]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for layer in layers:
        for key, value in (layer or {}).items():
            old = merged.get(key)
            merged[key] = old | value if isinstance(old, dict) and isinstance(value, dict) else value
    return merged


def unknown(kind: str, name: str, allowed: list[str]) -> str:
    """The text for a name that does not exist."""
    return f"unknown {kind} `{name}`{did_you_mean(name, allowed)}"
