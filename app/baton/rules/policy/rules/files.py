"""Parse the files of a policy layer and lay them over those of the wider layers."""

import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, Literal

import msgspec
import yaml

from baton.lib.text.globs import any_of
from baton.lib.text.yaml_lines import Fault, Lines, ProblemError, YamlError, did_you_mean, fit, line_of, parse
from baton.rules.agents.plan import wrong_model
from baton.rules.agents.rosters import Roster, Row
from baton.rules.policy.rules.model import Config, Pack, RuleFile, Switch

# The layers of a policy set, from wide to narrow, and the locks of wide layers on narrow ones.

Tier = Literal["shipped", "organisation", "team", "project", "user"]
TIERS: tuple[Tier, ...] = ("shipped", "organisation", "team", "project", "user")


class Layer(msgspec.Struct, frozen=True, kw_only=True):
    """The files of one tier, by relative path. `name` is the team's, project's or user's.

    Shipped files and those in the organisation's folder have no name.
    """

    tier: Tier
    files: dict[str, str]
    name: str = ""
    origin: Literal["folder", "upload"] = "folder"

    @property
    def bound(self) -> bool:
        """Whether locks apply to it: every upload, and every tier below the organisation.

        Shipped files and those of the organisation's folder are the operator's own.
        """
        return self.narrow or self.origin == "upload"

    @property
    def narrow(self) -> bool:
        """Whether the layer is below the organisation."""
        return self.tier in ("team", "project", "user")

    def source(self, path: str) -> str:
        """Return the name of a file in problems and records: its path if shipped, otherwise `tier/name:path`."""
        if self.tier == "shipped":
            return path
        return f"{self.tier}/{self.name}:{path}" if self.name else f"{self.tier}:{path}"


def layered(shipped: Mapping[str, str], organisation: Mapping[str, str] | None = None) -> list[Layer]:
    """Return the layers of a server without uploaded policies: shipped files and the organisation's folder."""
    return [Layer(tier="shipped", files=dict(shipped)), Layer(tier="organisation", files=dict(organisation or {}))]


def texts(layers: Sequence[Layer]) -> dict[str, str]:
    """Return the files of all layers by `Layer.source`."""
    return {layer.source(path): text for layer in layers for path, text in layer.files.items()}


# The locked rules, their locks, and the rules unlocked by an admin.


class Unlock(msgspec.Struct, frozen=True, kw_only=True):
    """Rules without a lock for some people. `note` says who unlocked them, until when and why."""

    pattern: str
    note: str = ""


ALL_UNLOCKED = (Unlock(pattern="*"),)  # for former policy sets read again: their locks were checked back then


class Locks(msgspec.Struct, frozen=True, kw_only=True):
    """The locked rules. `locked` maps each rule's id to the lock in config.yaml, `unlocked` to its unlock's note."""

    locked: Mapping[str, str] = {}
    unlocked: Mapping[str, str] = {}

    @property
    def in_force(self) -> frozenset[str]:
        """The ids of the locked rules without an unlock."""
        return frozenset(self.locked.keys() - self.unlocked.keys())

    def without(self, unlocks: Sequence[Unlock]) -> "Locks":
        """Return the same locks with more rules unlocked."""
        found = dict(self.unlocked)
        for one in unlocks:
            matches = any_of((one.pattern,))
            found |= {rule_id: one.note for rule_id in self.locked if rule_id not in found and matches(rule_id)}
        return self if found == self.unlocked else Locks(locked=self.locked, unlocked=found)


NO_LOCKS = Locks()


def locks_on(patterns: Sequence[str], rule_ids: Iterable[str]) -> Locks:
    """Return the locks of these ids and globs on these rules."""
    ids = list(rule_ids)
    locked: dict[str, str] = {}
    for pattern in patterns:
        matches = any_of((pattern,))
        locked |= {rule_id: pattern for rule_id in ids if rule_id not in locked and matches(rule_id)}
    return Locks(locked=locked)


CONFIG = "config.yaml"
PACKS = "packs/"  # the folder of packs. The rules of a pack are off until its layer, or a wider one, switches it.
_PACK_FILE = "/pack.yaml"
MOST_VALUES = 10_000
"""Maximum values of all files of an uploaded layer: rules, patterns, rows, tests. All shipped policies have 2,600."""
MOST_TESTS = 1_000  # maximum tests of the rules of such a layer; each is a decided call
MOST_PROBLEMS = 100
_LONGEST_PROBLEM = 1_000  # maximum characters of one problem: it may quote a test, or a name, of a megabyte


def pack_of(rule_id: str) -> str:
    """Return the pack that a rule, or a file, belongs to; "" for none."""
    return rule_id.removeprefix(PACKS).partition("/")[0] if rule_id.startswith(PACKS) else ""


class PolicyProblems(Exception):
    """A rejected policy set; `problems` are sorted by file and line."""

    def __init__(self, problems: Iterable[Fault]) -> None:
        self.problems = sorted(problems, key=lambda problem: (problem.file, problem.line, problem.text))
        super().__init__("\n".join(map(str, self.problems)))


def shown(problems: Sequence[Fault]) -> tuple[Fault, ...]:
    """Return the first problems, and the number of the others as the last one."""
    more = len(problems) - MOST_PROBLEMS
    if more <= 0:
        return tuple(problems)
    text = f"and {more} more problems, not listed here"
    return (*problems[:MOST_PROBLEMS], Fault(problems[MOST_PROBLEMS].file, 0, text))


class PolicyFiles:
    """The files of all layers down to one, parsed and typed; `problems` are their faults.

    `own` is the layer's own config.yaml and `keys` the keys that stand in it; `config` is merged from all layers.
    `own_rosters` are those that stand in another layer than the shipped one. `rules`, `sources`, `rosters` and `packs` are
    keyed by id, `shell` and `files` by source; `own_rules` are the ids of the layer's own rules.
    """

    def __init__(self, layer: Layer, above: "PolicyFiles | None" = None) -> None:
        self.layer = layer
        self.above = above
        self.problems: list[Fault] = []
        self.files: dict[str, str] = dict(above.files) if above else {}
        self.lines: dict[str, Lines] = dict(above.lines) if above else {}
        self.rules: dict[str, RuleFile] = dict(above.rules) if above else {}
        self.sources: dict[str, str] = dict(above.sources) if above else {}
        self.rosters: dict[str, Roster] = dict(above.rosters) if above else {}
        self.packs: dict[str, Pack] = dict(above.packs) if above else {}
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
            elif path.startswith(PACKS) and path.endswith(_PACK_FILE):
                if read := self._read(source, Pack):
                    self.packs[pack_of(path)] = read[1]
            else:
                self._rule(path, source)
        self._check_tests()

    def report(self, source: str, at: tuple[str | int, ...], text: str) -> None:
        """Add a problem at a path of keys in a file, such as `("match", 0, "tools")`."""
        text = text if len(text) <= _LONGEST_PROBLEM else text[:_LONGEST_PROBLEM] + "…"
        self.problems.append(Fault(source, line_of(self.lines.get(source, {}), at), text))

    def report_at_text(self, source: str, needle: str, text: str) -> None:
        """Add a problem at the first line of a file with this text."""
        lines = self.files[source].splitlines()
        line = next((number for number, content in enumerate(lines, 1) if needle in content), 1)
        self.problems.append(Fault(source, line, text))

    def active_rosters(self) -> dict[str, Roster]:
        """Return the rosters with config.yaml's overrides and new rows applied; report misspelled ones."""
        rosters = dict(self.rosters)
        for key, change in self.config.overrides.items():
            roster_id, _, agent = key.partition("/")
            roster = rosters.get(roster_id)
            given = {name: v for name, v in msgspec.structs.asdict(change).items() if v is not msgspec.UNSET}
            # A row with a description is a new agent; one without is misspelled.
            if roster is None or (agent not in roster.agents and not (agent.strip() and given.get("description"))):
                rows = [f"{name}/{row}" for name, one in self.rosters.items() for row in one.agents]
                near = did_you_mean(key, rows)
                text = f"unknown row `{key}`{near if len(near) < _LONG else ''}; a row is `roster/agent`"
                text += ", and a new one needs a `description`" if roster is not None else ""
                self.report(self.config_file, ("overrides", key), text)
                continue
            if wrong := wrong_model(given.get("model", "")):
                self.report(self.config_file, ("overrides", key, "model"), f"`model` {wrong}")
            if "model" in given:  # the row's model for the command line alone is obsolete
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
            return None  # reported before
        try:
            data, self.lines[source] = parse(self.files[source])
            self._values += len(self.lines[source])
            if self.layer.origin == "upload" and self._values > MOST_VALUES:
                raise YamlError(1, f"the layer has more than {MOST_VALUES} values (keys, patterns, tests …)")  # noqa: TRY301
            return data, fit(source, {} if data is None and kind is Config else data, self.lines[source], kind)
        except YamlError as error:
            self.problems.append(Fault(source, error.line, error.text))
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
            self.problems.append(Fault(source, 1, text))
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
    """Return the message for an unknown name."""
    return f"unknown {kind} `{name}`{did_you_mean(name, allowed)}"


# Edit a key in the text of a config.yaml: the overrides of roster rows, or packs. Other keys and comments stay as they are.

_BLOCK = r".*\n?(?:(?:[ \t]+.*|[ \t]*#.*|[ \t]*)(?:\n|\Z))*"


def overrides_of(text: str) -> dict[str, dict[str, Any]]:
    """Return the overrides in a config.yaml, keyed by `roster/agent`."""
    found = (yaml.safe_load(text) or {}).get("overrides") or {}
    return {str(row): dict(change) for row, change in found.items()}


def with_override(text: str, row: str, change: dict[str, Any] | None) -> str:
    """Return the text with the override of a row set, or removed for None. The `overrides` block is rewritten."""
    overrides = overrides_of(text)
    overrides.pop(row, None)
    if change is not None:
        overrides[row] = change
    return _with_block(text, "overrides", overrides)


def packs_of(text: str) -> dict[str, Switch]:
    """Return the switches of packs in a config.yaml."""
    return (parse(text)[0] or {}).get("packs") or {}


def with_pack(text: str, pack: str, switch: Switch | None) -> str:
    """Return the text with a pack switched, or not mentioned for None."""
    packs = {name: one for name, one in packs_of(text).items() if name != pack}
    return _with_block(text, "packs", packs | ({pack: switch} if switch else {}))


def _with_block(text: str, key: str, value: Mapping[str, Any]) -> str:
    block = yaml.safe_dump({key: value}, allow_unicode=True, width=1_000) if value else ""
    rest = re.sub(rf"^{key}\s*:{_BLOCK}", "", text, count=1, flags=re.MULTILINE)
    return (rest.rstrip("\n") + "\n\n" if rest.strip() else "") + block
