"""Compiles conditions into checks that hold or say why they do not. It does not combine rules."""

from collections.abc import Callable, Iterator, Mapping

import msgspec

from baton.engine.policy.rules.call_checks import (
    Check,
    agent,
    background,
    edited,
    history,
    input_value,
    outside_tools,
    paths,
    places,
    spawn_refused,
)
from baton.engine.policy.rules.context import Context
from baton.engine.policy.rules.model import Condition, Conditions, ShellMatch
from baton.engine.policy.rules.program_checks import Lists, place_set, words
from baton.engine.policy.rules.shell_checks import shell
from baton.engine.text.globs import any_of, any_path, is_glob

_BY_READING = frozenset({"shell", "paths", "places", "agent"})
"""Keys of a condition that a call's reading and its folders settle; the others ask for what changes between calls."""


class CompiledCondition(msgspec.Struct, frozen=True):
    """A compiled condition: `applies` is settled by the tool's name, the `checks` by the call, cheapest first.

    `reading_checks` are those checks that a call's reading (its line, paths and agent) and its folders settle;
    `programs` are the names of which the line must run one, where the condition gives them literally.
    """

    applies: Callable[[str], bool]
    why_not_applies: str
    checks: tuple[Check, ...]
    reading_checks: tuple[Check, ...]
    programs: frozenset[str] | None

    @property
    def settled(self) -> bool:
        """Tell whether the call's reading and its folders alone decide."""
        return len(self.checks) == len(self.reading_checks)

    def told_by_line(self, key: str) -> bool:
        """Tell whether they decide for a tool that carries its shell line under this key of its input."""
        line = f"input.{key}"
        return all(_by_reading(check) or check.key == line for check in self.checks)

    def holds(self, context: Context) -> bool:
        """Tell whether all checks hold."""
        for check in self.checks:  # noqa: SIM110
            if not check.holds(context):
                return False
        return True

    def possible(self, context: Context, programs: frozenset[str]) -> bool:
        """Tell whether the call's reading, which runs these programs, leaves the condition a chance."""
        if self.programs is not None and self.programs.isdisjoint(programs):
            return False
        for check in self.reading_checks:  # noqa: SIM110
            if not check.holds(context):
                return False
        return True

    def miss(self, context: Context) -> "Miss | None":
        """Return what keeps the condition from holding; None if it holds."""
        held = 0
        for check in self.checks:
            held += check.progress(context) if check.progress else 0
            if not check.holds(context):
                return Miss(held, f"`{check.key}`: {check.why(context)}")
            held += 1
        return None


class Miss(msgspec.Struct, frozen=True):
    """A condition that does not hold: how many tests hold before the first that does not, and why that one does not."""

    held: int
    why: str


class Vocabulary(msgspec.Struct, frozen=True):
    """What conditions are compiled against: the set's lists and which tools carry what."""

    lists: Lists
    shell_tools: Mapping[str, str]
    agent_tools: frozenset[str]


def compile_all(
    conditions: Conditions, ground: Vocabulary, *, missing: bool, every_path: bool = False
) -> tuple[CompiledCondition, ...]:
    """Compile conditions of which any may hold. `missing` is what a fact that could not be read counts as.

    With `every_path`, as exceptions have it, `paths` and `places` must hold for all paths of the call, not for one.
    Raises ValueError for a pattern that cannot be compiled or a list that does not exist.
    """
    items = [conditions] if isinstance(conditions, Condition) else conditions
    return tuple(_compile(item, ground, missing=missing, every_path=every_path) for item in items)


def _compile(condition: Condition, ground: Vocabulary, *, missing: bool, every_path: bool) -> CompiledCondition:
    tool = any_of(words(condition.tools, ground.lists)) if condition.tools is not None else None
    needs_shell = condition.shell is not None
    needs_agent = condition.agent is not None or condition.spawn_refused_by is not None

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
    reading_checks = tuple(filter(_by_reading, checks))
    return CompiledCondition(applies, why, checks, reading_checks, _literal_programs(condition.shell, ground.lists))


def _by_reading(check: Check) -> bool:
    return check.key.partition(".")[0] in _BY_READING


def _literal_programs(match: ShellMatch | None, lists: Lists) -> frozenset[str] | None:
    if match is None or match.program is None:
        return None
    names = words(match.program, lists)
    return None if any(map(is_glob, names)) else frozenset(names)


def _checks(condition: Condition, lists: Lists, *, missing: bool, every_path: bool) -> Iterator[Check]:
    if condition.background_running_at_least is not None:
        yield background(condition.background_running_at_least, missing=missing)
    if condition.history is not None:
        yield history(condition.history.same_tool_within, missing=missing)
    if condition.edited_by_other:
        yield edited(missing=missing)
    yield from _agent_checks(condition, lists)
    if condition.input is not None:
        yield from (input_value(key, value, lists) for key, value in condition.input.items())
    if condition.shell is not None:
        yield from shell(condition.shell, lists)
    if condition.paths is not None:
        yield paths(any_path(words(condition.paths, lists)), all if every_path else any)
    if condition.places is not None:
        yield places(place_set(condition.places), all if every_path else any)


def _agent_checks(condition: Condition, lists: Lists) -> Iterator[Check]:
    if condition.outside_agent_tools:
        yield Check("outside_agent_tools", outside_tools, lambda _c: "the agent's row lists no tools, or lists this")
    if condition.spawn_refused_by is not None:
        yield spawn_refused(condition.spawn_refused_by)
    if condition.agent is not None:
        yield from agent(condition.agent, lists)
