"""What a call names, and what the rules make of it: worked out once, remembered for the next such call.

It puts nothing into words for a session: `evaluate` does.
"""

from collections.abc import Iterator
from typing import Any, cast

import msgspec

from baton.engine.call.verdict import Level, RuleHit, VerdictEffect
from baton.engine.policy.rules.context import Context
from baton.engine.policy.rules.rule import RuleCandidate
from baton.engine.shell.model import Shell

_CACHED_FOLDERS = 64
_CACHED_NAME = 1024
_CACHED_OUTCOMES = 8

OpenRule = tuple[RuleCandidate, dict[str, str] | None]
"""A rule that may match a call, and what it found there if the call's reading alone tells that it matches."""
Findings = tuple[tuple[str, str], ...] | None
"""What a rule found that had to be asked, by name; None if it did not match."""
_Key = tuple[str, str, Level, bool, str, str]


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The rules' weighed answer, with the deciding rule's texts filled in; no session and no input is in it.

    `effect` is "abstain" and `rule` "" where no rule spoke. `reason` is the text of a refusal or a question around the
    words on who decided about whom, None for none. `changes` are the input keys that rewrites set.
    """

    effect: VerdictEffect = "abstain"
    rule: str = ""
    hits: tuple[RuleHit, ...] = ()
    reason: tuple[str, str] | None = None
    guidance: str = ""
    suggestion: str = ""
    changes: dict[str, Any] = {}
    message: str = ""


class LiveRules:
    """The rules that match such a call, or may.

    `outcomes` keeps what came of them, by what those found that the reading leaves open: one each, None for a rule
    that did not match. It stays empty where suggestions depend on more than that.
    """

    __slots__ = ("open", "outcomes", "repeats", "rules")

    def __init__(self, rules: tuple[OpenRule, ...], line_key: str) -> None:
        self.rules = rules
        self.open = tuple(one for one, found in rules if found is None)
        self.repeats = all(one.rule.suggests_by_reading(line_key) for one, _ in rules)
        self.outcomes: dict[tuple[Findings, ...], Outcome] = {}

    def keep(self, found: tuple[Findings, ...], outcome: Outcome) -> None:
        """Remember an outcome, if what was found tells it and there is room."""
        if self.repeats and len(self.outcomes) < _CACHED_OUTCOMES:
            self.outcomes[found] = outcome


class Reading:
    """What a call names (a shell line, read; paths; an agent), and the rules that this leaves a chance.

    `as_given` tells that the line is the very text that the tool's input holds.
    """

    __slots__ = ("_as_given", "_live", "paths", "programs", "shell")

    def __init__(self, shell: Shell | None, paths: tuple[str, ...], *, as_given: bool) -> None:
        self.shell = shell
        self.paths = paths
        self._as_given = as_given
        self.programs = frozenset(program.name for program in shell.programs) if shell else frozenset[str]()
        self._live: dict[_Key, LiveRules] = {}

    def live(self, context: Context) -> LiveRules:
        """The rules that match such a call of such a client, or may, from the caller's folders."""
        call = context.call
        root = context.root
        key = (call.tool_name, call.client, context.facts.level, call.is_subagent, call.cwd, root)
        found = self._live.get(key)
        if found is None:
            line_key = context.policies.config.shell_tools.get(call.tool_name, "") if self._as_given else ""
            found = LiveRules(tuple(self._ask(context)), line_key)
            if len(self._live) < _CACHED_FOLDERS and len(call.client) + len(call.cwd) + len(root) < _CACHED_NAME:
                self._live[key] = found
        return found

    def _ask(self, context: Context) -> Iterator[OpenRule]:
        call = context.call
        for one in context.policies.candidates(call.tool_name, context.facts.level, subagent=call.is_subagent):
            open_part = one.for_reading(context, self.programs)
            if open_part is None:
                continue
            context.found = {}
            if not open_part.settled:
                yield open_part, None
            elif open_part.matches(context):
                yield open_part, context.found


def live_rules(context: Context) -> LiveRules:
    """Return the rules that match a context's call, or may."""
    return cast("Reading", context.reading).live(context)
