"""Compile the conditions of a rule into checks, cheapest first, with explanations of mismatches."""

from collections.abc import Callable, Iterable, Iterator
from typing import Literal

import msgspec

from baton.lib.bash.model import Category, Shell
from baton.lib.text.globs import Match, any_of, any_path, is_glob, literal_parts
from baton.lib.text.urls import HINTS
from baton.rules.call.call import is_mcp_tool
from baton.rules.policy.matching import call_checks
from baton.rules.policy.matching.context import Context
from baton.rules.policy.matching.program_checks import Lists, place_set, words
from baton.rules.policy.matching.shell_checks import HAS_SHELL, is_about_writes, shell
from baton.rules.policy.rules.model import Condition, Conditions, ProgramMatch, Programs, ShellMatch

# The minimal demands of a condition on a line: cheap to check, and sufficient to exclude most conditions.

LineFact = Literal["unparsed", "fork_bomb", "exports", "feeds", "writes", "assigns"]
"""Rare properties of lines used by conditions."""


class ProgramKind(msgspec.Struct, frozen=True):
    """A condition's demands on one program's name and categories; None for no demand.

    `names` are the accepted names if none has wildcards; `name` matches by globs; `barred` refuses.
    """

    names: frozenset[str] | None
    name: Match | None
    barred: Match | None
    categories: frozenset[Category] | None

    def fits(self, name: str, categories: tuple[Category, ...]) -> bool:
        """Return whether a program of this name and these categories is of this kind."""
        return (
            (self.names is None or name in self.names)
            and (self.name is None or self.name(name))
            and (self.categories is None or not self.categories.isdisjoint(categories))
            and (self.barred is None or not self.barred(name))
        )


class RequiredTexts(msgspec.Struct, frozen=True):
    """Alternative texts, one required in the line: a whole word, or a part of a word."""

    words: frozenset[str]
    parts: tuple[str, ...]

    def are_in(self, line: "LineSummary") -> bool:
        """Return whether the line has one of them."""
        if not self.words.isdisjoint(line.words):
            return True
        for part in self.parts:  # noqa: SIM110 - this runs for every new line, a generator takes twice as long
            if part in line.text:
                return True
        return False


_URL = RequiredTexts(frozenset(), HINTS)
_A_SLASH = RequiredTexts(frozenset(), ("/",))


class LineSummary:
    """A line in the form compared with demands: its programs, facts, words, and all words as one text."""

    __slots__ = ("facts", "programs", "text", "words")

    def __init__(self, shell: Shell) -> None:
        self.programs = shell.programs
        self.facts = frozenset(_facts_of(shell))
        found: set[str] = set(shell.exports)
        for program in shell.programs:
            found.update(program.argv)
            found.update(program.flags)
        found.update([word.partition("=")[2] for word in found if "=" in word])
        self.words = found
        self.text = "\n".join(found)


class Demand(msgspec.Struct, frozen=True):
    """The demands of a condition on a line: a program of one of these kinds, if any, each fact, and texts."""

    kinds: tuple[ProgramKind, ...] = ()
    facts: frozenset[LineFact] = frozenset()
    texts: tuple[RequiredTexts, ...] = ()

    def is_met(self, line: LineSummary) -> bool:
        """Return whether a line meets the demands besides programs."""
        if self.facts and not self.facts <= line.facts:
            return False
        for texts in self.texts:  # noqa: SIM110 - as in `RequiredTexts.are_in`
            if not texts.are_in(line):
                return False
        return True


def demand(match: ShellMatch, lists: Lists) -> Demand:
    """Return the demands of this condition on a line. Raise UnknownListError."""
    kinds: tuple[ProgramKind, ...] = ()
    texts: list[RequiredTexts] = []
    if not is_about_writes(match):
        kind = _kind(match, lists)
        kinds = () if kind is None else (kind,)
        texts += _program_texts(match, lists)
    if match.only is not None and not kinds:
        # All programs must match one of these, so at least one does.
        kinds = _kinds(match.only, lists)
    if match.exports is not None:
        texts += _texts(words(match.exports, lists))
    return Demand(kinds, frozenset(_facts(match)), tuple(texts))


def _facts_of(shell: Shell) -> Iterator[LineFact]:
    if shell.unparsed:
        yield "unparsed"
    if shell.fork_bomb:
        yield "fork_bomb"
    if shell.exports:
        yield "exports"
    if shell.feeds:
        yield "feeds"
    # A program of this category without a known target writes somewhere, too: `Context.writes`.
    if shell.writes or "file-write" in shell.categories:
        yield "writes"
    for program in shell.programs:
        if program.assigns:
            yield "assigns"
            break


def _facts(match: ShellMatch) -> Iterator[LineFact]:
    asked: dict[LineFact, bool] = {
        "unparsed": match.unparsed is True,
        "fork_bomb": match.fork_bomb is True,
        "exports": match.exports is not None,
        "feeds": match.feeds is not None,
        "assigns": match.assigns is not None,
        "writes": match.writes_to is not None or match.writes_all_of is not None,
    }
    yield from (fact for fact, is_asked in asked.items() if is_asked)


def _kinds(programs: Programs, lists: Lists) -> tuple[ProgramKind, ...]:
    """Return the kinds of alternatives; none if one of them accepts any program."""
    found: list[ProgramKind | None] = []
    for item in [programs] if isinstance(programs, ProgramMatch) else programs:
        matches = [item] if isinstance(item, ProgramMatch) else lists.get(item.removeprefix("$"), [])
        found += [_kind(match, lists) for match in matches if isinstance(match, ProgramMatch)]
    known = tuple(kind for kind in found if kind is not None)
    return known if len(known) == len(found) else ()


def _kind(match: ProgramMatch, lists: Lists) -> ProgramKind | None:
    names: frozenset[str] | None = None
    name: Match | None = None
    if match.program is not None:
        wanted = words(match.program, lists)
        if any(map(is_glob, wanted)):
            name = any_of(wanted)
        else:
            names = frozenset(wanted)
    barred = None if match.program_none is None else any_of(words(match.program_none, lists))
    categories: frozenset[Category] | None = None
    if match.category is not None:
        categories = frozenset([match.category] if isinstance(match.category, str) else match.category)
    if (names, name, barred, categories) == (None, None, None, None):
        return None
    return ProgramKind(names, name, barred, categories)


def _program_texts(match: ProgramMatch, lists: Lists) -> Iterator[RequiredTexts]:
    for asked in (match.flags, match.operands, match.arguments):
        if asked is not None:
            yield from _texts(words(asked, lists))
    for one in match.flags_all or ():
        yield from _texts(words(one, lists))
    if match.urls is not None:
        yield _A_SLASH
        yield _URL
    if match.args is not None:
        # The first word may be the program's name if the line has a path to it.
        starts = [line.split()[1:] for line in words(match.args, lists)]
        if all(starts):
            yield from _texts(max(start, key=_longest_part) for start in starts)


def _texts(globs: Iterable[str]) -> Iterator[RequiredTexts]:
    """Yield the required texts of every match of these globs; nothing if a glob requires none."""
    whole: set[str] = set()
    parts: set[str] = set()
    for glob in globs:
        if not is_glob(glob):
            whole.add(glob)
        elif part := max(literal_parts(glob), key=len):
            parts.add(part)
        else:
            return
    yield RequiredTexts(frozenset(whole), tuple(sorted(parts)))


def _longest_part(glob: str) -> int:
    return max(map(len, literal_parts(glob)))


_BY_READING = frozenset({"shell", "paths", "places", "writes_to", "agent"})
"""Keys of a condition whose answer follows from the call's reading and folders; the answers of others differ between calls."""


class CompiledCondition(msgspec.Struct, frozen=True):
    """A compiled condition: `applies` depends on the tool's name alone, the `checks` on the call, cheapest first.

    `reading_checks` are the checks decided by the call's reading (its line, paths and agent) and folders, except for
    the existence of a line; `open_checks` are the others. Both have two lists: for calls in general, and for a shell line
    alone, which decides what it mentions and looks up, too. `line` are the minimal demands on a line; None for a
    condition without one. `asks_unread` is True for a condition on unread inputs.
    """

    applies: Callable[[str], bool]
    why_not_applies: str
    checks: tuple[call_checks.Check, ...]
    reading_checks: tuple[tuple[call_checks.Check, ...], tuple[call_checks.Check, ...]]
    open_checks: tuple[tuple[call_checks.Check, ...], tuple[call_checks.Check, ...]]
    line: Demand | None
    asks_unread: bool

    def settled_by_line(self, key: str) -> bool:
        """Return whether the reading decides, for a tool with its shell line under this key of its input."""
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
        for check in self.reading_checks[context.line_alone is not None]:  # noqa: SIM110 - as in `holds`
            if not check.holds(context):
                return False
        return True

    def miss(self, context: Context) -> "Miss | None":
        """Return the failed check; None if the condition holds."""
        held = 0
        for check in self.checks:
            held += check.progress(context) if check.progress else 0
            if not check.holds(context):
                return Miss(held, f"`{check.key}`: {check.why(context)}")
            held += 1
        return None


class Miss(msgspec.Struct, frozen=True):
    """A failed condition: the number of passed tests before the first failed one, and its reason."""

    held: int
    why: str


class Vocabulary(msgspec.Struct, frozen=True):
    """The names usable in conditions: the lists of config.yaml, and the agent tools."""

    lists: Lists
    agent_tools: frozenset[str]


def compile_all(
    conditions: Conditions, ground: Vocabulary, *, missing: bool, every_path: bool = False
) -> tuple[CompiledCondition, ...]:
    """Compile alternative conditions. `missing` is the answer of a check with an unreadable fact.

    With `every_path`, `paths` and `places` must hold for all paths of the call instead of one. It is for exceptions: a
    patch with a file outside the exception is not exempt.

    Raises:
        ValueError: If a pattern cannot be compiled or a list is unknown.
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
        reading_checks=(
            tuple(check for check in checks if _by_reading(check) and check.key != HAS_SHELL),
            tuple(check for check in checks if _by_line(check, condition) and check.key != HAS_SHELL),
        ),
        open_checks=(
            tuple(check for check in checks if not _by_reading(check)),
            tuple(check for check in checks if not _by_line(check, condition)),
        ),
        line=None if condition.shell is None else demand(condition.shell, ground.lists),
        asks_unread=condition.unread_input is True,
    )


def _by_reading(check: call_checks.Check) -> bool:
    return check.key.partition(".")[0] in _BY_READING


def _by_line(check: call_checks.Check, condition: Condition) -> bool:
    return _by_reading(check) or check.key == "lookup" or (check.key == "mentions" and condition.shell is not None)


def _checks(condition: Condition, lists: Lists, *, missing: bool, every_path: bool) -> Iterator[call_checks.Check]:
    yield from _session_checks(condition, missing=missing)
    yield from _agent_checks(condition, lists)
    if condition.input is not None:
        yield from (call_checks.input_value(key, value, lists) for key, value in condition.input.items())
    if condition.mentions is not None:
        yield call_checks.mentions(any_of(words(condition.mentions, lists)), of_line=condition.shell is not None)
    if condition.edits_files:
        yield call_checks.edits()
    if condition.unread_input:
        yield call_checks.unread()
    if condition.urls is not None:
        yield call_checks.urls(any_path(words(condition.urls, lists)))
    if condition.shell is not None:
        yield from shell(condition.shell, lists)
    yield from _place_checks(condition, lists, all if every_path else any)


def _place_checks(
    condition: Condition, lists: Lists, quantifier: call_checks.Quantifier
) -> Iterator[call_checks.Check]:
    if condition.paths is not None:
        yield call_checks.paths(any_path(words(condition.paths, lists)), quantifier)
    if condition.places is not None:
        yield call_checks.places(place_set(condition.places), quantifier)
    if condition.writes_to is not None:
        yield call_checks.touches("writes_to", place_set(condition.writes_to), Context.written_places, quantifier)
    if condition.reads is not None:
        yield call_checks.touches("reads", place_set(condition.reads), Context.read_places, quantifier)


def _session_checks(condition: Condition, *, missing: bool) -> Iterator[call_checks.Check]:
    if condition.background_running_at_least is not None:
        yield call_checks.background(condition.background_running_at_least, missing=missing)
    if condition.lookup:
        yield call_checks.lookup()
    if condition.history is not None:
        yield call_checks.history(condition.history.same_tool_within, missing=missing)
    if condition.edited_by_other:
        yield call_checks.edited(missing=missing)


def _agent_checks(condition: Condition, lists: Lists) -> Iterator[call_checks.Check]:
    if condition.outside_agent_tools:
        yield call_checks.Check(
            "outside_agent_tools",
            call_checks.outside_tools,
            lambda _c: "the agent's roster row lists no tools, or lists this one",
        )
    if condition.spawn_refused_by is not None:
        yield call_checks.spawn_refused(condition.spawn_refused_by)
    if condition.agent is not None:
        yield from call_checks.agent(condition.agent, lists)
