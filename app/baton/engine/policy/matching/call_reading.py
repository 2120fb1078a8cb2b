"""Cache: which rules can match a call, per command line and folder, and what came of them."""

from collections.abc import Iterator
from itertools import chain
from typing import Any, cast

import msgspec

from baton.engine.call.mcp_tools import is_mcp_tool
from baton.engine.call.verdict import Level, RuleHit, Verdict, VerdictEffect
from baton.engine.policy.matching.candidates import Candidates
from baton.engine.policy.matching.context import Context
from baton.engine.policy.matching.input_paths import MOST_PATHS
from baton.engine.policy.matching.rule import LiveRule, RuleCandidate
from baton.engine.shell.model import Shell

_CACHED_FOLDERS = 64
"""Combinations of tool, client, level, folders and installed paths that are remembered for one reading."""
_CACHED_NAME = 1024
"""Characters of client and folders together; calls with longer ones are not remembered."""
_CACHED_OUTCOMES = 8

Findings = tuple[tuple[str, str], ...] | None
"""What a rule found that was asked, as (placeholder, text) pairs; None if it did not match."""
_Key = tuple[str, str, Level, bool, str, str, str]


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of all rules together, without anything of the session or the input, so that it can be cached.

    `effect` is "abstain" and `rule` "" if no rule matched. `reason` is the text of a refusal or a question, in two
    parts: `wording.where` goes between them. `changes` are the input keys that rewrites set.
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
    """The rules that match such a call, or may. `open` are those that must be asked for each call.

    `outcomes` caches the outcome by what the open rules found. It stays empty where a suggestion depends on more
    than the reading (`repeats` is False): the same findings could then lead to another suggestion. `verdicts` caches
    those outcomes that say the same of each call, as verdicts.
    """

    __slots__ = ("open", "outcomes", "repeats", "rules", "verdicts")

    def __init__(self, rules: tuple[LiveRule, ...], line_key: str) -> None:
        self.rules = rules
        self.open = tuple([one for one in rules if one.found is None])
        self.repeats = all(one.rule.suggests_by_reading(line_key) for one in rules)
        self.outcomes: dict[tuple[Findings, ...], Outcome] = {}
        self.verdicts: dict[tuple[Findings, ...], Verdict] = {}

    def keep(self, found: tuple[Findings, ...], outcome: Outcome) -> None:
        """Cache an outcome if it depends on the findings alone and there is room."""
        if self.repeats and len(self.outcomes) < _CACHED_OUTCOMES:
            self.outcomes[found] = outcome

    def keep_verdict(self, found: tuple[Findings, ...], verdict: Verdict) -> None:
        """Cache the verdict of an outcome that is cached."""
        if found in self.outcomes:
            self.verdicts[found] = verdict


class Reading:
    """What a call names (its shell line, read; its paths; its agent), and the rules that can match it.

    `shell` has no guesses; `guessed` is the line with them, None where there are none. `as_given` is True if the line is
    the text in the tool's input, False if it was joined from a list of arguments.
    """

    __slots__ = ("_as_given", "_live", "guessed", "lookup", "paths", "shell")

    def __init__(self, shell: Shell | None, paths: tuple[str, ...], *, as_given: bool) -> None:
        has_guesses = shell is not None and shell.programs != () and shell.programs[-1].guess
        self.guessed = shell if has_guesses else None
        self.shell = shell.without_guesses() if shell is not None and has_guesses else shell
        self.paths = paths
        self._as_given = as_given
        self.lookup: str | None = None
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
            context.facts.installed,
        )
        found = self._live.get(key)
        if found is None:
            # Where the line was joined, `input.command` is a list: what a rule asks of it does not follow from the line.
            line_key = context.policies.config.shell_tools.get(call.tool_name, "") if self._as_given else ""
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
        reached = candidates.reached(self.shell, unread=unread)
        if self.guessed is not None:
            guessed = candidates.reached(self.guessed, guesses=True, unread=unread)
            reached = chain(reached, (one for one in guessed if _sees_guesses(one)))
        for one in reached:
            live = one.live(context)
            if live is not None:
                yield live


def _sees_guesses(candidate: RuleCandidate) -> bool:
    """Return whether a rule is asked about what unknown programs may run: one that always runs and stops calls."""
    return not candidate.rule.modes and candidate.rule.decision in {"deny", "ask"}


def live_rules(context: Context) -> LiveRules:
    """Return the rules that match the context's call, or may."""
    return cast("Reading", context.reading).live(context)
