"""Decisions: their counts, their records, and the queue that takes them to the log."""

import asyncio
import contextlib
import logging
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Literal

import msgspec
from uuid_utils import uuid7

from baton.clients.event import HookEvent
from baton.events.log import unpacked
from baton.events.writer import BATCH, LogWriter
from baton.kernel.base import trace
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.kernel.redis.client import RedisUnavailable
from baton.records.pipeline import store as decisions
from baton.rules.call.call import Principal
from baton.rules.call.modes import Mode
from baton.rules.call.outcome import OutcomeReport
from baton.rules.call.record import Record
from baton.shared.caller import Caller
from baton.shared.decided import DecidedCall, Decision, decision_record, packed_record
from baton.shared.kept_texts import KeptTexts
from baton.shared.record_ids import moment_of


class RouteOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt's route in its record; `agent` is "" if no agent was chosen.

    `confidence` is from 0 to 1, `elapsed_us` in microseconds, `tier` names the deciding tier, `told` the context given
    to the prompt's agent.
    """

    id: str
    agent: str
    tier: str
    told: Literal["agent", "shortlist", "none"]
    confidence: float
    elapsed_us: int
    degraded: tuple[str, ...]


# Counts in this process since its start; `/metrics` reads them. Counting is on the path of every answer, so each count
# is one dictionary access.

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
        """Count a routed prompt by its deciding tier."""
        self.routes[tier] += 1
        if degraded:
            self.degraded.update(degraded)

    def hooks_changed(self) -> None:
        """Count a session with hooks other than installed, or other than the session before."""
        self.degraded["installation"] += 1

    def agent_unannounced(self) -> None:
        """Count an agent on its caller's model though its roster gives it another one."""
        self.degraded["agent_model"] += 1

    def disobeyed(self, client: str, version: str, outcome: str) -> None:
        """Count a call executed otherwise than decided."""
        key = (client, version or "unknown", outcome)
        self.outcomes[
            key if key in self.outcomes or len(self.outcomes) < MOST_VERSIONS else (client, "others", outcome)
        ] += 1

    def failed(self, client: str, answer: str, code: str) -> None:
        """Count a hook call with the client's failure answer instead of a decision."""
        self.failures[f"{client} {answer} {code}"] += 1

    def token_refused(self, who: str) -> None:
        """Count a hook call with a refused token; beyond a thousand names they are counted as `others`."""
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


# The records of decisions and events.

ADVISORIES = "PatternAdvisories"
"""The event of a record that says which advisories a prompt showed."""


def event_record(
    caller: Caller, event: HookEvent, project: str, mode: Mode, revision: str, route: RouteOutcome | None = None
) -> Record:
    """Return the record of an event without a tool call: a session started with Baton off, or a prompt."""
    principal = caller.principal
    record_id = str(uuid7()) if route is None else route.id
    return Record(
        id=record_id,
        at=moment_of(record_id),
        organisation=principal.organisation,
        team=principal.team,
        user=principal.user,
        role=principal.role,
        project=project,
        session_id=event.session_id,
        client=event.client,
        event=event.name,
        mode_enabled=mode.enabled,
        mode_level=mode.level,
        mode_scope=mode.scope,
        revision=revision,
        prompt=event.prompt if event.name == "UserPromptSubmit" else "",
        overridden=caller.disabled or (caller.mode_off and event.name == "SessionStart"),
        elapsed_us=0 if route is None else route.elapsed_us,
        degraded=() if route is None else route.degraded,
        routed_to="" if route is None else route.agent,
        routed_by="" if route is None else route.tier,
        routed_as="" if route is None else route.told,
        confidence=0.0 if route is None else route.confidence,
        traceparent=trace.parent.get(),
        client_version=caller.client_version,
    )


def advisories_record(principal: Principal, session_id: str, lines: Sequence[str]) -> Record:
    """Return the record of the advisories shown by a session's prompt, a line each."""
    record_id = str(uuid7())
    return Record(
        id=record_id,
        at=moment_of(record_id),
        organisation=principal.organisation,
        team=principal.team,
        user=principal.user,
        role=principal.role,
        client="",
        event=ADVISORIES,
        session_id=session_id,
        command="\n".join(lines),
    )


# The queue of records.

log = logging.getLogger(__name__)

STATS_S = 0.02
"""Longest wait for the length of the log, in seconds; a later answer counts next time."""
MINUTE_S = 60.0
"""How long a user's further refusals are counted on the first one, in seconds."""

_encode = msgspec.msgpack.Encoder().encode
_report_texts = KeptTexts(OutcomeReport)


class Recorder:
    """Puts records and outcome reports into the log. At a stop, the rest is stored in SQL directly."""

    def __init__(self, writer: LogWriter, database: Database) -> None:
        self._writer = writer
        self._database = database
        self._lengths, self._spooled = (0, 0, 0), (0, 0)
        self._reading: asyncio.Task[None] | None = None
        self._refusals: dict[tuple[str, str], Record] = {}
        self.start = writer.start
        self.counts = writer.counts

    def put(self, record: Record | DecidedCall) -> None:
        """Queue a record, or the data for it. Never waits."""
        worth = 1
        if self._writer.shedding:
            record = decision_record(record) if isinstance(record, DecidedCall) else record
            worth = _worth(record)
        self._writer.put(partial(packed_record, record), worth)

    def put_refusal(self, refused: DecidedCall) -> None:
        """Queue a user's first refusal by the rate limit in a minute, and again with the number of further ones."""
        key = refused.caller.principal.organisation, refused.caller.principal.user
        if (first := self._refusals.get(key)) is not None:
            self._refusals[key] = msgspec.structs.replace(first, repeats=first.repeats + 1)
            return
        self._refusals[key] = decision_record(refused)
        self.put(self._refusals[key])
        asyncio.get_running_loop().call_later(MINUTE_S, self._end_minute, key)

    def _end_minute(self, key: tuple[str, str]) -> None:
        first = self._refusals.pop(key, None)
        if first is not None and first.repeats:
            self.put(first)

    def put_outcome(self, report: OutcomeReport) -> None:
        """Queue a call's end, after its decision's record. Never waits."""
        self._writer.put(lambda: _encode(_report_texts.masked(report)))

    async def deliver(self, records: Sequence[Record]) -> None:
        """Append records made elsewhere. Raise RedisUnavailable: then some may be appended, and are stored once."""
        await self._writer.log.append([packed_record(one) for one in records])

    async def stats(self) -> dict[str, int]:
        """Return `counts` and the last known backlog besides the queue.

        `waiting` and `set_aside` are entries in Redis, `given_up` outcomes without a decision, `spool_mb` and
        `spool_most_mb` the backlog on the disks of all machines and its maximum; the latter is 0 without a backlog.
        """
        if self._reading is None or self._reading.done():
            self._reading = asyncio.ensure_future(self._read())
        await asyncio.wait([self._reading], timeout=STATS_S)
        # Rounded up: a backlog on disk is never shown as 0.
        spooled, most = (-(-size >> 20) if size else 0 for size in self._spooled)
        waits = dict(zip(("waiting", "set_aside", "given_up"), self._lengths, strict=True))
        return self.counts() | waits | {"spool_mb": spooled, "spool_most_mb": most}

    async def _read(self) -> None:
        with contextlib.suppress(RedisUnavailable):
            self._lengths = await self._writer.log.lengths()
            self._spooled = await self._writer.log.spooled()

    async def stop(self) -> None:
        """Append queued entries, for at most five seconds, and store the rest."""
        for key in list(self._refusals):
            self._end_minute(key)
        rest = [unpacked(content) for content in await self._writer.stop()]
        for start in range(0, len(rest), BATCH):
            batch = rest[start : start + BATCH]
            records = [one for one in batch if isinstance(one, Record)]
            reports = [one for one in batch if isinstance(one, OutcomeReport)]
            try:
                await decisions.add(self._database, records, reports)
            except DatabaseUnavailable:
                lost = max(0, len(rest) - max(start, self._writer.journal.kept))
                why = "neither Redis nor the database took them"
                log.error("%d entries wait for the next start, %d are lost: %s", len(rest) - start - lost, lost, why)  # noqa: TRY400
                return


def _worth(record: Record) -> int:
    """Return the degree of `SHED_FROM` at which a record is dropped."""
    if record.decision != "allow" or record.overridden:
        return 3
    return 2 if record.rules or record.effect == "rewrite" else 1
