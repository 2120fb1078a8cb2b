"""Compiles conditions into checks that hold or say why they do not. It does not combine rules."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from app.engine.places import Place
from app.engine.policy.context import Context
from app.engine.policy.globs import Match, any_of, any_path, is_glob
from app.engine.policy.model import AgentMatch, Condition, Conditions, Feeds, ProgramMatch, ShellMatch
from app.engine.policy.programs import Lists, ProgramTest, any_holds, place_set, program_tests, words
from app.engine.shell.model import Shell

Quantifier = Callable[[Iterable[bool]], bool]

_BACKGROUND_KEYS = ("run_in_background", "is_background")


class Check(msgspec.Struct, frozen=True):
    """One key of a condition. `holds` decides; `why` says for people what stood there when it does not hold."""

    key: str
    holds: Callable[[Context], bool]
    why: Callable[[Context], str]


class Compiled(msgspec.Struct, frozen=True):
    """A compiled condition: `applies` is settled by the tool's name, the `checks` by the call, cheapest first.

    `line_checks` are those checks that only a shell line and its folders settle; `programs` are the names of which
    the line must run one, where the condition gives them literally.
    """

    applies: Callable[[str], bool]
    why_not_applies: str
    checks: tuple[Check, ...]
    line_checks: tuple[Check, ...]
    programs: frozenset[str] | None

    def holds(self, context: Context) -> bool:
        """Tell whether all checks hold."""
        for check in self.checks:  # noqa: SIM110
            if not check.holds(context):
                return False
        return True

    def possible(self, context: Context, programs: frozenset[str]) -> bool:
        """Tell whether the shell line, which runs these programs, leaves the condition a chance."""
        if self.programs is not None and self.programs.isdisjoint(programs):
            return False
        return all(check.holds(context) for check in self.line_checks)

    def failing(self, context: Context) -> tuple[int, str]:
        """How many checks hold before the first that does not, and why that one does not ("" if all hold)."""
        for at, check in enumerate(self.checks):
            if not check.holds(context):
                return at, f"`{check.key}`: {check.why(context)}"
        return len(self.checks), ""


class Ground(msgspec.Struct, frozen=True):
    """What conditions are compiled against: the set's lists and which tools carry what."""

    lists: Lists
    shell_tools: Mapping[str, str]
    agent_tools: frozenset[str]


def compile_all(
    conditions: Conditions, ground: Ground, *, missing: bool, every_path: bool = False
) -> tuple[Compiled, ...]:
    """Compile conditions of which any may hold. `missing` is what a fact that could not be read counts as.

    With `every_path`, as exceptions have it, `paths` and `places` must hold for all paths of the call, not for one.
    Raises ValueError for a pattern that cannot be compiled or a list that does not exist.
    """
    items = [conditions] if isinstance(conditions, Condition) else conditions
    return tuple(_compile(item, ground, missing=missing, every_path=every_path) for item in items)


def _compile(condition: Condition, ground: Ground, *, missing: bool, every_path: bool) -> Compiled:
    tool = any_of(words(condition.tools, ground.lists)) if condition.tools is not None else None
    needs_shell, needs_agent = condition.shell is not None, condition.agent is not None

    def applies(name: str) -> bool:
        return (
            (tool is None or tool(name))
            and (not needs_shell or name in ground.shell_tools)
            and (not needs_agent or name in ground.agent_tools)
        )

    why = "`tools`: another tool"
    if tool is None:
        why = "`shell`: the tool carries no shell line" if needs_shell else "`agent`: the tool starts no sub-agent"
    checks = tuple(_checks(condition, ground.lists, missing=missing, every_path=every_path))
    line_checks = tuple(check for check in checks if check.key.startswith("shell"))
    return Compiled(applies, why, checks, line_checks, _literal_programs(condition.shell, ground.lists))


def _literal_programs(match: ShellMatch | None, lists: Lists) -> frozenset[str] | None:
    if match is None or match.program is None:
        return None
    names = words(match.program, lists)
    return None if any(map(is_glob, names)) else frozenset(names)


def _checks(condition: Condition, lists: Lists, *, missing: bool, every_path: bool) -> Iterator[Check]:
    if condition.background_running_at_least is not None:
        yield _background(condition.background_running_at_least, missing=missing)
    if condition.history is not None:
        yield _history(condition.history.same_tool_within, missing=missing)
    if condition.edited_by_other:
        yield _edited(missing=missing)
    if condition.outside_agent_tools:
        yield Check("outside_agent_tools", _outside_tools, lambda _c: "the agent's row lists no tools, or lists this")
    if condition.agent is not None:
        yield from _agent(condition.agent, lists)
    if condition.input is not None:
        yield from (_input(key, value, lists) for key, value in condition.input.items())
    if condition.shell is not None:
        yield from _shell(condition.shell, lists)
    if condition.paths is not None:
        yield _paths(any_path(words(condition.paths, lists)), all if every_path else any)
    if condition.places is not None:
        yield _places(place_set(condition.places), all if every_path else any)


def _background(least: int, *, missing: bool) -> Check:
    def holds(context: Context) -> bool:
        if not any(context.call.tool_input.get(key) is True for key in _BACKGROUND_KEYS):
            return False
        running = context.facts.background_running
        if running is None:
            context.blind.add("background_running")
            return missing
        context.found["count"] = str(running)
        return running >= least

    return Check(
        "background_running_at_least",
        holds,
        lambda c: f"{c.facts.background_running} run, or this call starts none in the background",
    )


def _history(within: int, *, missing: bool) -> Check:
    def holds(context: Context) -> bool:
        history = context.facts.history
        if history is None:
            context.blind.add("history")
            return missing
        return context.call.tool_name in history[-within:]

    return Check("history", holds, lambda c: f"none of the last {within} calls was `{c.call.tool_name}`")


def _edited(*, missing: bool) -> Check:
    def holds(context: Context) -> bool:
        other = context.facts.other_editor
        if other is None:
            context.blind.add("other_editor")
            return missing
        context.found["other"] = other
        return other != ""

    return Check("edited_by_other", holds, lambda _c: "no other live session has just edited the file")


def _outside_tools(context: Context) -> bool:
    call = context.call
    found = context.policies.rosters.resolve(call.agent_type) if call.agent_id and call.agent_type else None
    if found is None or not found.row.tools:
        return False
    context.found["agent"] = call.agent_type
    context.found["tools"] = ", ".join(found.row.tools)
    return not any_of(found.row.tools)(call.tool_name)


def _agent(match: AgentMatch, lists: Lists) -> Iterator[Check]:
    def is_call(context: Context) -> bool:
        if context.agent is None:
            return False
        context.found["agent"] = context.agent.agent
        return True

    yield Check("agent", is_call, lambda _c: "`subagent_type`, `prompt` and `description` are not all texts")
    if match.model is not None:
        absent = match.model == "absent"
        yield Check(
            "agent.model",
            lambda c: c.agent is not None and (c.agent.model == "") is absent,
            lambda c: f"the call gives the model `{c.agent.model}`" if c.agent and absent else "no model is given",
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
            lambda c: f"`{c.found.get('agent', '')}` is {'no' if skill else 'a'} skill",
        )
    if match.default is not None:
        yield _default_model(any_of(words(match.default, lists)))


def _default_model(wanted: Match) -> Check:
    def holds(context: Context) -> bool:
        found = context.agent_match
        if found is None or found.model is None:
            return False
        context.found["model"] = found.model
        context.found["name"] = context.agent.agent.rpartition(":")[2] if context.agent else found.name
        return wanted(found.model)

    return Check("agent.default", holds, lambda _c: "the rosters give it no such model")


def _input(key: str, value: Any, lists: Lists) -> Check:
    texts = value if isinstance(value, list) else [value]
    if all(isinstance(item, str) for item in texts):
        match = any_of(words(texts, lists))

        def holds(context: Context) -> bool:
            given = context.call.tool_input.get(key)
            return isinstance(given, str) and match(given)
    else:

        def holds(context: Context) -> bool:
            given = context.call.tool_input.get(key)
            return any(type(given) is type(item) and given == item for item in texts)

    return Check(f"input.{key}", holds, lambda _c: "another value, or none")


def _paths(match: Match, quantifier: Quantifier) -> Check:
    return Check(
        "paths",
        lambda c: _of_paths(c, c.paths, lambda path: match(c.relative(path)), quantifier),
        lambda c: f"{_list([c.relative(path) for path in c.paths])} does not match",
    )


def _places(wanted: frozenset[Place], quantifier: Quantifier) -> Check:
    def holds(context: Context) -> bool:
        if not context.paths:
            return "work" in wanted
        return _of_paths(context, context.paths, lambda p: not wanted.isdisjoint(context.places(p)), quantifier)

    return Check("places", holds, lambda c: f"{_list(c.paths)} lies elsewhere")


def _of_paths(context: Context, paths: tuple[str, ...], test: Match, quantifier: Quantifier) -> bool:
    if quantifier is all:
        return bool(paths) and all(map(test, paths))
    for path in paths:
        if test(path):
            context.found["path"] = path
            return True
    return False


def _list(texts: list[str] | tuple[str, ...]) -> str:
    return ", ".join(f"`{text[:80]}`" for text in texts[:5]) or "no path"


def _shell(match: ShellMatch, lists: Lists) -> Iterator[Check]:
    yield Check("shell", lambda c: c.shell is not None, lambda _c: "no shell line")
    if match.unparsed is not None:
        yield _unparsed(wanted=match.unparsed)
    if match.fork_bomb is not None:
        yield _line("fork_bomb", lambda s: s.fork_bomb is match.fork_bomb, "no function starts itself without end")
    if match.exports is not None:
        export = any_of(words(match.exports, lists))
        yield _line("exports", lambda s: any(map(export, s.exports)), "no such variable is set")
    if match.feeds is not None:
        yield _feeds(match.feeds, lists)
    if match.only is not None:
        yield _only(program_tests(match.only, lists))
    one = {f: getattr(match, f) for f in ProgramMatch.__struct_fields__ if getattr(match, f) is not None}
    if set(one) == {"writes_to"}:
        yield _any_write(place_set(one["writes_to"]))
    elif one:
        yield _one_program(ProgramTest(ProgramMatch(**one), lists))


def _unparsed(*, wanted: bool) -> Check:
    def holds(context: Context) -> bool:
        if context.shell is None or (context.shell.unparsed != "") is not wanted:
            return False
        context.found["why"] = context.shell.unparsed
        return True

    return Check("shell.unparsed", holds, lambda _c: f"the line was {'' if wanted else 'not '}read whole")


def _line(key: str, test: Callable[[Shell], bool], why: str) -> Check:
    return Check(f"shell.{key}", lambda c: c.shell is not None and test(c.shell), lambda _c: why)


def _one_program(test: ProgramTest) -> Check:
    def holds(context: Context) -> bool:
        shell = context.shell
        if shell is None:
            return False
        for index, program in enumerate(shell.programs):
            if test.holds(context, shell, index):
                context.found["program"] = program.name
                context.found["command"] = " ".join(program.argv)[:120]
                return True
        return False

    def why(context: Context) -> str:
        shell = context.shell
        if shell is None or not shell.programs:
            return "the line runs no program"
        best, name, index = -1, "", 0
        for at in range(len(shell.programs)):
            held, failed = test.failing(context, shell, at)
            if held > best:
                best, name, index = held, failed, at
        return f"no program has all of it; the nearest, `{' '.join(shell.programs[index].argv)[:60]}`, fails `{name}`"

    return Check("shell", holds, why)


def _any_write(places: frozenset[Place]) -> Check:
    def holds(context: Context) -> bool:
        shell = context.shell
        if shell is None:
            return False
        for write in context.writes:
            if not places.isdisjoint(context.write_places(write)):
                context.found["target"] = write.target
                return True
        return False

    def why(context: Context) -> str:
        writes = context.writes
        return f"{_list(tuple(w.target for w in writes))} lies elsewhere" if writes else "the line writes nothing"

    return Check("shell.writes_to", holds, why)


def _feeds(match: Feeds, lists: Lists) -> Check:
    sources, sinks = program_tests(match.source, lists), program_tests(match.into, lists)

    def holds(context: Context) -> bool:
        shell = context.shell
        if shell is None:
            return False
        for source, sink in shell.feeds:
            if (not sources or any_holds(sources, context, shell, source)) and (
                not sinks or any_holds(sinks, context, shell, sink)
            ):
                context.found["program"] = shell.programs[source].name
                context.found["sink"] = shell.programs[sink].name
                return True
        return False

    return Check("shell.feeds", holds, lambda _c: "no such program's output is run as a script")


def _only(tests: list[ProgramTest]) -> Check:
    def holds(context: Context) -> bool:
        shell = context.shell
        if shell is None or shell.unparsed:
            return False
        indexes = [i for i, program in enumerate(shell.programs) if not program.wraps]
        return bool(indexes) and all(any_holds(tests, context, shell, i) for i in indexes)

    return Check("shell.only", holds, lambda _c: "another program runs, too")
