"""Facts of one call for its rules, computed once and only on demand."""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, lru_cache
from itertools import groupby
from operator import attrgetter
from typing import Any, Protocol, TypeVar

import msgspec

from baton.lib.bash.model import Program, Reach, Shell, Write
from baton.lib.bash.programs.targets import Content, contents, tool_contents
from baton.lib.text.globs import any_of
from baton.lib.text.urls import file_path
from baton.rules.agents.plan import choose
from baton.rules.agents.rosters import AgentCall, RosterMatch, Rosters, agent_call
from baton.rules.call.call import (
    FOLDER_KEYS,
    MOST_PATHS,
    ModelChoice,
    ToolCall,
    has_more_texts,
    holds_objects,
    in_its_folder,
    is_mcp_tool,
)
from baton.rules.call.commands import REMARKS, has_unread_command
from baton.rules.call.places.path_groups import EVERYTHING, STAR
from baton.rules.call.places.places import (
    BUILT_IN,
    GROUNDS,
    Locator,
    Place,
    folder_of,
    own_names,
    resolve,
    server_numbers,
    within,
)
from baton.rules.call.verdict import Facts, Level
from baton.rules.policy.rules.model import Config

# Fills a line's own variables into the texts of its words.

_NAME = re.compile(r"\$(?:\{(\w+)(?::?[-=]([^}$]*))?\}|(\w+))")
_MAX_NAMES_IN_NAMES = 3
_MAX_NAMES = 32
_MAX_FILLED = 100_000
"""Maximum characters of a call's filled texts; each has up to `_MAX_NAMES` names of up to `_LONG_VALUE` characters."""
_LONG_VALUE = 1_000


class LineValues:
    """The values of one line's variables, from its `NAME=value` words, and the texts filled with them."""

    def __init__(self, exports: tuple[str, ...]) -> None:
        self._values = dict(word.split("=", 1) for word in exports if "=" in word and len(word) <= _LONG_VALUE)
        self._meant: dict[str, str] = {}
        self._filled = 0

    def fill(self, text: str) -> str:
        """Put the values of variables, or the defaults of `${NAME:-default}`, into a string.

        Values may name other variables, so this is repeated a few times, and stops at a length limit: each round could
        double it. Results are cached: many rules ask for the same text, and a line may set as many variables as it
        names.
        """
        known = self._meant.get(text)
        if known is not None:
            return known
        values, meant = self._values, text
        for _ in range(_MAX_NAMES_IN_NAMES):
            if len(meant) > _LONG_VALUE or self._filled > _MAX_FILLED:
                break
            meant = _NAME.sub(lambda found: values.get(found[1] or found[3], found[2] or found[0]), meant, _MAX_NAMES)
            self._filled += len(meant)
        self._meant[text] = meant
        return meant


_ANSWERS = 64  # answers kept about one content
_Answer = TypeVar("_Answer")
MOST = 1_000  # maximum kinds of path searched for one call, at some 120 calls each. The rest counts as everywhere.
_WILD = re.compile(r"[*?\[]")
_EXPANSION = re.compile(r"\$\{[^}]*\}|\$\(\(?[^()]*\)\)?|\$\w+|`[^`]*`|\$\$|\$%")
_WILD_COST = 8  # cost of a path with wildcards, in other paths: it is compared with every protected path


# Find paths starting with a possibly empty variable: `rm -rf "$DIR"/*` is then `rm -rf /*`.

_FIRST = re.compile(r"\$(?:\{(\w+)\}|(\w+))(/.*)", re.DOTALL)
_SETS = re.compile(r"\b(\w+)\+?=|\b(?:for|select)\s+(\w+)|\b(?:read|getopts|mapfile|readarray)\b([^;|&\n]{0,200})")
_WORDS = re.compile(r"\w+")
_ALWAYS_SET = frozenset([
    "HOME", "PWD", "OLDPWD", "TMPDIR", "TEMP", "TMP", "USER", "LOGNAME", "RUNNER_TEMP", "RUNNER_TOOL_CACHE",
    "GITHUB_WORKSPACE", "CI_PROJECT_DIR", "WORKSPACE", "VIRTUAL_ENV", "CONDA_PREFIX", "CARGO_TARGET_DIR", "GOPATH",
    "GOCACHE", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "CLAUDE_PROJECT_DIR",
])  # fmt: skip
"""Variables always set in sessions that use them."""


def behind_unset(target: str, line: str) -> str:
    """Return the rest of a path after its first variable if the line does not set it; otherwise "".

    Args:
        target: The path as written. A variable with a default or a check (`${DIR:?}`) is never empty.
        line: The shell line as written. Arguments of functions and scripts (`$1`) are presumed given.
    """
    found = _FIRST.match(target)
    if found is None:
        return ""
    name = found[1] or found[2]
    if name in _ALWAYS_SET or name.isdigit() or name in _set_by(line):
        return ""
    return found[3]


@lru_cache(maxsize=256)
def _set_by(line: str) -> frozenset[str]:
    """Return the names possibly set by a line. Cached, since many targets of one line need them."""
    names = _SETS.findall(line)
    return frozenset(
        [name for found in names for name in found[:2] if name] + _WORDS.findall(" ".join(one[2] for one in names))
    )


# The range of a write, and the places of copied, moved or linked files.

_SYMBOLIC = ("-s", "--symbolic")


def reach_of(program: Program | None, write: Write) -> Reach:
    """Return a write's range; without one from the shell tables, a destructive program takes a whole tree."""
    if write.reach is not None:
        return write.reach
    return "tree" if program is not None and "destructive" in program.categories else "file"


def _starts_at_link(program: Program, source: str) -> bool:
    """Return whether a link's path starts at the link's own folder: relative and stored as written."""
    flags = program.flags
    return not (
        source.startswith(("/", "~", "$")) or flags.isdisjoint(_SYMBOLIC) or not flags.isdisjoint(("-r", "--relative"))
    )


def landings(write: Write, program: Program | None = None) -> Iterator[tuple[str, Reach]]:
    """Yield the paths touched by a copy besides its target: the copies' places, and the targets of links."""
    if write.lands is None:
        return
    folder = write.target.rstrip("/")
    for source in write.sources:
        last = source.rstrip("/").rpartition("/")[2]
        if write.lands == "link" and program is not None and _starts_at_link(program, source):
            # If the target is a folder, the link is inside it.
            yield f"{folder.rpartition('/')[0] or '.'}/{source}", "tree"
            yield f"{folder}/{source}", "tree"
        elif write.lands == "link":
            yield source, "tree"
        # `cp -r x/. y` copies the content of `x`; on macOS, and with rsync everywhere, so does `x/`.
        contents = last in ("", ".", "..") or source.endswith("/")
        if write.lands == "tree" and (contents or write.replaces):
            yield write.target, "below"
        else:
            yield f"{folder}/{last}", "tree" if write.lands == "tree" else "file"


# Options of `find`, `rsync`, `tar` and the like with a value that selects files instead of naming one.
_FILTER = re.compile(r"--?(?:i?(?:path|name|regex)|i?glob|wholename|(?:no-)?(?:exclude|include|ignore)[\w-]*)")
_MAY_WRITE = frozenset({"destructive", "unknown"})
_EXPANDS = frozenset({"destructive", "vcs-read", "vcs-write"})
"""Categories of programs that may expand a wildcard themselves: git's pathspecs, and `del` of Windows."""
_SEARCHES_HERE = {"ls": 0, "find": 0, "gfind": 0, "tree": 0, "du": 0, "fd": 1, "fdfind": 1, "rg": 1}
"""Programs that search the current folder, if they have no more operands than a pattern."""
_EXPANDERS = frozenset({"7z", "7za", "7zr", "7zz", "compgen", "curl", "duckdb", "rsync", "scp", "sftp"})
_NAME_ONLY = re.compile(r"\w[\w-]*")
"""A word without a sign of a path: `skills add -a claude-code` names no folder."""
_URL = re.compile(r"(?!file:)[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_LITERAL = str.maketrans("*?[{", "\2\2\2\2")  # makes a quoted pattern an ordinary name: `grep '.*'` names no file
_NOWHERE = frozenset[Place]()
_BUILT_IN = frozenset[Place](BUILT_IN)
_SYSTEM = frozenset[Place](("root", "system_folders"))
_WORK = frozenset[Place](("work",))
_ELSEWHERE = frozenset[Place](("scratch", "outside"))
_READ_TOO = frozenset[Place](("baton_home", "startup_files"))
"""Places that count only where they are named, as folders above them are by programs that do not mean them."""
_TAKES_FOLDERS = re.compile(r"(?i)delete|remove|move|rename|unlink|trash|chmod|(?:^|_)rm(?:dir)?(?:_|$)")
_SHOWN = 120
_TOO_LONG = 65_536
_NUMBER = re.compile(r"\d+")
_UNREAD = object()
_by = attrgetter("by")


class ReadingInterface(Protocol):
    """The content of a call. `rule.Reading` implements it and knows rules, so it must not be imported here."""

    @property
    def shell(self) -> Shell | None:
        """The shell line, read, without guesses; None if the call has none."""

    @property
    def guessed(self) -> Shell | None:
        """The shell line with guesses; None if it has none."""

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths in the input, as written."""

    as_given: bool
    """Whether the line is the text in the tool's input."""

    is_held: bool  # whether the line is part of a skill or a command written by the call

    known: dict[tuple[object, ...], Any]
    """What was asked before of this content, by question, working folder and root."""


class LookupsInterface(Protocol):
    """Tells reads and searches from other calls; `call_checks.Lookups` implements it."""

    @property
    def by_class(self) -> bool:
        """Whether reads and searches of all kinds count as one."""
        ...

    def of_tool(self, context: "Context") -> bool:
        """Return whether the call's tool reads or searches files."""
        ...

    def is_collected(self, context: "Context") -> bool:
        """Return whether every path of the input is a result or an own note."""
        ...

    def of_line(self, context: "Context") -> str:
        """Return the first program of the line that reads or searches files; "" for none."""
        ...

    def like(self, context: "Context") -> str:
        """Return the names of past calls that count as ones like this."""
        ...

    def latest(self, tools: Iterable[str]) -> str:
        """Return the last of these past calls that read or searched files; "" for none."""
        ...


class PolicySetInterface(Protocol):
    """The interface of `PolicySet` for a context; this module must not import it."""

    agent_tools: frozenset[str]
    config: Config
    locked: frozenset[str]
    locator: Locator
    rosters: Rosters

    @property
    def lookups(self) -> LookupsInterface:
        """The definition of lookups."""

    def only_looks(self, tool: str) -> bool:
        """Return whether a tool is known to look things up, and to change nothing."""

    def reading(self, call: ToolCall, agent: AgentCall | None) -> ReadingInterface:
        """Return a call's content."""

    def candidates(self, tool: str, level: Level, *, subagent: bool) -> Any:
        """Return the possible rules for calls of a tool at a level, as `candidates.Candidates`."""


class Context:
    """One call's facts and derived facts.

    `found` are the findings of the rule being checked, by placeholder. `blind` collects facts needed by a rule but
    unreadable, `errors` the names of failed expressions. `guesses` is True while a rule sees the possible commands of
    unknown programs. `live` are the rules that may match, once `rule.live_rules` has found them. `spent` is the maximum
    work of the expressions so far, in units of `when_cost`.
    """

    # Facts not requested yet. Most calls are known and need next to nothing, so these are the class's.
    guesses = False
    live: Any = None
    spent = _looked_up = 0
    blind = frozenset[str]()
    errors = frozenset[str]()
    _agent: Any = _UNREAD
    _match: Any = _UNREAD
    _values: LineValues | None = None
    _text: str | None = None
    _writes: tuple[Write, ...] | None = None
    _writes_by: dict[int, tuple[Write, ...]] | None = None

    def __init__(self, policies: PolicySetInterface, facts: Facts) -> None:
        self.policies = policies
        self.facts = facts
        call = facts.call
        if not FOLDER_KEYS.isdisjoint(call.tool_input) or holds_objects(call.tool_input):
            call = in_its_folder(call)
        self.call = call
        self.root = call.project_root or (call.project if call.project.startswith("/") else "")
        """The project's root folder, "" if unknown."""
        self.found: dict[str, str] = {}
        self._arguments: dict[Program, frozenset[Place]] = {}
        self._alike: dict[tuple[str, str | None], tuple[str, str | None]] = {}
        self._kinds_of_path: dict[tuple[str, str | None, Reach], frozenset[Place]] = {}
        self.reading = policies.reading(self.call, self.agent)
        """The call's content, from the policy set's cache."""
        self.shell = self.reading.shell
        """The call's shell line, read; None for a tool without one."""
        key = policies.config.shell_tools.get(call.tool_name)
        is_alone = key is not None and self.reading.as_given and self.call.tool_input.keys() - REMARKS == {key}
        self.line_alone: str | None = self.call.tool_input[key] if key is not None and is_alone else None
        """The shell line of a call without any other text, but for remarks to people; None for other calls."""

    def learn(self, facts: Facts) -> None:
        """Take facts about the same call that were not known before: what its session has done."""
        self.facts = facts

    def see_guesses(self, *, on: bool) -> None:
        """Show the next rules the possible commands of unknown programs, or hide them."""
        self.guesses = on
        self.shell = self.reading.guessed if on else self.reading.shell
        self._writes = self._writes_by = None

    @property
    def agent(self) -> AgentCall | None:
        """The sub-agent started by the call, or None."""
        if self._agent is _UNREAD:
            is_agent = self.call.tool_name in self.policies.agent_tools
            agent = agent_call(self.call.tool_input, self.call.client) if is_agent else None
            if agent is not None and self.facts.own_agent is not None:
                agent = msgspec.structs.replace(agent, own_model=self.facts.own_agent.model)
            self._agent = agent
        return self._agent  # type: ignore[no-any-return]

    @property
    def agent_match(self) -> RosterMatch | None:
        """The started agent's entry in the rosters."""
        if self._match is _UNREAD:
            self._match = self.policies.rosters.resolve(self.agent.agent) if self.agent else None
        return self._match  # type: ignore[no-any-return]

    @property
    def model(self) -> ModelChoice | None:
        """The model of the started agent; None for other calls."""
        if self.agent is None:
            return None
        aliases = self.policies.config.model_aliases
        return choose(self.agent.model, self.facts.own_agent, self.agent_match, self.call.models, aliases)

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths in the tool's input, as written, at most `MOST_PATHS` and one."""
        return self.reading.paths

    @property
    def is_unread(self) -> bool:
        """Whether the input exceeds the limits on paths or texts, or is a shell's without a readable line."""
        if len(self.paths) > MOST_PATHS:
            return True
        if self.shell is None and self.call.tool_name in self.policies.config.shell_tools:
            return has_unread_command(self.call.tool_input)
        return is_mcp_tool(self.call.tool_name) and has_more_texts(self.call.tool_input)

    def places(self, target: str, base: str | None = "", reach: Reach = "file") -> frozenset[Place]:
        """Return the places of a path as written, and of its form with the line's own variables filled in.

        Each kind of path is looked up once, up to a limit.
        """
        # Rules ask about a path with one reach after the other.
        alike = self._alike.get((target, base))
        if alike is None:
            alike = self._alike[target, base] = self.policies.locator.alike_names.alike(target, base, self._own_names)
        kind = *alike, reach
        found = self._kinds_of_path.get(kind)
        if found is None:
            if self._looked_up >= MOST:
                return self.policies.locator.everywhere
            self._looked_up += _WILD_COST if _WILD.search(alike[0]) else 1
            found = self._kinds_of_path[kind] = self._find_places(*kind)
        return found

    @cached_property
    def _own_names(self) -> frozenset[str] | None:
        return own_names(self.facts.installed, (self.call.cwd, self.root, *self.call.worktrees))

    def _find_places(self, target: str, base: str | None, reach: Reach) -> frozenset[Place]:
        found = self._in_worktrees(target, base, reach)
        meant = self._filled(target)
        if meant != target:
            found |= self._in_worktrees(meant, base, reach)
        return found | self._possible_groups(target, base, reach)

    def _filled(self, target: str) -> str:
        """Return a path with the values of the variables that the line itself sets."""
        if "$" not in target or self.shell is None:
            return target
        if self._values is None:
            self._values = LineValues(self.shell.exports)
        return self._values.fill(target)

    def _possible_groups(self, target: str, base: str | None, reach: Reach = "file") -> frozenset[Place]:
        """Return the groups that a path may lie in, where an expansion or an unknown folder hides its beginning."""
        if (base is None or "$" in target or "`" in target) and self.policies.config.places:
            return self.policies.locator.possible_groups(target, base, self.call.cwd, self.root, reach, self._mentioned)
        return frozenset()

    def _in_worktrees(self, target: str, base: str | None, reach: Reach) -> frozenset[Place]:
        """Return a path's places; another worktree of the repository counts as the project."""
        at, cwd = self.policies.locator.places, self.call.cwd
        found = at(target, base, cwd, self.root, reach, self.facts.installed)
        if "work" in found or not any("work" in at(target, base, cwd, tree, reach) for tree in self.call.worktrees):
            return found
        return (found - _ELSEWHERE) | _WORK

    @property
    def lookup_line(self) -> str:
        """The program of the shell line that reads or searches files, as it is called; "" for none."""
        return self._known(self.policies.lookups.of_line)

    @property
    def is_collected(self) -> bool:
        """Whether every path of the input is a result or an own note."""
        return self._known(self.policies.lookups.is_collected)

    def _known(self, ask: Callable[["Context"], _Answer]) -> _Answer:
        """Return the answer to a question that depends only on the content and the folders."""
        known, key = self.reading.known, (ask, self.call.cwd, self.root)
        if key not in known:
            if len(known) >= _ANSWERS:
                known.clear()
            known[key] = ask(self)
        return known[key]  # type: ignore[no-any-return]

    @cached_property
    def is_lookup(self) -> bool:
        """Whether the call reads or searches files, by a tool or by a shell line."""
        return self.policies.lookups.of_tool(self) or self.lookup_line != ""

    @property
    def _mentioned(self) -> str:
        """The text of the call's line with its folder, in lower case, also in the shell's unquoted form."""
        if self._text is None:
            shell = self.shell
            words = [word for program in shell.programs for word in program.argv] if shell else []
            self._text = "\n".join(
                (self._line, " ".join(words), *(shell.exports if shell else ()), self.call.cwd)
            ).casefold()
        return self._text

    @property
    def writes(self) -> tuple[Write, ...]:
        """The shell line's writes; a program of category `file-write` without a known target writes somewhere here."""
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
        """Return the writes of the program at an index."""
        if self._writes_by is None:
            self._writes_by = {by: tuple(found) for by, found in groupby(sorted(self.writes, key=_by), _by)}
        return self._writes_by.get(index, ())

    def write_places(self, write: Write) -> frozenset[Place]:
        """Return the places of a write; its range depends on the program (`rm` takes the whole tree)."""
        shell = self.shell
        if shell is None or not 0 <= write.by < len(shell.programs):
            return self.places(write.target, write.base)
        found = self.places(write.target, write.base, reach_of(shell.programs[write.by], write))
        for path, reach in landings(write, shell.programs[write.by]) if write.lands is not None else ():
            found |= self.places(path, write.base, reach) - GROUNDS
        return found

    def whole_places(self, write: Write) -> frozenset[Place]:
        """Return the places of a write on a folder's whole content; none for any other."""
        shell = self.shell
        program = shell.programs[write.by] if shell is not None and 0 <= write.by < len(shell.programs) else None
        if reach_of(program, write) != "tree":
            return _NOWHERE
        found = self.places(write.target, write.base, "tree")
        rest = behind_unset(write.target, self._line)
        if not rest:
            return found
        # With an empty variable the rest remains: `"$X"/*` is `/*`.
        would_be = self.places(rest, "", "tree")
        return found if _SYSTEM.isdisjoint(would_be) else found | {"root_if_unset"}

    @property
    def _line(self) -> str:
        """The call's shell line as written; "" for a tool without one."""
        return str(self.call.tool_input.get(self.policies.config.shell_tools.get(self.call.tool_name, ""), ""))

    def written_places(self) -> Iterator[tuple[str, frozenset[Place]]]:
        """Yield the paths written, changed or removed by the call, with their places, for any tool.

        An unknown or removing program may write any of its arguments. So may a tool, unless it is known to only look
        things up.
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
        """Yield the files and folders whose content the call reads, with their places."""
        shell = self.shell
        for index, one in contents(shell) if shell else ():
            shown = one.path if index < 0 else " ".join(shell.programs[index].argv)[:_SHOWN] if shell else ""
            yield shown, self._content_places(one)
        for of_tool in tool_contents(self.call.tool_name, self.call.tool_input, self.paths):
            yield of_tool.path, self._content_places(of_tool)

    def _content_places(self, content: Content) -> frozenset[Place]:
        """Return the places of what is read; a pattern has those of the files that it means."""
        path = self._filled(file_path(content.path))
        # `src/$f` is any file of `src`, as `src/*` is: nobody is asked because one of them could be `.env`.
        first, *names = _EXPANSION.sub("\0", path).split("/")
        begins = _EXPANSION.match(path)
        first = begins[0] if begins and first == "\0" and "/" not in begins[0] else first.replace("\0", "_")
        # A last `**` is any file, as `*` is.
        names = [
            "*" if name == "\0" or (name == "**" and at == len(names)) else name.replace("\0", "_")
            for at, name in enumerate(names, 1)
        ]
        meant = "/".join(name if name == "**" else name.replace("*", STAR) for name in (first, *names))
        found = self.places(meant, content.base) | self._possible_groups(path, content.base)
        if content.depth != "file":
            found |= self.places(meant, content.base, content.depth)
        if meant != path:
            found |= self.places(path, content.base) & _BUILT_IN
        globs = self.policies.config.places
        if not content.without or found.isdisjoint(globs):
            return found
        leaves_out = any_of([name.rstrip("/").rpartition("/")[2] for name in content.without])
        return frozenset(
            place
            for place in found
            if not any(leaves_out(name) for glob in globs.get(place, ()) if glob[:1] != "!" for name in glob.split("/"))
        )

    def path_places(self, path: str) -> frozenset[Place]:
        """Return the places of a path in the tool's input."""
        # A removing or moving tool takes a whole folder with its content.
        return self.places(path, reach="tree" if _TAKES_FOLDERS.search(self.call.tool_name) else "file")

    def argument_places(self, program: Program) -> frozenset[Place]:
        """Return the places of a program's arguments and of values in `key=value`, except filters (`--exclude x`)."""
        known = self._arguments.get(program)
        if known is not None:
            return known
        found: set[Place] = set()
        before = ""
        # Only the tables know a program's effect on a given folder: these programs may write in it.
        reach: Reach = "file"
        if _MAY_WRITE.intersection(program.categories):
            reach = "below" if "vcs-write" in program.categories else "into"
        expands = program.name in _EXPANDERS or not _EXPANDS.isdisjoint(program.categories)
        places, folder = self.places, program.folder
        for argument in program.argv[1:]:
            word = argument
            if word in program.quoted and (not expands or _URL.match(word)):
                word = word.translate(_LITERAL)
            if word[:1] != "-" and not (before[:1] == "-" and _FILTER.fullmatch(before)):
                # `ls -d .*` names no entry in particular.
                is_named = "*" not in word or not EVERYTHING.fullmatch(word.rstrip("/").rpartition("/")[2])
                found |= places(word, folder) if is_named else places(word, folder) - _READ_TOO
                if reach != "file" and not (reach == "into" and folder == "" and _NAME_ONLY.fullmatch(word)):
                    found |= places(word, folder, reach) - GROUNDS - _READ_TOO
            key, _, value = word.partition("=")
            if value and not _FILTER.fullmatch(key):
                found |= places(value, folder)
            # `curl -d @file`, `-F name=@file`, `http name@file`; for others `@name` is a package, or a person.
            named = word.partition("@")[2] if "network" in program.categories else ""
            if named:
                found |= places(named, folder)
            before = word
        if len(program.operands) <= _SEARCHES_HERE.get(program.name, -1):
            found |= self.places(".", program.folder)
        self._arguments[program] = frozenset(found)
        return self._arguments[program]

    def names_server(self, program: Program) -> bool:
        """Return whether an argument has the id of one of this server's processes, or its port."""
        numbers = server_numbers(self.facts.installed)
        return bool(numbers) and any(number in numbers for word in program.argv[1:] for number in _NUMBER.findall(word))

    def relative(self, path: str, base: str | None = "") -> str:
        """Return a path as the globs of rules see it: relative to the project inside it, otherwise absolute.

        `base` is the folder of a relative path, as in `Write`.
        """
        if len(path) > _TOO_LONG:
            return path
        whole = resolve(self._filled(path), base, self.call.cwd).whole
        for folder in (folder_of(self.root), folder_of(self.call.cwd)):
            if within(whole, folder):
                return whole[len(folder.rstrip("/")) + 1 :]
        return whole
