"""What the rules ask of one call, worked out once and only when a rule asks."""

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from typing import Any, Protocol

import msgspec

from baton.engine.agents.models import choose
from baton.engine.agents.rosters import AgentCall, AgentMatch, Rosters, agent_call
from baton.engine.call.agent_model import ModelChoice
from baton.engine.call.call import ToolCall
from baton.engine.call.input_texts import has_more_texts
from baton.engine.call.mcp_tools import is_mcp_tool
from baton.engine.call.places.places import GROUNDS, Locator, Place, normal, resolve, server_numbers, within
from baton.engine.call.verdict import Facts, Level
from baton.engine.policy.matching.input_paths import FOLDER_KEYS, MOST_PATHS, in_its_folder
from baton.engine.policy.matching.line_values import LineValues
from baton.engine.policy.matching.many_places import FEW, ManyPlaces
from baton.engine.policy.matching.unset_variables import behind_unset
from baton.engine.policy.matching.write_reach import landings, reach_of
from baton.engine.policy.rules.model import Config
from baton.engine.shell.model import Program, Reach, Shell, Write
from baton.engine.text.globs import Match

# Options of `find`, `rsync`, `tar` and the like whose value selects files instead of naming one.
_FILTER = re.compile(r"--?(?:i?(?:path|name|regex)|i?glob|wholename|(?:no-)?(?:exclude|include|ignore)[\w-]*)")
_MAY_WRITE = frozenset({"destructive", "unknown"})
_NOWHERE = frozenset[Place]()
_SYSTEM = frozenset[Place](("root", "system_folders"))
_READ_TOO = frozenset[Place](("baton_home", "startup_files"))
"""Places that count only where they are named, as folders above them are by programs that do not mean them."""
_PRINTS = frozenset({"echo", "printf"})
_TAKES_FOLDERS = re.compile(r"(?i)delete|remove|move|rename|unlink|trash|chmod|(?:^|_)rm(?:dir)?(?:_|$)")
_SHOWN = 120
"""Characters of a command that are shown."""
_TOO_LONG = 65_536
_NUMBER = re.compile(r"\d+")
_UNREAD = object()
_by = attrgetter("by")


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

    def only_looks(self, tool: str) -> bool:
        """Return whether a tool is known to look things up, and to change nothing."""
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
    what unknown programs of the line may run. `spent` is the most work that the expressions asked so far can have done,
    in units of `when_cost`.
    """

    # What no rule has asked for yet. Most calls are known and asked next to nothing, so these are the class's.
    guesses = False
    spent = 0
    blind = frozenset[str]()
    errors = frozenset[str]()
    _reading: Reading | None = None
    _agent: Any = _UNREAD
    _match: Any = _UNREAD
    _values: LineValues | None = None
    _places: dict[tuple[str, str | None, Reach], frozenset[Place]] | None = None
    _text: str | None = None
    _writes: tuple[Write, ...] | None = None
    _writes_by: dict[int, tuple[Write, ...]] | None = None

    def __init__(self, policies: Policies, facts: Facts) -> None:
        self.policies = policies
        self.facts = facts
        call = facts.call
        self.call = call if FOLDER_KEYS.isdisjoint(call.tool_input) else in_its_folder(call)
        self.found: dict[str, str] = {}
        self._arguments: dict[Program, frozenset[Place]] = {}

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
        self._writes = self._writes_by = None

    @property
    def agent(self) -> AgentCall | None:
        """The sub-agent that the call starts; None if it starts none."""
        if self._agent is _UNREAD:
            is_agent = self.call.tool_name in self.policies.agent_tools
            agent = agent_call(self.call.tool_input) if is_agent else None
            if agent is not None and self.facts.own_agent is not None:
                agent = msgspec.structs.replace(agent, own_model=self.facts.own_agent.model)
            self._agent = agent
        return self._agent  # type: ignore[no-any-return]

    @property
    def agent_match(self) -> AgentMatch | None:
        """What the rosters know of the agent that the call starts."""
        if self._match is _UNREAD:
            self._match = self.policies.rosters.resolve(self.agent.agent) if self.agent else None
        return self._match  # type: ignore[no-any-return]

    @property
    def model(self) -> ModelChoice | None:
        """The model of the agent that the call starts; None for a call that starts none."""
        return None if self.agent is None else choose(self.agent.model, self.facts.own_agent, self.agent_match)

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
        # Several rules ask for the places of the same write.
        if self._places is None:
            self._places = {}
        key = (target, base, reach)
        found = self._places.get(key)
        if found is None:
            few = len(self._places) < FEW
            found = self._places[key] = (self._find_places if few else self._many.places)(target, base, reach)
        return found

    @cached_property
    def _many(self) -> ManyPlaces:
        """The places of the call's paths beyond the first few."""
        locator = self.policies.locator
        names = locator.alike_names(self.facts.installed, self.call.cwd, self.root)
        return ManyPlaces(self._find_places, names, locator.everywhere)

    def _find_places(self, target: str, base: str | None, reach: Reach) -> frozenset[Place]:
        found = self.policies.locator.places(target, base, self.call.cwd, self.root, reach, self.facts.installed)
        if "$" in target and self.shell is not None:
            if self._values is None:
                self._values = LineValues(self.shell.exports)
            meant = self._values.fill(target)
            if meant != target:
                found |= self.policies.locator.places(
                    meant, base, self.call.cwd, self.root, reach, self.facts.installed
                )
        # The beginning of a path is not known only where it has an expansion or its folder is not known.
        if (base is None or "$" in target or "`" in target) and self.policies.config.places:
            found |= self.policies.locator.possible_groups(
                target, base, self.call.cwd, self.root, reach, self._mentioned
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
    def _mentioned(self) -> str:
        """The text of the call's line with its folder, in lower case, also as the shell sees it without quotes."""
        if self._text is None:
            shell = self.shell
            words = [word for program in shell.programs for word in program.argv] if shell else []
            self._text = "\n".join(
                (self._line, " ".join(words), *(shell.exports if shell else ()), self.call.cwd)
            ).casefold()
        return self._text

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

    def writes_by(self, index: int) -> tuple[Write, ...]:
        """Return what the program at an index writes."""
        if self._writes_by is None:
            self._writes_by = {by: tuple(found) for by, found in groupby(sorted(self.writes, key=_by), _by)}
        return self._writes_by.get(index, ())

    def write_places(self, write: Write) -> frozenset[Place]:
        """Return the places of a write; how far it reaches depends on the program (`rm` takes the whole tree)."""
        shell = self.shell
        if shell is None or not 0 <= write.by < len(shell.programs):
            return self.places(write.target, write.base)
        found = self.places(write.target, write.base, reach_of(shell.programs[write.by], write))
        for path, reach in landings(write, shell.programs[write.by]):
            found |= self.places(path, write.base, reach) - GROUNDS
        return found

    def whole_places(self, write: Write) -> frozenset[Place]:
        """Return the places of a write that takes in all that a folder holds; none for any other."""
        shell = self.shell
        program = shell.programs[write.by] if shell is not None and 0 <= write.by < len(shell.programs) else None
        if reach_of(program, write) != "tree":
            return _NOWHERE
        found = self.places(write.target, write.base, "tree")
        rest = behind_unset(write.target, self._line)
        if not rest:
            return found
        # An empty variable leaves what follows it: `"$X"/*` is `/*`.
        would_be = self.places(rest, "", "tree")
        return found if _SYSTEM.isdisjoint(would_be) else found | {"root_if_unset"}

    @property
    def _line(self) -> str:
        """The call's shell line as written; "" for a tool without one."""
        return str(self.call.tool_input.get(self.policies.config.shell_tools.get(self.call.tool_name, ""), ""))

    def written_places(self) -> Iterator[tuple[str, frozenset[Place]]]:
        """Yield what the call writes, changes or removes, with its places, by whatever tool.

        A program that no table knows, or that removes things, may write whatever it is given. So may a tool that is not
        known to look things up only.
        """
        for write in self.writes:
            yield write.target, self.write_places(write)
        shell = self.shell
        for program in shell.programs if shell else ():
            if _MAY_WRITE.intersection(program.categories) and not program.wraps:
                yield " ".join(program.argv)[:_SHOWN], self.argument_places(program)
        if not self.policies.only_looks(self.call.tool_name):
            for path in self.paths:
                yield path, self.path_places(path)

    def read_places(self) -> Iterator[tuple[str, frozenset[Place]]]:
        """Yield what the call names, to read or to write it, with its places: paths, and arguments of programs."""
        for path in self.paths:
            yield path, self.path_places(path)
        shell = self.shell
        for program in shell.programs if shell else ():
            if program.name not in _PRINTS:
                yield " ".join(program.argv)[:_SHOWN], self.argument_places(program)
        for one in (*self.writes, *(shell.reads if shell else ())):
            yield one.target, self.write_places(one)

    def path_places(self, path: str) -> frozenset[Place]:
        """Return the places of a path that the tool's input names."""
        # A tool that removes or moves takes a whole folder, and what lies in it.
        return self.places(path, reach="tree" if _TAKES_FOLDERS.search(self.call.tool_name) else "file")

    def argument_places(self, program: Program) -> frozenset[Place]:
        """Return the places of a program's arguments and of values in `key=value`; filters (`--exclude x`) are left out."""
        known = self._arguments.get(program)
        if known is not None:
            return known
        found: set[Place] = set()
        before = ""
        # What a program does to a folder that it is given, only the tables know: these may write in it.
        reach: Reach = "file"
        if _MAY_WRITE.intersection(program.categories):
            reach = "below" if "vcs-write" in program.categories else "into"
        for word in program.argv[1:]:
            key, _, value = word.partition("=")
            if not word.startswith("-") and not _FILTER.fullmatch(before):
                found |= self.places(word, program.folder)
                if reach != "file":
                    found |= self.places(word, program.folder, reach) - GROUNDS - _READ_TOO
            if value and not _FILTER.fullmatch(key):
                found |= self.places(value, program.folder)
            # `curl -d @file`, `-F name=@file`, `http name@file`; to others `@name` is a package, or a person.
            named = word.partition("@")[2] if "network" in program.categories else ""
            if named:
                found |= self.places(named, program.folder)
            before = word
        self._arguments[program] = frozenset(found)
        return self._arguments[program]

    def names_server(self, program: Program) -> bool:
        """Return whether an argument has the id of one of this server's processes, or its port."""
        numbers = server_numbers(self.facts.installed)
        return bool(numbers) and any(number in numbers for word in program.argv[1:] for number in _NUMBER.findall(word))

    def relative(self, path: str) -> str:
        """Return a path as the globs of rules see it: relative to the project inside it, otherwise absolute."""
        if len(path) > _TOO_LONG:
            return path
        whole = resolve(path, "", self.call.cwd).whole
        for folder in (normal(self.root), normal(self.call.cwd)):
            if within(whole, folder):
                return whole[len(folder.rstrip("/")) + 1 :]
        return whole
