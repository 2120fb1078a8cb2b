"""Compile the conditions of a rule into checks, cheapest first, that hold or say why they do not."""

from collections.abc import Callable, Iterator

import msgspec

from baton.engine.call.mcp_tools import is_mcp_tool
from baton.engine.policy.matching.checks.call_checks import (
    Check,
    Quantifier,
    agent,
    background,
    edited,
    edits,
    history,
    input_value,
    lookup,
    mentions,
    outside_tools,
    paths,
    places,
    spawn_refused,
    touches,
    unread,
    urls,
)
from baton.engine.policy.matching.checks.program_checks import Lists, place_set, words
from baton.engine.policy.matching.checks.shell_checks import HAS_SHELL, shell
from baton.engine.policy.matching.context import Context
from baton.engine.policy.matching.demands import Demand, demand
from baton.engine.policy.rules.model import Condition, Conditions
from baton.engine.text.globs import any_of, any_path

_BY_READING = frozenset({"shell", "paths", "places", "writes_to", "reads", "agent", "lookup"})
"""Keys of a condition whose answer follows from the call's reading and folders; the answers of others differ between calls."""


class CompiledCondition(msgspec.Struct, frozen=True):
    """A compiled condition: `applies` depends on the tool's name alone, the `checks` on the call, cheapest first.

    `reading_checks` are the checks whose answer follows from the call's reading (its line, paths and agent) and its
    folders, except for whether there is a line; `open_checks` are the others. `line` is what a line must have at least;
    None for a condition that asks for no line. `asks_unread` is True for one about inputs that are too large to be read.
    """

    applies: Callable[[str], bool]
    why_not_applies: str
    checks: tuple[Check, ...]
    reading_checks: tuple[Check, ...]
    open_checks: tuple[Check, ...]
    line: Demand | None
    asks_unread: bool

    @property
    def settled(self) -> bool:
        """Whether the answer follows from the call's reading and folders alone."""
        return not self.open_checks

    def settled_by_line(self, key: str) -> bool:
        """Return whether the answer follows from the reading, for a tool whose shell line is this key of its input."""
        line = f"input.{key}"
        return all(_by_reading(check) or check.key == line for check in self.checks)

    def holds(self, context: Context) -> bool:
        """Return whether all checks hold."""
        for check in self.checks:  # noqa: SIM110 - a generator costs more than the checks; this runs for every call
            if not check.holds(context):
                return False
        return True

    def possible(self, context: Context) -> bool:
        """Return whether the condition can hold for the call's reading."""
        for check in self.reading_checks:  # noqa: SIM110 - as in `holds`
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
    """The names that conditions may use: the lists of config.yaml, and which tools start an agent."""

    lists: Lists
    agent_tools: frozenset[str]


def compile_all(
    conditions: Conditions, ground: Vocabulary, *, missing: bool, every_path: bool = False
) -> tuple[CompiledCondition, ...]:
    """Compile alternative conditions. `missing` is the answer of a check whose fact could not be read.

    With `every_path`, `paths` and `places` must hold for all paths of the call instead of one. Exceptions are compiled
    so: a patch that also touches a file outside the exception is no exception.

    Raises:
        ValueError: If a pattern cannot be compiled or a list does not exist.
    """
    items = [conditions] if isinstance(conditions, Condition) else conditions
    return tuple(_compile(item, ground, missing=missing, every_path=every_path) for item in items)


def _compile(condition: Condition, ground: Vocabulary, *, missing: bool, every_path: bool) -> CompiledCondition:
    tool = any_of(words(condition.tools, ground.lists)) if condition.tools is not None else None
    needs_agent = condition.agent is not None or condition.spawn_refused_by is not None

    def applies(name: str) -> bool:
        return (
            (tool is None or tool(name))
            and (not needs_agent or name in ground.agent_tools)
            and (not condition.edits_files or is_mcp_tool(name))
        )

    why = "`tools`: another tool"
    if tool is None:
        why = "`agent`: the tool starts no sub-agent" if needs_agent else "`edits_files`: not an MCP tool"
    checks = tuple(_checks(condition, ground.lists, missing=missing, every_path=every_path))
    return CompiledCondition(
        applies,
        why,
        checks,
        reading_checks=tuple(check for check in checks if _by_reading(check) and check.key != HAS_SHELL),
        open_checks=tuple(check for check in checks if not _by_reading(check)),
        line=None if condition.shell is None else demand(condition.shell, ground.lists),
        asks_unread=condition.unread_input is True,
    )


def _by_reading(check: Check) -> bool:
    return check.key.partition(".")[0] in _BY_READING


def _checks(condition: Condition, lists: Lists, *, missing: bool, every_path: bool) -> Iterator[Check]:
    yield from _session_checks(condition, missing=missing)
    yield from _agent_checks(condition, lists)
    if condition.input is not None:
        yield from (input_value(key, value, lists) for key, value in condition.input.items())
    if condition.mentions is not None:
        yield mentions(any_of(words(condition.mentions, lists)))
    if condition.edits_files:
        yield edits()
    if condition.unread_input:
        yield unread()
    if condition.urls is not None:
        yield urls(any_path(words(condition.urls, lists)))
    if condition.shell is not None:
        yield from shell(condition.shell, lists)
    yield from _place_checks(condition, lists, all if every_path else any)


def _place_checks(condition: Condition, lists: Lists, quantifier: Quantifier) -> Iterator[Check]:
    if condition.paths is not None:
        yield paths(any_path(words(condition.paths, lists)), quantifier)
    if condition.places is not None:
        yield places(place_set(condition.places), quantifier)
    if condition.writes_to is not None:
        yield touches("writes_to", place_set(condition.writes_to), Context.written_places, quantifier)
    if condition.reads is not None:
        yield touches("reads", place_set(condition.reads), Context.read_places, quantifier)


def _session_checks(condition: Condition, *, missing: bool) -> Iterator[Check]:
    if condition.background_running_at_least is not None:
        yield background(condition.background_running_at_least, missing=missing)
    if condition.lookup:
        yield lookup()
    if condition.history is not None:
        yield history(condition.history.same_tool_within, missing=missing)
    if condition.edited_by_other:
        yield edited(missing=missing)


def _agent_checks(condition: Condition, lists: Lists) -> Iterator[Check]:
    if condition.outside_agent_tools:
        yield Check(
            "outside_agent_tools", outside_tools, lambda _c: "the agent's roster row lists no tools, or lists this one"
        )
    if condition.spawn_refused_by is not None:
        yield spawn_refused(condition.spawn_refused_by)
    if condition.agent is not None:
        yield from agent(condition.agent, lists)
