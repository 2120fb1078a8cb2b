"""A rule in the form that decides: compiled, immutable. It knows nothing of files."""

from typing import Any

import msgspec

from baton.engine.policy.rules.conditions import CompiledCondition
from baton.engine.policy.rules.context import Context
from baton.engine.policy.rules.model import Decision, RuleFile, RuleTests, Who
from baton.engine.policy.rules.when import When
from baton.engine.policy.rules.wording import fill, task


class Suggestion(msgspec.Struct, frozen=True):
    """What to do instead, if one of `conditions` holds (or there are none)."""

    agent: str
    prompt: str
    text: str
    conditions: tuple[CompiledCondition, ...]


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One rule. `modes` is empty for a rule that always runs; `given` are the conditions of which any must hold.

    `when` must hold, too, where there is one. A rule in `shadow` is asked and has no effect. `file` is what it was compiled from, `source` its path.
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
        """Tell whether the rule has an effect where it matches."""
        return self.enabled and not self.shadow

    @property
    def tests(self) -> RuleTests:
        """The calls that its file tests it with."""
        return self.file.tests

    def suggests_by_reading(self, line_key: str) -> bool:
        """Tell whether what a call names, and its folders, alone decide which suggestion holds.

        `line_key` is the key of its input that holds the shell line, "" for a tool without one.
        """
        return all(condition.told_by_line(line_key) for one in self.suggestions for condition in one.conditions)

    def suggestion(self, context: Context) -> str:
        """The first suggestion whose condition holds, as text."""
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
        """The input keys that the rewrite sets."""
        return {key: fill(text, context.found) for key, text in self.set.items()}


class RuleCandidate(msgspec.Struct, frozen=True):
    """A rule that may speak about a tool, with those of its conditions that apply to the tool."""

    rule: Rule
    given: tuple[CompiledCondition, ...]
    unless: tuple[CompiledCondition, ...]

    @property
    def settled(self) -> bool:
        """Tell whether what the call names, and its folders, alone decide if the rule matches."""
        return self.rule.when is None and all(one.settled for one in (*self.given, *self.unless))

    def for_reading(self, context: Context, programs: frozenset[str]) -> "RuleCandidate | None":
        """Keep what the call's reading, which runs these programs, leaves open; None if the rule has no chance."""
        given = tuple([one for one in self.given if one.possible(context, programs)])
        if not given:
            return None
        unless = tuple([one for one in self.unless if one.possible(context, programs)])
        if any(exception.settled for exception in unless):
            return None
        return RuleCandidate(self.rule, given, unless)

    def matches(self, context: Context) -> bool:
        """Tell whether the rule matches the call."""
        for condition in self.given:
            if condition.holds(context):
                for exception in self.unless:
                    if exception.holds(context):
                        return False
                when = self.rule.when
                return when is None or when.holds(context)
        return False


def candidate(rule: Rule, tool: str) -> RuleCandidate | None:
    """The rule's part that concerns a tool, if any."""
    given = tuple(c for c in rule.given if c.applies(tool))
    unless = tuple(c for c in rule.unless if c.applies(tool))
    if not given or any(not exception.checks for exception in unless):
        return None
    return RuleCandidate(rule, given, unless)
