"""What the rules ask of one call, worked out once and only when a rule asks."""

import re
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Protocol

import msgspec

from baton.engine.agents.rosters import AgentCall, AgentMatch, Rosters, agent_call
from baton.engine.call.call import ToolCall
from baton.engine.call.edited_paths import patched
from baton.engine.call.input_texts import has_more_texts
from baton.engine.call.mcp_tools import is_mcp_tool, named_paths
from baton.engine.call.places import Locator, Place, Reach, normal, resolve, server_numbers, within
from baton.engine.call.verdict import Facts, Level
from baton.engine.policy.matching.write_reach import PROTECTED, landings, reach_of
from baton.engine.policy.rules.model import Config
from baton.engine.shell.model import Program, Shell, Write
from baton.engine.text.globs import Match

# Options of `find`, `rsync`, `tar` and the like whose value selects files instead of naming one.
_FILTER = re.compile(r"--?(?:i?(?:path|name|regex)|i?glob|wholename|(?:no-)?(?:exclude|include|ignore)[\w-]*)")
_MAY_WRITE = frozenset({"destructive", "unknown"})
_SETTINGS = frozenset[Place](("hook_settings",))
MOST_PATHS = 400
"""Paths of a call that are judged; a call with more is asked about."""
_FOLDER_KEYS = frozenset({"workdir", "working_directory", "workingDirectory", "work_dir", "working_dir", "cwd"})
_NAME = re.compile(r"\$(?:\{(\w+)(?::?[-=]([^}$]*))?\}|(\w+))")
_MAX_NAMES_IN_NAMES = 3
_MAX_NAMES = 32
_MAX_FILLED = 100_000
"""Names in one text that are filled in, each with up to a thousand characters, and characters of all such texts of a call."""
_LONG_VALUE = 1_000
_TOO_LONG = 65_536
_NUMBER = re.compile(r"\d+")
_UNREAD = object()


class Reading(Protocol):
    """What a call names. `call_reading.Reading` implements it; it also knows rules, which this module must not import."""

    @property
    def shell(self) -> Shell | None:
        """The shell line, read, without guesses; None if the call has none."""
        ...

    @property
    def guessed(self) -> Shell | None:
        """The shell line with guesses; None if it has none."""
        ...

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths that the input names, as written."""
        ...

    lookup: str | None
    """The program of the line that looks something up, "" for none; None until somebody asks."""


class Lookups(Protocol):
    """Tells look-ups from other calls; `lookups.Lookups` implements it."""

    @property
    def by_class(self) -> bool:
        """Whether look-ups of all kinds count as one."""
        ...

    @property
    def is_tool(self) -> Match:
        """Whether a tool of this name looks things up."""
        ...

    def of_line(self, context: "Context") -> str:
        """Return the first program of the call's line that looks something up; "" for none."""
        ...

    def latest(self, tools: Iterable[str]) -> str:
        """Return the last of these past calls that was a look-up; "" for none."""
        ...


class Policies(Protocol):
    """What a context needs of the `PolicySet`, which this module must not import."""

    agent_tools: frozenset[str]
    config: Config
    locked: frozenset[str]
    locator: Locator
    rosters: Rosters

    @property
    def lookups(self) -> Lookups:
        """What counts as a look-up."""
        ...

    def reading(self, call: ToolCall, agent: AgentCall | None) -> Reading:
        """Return what a call names."""
        ...

    def candidates(self, tool: str, level: Level, *, subagent: bool) -> Any:
        """Return the rules that can match calls of a tool at a level, as `candidates.Candidates`."""
        ...


class Context:
    """One call's facts and what was derived from them.

    `found` is what the rule that is being asked has found, by placeholder. `blind` collects the facts that a rule needed
    and that could not be read, `errors` the names of expressions that failed. `guesses` is True while a rule sees
    what unknown programs of the line may run. `spent` is the most work that the
    expressions asked so far can have done, in units of `when_cost`.
    """

    __slots__ = (
        "_agent",
        "_arguments",
        "_filled",
        "_match",
        "_meant",
        "_reading",
        "_values",
        "_writes",
        "blind",
        "call",
        "errors",
        "facts",
        "found",
        "guesses",
        "policies",
        "spent",
    )

    def __init__(self, policies: Policies, facts: Facts) -> None:
        self.policies = policies
        self.facts = facts
        call = facts.call
        self.call = call if _FOLDER_KEYS.isdisjoint(call.tool_input) else _in_its_folder(call)
        self.blind: set[str] = set()
        self.errors: set[str] = set()
        self.spent = 0
        self.found: dict[str, str] = {}
        self.guesses = False
        self._reading: Reading | None = None
        self._agent: Any = _UNREAD
        self._arguments: dict[Program, frozenset[Place]] = {}
        self._match: Any = _UNREAD
        self._values: dict[str, str] | None = None
        self._meant: dict[str, str] = {}
        self._filled = 0
        self._writes: tuple[Write, ...] | None = None

    @property
    def reading(self) -> Reading:
        """What the call names, from the policy set's cache."""
        if self._reading is None:
            self._reading = self.policies.reading(self.call, self.agent)
        return self._reading

    @property
    def shell(self) -> Shell | None:
        """The call's shell line, read; None for a tool without one."""
        return self.reading.guessed if self.guesses else self.reading.shell

    def see_guesses(self, *, on: bool) -> None:
        """Show the rules that are asked next what unknown programs of the line may run, or hide it."""
        self.guesses = on
        self._writes = None

    @property
    def agent(self) -> AgentCall | None:
        """The sub-agent that the call starts; None if it starts none."""
        if self._agent is _UNREAD:
            is_agent = self.call.tool_name in self.policies.agent_tools
            self._agent = agent_call(self.call.tool_input) if is_agent else None
        return self._agent  # type: ignore[no-any-return]

    @property
    def agent_match(self) -> AgentMatch | None:
        """What the rosters know of the agent that the call starts."""
        if self._match is _UNREAD:
            self._match = self.policies.rosters.resolve(self.agent.agent) if self.agent else None
        return self._match  # type: ignore[no-any-return]

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths that the tool's input names, as written, at most `MOST_PATHS` and one."""
        return self.reading.paths

    @property
    def is_unread(self) -> bool:
        """Whether the call's input has more paths, or more texts of a tool whose keys nobody knows, than are looked at."""
        if len(self.paths) > MOST_PATHS:
            return True
        return is_mcp_tool(self.call.tool_name) and has_more_texts(self.call.tool_input)

    def places(self, target: str, base: str | None = "", reach: Reach = "file") -> frozenset[Place]:
        """Return the places of a path as written, and those that it has with the variables that the line itself sets."""
        found = self.policies.locator.places(target, base, self.call.cwd, self.root, reach, self.facts.installed)
        if "$" in target and self.shell is not None:
            meant = self._with_values(target, self.shell.exports)
            if meant != target:
                found |= self.policies.locator.places(
                    meant, base, self.call.cwd, self.root, reach, self.facts.installed
                )
        return found

    @property
    def lookup_line(self) -> str:
        """The program of the call's shell line that looks something up, as it is called; "" for none."""
        reading = self.reading
        if reading.lookup is None:
            reading.lookup = self.policies.lookups.of_line(self)
        return reading.lookup

    @property
    def is_lookup(self) -> bool:
        """Whether the call looks something up, by a tool of the client or by a shell line."""
        return self.policies.lookups.is_tool(self.call.tool_name) or self.lookup_line != ""

    @property
    def root(self) -> str:
        """The project's root folder, where it is known."""
        call = self.call
        return call.project_root or (call.project if call.project.startswith("/") else "")

    @property
    def writes(self) -> tuple[Write, ...]:
        """What the shell line writes; a program of category `file-write` without a known target writes somewhere here."""
        if self._writes is None:
            shell = self.shell
            known = shell.writes if shell else ()
            by = {write.by for write in known}
            somewhere = (
                Write(target="a file", base=None, by=index)
                for index, program in enumerate(shell.programs if shell else ())
                if "file-write" in program.categories and index not in by
            )
            self._writes = (*known, *somewhere)
        return self._writes

    def write_places(self, write: Write) -> frozenset[Place]:
        """Return the places of a write; how far it reaches depends on the program (`rm` takes the whole tree)."""
        shell = self.shell
        if shell is None or not 0 <= write.by < len(shell.programs):
            return self.places(write.target, write.base)
        program = shell.programs[write.by]
        found = self.places(write.target, write.base, reach_of(program, write.target))
        for path, reach in landings(program, write.target):
            found |= self.places(path, write.base, reach) & PROTECTED
        return found

    def argument_places(self, program: Program) -> frozenset[Place]:
        """Return the places of a program's arguments and of values in `key=value`; filters (`--exclude x`) are left out."""
        known = self._arguments.get(program)
        if known is not None:
            return known
        found: set[Place] = set()
        before = ""
        # What a program does to a folder that it is given, only the tables know: these may write in it.
        reach: Reach = "into" if program.name == "git" or _MAY_WRITE.intersection(program.categories) else "file"
        for word in program.argv[1:]:
            key, _, value = word.partition("=")
            if not word.startswith("-") and not _FILTER.fullmatch(before):
                found |= self.places(word)
                if reach != "file":
                    found |= self.places(word, reach=reach) & _SETTINGS
            if value and not _FILTER.fullmatch(key):
                found |= self.places(value)
            before = word
        self._arguments[program] = frozenset(found)
        return self._arguments[program]

    def names_server(self, program: Program) -> bool:
        """Return whether an argument has the id of one of this server's processes, or its port."""
        numbers = server_numbers(self.facts.installed)
        return bool(numbers) and any(number in numbers for word in program.argv[1:] for number in _NUMBER.findall(word))

    def _with_values(self, text: str, exports: tuple[str, ...]) -> str:
        """Put the values of `NAME=value` words, or the defaults of `${NAME:-default}`, into a text.

        Values may name other variables, so this is repeated a few times, and stops when the text has grown long: each
        round could double it. Many rules ask for the same text, and a line may set as many variables as it names.
        """
        known = self._meant.get(text)
        if known is not None:
            return known
        if self._values is None:
            self._values = dict(word.split("=", 1) for word in exports if "=" in word and len(word) <= _LONG_VALUE)
        values, meant = self._values, text
        for _ in range(_MAX_NAMES_IN_NAMES):
            if len(meant) > _LONG_VALUE or self._filled > _MAX_FILLED:
                break
            meant = _NAME.sub(lambda found: values.get(found[1] or found[3], found[2] or found[0]), meant, _MAX_NAMES)
            self._filled += len(meant)
        self._meant[text] = meant
        return meant

    def relative(self, path: str) -> str:
        """Return a path as the globs of rules see it: relative to the project inside it, otherwise absolute."""
        if len(path) > _TOO_LONG:
            return path
        whole = resolve(path, "", self.call.cwd).whole
        for folder in (normal(self.root), normal(self.call.cwd)):
            if within(whole, folder):
                return whole[len(folder.rstrip("/")) + 1 :]
        return whole


def input_paths(patch_tools: Mapping[str, str], path_keys: frozenset[str], call: ToolCall) -> tuple[str, ...]:
    """Return the paths that a tool's input names, as written: in a patch, and under `path_keys`.

    Which keys of an MCP tool hold paths is not known: every text that can be one counts. Over `MOST_PATHS` one more is
    returned, so that it is known that there are more.
    """
    tool_input = call.tool_input
    if is_mcp_tool(call.tool_name):
        return tuple(islice(dict.fromkeys(named_paths(tool_input)), MOST_PATHS + 1))
    patch = patch_tools.get(call.tool_name)
    # Most calls name no path; this is on the way of every one of them.
    if patch is None and path_keys.isdisjoint(tool_input):
        return ()
    paths: list[str] = []
    if patch is not None:
        # Clients differ in the key: `input`, `patch`.
        texts = [tool_input[patch]] if patch in tool_input else list(tool_input.values())
        paths += (found for text in texts if isinstance(text, str) for found in islice(patched(text), MOST_PATHS + 1))
    for key in path_keys.intersection(tool_input):
        value = tool_input[key]
        if isinstance(value, str):
            paths.append(value)
        elif isinstance(value, list):
            paths += (item for item in value[: MOST_PATHS + 1] if isinstance(item, str))
    return tuple([path for path in paths if path][: MOST_PATHS + 1])


def _in_its_folder(call: ToolCall) -> ToolCall:
    """Return a call whose input names a folder to run in (`workdir`) as one that is made there."""
    given = (call.tool_input[key] for key in _FOLDER_KEYS if key in call.tool_input)
    folder = next((one for one in given if isinstance(one, str) and one), "")
    if not folder:
        return call
    whole = resolve(folder, "", call.cwd).whole
    return msgspec.structs.replace(call, cwd=whole, project_root=call.project_root or call.cwd)
