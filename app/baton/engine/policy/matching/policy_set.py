"""A policy set: rules, rosters, configuration and shell tables that were accepted together. It never changes."""

import shlex
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any

import msgspec

from baton.engine.agents.rosters import AgentCall, Roster, Rosters
from baton.engine.call.call import ToolCall
from baton.engine.call.commands import command_of, in_shell
from baton.engine.call.mcp_tools import is_mcp_tool
from baton.engine.call.mcp_writers import only_looks
from baton.engine.call.places.places import Locator
from baton.engine.call.verdict import Facts, Level
from baton.engine.policy.matching.call_reading import Reading
from baton.engine.policy.matching.candidates import Candidates
from baton.engine.policy.matching.checks.lookups import LOOKUP_MARK, Lookups
from baton.engine.policy.matching.context import Context
from baton.engine.policy.matching.input_paths import input_paths
from baton.engine.policy.matching.rule import Rule, candidate
from baton.engine.policy.rules.files import PolicyFiles
from baton.engine.policy.rules.locks import NO_LOCKS, Locks
from baton.engine.policy.rules.model import Config
from baton.engine.shell.model import Shell
from baton.engine.shell.read import read
from baton.engine.shell.tables.tables import ShellTables
from baton.engine.text.globs import any_of

_CACHED_TEXT = 4096
"""Characters of line, paths and agent together; longer calls are read anew each time."""
_CACHED_TOOLS = 1024
_CACHED_NAME = 1024


class Shells:
    """A cache of shell lines as these tables read them, shared by all policy sets with the same tables."""

    def __init__(self, tables: ShellTables) -> None:
        self.tables = tables
        self.read: Callable[[str], Shell] = lru_cache(maxsize=4096)(partial(read, tables))


class PolicySet:
    """The rules and the rest that the engine decides by.

    `revision` is a hash of all texts, `shell_revision` of the shell tables alone. `parsed` are the files that the set
    was built from; `load.extend` lays narrower layers over them. `locks` are the locked rules, some of which may be
    unlocked for the people whom the set is for.
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
        locks: Locks = NO_LOCKS,
        like: "PolicySet | None" = None,
    ) -> None:
        """`like` is a set whose globs and lists are shared where they are the same: most layers change none of them."""
        self.revision = revision
        self.rules = rules
        self.config = config
        self.rosters = Rosters(
            dict(rosters),
            config.rosters,
            config.aliases,
            own=parsed.own_rosters,
            changed=frozenset(row for row, change in config.overrides.items() if change.model is not msgspec.UNSET),
        )
        self.parsed = parsed
        self.locks = locks
        self.locked = locks.in_force
        self.shells = shells
        self.tables = shells.tables
        self.shell_revision = shell_revision
        if like is not None and _places(like.config) == _places(config):
            self.locator: Locator = like.locator
        else:
            self.locator = Locator(*_places(config))
        if like is not None and (like.config.lists, like.config.lookups) == (config.lists, config.lookups):
            self.lookups: Lookups = like.lookups
        else:
            self.lookups = Lookups(config)
        self.path_keys = frozenset(config.path_keys)
        self.agent_tools = frozenset(config.agent_tools)
        self.needs_editors = any(rule.enabled and _asks(rule, "edited_by_other") for rule in rules)
        """Whether any enabled rule asks who else has just edited the file: only then is that looked up."""
        self._never_block = any_of(config.never_block)
        self._candidates: dict[tuple[str, Level, bool], Candidates] = {}
        self._reading = _remembered(shells)
        self._latest_long: tuple[tuple[str | None, bool, tuple[str, ...], str | None, str], Reading] | None = None

    def only_looks(self, tool: str) -> bool:
        """Return whether a tool looks things up and changes no files, by the list of such tools or by its name."""
        return self.lookups.is_tool(tool) or (is_mcp_tool(tool) and only_looks(tool))

    def reading(self, call: ToolCall, agent: AgentCall | None) -> Reading:
        """Return what a call names, from the cache where possible. `agent` is set for a call that starts a sub-agent."""
        key = self.config.shell_tools.get(call.tool_name)
        given = None if key is None else call.tool_input.get(key)
        line = given if isinstance(given, str) else _joined(given)
        if line is None and call.tool_name not in self.config.patch_tools:
            line = command_of(call.tool_name, call.tool_input, nested=is_mcp_tool(call.tool_name))
        if line is not None and call.tool_name != "Bash":
            line = in_shell(call.tool_name, line)
        paths = input_paths(self.config.patch_tools, self.path_keys, call)
        # The model of its own file is part of what is remembered: it differs between the people who start such an agent.
        name, model = (agent.agent, f"{agent.model}\n{agent.own_model}") if agent else (None, "")
        if len(line or "") + sum(map(len, paths)) + len(name or "") + len(model) <= _CACHED_TEXT:
            return self._reading(line, line is given, paths, name, model)
        # A call is read for its history and again for its rules; only the latest long one is kept, for its size.
        named = (line, line is given, paths, name, model)
        latest = self._latest_long
        if latest is None or latest[0] != named:
            shell = None if line is None else read(self.tables, line)
            latest = self._latest_long = named, Reading(shell, paths, as_given=line is given)
        return latest[1]

    def history_name(self, call: ToolCall) -> str:
        """Return what a session's history keeps of a call: the tool's name, marked if its shell line looks something up."""
        name = call.tool_name
        if self.lookups.is_tool(name):
            return name
        line = Context(self, Facts(call=call)).lookup_line
        return f"{name}{LOOKUP_MARK}" if line else name

    def candidates(self, tool: str, level: Level, *, subagent: bool) -> Candidates:
        """Return the enabled rules that can match calls of a tool at a level."""
        key = (tool, level, subagent)
        found = self._candidates.get(key)
        if found is None:
            rules = (rule for rule in self.rules if not self.concerns(rule, tool, level, subagent=subagent))
            found = Candidates(tuple(c for rule in rules if (c := candidate(rule, tool))))
            # Tool names come from clients: without limits, invented names would fill the memory.
            if len(self._candidates) < _CACHED_TOOLS and len(tool) < _CACHED_NAME:
                self._candidates[key] = found
        return found

    def concerns(self, rule: Rule, tool: str, level: Level, *, subagent: bool, count_disabled: bool = False) -> str:
        """Return why a rule does not concern such calls at all; "" if it does."""
        if not (rule.enabled or count_disabled):
            return "the rule is off"
        if rule.who == ("orchestrator" if subagent else "subagent"):
            return f"the rule is for the {rule.who}"
        if rule.modes and level not in rule.modes:
            return f"the mode is {level}; the rule runs in {', '.join(rule.modes)}"
        if rule.modes and self._never_block(tool):
            return f"`never_block` in config.yaml has `{tool}`"
        return ""


def _places(config: Config) -> tuple[list[str], list[str], list[str], dict[str, list[str]]]:
    return config.baton_home, config.hook_settings, config.startup_files, config.places


def _remembered(shells: Shells) -> Callable[[str | None, bool, tuple[str, ...], str | None, str], Reading]:
    """Return a cached function that reads what calls name.

    It is not a method of the set: the cache of a method holds the set itself, and would keep a replaced one alive.
    """

    @lru_cache(maxsize=4096)
    def reading(
        line: str | None,
        as_given: bool,  # noqa: FBT001 - part of the cache key, like every other argument
        paths: tuple[str, ...],
        _agent: str | None,
        _model: str,
    ) -> Reading:
        return Reading(None if line is None else shells.read(line), paths, as_given=as_given)

    return reading


def _asks(rule: Rule, key: str) -> bool:
    """Return whether any of a rule's conditions has this key."""
    conditions = (*rule.given, *rule.unless, *(c for one in rule.suggestions for c in one.conditions))
    return any(check.key == key for condition in conditions for check in condition.checks)


def _joined(value: Any) -> str | None:
    """Return a command that came as a list of arguments as one quoted line; None for anything else."""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return shlex.join(value)
    return None
