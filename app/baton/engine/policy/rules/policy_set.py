"""A policy set: rules, rosters, configuration and shell tables that were accepted together. It is never changed."""

import shlex
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any

from baton.engine.agents.rosters import AgentCall, Roster, Rosters
from baton.engine.call.call import ToolCall
from baton.engine.call.places import Locator
from baton.engine.call.verdict import Level
from baton.engine.policy.rules.call_reading import Reading
from baton.engine.policy.rules.context import input_paths
from baton.engine.policy.rules.files import PolicyFiles
from baton.engine.policy.rules.model import Config
from baton.engine.policy.rules.rule import Rule, RuleCandidate, candidate
from baton.engine.shell.model import Shell
from baton.engine.shell.read import read
from baton.engine.shell.tables import ShellTables
from baton.engine.text.globs import any_of

_CACHED_TEXT = 4096
_CACHED_TOOLS = 1024
_CACHED_NAME = 1024


class Shells:
    """Shell lines as these tables read them, the latest kept; policy sets with the same tables share it."""

    def __init__(self, tables: ShellTables) -> None:
        self.tables = tables
        self.read: Callable[[str], Shell] = lru_cache(maxsize=4096)(partial(read, tables))


class PolicySet:
    """What the engine decides by. `revision` names all its texts, `shell_revision` those of the shell tables.

    `parsed` is what it was built from, and what `load.extend` lays narrower layers over.
    """

    def __init__(
        self,
        *,
        revision: str,
        rules: tuple[Rule, ...],
        config: Config,
        rosters: Mapping[str, Roster],
        shells: Shells,
        shell_revision: str,
        parsed: PolicyFiles,
    ) -> None:
        self.revision = revision
        self.rules = rules
        self.config = config
        self.rosters = Rosters(dict(rosters), config.rosters, config.aliases)
        self.parsed = parsed
        self.shells = shells
        self.tables = shells.tables
        self.shell_revision = shell_revision
        self.locator = Locator(config.baton_home, config.hook_settings)
        self.path_keys = frozenset(config.path_keys)
        self.agent_tools = frozenset(config.agent_tools)
        self.needs_editors = any(rule.enabled and _asks(rule, "edited_by_other") for rule in rules)
        """Whether a rule may ask who else has just edited a call's file."""
        self._never_block = any_of(config.never_block)
        self._candidates: dict[tuple[str, Level, bool], tuple[RuleCandidate, ...]] = {}
        self._reading = _remembered(shells)

    def reading(self, call: ToolCall, agent: AgentCall | None) -> Reading:
        """Read what a call names, or find it in the cache. `agent` is the call as one that starts a sub-agent."""
        key = self.config.shell_tools.get(call.tool_name)
        given = None if key is None else call.tool_input.get(key)
        line = given if isinstance(given, str) else _joined(given)
        paths = input_paths(self.config.patch_tools, self.path_keys, call)
        name, model = (agent.agent, agent.model) if agent else (None, "")
        if len(line or "") + sum(map(len, paths)) + len(name or "") + len(model) <= _CACHED_TEXT:
            return self._reading(line, line is given, paths, name, model)
        return Reading(None if line is None else read(self.tables, line), paths, as_given=line is given)

    def candidates(self, tool: str, level: Level, *, subagent: bool) -> tuple[RuleCandidate, ...]:
        """The enabled rules that may speak about a tool at a level, in the order of their ids."""
        key = (tool, level, subagent)
        found = self._candidates.get(key)
        if found is None:
            rules = (rule for rule in self.rules if not self.concerns(rule, tool, level, subagent=subagent))
            found = tuple(c for rule in rules if (c := candidate(rule, tool)))
            if len(self._candidates) < _CACHED_TOOLS and len(tool) < _CACHED_NAME:
                self._candidates[key] = found
        return found

    def concerns(self, rule: Rule, tool: str, level: Level, *, subagent: bool, count_disabled: bool = False) -> str:
        """Why a rule does not concern such calls at all; "" if it does."""
        if not (rule.enabled or count_disabled):
            return "the rule is off"
        if rule.who == ("orchestrator" if subagent else "subagent"):
            return f"the rule is for the {rule.who}"
        if rule.modes and level not in rule.modes:
            return f"the mode is {level}; the rule runs in {', '.join(rule.modes)}"
        if rule.modes and self._never_block(tool):
            return f"`never_block` in config.yaml has `{tool}`"
        return ""


def _remembered(shells: Shells) -> Callable[[str | None, bool, tuple[str, ...], str | None, str], Reading]:
    """Remember readings apart from the set that asks: a cache of its own method would keep a replaced set alive."""

    @lru_cache(maxsize=4096)
    def reading(
        line: str | None,
        as_given: bool,  # noqa: FBT001 - a part of the key, as all are
        paths: tuple[str, ...],
        _agent: str | None,
        _model: str,
    ) -> Reading:
        return Reading(None if line is None else shells.read(line), paths, as_given=as_given)

    return reading


def _asks(rule: Rule, key: str) -> bool:
    """Tell whether any of a rule's conditions has this key."""
    conditions = (*rule.given, *rule.unless, *(c for one in rule.suggestions for c in one.conditions))
    return any(check.key == key for condition in conditions for check in condition.checks)


def _joined(value: Any) -> str | None:
    """A tool's command that is a list of arguments as one text, quoted; None for anything else."""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return shlex.join(value)
    return None
