"""A compiled rule, and its part for one tool."""

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from itertools import chain
from typing import Any, Literal, TypeVar

import msgspec

from baton.lib.bash.model import Category, Shell
from baton.lib.bash.programs.listing import RUN_UNASKED
from baton.lib.bash.read import read
from baton.lib.bash.tables.tables import ShellTables
from baton.lib.text.globs import any_of
from baton.lib.text.prompt_files import held_lines, is_prompt_file, written
from baton.lib.text.urls import file_path
from baton.rules.agents.rosters import AgentCall, Roster, Rosters
from baton.rules.call.call import MOST_PATHS, ToolCall, input_paths, is_mcp_tool, parts
from baton.rules.call.commands import SHELL_KEYS, command_of, in_shell
from baton.rules.call.edited_files import edited_texts
from baton.rules.call.mcp_writers import only_looks
from baton.rules.call.places.places import Locator
from baton.rules.call.verdict import Level, RuleHit, Verdict, VerdictEffect
from baton.rules.policy.matching.call_checks import COLLECTED_MARK, LOOKUP_MARK, Check, Lookups
from baton.rules.policy.matching.conditions import CompiledCondition, LineFact, LineSummary, ProgramKind, RequiredTexts
from baton.rules.policy.matching.context import Context
from baton.rules.policy.matching.when import When
from baton.rules.policy.matching.wording import fill, task
from baton.rules.policy.rules.files import NO_LOCKS, Locks, PolicyFiles
from baton.rules.policy.rules.model import Config, Decision, RuleFile, RuleTests, Who

_Answer = TypeVar("_Answer")
GUESS = "guess"  # in a rule's findings: it matched only the possible command of an unknown program


class Suggestion(msgspec.Struct, frozen=True):
    """An alternative action. It is offered if one of `conditions` holds, or if there are none."""

    agent: str
    prompt: str
    text: str
    conditions: tuple[CompiledCondition, ...]


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One rule. It matches if one of `given` holds, none of `unless` does, and `when`, if any, holds.

    `modes` is empty for a rule that always runs. A rule in `shadow` records its matches without effect. `file` is the
    rule's uncompiled form, `source` the path of that file.
    """

    id: str
    description: str
    decision: Decision
    who: Who
    modes: tuple[str, ...]
    enabled: bool
    shadow: bool
    given: tuple[CompiledCondition, ...]
    unless: tuple[CompiledCondition, ...]
    when: When | None
    reason: str
    set: dict[str, str]
    suggestions: tuple[Suggestion, ...]
    file: RuleFile
    source: str

    @property
    def effective(self) -> bool:
        """Whether the rule's matches have an effect."""
        return self.enabled and not self.shadow

    @property
    def tests(self) -> RuleTests:
        """The test calls in the rule's file."""
        return self.file.tests

    def suggests_by_reading(self, line_key: str) -> bool:
        """Return whether the call's reading and folders alone decide the suggestion.

        `line_key` is the input key of the shell line, "" for a tool without one.
        """
        return all(condition.settled_by_line(line_key) for one in self.suggestions for condition in one.conditions)

    def suggestion(self, context: Context) -> str:
        """Return the text of the first suggestion with a true condition, or ""."""
        tool = context.call.tool_name
        for one in self.suggestions:
            if not one.conditions or any(c.applies(tool) and c.holds(context) for c in one.conditions):
                return (
                    fill(one.text, context.found)
                    if one.text
                    else task(one.agent, fill(one.prompt, context.found), context.call.client)
                )
        return ""

    def changes(self, context: Context) -> dict[str, Any]:
        """Return the input keys set by the rewrite, with placeholders filled in."""
        return {key: fill(text, context.found) for key, text in self.set.items()}


class RuleCandidate(msgspec.Struct, frozen=True):
    """A possible rule for calls of a tool, with its conditions for the tool.

    With `guesses`, the line includes the possible commands of unknown programs.
    """

    rule: Rule
    given: tuple[CompiledCondition, ...]
    unless: tuple[CompiledCondition, ...]
    guesses: bool = False

    def live(self, context: Context) -> "LiveRule | None":
        """Return the remaining checks of the rule for the call's reading; None if it cannot match."""
        return _seeing_guesses(self._live, context) if self.guesses else self._live(context)

    def matches(self, context: Context) -> bool:
        """Return whether the rule matches the call."""
        live = self.live(context)
        return live is not None and (live.found is not None or live.matches(context))

    def _live(self, context: Context) -> "LiveRule | None":
        given: list[OpenCondition] = []
        has_line, is_alone = context.shell is not None, context.line_alone is not None
        for one in self.given:
            context.found = {}
            if (has_line or one.line is None) and one.possible(context):
                checks = one.open_checks[is_alone]
                given.append((context.found, checks))
                # Conditions after one that holds are not checked.
                if not checks:
                    break
        if not given:
            return None
        unless = [
            one.open_checks[is_alone] for one in self.unless if (has_line or one.line is None) and one.possible(context)
        ]
        if not all(unless):
            return None
        found, checks = given[0]
        if self.guesses:
            found[GUESS] = "yes"
        is_open = bool(checks or unless or self.rule.when is not None)
        return LiveRule(self.rule, None if is_open else found, tuple(given), tuple(unless), self.guesses)


OpenCondition = tuple[dict[str, str], tuple[Check, ...]]
"""A possible condition of a reading: its findings so far, and the checks for each call."""


class LiveRule(msgspec.Struct, frozen=True):
    """A rule that matches the calls of one reading, or may.

    `found` are its findings; None if each call must be checked against `given` and `unless`.
    """

    rule: Rule
    found: dict[str, str] | None
    given: tuple[OpenCondition, ...]
    unless: tuple[tuple[Check, ...], ...]
    guesses: bool

    def repeated(self) -> Iterator[tuple[Rule, int, tuple[Check, ...]]]:
        """Yield the rule, how many earlier calls decide whether it matches, and its other checks, if nothing else does."""
        checks = self.given[0][1] if len(self.given) == 1 else ()
        past = [one for one in checks if one.within]
        if len(past) == 1 and not (self.unless or self.guesses or self.rule.when):
            yield self.rule, past[0].within, tuple([one for one in checks if one is not past[0]])

    def matches(self, context: Context) -> bool:
        """Return whether the rule matches the call."""
        if self.guesses and not context.guesses:
            return _seeing_guesses(self.matches, context)
        for found, checks in self.given:
            if _hold(checks, context):
                for exception in self.unless:
                    if _hold(exception, context):
                        return False
                context.found |= found
                if self.guesses:
                    context.found[GUESS] = "yes"
                when = self.rule.when
                return when is None or when.holds(context)
        return False


def _seeing_guesses(ask: Callable[[Context], _Answer], context: Context) -> _Answer:
    context.see_guesses(on=True)
    try:
        return ask(context)
    finally:
        context.see_guesses(on=False)


def _hold(checks: tuple[Check, ...], context: Context) -> bool:
    for check in checks:  # noqa: SIM110 - a generator costs more than the checks; this runs for every call
        if not check.holds(context):
            return False
    return True


def candidate(rule: Rule, tool: str) -> RuleCandidate | None:
    """Return a rule's part for a tool; None if the rule cannot match its calls."""
    given = tuple(c for c in rule.given if c.applies(tool))
    unless = tuple(c for c in rule.unless if c.applies(tool))
    # An exception without checks names tools only, so it excludes every call of this tool.
    if not given or any(not exception.checks for exception in unless):
        return None
    return RuleCandidate(rule, given, unless)


# Index rules by the content of shell lines, so a new line does not check every rule.

_CACHED_KINDS = 4_096
_LONGEST_NAMES = 256
_NONE = frozenset[int]()
_KindOfLine = Literal["no line", "any line", "unread"] | LineFact
_Asking = tuple[int, CompiledCondition, bool, tuple[RequiredTexts, ...]]
"""A condition: the place of its rule, itself, whether it is an exception, and the texts that it needs."""


class Candidates:
    """The possible rules for calls of a tool at a level, ordered by id.

    The conditions of all rules are numbered in one order. A condition on a program is found by the name or the
    categories of the line's programs, another by a fact of the line; one without either by every line.
    """

    def __init__(self, rules: tuple[RuleCandidate, ...]) -> None:
        self.rules = rules
        # The exceptions of a rule come right after its conditions. Those without a program are checked once a condition
        # is reached.
        self._numbered: list[_Asking] = []
        self._other_exceptions: list[tuple[CompiledCondition, ...]] = []
        for at, candidate in enumerate(rules):
            found = [one for one in candidate.unless if one.line is not None and one.line.kinds]
            conditions = [(one, False) for one in candidate.given] + [(one, True) for one in found]
            self._numbered += [(at, one, out, () if one.line is None else one.line.texts) for one, out in conditions]
            self._other_exceptions.append(tuple([one for one in candidate.unless if one not in found]))
        self._by_key: dict[str, set[int]] = {}
        self._kinds = _Kinds()
        self._known_kinds = lru_cache(maxsize=_CACHED_KINDS)(self._kinds.of)
        self._known: dict[tuple[object, ...], tuple[_Asking, ...]] = {}
        for number, (_, condition, _, _) in enumerate(self._numbered):
            if condition.line is not None:
                for kind in condition.line.kinds:
                    self._kinds.add(number, kind)
            for key in _keys(condition):
                self._by_key.setdefault(key, set()).add(number)

    def reached(self, shell: Shell | None, *, guesses: bool = False, unread: bool = False) -> Iterator[RuleCandidate]:
        """Yield the possible rules for a call, each with its possible conditions.

        Args:
            shell: The call's line, None for a call without one.
            guesses: Whether the line has guesses.
            unread: Whether the input may exceed the read limits.
        """
        line = None if shell is None else LineSummary(shell)
        found: dict[int, tuple[list[CompiledCondition], list[CompiledCondition]]] = {}
        for at, condition, is_exception, texts in self._asking(line, unread=unread):
            for one in texts:
                if line is None or not one.are_in(line):
                    break
            else:
                found.setdefault(at, ([], []))[is_exception].append(condition)
        for at, (given, unless) in found.items():
            if given:
                others = self._other_exceptions[at]
                unless += [one for one in others if one.line is None or (line is not None and one.line.is_met(line))]
                yield RuleCandidate(self.rules[at].rule, tuple(given), tuple(unless), guesses)

    def _asking(self, line: LineSummary | None, *, unread: bool) -> tuple[_Asking, ...]:
        """Return the conditions for lines with these programs and facts, but for their texts."""
        programs, facts = ((), frozenset[LineFact]()) if line is None else (line.programs, line.facts)
        kinds = [(program.name, program.categories) for program in programs]
        key = (line is None, unread, facts, *kinds)
        found = self._known.get(key)
        if found is None:
            keys = ("no line" if line is None else "any line", *facts, *(("unread",) if unread else ()))
            # Names come from lines: without limits, invented ones would fill the memory.
            is_short = sum([len(name) + 1 for name, _ in kinds]) <= _LONGEST_NAMES
            of = self._known_kinds if is_short else self._kinds.of
            numbers = set[int]().union(*[self._by_key.get(one, _NONE) for one in keys], *[of(*kind) for kind in kinds])
            asked = [(one, one[1].line) for one in map(self._numbered.__getitem__, sorted(numbers))]
            found = tuple([one for one, needs in asked if needs is None or (line is not None and needs.facts <= facts)])
            if is_short:
                if len(self._known) >= _CACHED_KINDS:
                    self._known.clear()
                self._known[key] = found
        return found


class _Kinds:
    def __init__(self) -> None:
        self._by_name: dict[str, list[tuple[int, ProgramKind]]] = {}
        self._by_category: dict[Category, list[tuple[int, ProgramKind]]] = {}
        self._others: list[tuple[int, ProgramKind]] = []

    def add(self, number: int, kind: ProgramKind) -> None:
        if kind.names is not None:
            for name in kind.names:
                self._by_name.setdefault(name, []).append((number, kind))
        elif kind.name is None and kind.categories is not None:
            for category in kind.categories:
                self._by_category.setdefault(category, []).append((number, kind))
        else:
            self._others.append((number, kind))

    def of(self, name: str, categories: tuple[Category, ...]) -> frozenset[int]:
        """Return the conditions on a program of this name and these categories."""
        asking = [*self._by_name.get(name, ()), *self._others]
        for category in categories:
            asking += self._by_category.get(category, ())
        return frozenset([number for number, kind in asking if kind.fits(name, categories)])


def _keys(condition: CompiledCondition) -> Iterator[_KindOfLine]:
    """Yield the prerequisites of a condition without a program."""
    line = condition.line
    if condition.asks_unread:
        yield "unread"
    elif line is None:
        yield "no line"
        yield "any line"
    elif not line.kinds:
        yield min(line.facts, default="any line")


_CACHED_FOLDERS = 64
"""Maximum cached combinations of tool, client, level, folders and installed paths for one reading."""
_CACHED_OUTCOMES = 8

Findings = tuple[tuple[str, str], ...] | None
"""The findings of a checked rule, as (placeholder, text) pairs; None without a match."""
_Key = tuple[str, str, Level, bool, str, str, tuple[str, ...], str, bool]


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of all rules together, without parts of the session or the input, so it is cacheable.

    `effect` is "abstain" and `rule` "" if no rule matched. `reason` is the text of a refusal or a question, in two
    parts, with `wording.where` between them. `changes` are the input keys set by rewrites.
    """

    effect: VerdictEffect = "abstain"
    rule: str = ""
    hits: tuple[RuleHit, ...] = ()
    reason: tuple[str, str] | None = None
    guidance: str = ""
    suggestion: str = ""
    changes: dict[str, Any] = {}
    message: str = ""
    notice: str = ""


class LiveRules:
    """The rules that match such a call, or may. `open` are those to check for each call.

    `stopping` are the rules that refuse or ask without guesses if one of some last calls was like this, each with their
    number and its other checks; the first ones do so whatever the session did before, so theirs is 0.
    `outcomes` caches the outcome by the open rules' findings. It stays empty if a suggestion depends on more than the
    reading (`repeats` is False): equal findings could then lead to another suggestion. `verdicts` caches the outcomes
    equal for each call, as verdicts.
    """

    __slots__ = ("open", "outcomes", "repeats", "rules", "stopping", "verdicts")

    def __init__(self, rules: tuple[LiveRule, ...], line_key: str) -> None:
        self.rules = rules
        stopping = [one for one in rules if one.rule.decision in {"deny", "ask"} and not one.rule.shadow]
        sure = [(one.rule, 0, ()) for one in stopping if one.found is not None and not one.guesses]
        self.stopping = (*sure, *(found for one in stopping for found in one.repeated()))
        self.open = tuple([one for one in rules if one.found is None])
        self.repeats = all(one.rule.suggests_by_reading(line_key) for one in rules)
        self.outcomes: dict[tuple[Findings, ...], Outcome] = {}
        self.verdicts: dict[tuple[Findings, ...], Verdict] = {}

    def keep(self, found: tuple[Findings, ...], outcome: Outcome) -> None:
        """Cache an outcome if it depends on the findings alone and there is room."""
        if self.repeats and len(self.outcomes) < _CACHED_OUTCOMES:
            self.outcomes[found] = outcome

    def keep_verdict(self, found: tuple[Findings, ...], verdict: Verdict) -> None:
        """Cache the verdict of a cached outcome."""
        if found in self.outcomes:
            self.verdicts[found] = verdict


class Reading:
    """A call's content (its shell line, read; its paths; its agent), and its possible rules.

    `shell` has no guesses; `guessed` is the line with them, None if there are none. `as_given` is True if the line is
    the text in the tool's input, False if it was joined from a list of arguments. `is_held` is True if the line is part
    of a skill or a command written by the call.
    """

    __slots__ = ("_live", "as_given", "guessed", "is_held", "known", "paths", "shell")

    def __init__(self, shell: Shell | None, paths: tuple[str, ...], *, as_given: bool) -> None:
        has_guesses = shell is not None and shell.programs != () and shell.programs[-1].guess
        self.guessed = shell if has_guesses else None
        self.shell = shell.without_guesses() if shell is not None and has_guesses else shell
        self.paths = paths
        self.as_given = as_given
        self.is_held = shell is not None and not as_given and any(map(is_prompt_file, paths))
        self.known: dict[tuple[object, ...], Any] = {}
        self._live: dict[_Key, LiveRules] = {}

    def live(self, context: Context) -> LiveRules:
        """Return the rules that match the call, or may, for this client and these folders."""
        call = context.call
        root = context.root
        key = (
            call.tool_name,
            call.client,
            context.facts.level,
            call.is_subagent,
            call.cwd,
            root,
            call.worktrees,
            context.facts.installed,
            context.line_alone is not None,
        )
        found = self._live.get(key)
        if found is None:
            # For a joined line, `input.command` is a list: a rule's check of it does not follow from the line.
            line_key = context.policies.config.shell_tools.get(call.tool_name, "") if self.as_given else ""
            found = LiveRules(tuple(self._ask(context)), line_key)
            if len(self._live) < _CACHED_FOLDERS and len(call.client) + len(call.cwd) + len(root) < _CACHED_NAME:
                self._live[key] = found
        return found

    def _ask(self, context: Context) -> Iterator[LiveRule]:
        call = context.call
        candidates: Candidates = context.policies.candidates(
            call.tool_name, context.facts.level, subagent=call.is_subagent
        )
        unread = len(self.paths) > MOST_PATHS or is_mcp_tool(call.tool_name)
        if self.shell is None and call.tool_name in context.policies.config.shell_tools:
            unread = True
        reached = candidates.reached(self.shell, unread=unread)
        if self.guessed is not None:
            guessed = candidates.reached(self.guessed, guesses=True, unread=unread)
            reached = chain(reached, (one for one in guessed if _sees_guesses(one)))
        for one in reached:
            live = one.live(context)
            if live is not None:
                yield live


def _sees_guesses(candidate: RuleCandidate) -> bool:
    """Return whether a rule is checked against guesses: one that always runs and stops calls."""
    return not candidate.rule.modes and candidate.rule.decision in {"deny", "ask"}


def live_rules(context: Context) -> LiveRules:
    """Return the rules that match the context's call, or may. What its session has done changes none of them."""
    if context.live is None:
        reading: Any = context.reading
        context.live = reading.live(context)
    return context.live  # type: ignore[no-any-return]


_CACHED_TEXT = 4096
"""Maximum characters of line, paths and agent together; longer calls are not cached."""
_CACHED_TOOLS = 1024
_CACHED_NAME = 1024


class Shells:
    """A cache of shell lines read by these tables, shared by all policy sets with the same tables."""

    def __init__(self, tables: ShellTables) -> None:
        self.tables = tables
        self.read: Callable[[str], Shell] = lru_cache(maxsize=1_024)(partial(read, tables))


class PolicySet:
    """The rules and other data for the engine's decisions.

    `revision` is a hash of all texts, `shell_revision` of the shell tables alone. `parsed` are the set's source files;
    `load.extend` lays narrower layers over them. `locks` are the locked rules, possibly with unlocks for the set's
    users.
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
        """`like` is a set to share equal globs and lists with: most layers change none of them."""
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
        """Whether any enabled rule needs recent editors of the file; otherwise they are not searched."""
        self._never_block = any_of(config.never_block)
        self._candidates: dict[tuple[str, Level, bool], Candidates] = {}
        self._reading = _remembered(shells)
        self._latest_long: tuple[tuple[str | None, bool, tuple[str, ...], str | None, str], Reading] | None = None

    def only_looks(self, tool: str) -> bool:
        """Return whether a tool looks things up and changes no files, by the list of such tools or by its name."""
        return self.lookups.is_tool(tool) or (is_mcp_tool(tool) and only_looks(tool))

    def reading(self, call: ToolCall, agent: AgentCall | None) -> Reading:
        """Return a call's content, cached if possible. `agent` is set for a call starting a sub-agent."""
        objects = parts(call.tool_input)
        key = self.config.shell_tools.get(call.tool_name)
        given = None if key is None else call.tool_input.get(key)
        if given and isinstance(given, str) and call.tool_input.keys() <= SHELL_KEYS and given[:1] not in "[{":
            line: str | None = given
        elif call.tool_name in self.config.patch_tools:
            line = None
        else:
            line = command_of(call.tool_name, call.tool_input, is_shell=key is not None, parts=objects)
        if line is not None and call.tool_name != "Bash":
            line = in_shell(call.tool_name, line)
        paths = input_paths(self.config.patch_tools, self.path_keys, call, objects)
        if line is None and paths and not self.only_looks(call.tool_name):
            line = held_lines(paths, call.tool_input) or self._start_up(call, paths)
        # The model is part of the cache key: it differs between the callers of such an agent.
        name, model = (agent.agent, f"{agent.model}\n{agent.own_model}\n{call.models}") if agent else (None, "")
        if len(line or "") + sum(map(len, paths)) + len(name or "") + len(model) <= _CACHED_TEXT:
            return self._reading(line, line == given, paths, name, model)
        # A call is read for its history and again for its rules; only the latest long one is kept, for its size.
        named = (line, line == given, paths, name, model)
        latest = self._latest_long
        if latest is None or latest[0] != named:
            shell = None if line is None else read(self.tables, line)
            latest = self._latest_long = named, Reading(shell, paths, as_given=line == given)
        return latest[1]

    def _start_up(self, call: ToolCall, paths: tuple[str, ...]) -> str | None:
        """Return the shell script that a call writes into git's hooks and a shell's start files, if it can be read."""
        if not any(map(RUN_UNASKED.search, paths)):
            return None
        texts = [one.text for one in edited_texts(call.tool_name, call.tool_input) if RUN_UNASKED.search(one.path)]
        if is_mcp_tool(call.tool_name):
            texts = texts or [
                text for text in written(call.tool_input) if text not in paths and file_path(text) not in paths
            ]
        line = "\n".join(
            [text for text in texts if text[:2] != "#!" or text.partition("\n")[0].rstrip().endswith("sh")]
        )
        return line if line and not read(self.tables, line).unparsed else None

    def history_name(self, context: Context) -> str:
        """Return a call's name for the session's history: the tool, with a mark if its name does not say what it did."""
        name = context.facts.call.tool_name
        if self._never_block(name):
            return name
        if self.lookups.is_tool(name):
            return name if self.lookups.of_tool(context) else f"{name}{COLLECTED_MARK}"
        return f"{name}{LOOKUP_MARK}" if context.is_lookup else name

    def candidates(self, tool: str, level: Level, *, subagent: bool) -> Candidates:
        """Return the enabled rules for calls of a tool at a level."""
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
        """Return the reason for a rule not to concern such calls at all, or ""."""
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
    """Return a cached function for reading calls.

    It is not a method of the set: a method's cache references the set, and would keep a replaced one alive.
    """

    @lru_cache(maxsize=1_024)
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
    conditions = (*rule.given, *rule.unless, *(c for one in rule.suggestions for c in one.conditions))
    return any(check.key == key for condition in conditions for check in condition.checks)
