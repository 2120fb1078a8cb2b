"""Parse the files of a policy layer and lay them over those of the wider layers."""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any

import msgspec

from baton.engine.agents.models import wrong_model
from baton.engine.agents.rosters import Roster, Row
from baton.engine.policy.rules.layers import Layer
from baton.engine.policy.rules.model import Config, RuleFile
from baton.engine.text.yaml_lines import Lines, Problem, ProblemError, YamlError, did_you_mean, fit, line_of, parse

CONFIG = "config.yaml"
MOST_VALUES = 10_000
"""Values of all files of a layer that was uploaded: rules, patterns, rows, tests. All shipped policies have 2,600."""
MOST_TESTS = 1_000
"""Tests of the rules of such a layer; each is a call that is decided."""
MOST_PROBLEMS = 100
"""Problems that are shown."""
_LONGEST_PROBLEM = 1_000
"""Characters of one: it may quote a test, or a name, of a megabyte."""


class PolicyProblems(Exception):
    """A policy set that is not accepted; `problems` are sorted by file and line."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = sorted(problems, key=lambda problem: (problem.file, problem.line, problem.text))
        super().__init__("\n".join(map(str, self.problems)))


def shown(problems: Sequence[Problem]) -> tuple[Problem, ...]:
    """Return the first problems, and how many more there are as the last of them."""
    more = len(problems) - MOST_PROBLEMS
    if more <= 0:
        return tuple(problems)
    text = f"and {more} more problems, which are not listed"
    return (*problems[:MOST_PROBLEMS], Problem(problems[MOST_PROBLEMS].file, 0, text))


class PolicyFiles:
    """The files of all layers down to one, parsed and typed; `problems` collects what is wrong with them.

    `own` is the layer's own config.yaml and `keys` the keys that stand in it; `config` is merged from all layers.
    `own_rosters` are those that stand in another layer than the shipped one. `rules`, `sources` and `rosters` are keyed by id, `shell` and `files` by source; `own_rules` are the ids of the
    layer's own rules.
    """

    def __init__(self, layer: Layer, above: "PolicyFiles | None" = None) -> None:
        self.layer = layer
        self.above = above
        self.problems: list[Problem] = []
        self.files: dict[str, str] = dict(above.files) if above else {}
        self.lines: dict[str, Lines] = dict(above.lines) if above else {}
        self.rules: dict[str, RuleFile] = dict(above.rules) if above else {}
        self.sources: dict[str, str] = dict(above.sources) if above else {}
        self.rosters: dict[str, Roster] = dict(above.rosters) if above else {}
        self.own_rosters: frozenset[str] = above.own_rosters if above else frozenset()
        self.shell: dict[str, str] = dict(above.shell) if above else {}
        self.config: Config = above.config if above else Config()
        self.own = Config()
        self.keys: frozenset[str] = frozenset()
        self.own_rules: list[str] = []
        self._values = 0
        self.settings: dict[str, Any] = above.settings if above else {}
        self.config_file = layer.source(CONFIG)
        for path in sorted(layer.files):
            source = layer.source(path)
            self.files[source] = layer.files[path]
            if path == CONFIG:
                self._config(source)
            elif path.startswith("shell/"):
                self._shell(path, source)
            elif path.startswith("agents/"):
                self._roster(path, source)
            else:
                self._rule(path, source)
        self._check_tests()

    def report(self, source: str, at: tuple[str | int, ...], text: str) -> None:
        """Add a problem at a path of keys in a file, such as `("match", 0, "tools")`."""
        text = text if len(text) <= _LONGEST_PROBLEM else text[:_LONGEST_PROBLEM] + "…"
        self.problems.append(Problem(source, line_of(self.lines.get(source, {}), at), text))

    def report_at_text(self, source: str, needle: str, text: str) -> None:
        """Add a problem at the first line of a file that contains a text."""
        lines = self.files[source].splitlines()
        line = next((number for number, content in enumerate(lines, 1) if needle in content), 1)
        self.problems.append(Problem(source, line, text))

    def active_rosters(self) -> dict[str, Roster]:
        """Return the rosters with the overrides of config.yaml applied, and the rows that they add; report misspelt ones."""
        rosters = dict(self.rosters)
        for key, change in self.config.overrides.items():
            roster_id, _, agent = key.partition("/")
            roster = rosters.get(roster_id)
            given = {name: v for name, v in msgspec.structs.asdict(change).items() if v is not msgspec.UNSET}
            # What has a description is a new agent; what has none is a misspelt one.
            if roster is None or (agent not in roster.agents and not (agent.strip() and given.get("description"))):
                rows = [f"{name}/{row}" for name, one in self.rosters.items() for row in one.agents]
                near = did_you_mean(key, rows)
                text = f"unknown row `{key}`{near if len(near) < _LONG else ''}; a row is `roster/agent`"
                text += ", and a new one needs a `description`" if roster is not None else ""
                self.report(self.config_file, ("overrides", key), text)
                continue
            if wrong := wrong_model(given.get("model", "")):
                self.report(self.config_file, ("overrides", key, "model"), f"`model` {wrong}")
            if "model" in given:  # what the row says for the command line alone is no longer meant
                given.setdefault("cli_model", "")
            row = msgspec.structs.replace(roster.agents.get(agent) or Row(), **given)
            rosters[roster_id] = msgspec.structs.replace(roster, agents=roster.agents | {agent: row})
        return rosters

    def _check_tests(self) -> None:
        tests = [self.rules[one].tests for one in self.own_rules]
        count = sum(len(one.match) + len(one.not_match) for one in tests)
        if self.layer.origin == "upload" and count > MOST_TESTS:
            text = f"the layer has {count} tests; at most {MOST_TESTS} are allowed"
            self.report(self.sources[self.own_rules[0]], ("tests",), text)

    def _read(self, source: str, kind: type[Any]) -> tuple[Any, Any] | None:
        if self.layer.origin == "upload" and self._values > MOST_VALUES:
            return None  # it was said
        try:
            data, self.lines[source] = parse(self.files[source])
            self._values += len(self.lines[source])
            if self.layer.origin == "upload" and self._values > MOST_VALUES:
                raise YamlError(1, f"the layer has more than {MOST_VALUES} values (keys, patterns, tests …)")  # noqa: TRY301
            return data, fit(source, {} if data is None and kind is Config else data, self.lines[source], kind)
        except YamlError as error:
            self.problems.append(Problem(source, error.line, error.text))
        except ProblemError as error:
            self.problems.append(error.problem)
        return None

    def _config(self, source: str) -> None:
        read = self._read(source, Config)
        if read is None or read[0] is None:
            return
        data, self.own = read
        self.keys = frozenset(data)
        self.settings = _merge(self.settings, data)
        self.config = fit(source, self.settings, {}, Config)

    def _shell(self, path: str, source: str) -> None:
        above: PolicyFiles | None = self.above
        while above is not None:
            self.shell.pop(above.layer.source(path), None)
            above = above.above
        self.shell[source] = self.files[source]

    def _roster(self, path: str, source: str) -> None:
        read = self._read(source, Roster)
        if read is None:
            return
        roster: Roster = read[1]
        expected = path.removeprefix("agents/").removesuffix(".yaml")
        if roster.id != expected:
            self.report(source, ("id",), f"`id` is `{roster.id}`; a roster's id is its file's name: `{expected}`")
        for name, row in roster.agents.items():
            if row is not None and (wrong := wrong_model(row.model)):
                self.report(source, ("agents", name, "model"), f"`model` {wrong}")
        self.rosters[roster.id] = roster
        if self.layer.tier != "shipped":
            self.own_rosters |= {roster.id}

    def _rule(self, path: str, source: str) -> None:
        read = self._read(source, RuleFile)
        if read is None:
            return
        rule: RuleFile = read[1]
        expected = path.removesuffix(".yaml")
        if not path.endswith(".yaml") or "/" not in path:
            text = "allowed: `config.yaml`, `agents/….yaml`, `shell/….yaml` and rules, `folder/….yaml`"
            self.problems.append(Problem(source, 1, text))
        elif rule.id != expected:
            self.report(source, ("id",), f"`id` is `{rule.id}`; a rule's id is its path: `{expected}`")
        self.rules[expected] = rule
        self.sources[expected] = source
        self.own_rules.append(expected)


_LONG = 80


def revision(files: Mapping[str, str]) -> str:
    """Return the first 12 hex digits of the SHA-256 over all paths and texts, sorted by path."""
    digest = sha256()
    for path in sorted(files):
        for text in (path, files[path]):
            data = text.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()[:12]


def _merge(above: dict[str, Any], layer: dict[str, Any]) -> dict[str, Any]:
    merged = dict(above)
    for key, value in layer.items():
        old = merged.get(key)
        if key == "overrides" and isinstance(old, dict):
            merged[key] = old | {row: old.get(row, {}) | change for row, change in value.items()}
        elif key == "locked" and isinstance(old, list):
            merged[key] = [*old, *value]
        else:
            merged[key] = old | value if isinstance(old, dict) and isinstance(value, dict) else value
    return merged


def unknown(kind: str, name: str, allowed: list[str]) -> str:
    """Return the message for a name that does not exist."""
    return f"unknown {kind} `{name}`{did_you_mean(name, allowed)}"
