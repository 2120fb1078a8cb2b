"""Compile conditions on the call itself; `shell_checks` compiles those on a shell line."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import msgspec

from baton.clients.registry import words_of
from baton.lib.bash.model import Shell
from baton.lib.text.globs import Match, any_of, any_path
from baton.lib.text.urls import urls as urls_of
from baton.rules.agents.judge import known, refuse, spawn_of
from baton.rules.call.call import input_texts, parts
from baton.rules.call.mcp_writers import edits_files, looks_into_files
from baton.rules.call.places.places import Place
from baton.rules.policy.matching.context import Context
from baton.rules.policy.matching.program_checks import AnyProgram, Lists, any_program, words
from baton.rules.policy.rules.model import AgentMatch, Config

# Which calls read or search files: the clients' own tools, tools that look like them, and shell lines that do the same.

LOOKUP_MARK = " (look-up)"
"""Ends a call's name in the history if its line, or a tool that is in no list, has read or searched files."""
COLLECTED_MARK = " (collected)"
"""Ends the name of a tool of `lookup_tools` in the history if it only collected results or read the agent's own notes."""
_TOOLS, _PROGRAMS, _COLLECTED = "lookup_tools", "lookup_programs", ("own_notes", "agent_outputs")
LOOKUP_LISTS = frozenset({_TOOLS, _PROGRAMS, *_COLLECTED})
"""The lists that every rule with `lookup` reads, without naming them."""
_PATTERN_FIRST = any_of([
    "*grep", "rg", "ripgrep", "rga", "ag", "ack", "ugrep", "ug", "sift", "pt", "sed", "gsed", "*awk", "*jq", "jaq",
    "yq", "xq", "htmlq", "mlr", "dasel", "ast-grep", "sg", "fd", "fdfind",
])  # fmt: skip
"""Programs whose first operand is a pattern or a script, unless an option gives it."""
_PATTERN_FLAGS = frozenset({"-e", "-f", "--regexp", "--file", "--expression", "--from-file"})


class Lookups:
    """Tells reads and searches of files from other calls, by lists of config.yaml, and by a tool's name and input.

    `by_class` is False if each tool of `lookup_tools` counts by its own name, and nothing else does.
    """

    def __init__(self, config: Config) -> None:
        lists = config.lists
        self.by_class = config.lookups == "class"
        tools = words(f"${_TOOLS}", lists) if _TOOLS in lists else []
        self.is_tool = any_of(tools)
        self._names = "\n".join(["", *tools, LOOKUP_MARK, ""])
        self._programs = any_program([f"${_PROGRAMS}"], lists) if _PROGRAMS in lists else AnyProgram()
        self._collected = any_path(words([f"${name}" for name in _COLLECTED if name in lists], lists))

    def of_tool(self, context: Context) -> bool:
        """Return whether the call's tool reads or searches files other than results and own notes."""
        call = context.call
        if not self.is_tool(call.tool_name) and not (
            self.by_class and context.shell is None and looks_into_files(call.tool_name, call.tool_input)
        ):
            return False
        if context.paths:
            return not context.is_collected
        # `Glob` takes a whole path as its pattern.
        pattern = call.tool_input.get("pattern")
        if not isinstance(pattern, str) or not pattern.startswith(("/", "~")):
            return True
        return not self._collected(context.relative(pattern))

    def is_collected(self, context: Context) -> bool:
        """Return whether every path of the input is a result or an own note."""
        return all(self._collected(context.relative(path)) for path in context.paths)

    def of_line(self, context: Context) -> str:
        """Return the first program of the line that reads or searches files, as it is called; "" for none."""
        shell = context.shell
        if shell is not None and self.by_class:
            for index, program in enumerate(shell.programs):
                if self._programs.holds(context, shell, index) and not self._collects(context, shell, index):
                    return " ".join(program.argv)
        return ""

    def _collects(self, context: Context, shell: Shell, index: int) -> bool:
        """Return whether a program reads nothing but results and own notes."""
        program = shell.programs[index]
        has_pattern = _PATTERN_FIRST(program.name) and program.flags.isdisjoint(_PATTERN_FLAGS)
        named = [(one, program.folder) for one in program.operands[has_pattern:] if not one.isdecimal()]
        named = named or [(one.target, one.base) for one in shell.reads if one.by in {index, -1}]
        return named != [] and all(self._collected(context.relative(path, base)) for path, base in named)

    def like(self, context: Context) -> str:
        """Return the names of past calls that count as ones like this, a line each; a mark alone stands for all marked ones."""
        return self._names if self.by_class and context.is_lookup else f"\n{context.call.tool_name}\n"

    def latest(self, tools: Iterable[str]) -> str:
        """Return the tool of the last of these past calls that read or searched files; "" for none."""
        found = [name for name in tools if name.endswith(LOOKUP_MARK) or self.is_tool(name)]
        return plain(found[-1]) if found else ""


def plain(name: str) -> str:
    """Return the tool of a call in a session's history."""
    return name.removesuffix(LOOKUP_MARK)


Quantifier = Callable[[Iterable[bool]], bool]

_SHOWN = 80
_MOST_OBJECTS = 4_096  # maximum objects in one input searched for a method and a path; a larger call counts as unread
_METHODS = ("PUT", "POST", "PATCH", "DELETE")
_BACKGROUND_KEYS = ("run_in_background", "is_background")


class Check(msgspec.Struct, frozen=True):
    """One key of a condition. `holds` decides; `why` explains a mismatch to people.

    `progress` is for a key with several tests: the number of passed tests before the first failed one. `within` is how many
    earlier calls a check of the history looks at.
    """

    key: str
    holds: Callable[[Context], bool]
    why: Callable[[Context], str]
    progress: Callable[[Context], int] | None = None
    within: int = 0


def background(least: int, *, missing: bool) -> Check:
    """Compile `background_running_at_least`."""

    def holds(context: Context) -> bool:
        if not any(context.call.tool_input.get(key) is True for key in _BACKGROUND_KEYS):
            return False
        running = context.facts.background_running
        if running is None:
            context.blind |= {"background_running"}
            return missing
        context.found["count"] = str(running)
        return running >= least

    return Check(
        "background_running_at_least",
        holds,
        lambda c: f"{c.facts.background_running} are running, or this call starts none in the background",
    )


def history(within: int, *, missing: bool) -> Check:
    """Compile `history`."""

    def holds(context: Context) -> bool:
        history = context.facts.history
        if history is None:
            context.blind |= {"history"}
            return missing
        tool, recent = context.call.tool_name, history[-within:]
        lookups, shown = context.policies.lookups, words_of(context.call.client).own_tools
        if lookups.by_class and context.is_lookup:
            before = lookups.latest(recent)
            if before == "":
                return False
            context.found["what"] = _lookups(shown.get(before, before), shown.get(tool, tool), context.lookup_line)
            return True
        context.found["what"] = f"{shown.get(tool, tool)} calls"
        return any(plain(name) == tool for name in recent)

    return Check(
        "history", holds, lambda c: f"none of the last {within} calls used `{c.call.tool_name}`", within=within
    )


def lookup() -> Check:
    """Compile `lookup`."""
    return Check("lookup", lambda c: c.is_lookup, lambda _c: "the call looks nothing up")


def _lookups(before: str, tool: str, line: str) -> str:
    if before == tool and not line:
        return f"{tool} calls"
    return f"look-ups ({before}, then {f'`{line[:_SHOWN]}`' if line else tool})"


def edited(*, missing: bool) -> Check:
    """Compile `edited_by_other`."""

    def holds(context: Context) -> bool:
        other = context.facts.other_editor
        if other is None:
            context.blind |= {"other_editor"}
            return missing
        context.found["other"] = other
        return other != ""

    return Check("edited_by_other", holds, lambda _c: "no other live session has just edited the file")


def outside_tools(context: Context) -> bool:
    """Return whether the calling sub-agent's roster row lists tools, but not this one."""
    call = context.call
    found = context.policies.rosters.resolve(call.agent_type) if call.agent_id and call.agent_type else None
    if found is None or not found.row.tools:
        return False
    context.found["agent"] = call.agent_type
    context.found["tools"] = ", ".join(found.row.tools)
    return not any_of(found.row.tools)(call.tool_name)


def spawn_refused(roster: str) -> Check:
    """Compile `spawn_refused_by`."""

    def holds(context: Context) -> bool:
        if context.agent is None or roster not in context.policies.rosters.by_id:
            return False
        rosters = context.policies.rosters.alone(roster)
        found = known(rosters, context.agent.agent)
        if found is None:
            return False
        call = context.call
        refusal = refuse(rosters, spawn_of(context.agent, call.tool_input, call.agent_type), found)
        if refusal is None:
            return False
        context.found["agent"] = context.agent.agent
        context.found["why"] = refusal.detail
        return True

    return Check(
        "spawn_refused_by", holds, lambda _c: f"the roster `{roster}` allows this start, or does not know the agent"
    )


def agent(match: AgentMatch, lists: Lists) -> Iterator[Check]:
    """Compile `agent`."""

    def is_call(context: Context) -> bool:
        if context.agent is None:
            return False
        # For the rule's message, and for the explanations below.
        context.found["agent"] = context.agent.agent
        return True

    yield Check("agent", is_call, lambda _c: "`subagent_type`, `prompt` and `description` must all be texts")
    if match.model is not None:
        absent = match.model == "absent"
        yield Check(
            "agent.model",
            lambda c: c.agent is not None and (c.agent.model == "") is absent,
            lambda c: (
                f"the call names the model `{c.agent.model}`" if c.agent and absent else "the call names no model"
            ),
        )
    if match.known is not None:
        known = match.known
        yield Check(
            "agent.known",
            lambda c: (c.agent_match is not None and not c.agent_match.skill) is known,
            lambda c: f"the rosters {'do not ' if known else ''}know `{c.found.get('agent', '')}`",
        )
    if match.skill is not None:
        skill = match.skill
        yield Check(
            "agent.skill",
            lambda c: (c.agent_match is not None and c.agent_match.skill) is skill,
            lambda c: f"`{c.found.get('agent', '')}` is {'not ' if skill else ''}a skill",
        )
    if match.default is not None:
        yield _default_model(any_of(words(match.default, lists)))


def _default_model(wanted: Match) -> Check:
    def holds(context: Context) -> bool:
        choice = context.model
        if choice is None or not choice.name:
            return False
        context.found["model"] = choice.name
        context.found["name"] = context.agent.agent.rpartition(":")[2] if context.agent else ""
        return wanted(choice.name)

    def why(context: Context) -> str:
        choice = context.model
        return choice.reason if choice is not None and not choice.name else "the rosters give this agent another model"

    return Check("agent.default", holds, why)


def input_value(key: str, value: Any, lists: Lists) -> Check:
    """Compile one key of `input`. A glob finds keys at any depth."""
    texts = value if isinstance(value, list) else [value]
    if all(isinstance(item, str) for item in texts):
        match = any_of(words(texts, lists))

        def fits(given: Any) -> bool:
            return isinstance(given, str) and match(given)
    else:

        def fits(given: Any) -> bool:
            return any(type(given) is type(item) and given == item for item in texts)

    named = any_of([key]) if "*" in key else None

    def holds(context: Context) -> bool:
        given = context.call.tool_input
        if named is None:
            return fits(given.get(key))
        return any(named(name) and fits(item) for part in parts(given) for name, item in part.items())

    return Check(f"input.{key}", holds, lambda _c: "it has another value, or is absent")


def urls(match: Match) -> Check:
    """Compile `urls`: a URL in any text of the input, under any key."""

    def holds(context: Context) -> bool:
        for text in _texts(context.call.tool_input):
            for url in urls_of(text):
                if match(url):
                    context.found["command"] = url
                    return True
        return False

    return Check("urls", holds, lambda _c: "no text of the input names such a URL")


def mentions(match: Match, *, of_line: bool) -> Check:
    """Compile `mentions`: any text of the input, under any key. `of_line` stands beside `shell`: remarks do not count."""

    def holds(context: Context) -> bool:
        line = context.line_alone if of_line else None
        if match(line) if line is not None else any(map(match, _texts(context.call.tool_input))):
            return True
        # As the shell sees it, without quotes: `'BATON_''URL'`.
        spoken = [" ".join(one.argv) for one in context.shell.programs] if context.shell is not None else []
        return spoken != [line] and any(map(match, spoken))

    return Check("mentions", holds, lambda _c: "no text of the input mentions it")


def unread() -> Check:
    """Compile `unread_input`."""
    return Check("unread_input", lambda c: c.is_unread, lambda _c: "all of the input was looked at")


def edits() -> Check:
    """Compile `edits_files`."""
    return Check(
        "edits_files",
        lambda c: edits_files(c.call.tool_name, c.call.tool_input),
        lambda _c: "the tool's name and input are not those of one that changes files",
    )


def _texts(tool_input: dict[str, Any]) -> Iterator[str]:
    yield from input_texts(tool_input)
    # A method in one field and a path in another are a request, too.
    waiting: list[Any] = [tool_input]
    for _ in range(_MOST_OBJECTS):
        if not waiting:
            return
        value = waiting.pop()
        if isinstance(value, list):
            waiting += [one for one in value if isinstance(one, dict | list)]
            continue
        waiting += [one for one in value.values() if isinstance(one, dict | list)]
        method = next((item for item in value.values() if item in _METHODS), None)
        if method:
            yield from (f"{method} {item}" for item in value.values() if isinstance(item, str) and item[:1] == "/")


def paths(match: Match, quantifier: Quantifier) -> Check:
    """Compile `paths`."""
    return Check(
        "paths",
        lambda c: _of_paths(c, c.paths, lambda path: match(c.relative(path)), quantifier),
        lambda c: f"{quoted(map(c.relative, c.paths))} does not match" if c.paths else "the call names no path",
    )


def places(wanted: frozenset[Place], quantifier: Quantifier) -> Check:
    """Compile `places`."""

    def holds(context: Context) -> bool:
        if not context.paths:
            return "work" in wanted
        return _of_paths(context, context.paths, lambda p: not wanted.isdisjoint(context.path_places(p)), quantifier)

    def why(context: Context) -> str:
        if not context.paths:
            return "the call names no path, which counts as `work`"
        return elsewhere((path, context.path_places(path)) for path in context.paths)

    return Check("places", holds, why)


def touches(
    key: str,
    wanted: frozenset[Place],
    of: Callable[[Context], Iterator[tuple[str, frozenset[Place]]]],
    quantifier: Quantifier,
) -> Check:
    """Compile `writes_to` and `reads`: a written or named path in one of the places, by any tool."""

    def holds(context: Context) -> bool:
        if quantifier is all:
            found = [not wanted.isdisjoint(places) for _, places in of(context)]
            return bool(found) and all(found)
        for target, places in of(context):
            if not wanted.isdisjoint(places):
                context.found["target"] = context.found["path"] = target
                return True
        return False

    def why(context: Context) -> str:
        found = list(of(context))
        return elsewhere(found) if found else "the call names no path"

    return Check(key, holds, why)


def _of_paths(context: Context, paths: tuple[str, ...], test: Match, quantifier: Quantifier) -> bool:
    if quantifier is all:
        return bool(paths) and all(map(test, paths))
    for path in paths:
        if test(path):
            context.found["path"] = path
            context.found.setdefault("target", path)
            return True
    return False


def elsewhere(found: Iterable[tuple[str, frozenset[Place]]]) -> str:
    """Say where the paths of a call lie instead: the places that a rule could name."""
    paths = list(found)
    lies = sorted(frozenset[Place]().union(*(places for _, places in paths)))
    groups = quoted(lies) if lies else "no place; add one to `places` in config.yaml"
    return f"{quoted(path for path, _ in paths)} lies elsewhere, in {groups}"


def quoted(texts: Iterable[str]) -> str:
    """Return the first five texts, in backticks, for a sentence."""
    return ", ".join(f"`{text[:80]}`" for text in islice(texts, 5))
