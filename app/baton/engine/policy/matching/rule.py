"""A compiled rule, and the part of it that concerns one tool."""

from typing import Any

import msgspec

from baton.engine.policy.matching.conditions import CompiledCondition
from baton.engine.policy.matching.context import Context
from baton.engine.policy.matching.when import When
from baton.engine.policy.matching.wording import fill, task
from baton.engine.policy.rules.model import Decision, RuleFile, RuleTests, Who
from baton.engine.shell.model import Category

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

    @property
    def settled(self) -> bool:
        """Whether the rule's answer follows from the call's reading and folders alone."""
        return self.rule.when is None and all(one.settled for one in (*self.given, *self.unless))

    def for_reading(self, context: Context) -> "RuleCandidate | None":
        """Return the conditions that can still hold for the call's reading; None if the rule cannot match."""
        if self.guesses:
            context.see_guesses(on=True)
            try:
                return self._for_reading(context, None)
            finally:
                context.see_guesses(on=False)
        return self._for_reading(context, context.shell.categories if context.shell else ())

    def _for_reading(self, context: Context, categories: tuple[Category, ...] | None) -> "RuleCandidate | None":
        given = tuple(
            [
                one
                for one in self.given
                # Told here, since most conditions do not get further.
                if (one.categories is None or categories is None or not one.categories.isdisjoint(categories))
                and one.possible(context)
            ]
        )
        if not given:
            return None
        has_shell = context.shell is not None
        unless = tuple([one for one in self.unless if (has_shell or not one.needs_shell) and one.possible(context)])
        if any(exception.settled for exception in unless):
            return None
        return RuleCandidate(self.rule, given, unless, self.guesses)

    def matches(self, context: Context) -> bool:
        """Return whether the rule matches the call."""
        if not self.guesses:
            return self._matches(context)
        context.see_guesses(on=True)
        try:
            matched = self._matches(context)
        finally:
            context.see_guesses(on=False)
        context.found[GUESS] = "yes"
        return matched

    def _matches(self, context: Context) -> bool:
        for condition in self.given:
            if condition.holds(context):
                for exception in self.unless:
                    if exception.holds(context):
                        return False
                when = self.rule.when
                return when is None or when.holds(context)
        return False


def candidate(rule: Rule, tool: str) -> RuleCandidate | None:
    """Return the part of a rule that concerns a tool; None if the rule cannot match its calls."""
    given = tuple(c for c in rule.given if c.applies(tool))
    unless = tuple(c for c in rule.unless if c.applies(tool))
    # An exception without checks names tools only, so it takes every call of this tool out.
    if not given or any(not exception.checks for exception in unless):
        return None
    return RuleCandidate(rule, given, unless)
