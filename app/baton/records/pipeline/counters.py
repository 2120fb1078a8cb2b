"""Counts of decisions, routes and failures in this process since its start; `/metrics` reads them.

Counting lies on the path of every answer, so each count is one dictionary look-up.
"""

from bisect import bisect_left
from collections import Counter

from baton.records.pipeline.decision import Decision

MOST_REFUSED = 1_000
MOST_RULES = 1_000
"""Rules that each worker counts by name; further ones are counted as `others`, so that memory stays bounded."""
MOST_VERSIONS = 200
"""Versions of clients that each worker counts by name."""
BUCKETS_MS = (0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0)
"""Upper bounds of the histogram of decision times, in milliseconds; one more bucket holds slower ones."""

_BOUNDS_US = tuple(int(bound * 1000) for bound in BUCKETS_MS)


class Counters:
    """In-process counts."""

    def __init__(self) -> None:
        self.decisions: Counter[tuple[str, ...]] = Counter()
        """Decisions by deciding rule ("" for none), effect and mode (`off`, `guidance` or `strict`)."""
        self.matches: Counter[tuple[str, ...]] = Counter()
        """Matches by rule and effect, including those of rules that did not decide."""
        self.took = [0] * (len(_BOUNDS_US) + 1)
        """Decisions per bucket of time; not cumulative."""
        self.took_us = 0
        self.degraded: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        self.routes: Counter[str] = Counter()
        """Prompts by the tier that decided: explicit, node, scorer, model or none."""
        self.outcomes: Counter[tuple[str, ...]] = Counter()
        """Decisions that a client disobeyed, by client, version and outcome."""
        self.context: Counter[tuple[str, ...]] = Counter()
        """What was put into prompts, by source and `prompts`, `tokens`, `measured` or `used`."""
        self._rules: set[str] = set()
        self.refused: Counter[str] = Counter()
        """Hook calls whose token was refused, by `token ID` where the token is known, else by `address IP`."""
        self.model_calls: Counter[tuple[str, ...]] = Counter()
        """Calls to models and routing nodes, by breaker and outcome."""
        self.breaker_changes: Counter[tuple[str, ...]] = Counter()
        """Changes of breakers, by breaker and new phase; each is counted by the process that made it."""
        self.stream_gaps = 0
        """Gaps that readers of live streams were told of, because they had fallen behind what Redis keeps."""

    def decided(self, decision: Decision) -> None:
        """Count a decision, its rule hits and its time."""
        verdict, mode = decision.verdict, decision.mode
        self.decisions[self._rule(verdict.rule), verdict.effect, mode.level if mode.enabled else "off"] += 1
        for hit in verdict.hits:
            self.matches[self._rule(hit.id), hit.effect] += 1
        self.took[bisect_left(_BOUNDS_US, decision.elapsed_us)] += 1
        self.took_us += decision.elapsed_us
        if decision.degraded:
            self.degraded.update(map(self._cause, decision.degraded))

    def routed(self, tier: str, degraded: list[str]) -> None:
        """Count a prompt that was routed, by the tier that decided."""
        self.routes[tier] += 1
        if degraded:
            self.degraded.update(degraded)

    def context_added(self, source: str, tokens: int) -> None:
        """Count what a source has added to a prompt."""
        self.context[source, "prompts"] += 1
        self.context[source, "tokens"] += tokens

    def context_measured(self, source: str, *, used: bool) -> None:
        """Count a measurement of what a source has added, and whether the agent used any of it."""
        self.context[source, "measured"] += 1
        self.context[source, "used"] += used

    def hooks_changed(self) -> None:
        """Count a session whose hooks are not those that were installed, or those of the session before."""
        self.degraded["installation"] += 1

    def agent_unannounced(self) -> None:
        """Count an agent that started on its caller's model though its roster gives it another one."""
        self.degraded["agent_model"] += 1

    def disobeyed(self, client: str, version: str, outcome: str) -> None:
        """Count a call that ran otherwise than it was decided."""
        key = (client, version or "unknown", outcome)
        self.outcomes[
            key if key in self.outcomes or len(self.outcomes) < MOST_VERSIONS else (client, "others", outcome)
        ] += 1

    def failed(self, client: str, answer: str, code: str) -> None:
        """Count a hook call that was answered with its client's failure answer instead of a decision."""
        self.failures[f"{client} {answer} {code}"] += 1

    def token_refused(self, who: str) -> None:
        """Count a hook call whose token was refused; beyond a thousand names they are counted as `others`."""
        self.refused[who if who in self.refused or len(self.refused) < MOST_REFUSED else "others"] += 1

    def _cause(self, cause: str) -> str:
        """Return the label of a cause; the rule in `expression:RULE` is one of the bounded names."""
        kind, colon, rule = cause.partition(":")
        return f"{kind}:{self._rule(rule)}" if colon else cause

    def _rule(self, rule: str) -> str:
        if rule not in self._rules:
            if len(self._rules) >= MOST_RULES:
                return "others"
            self._rules.add(rule)
        return rule
