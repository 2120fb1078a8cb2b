"""A compiled rule, and the part of it that concerns one tool."""

from typing import Any

import msgspec

from baton.engine.policy.matching.checks.call_checks import Check
from baton.engine.policy.matching.conditions import CompiledCondition
from baton.engine.policy.matching.context import Context
from baton.engine.policy.matching.when import When
from baton.engine.policy.matching.wording import fill, task
from baton.engine.policy.rules.model import Decision, RuleFile, RuleTests, Who

GUESS = "guess"
"""In what a rule found: it matched only a program that an unknown one may run."""


class Suggestion(msgspec.Struct, frozen=True):
    """What to do instead. It is offered if one of `conditions` holds, or if there are none."""

    agent: str
    prompt: str
    text: str
    conditions: tuple[CompiledCondition, ...]


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One rule. It matches if one of `given` holds, none of `unless` does, and `when` holds, if there is one.

    `modes` is empty for a rule that always runs. A rule in `shadow` is recorded where it matches and has no effect.
    `file` is what the rule was compiled from, `source` the path of that file.
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
        """Whether the rule has an effect where it matches."""
        return self.enabled and not self.shadow

    @property
    def tests(self) -> RuleTests:
        """The calls that the rule's file tests it with."""
        return self.file.tests

    def suggests_by_reading(self, line_key: str) -> bool:
        """Return whether the suggestion follows from the call's reading and folders alone.

        `line_key` is the input key that holds the shell line, "" for a tool without one.
        """
        return all(condition.settled_by_line(line_key) for one in self.suggestions for condition in one.conditions)

    def suggestion(self, context: Context) -> str:
        """Return the text of the first suggestion whose condition holds; "" for none."""
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
        """Return the input keys that the rewrite sets, with placeholders filled in."""
        return {key: fill(text, context.found) for key, text in self.set.items()}


class RuleCandidate(msgspec.Struct, frozen=True):
    """A rule that may match calls of a tool, with those of its conditions that apply to the tool.

    With `guesses` it is asked of the line with what unknown programs may run.
    """

    rule: Rule
    given: tuple[CompiledCondition, ...]
    unless: tuple[CompiledCondition, ...]
    guesses: bool = False

    def live(self, context: Context) -> "LiveRule | None":
        """Return what is left to ask of the rule for the call's reading; None if the rule cannot match."""
        if not self.guesses:
            return self._live(context)
        context.see_guesses(on=True)
        try:
            return self._live(context)
        finally:
            context.see_guesses(on=False)

    def matches(self, context: Context) -> bool:
        """Return whether the rule matches the call."""
        live = self.live(context)
        return live is not None and (live.found is not None or live.matches(context))

    def _live(self, context: Context) -> "LiveRule | None":
        given: list[OpenCondition] = []
        has_line = context.shell is not None
        for one in self.given:
            context.found = {}
            if (has_line or one.line is None) and one.possible(context):
                given.append((context.found, one.open_checks))
                # Nothing that stands behind a condition that holds is asked.
                if one.settled:
                    break
        if not given:
            return None
        unless = [one.open_checks for one in self.unless if (has_line or one.line is None) and one.possible(context)]
        if not all(unless):
            return None
        found, checks = given[0]
        if self.guesses:
            found[GUESS] = "yes"
        is_open = bool(checks or unless or self.rule.when is not None)
        return LiveRule(self.rule, None if is_open else found, tuple(given), tuple(unless), self.guesses)


OpenCondition = tuple[dict[str, str], tuple[Check, ...]]
"""A condition that may hold for a reading: what it has found in that, and the checks that each call is asked."""


class LiveRule(msgspec.Struct, frozen=True):
    """A rule that matches the calls of one reading, or may.

    `found` is what it found; None if each call must be asked whether one of `given` and none of `unless` holds.
    """

    rule: Rule
    found: dict[str, str] | None
    given: tuple[OpenCondition, ...]
    unless: tuple[tuple[Check, ...], ...]
    guesses: bool

    def matches(self, context: Context) -> bool:
        """Return whether the rule matches the call."""
        if not self.guesses:
            return self._matches(context)
        context.see_guesses(on=True)
        try:
            return self._matches(context)
        finally:
            context.see_guesses(on=False)

    def _matches(self, context: Context) -> bool:
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


def _hold(checks: tuple[Check, ...], context: Context) -> bool:
    for check in checks:  # noqa: SIM110 - a generator costs more than the checks; this runs for every call
        if not check.holds(context):
            return False
    return True


def candidate(rule: Rule, tool: str) -> RuleCandidate | None:
    """Return the part of a rule that concerns a tool; None if the rule cannot match its calls."""
    given = tuple(c for c in rule.given if c.applies(tool))
    unless = tuple(c for c in rule.unless if c.applies(tool))
    # An exception without checks names tools only, so it takes every call of this tool out.
    if not given or any(not exception.checks for exception in unless):
        return None
    return RuleCandidate(rule, given, unless)
