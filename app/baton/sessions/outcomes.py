"""What became of decided calls: notes what a client could disobey, compares it with what ran, and tells the person."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from baton.clients.event import HookEvent
from baton.engine.call.call import ToolCall
from baton.engine.call.outcome import DISOBEYED, Ended, Outcome, OutcomeReport, Watch, input_digest, judge, usage_of
from baton.engine.call.principal import Principal
from baton.engine.call.verdict import Verdict
from baton.kernel.base.caller import Caller
from baton.kernel.base.storable import storable
from baton.kernel.redis.client import Redis, RedisUnavailable, Script
from baton.kernel.redis.session_keys import digest, session_tag
from baton.records.pipeline.building import is_refused
from baton.records.pipeline.counters import Counters
from baton.records.pipeline.recorder import Recorder
from baton.sessions.session_events import SessionEvents
from baton.shared.client_abilities import can_ask

WATCHED_S = 86_400
"""How long a call may run before its end can no longer be compared with its decision, in seconds."""
LONGEST_NAME = 64
"""Characters of a tool's name that a notice shows."""
MOST_NAMES = 5
"""Tools that a notice names."""
NOTICE_S = 0.2
"""Longest that a prompt waits for the notice, in seconds; it is told at a later prompt then."""

_ENDED: dict[str, Ended] = {"PostToolUse": "ran", "PostToolUseFailure": "failed", "PermissionDenied": "refused"}
_SAYINGS: dict[Outcome, str] = {
    "ran_anyway": "ran {tools} although Baton had refused it",
    "rewrite_ignored": "ran {tools} without the changes that Baton's policies made to it",
}
_TAKE = Script.read(Path(__file__).with_name("take_hash.lua"))
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Watch).decode


class Outcomes:
    """Follows calls from their decision to their end. Redis keeps what is watched, the recorder takes the reports."""

    def __init__(self, redis: Redis, recorder: Recorder, counters: Counters, events: SessionEvents) -> None:
        self._redis = redis
        self._events = events
        self._recorder = recorder
        self._counters = counters

    def watch(self, principal: Principal, call: ToolCall, verdict: Verdict) -> None:
        """Note a decision that the client could disobey; nobody waits for it. An allowed call costs nothing."""
        refused = is_refused(call.client, verdict.effect)
        if not call.tool_use_id or not call.session_id or not (refused or verdict.updated_input is not None):
            return
        model = (verdict.updated_input or {}).get("model")
        note = Watch(
            refused=refused,
            original="" if verdict.updated_input is None else input_digest(call.tool_input),
            model=model if isinstance(model, str) and model != call.tool_input.get("model") else "",
        )
        key = _watched(principal, call.session_id)
        self._redis.send(b"HSET", key, digest(call.agent_id, call.tool_use_id), _encode(note))
        self._redis.send(b"EXPIRE", key, WATCHED_S)

    async def ended(self, caller: Caller, event: HookEvent) -> tuple[str, ...]:
        """Report how a call ended, and count it if its decision was disobeyed. Return what was unavailable."""
        # Without a tool the report would stand for the end of a turn.
        if not event.session_id or not event.tool_name or caller.disabled:
            return ()
        self._events.tool_used(caller, event)
        ended, usage = _ENDED[event.name], usage_of(event.tool_response)
        watch: Watch | None = None
        degraded: tuple[str, ...] = ()
        if event.tool_use_id:
            try:
                watch = await self._taken(caller.principal, event)
            except RedisUnavailable:
                degraded = ("outcome",)
        outcome = judge(ended, watch, event.tool_input, usage)
        if outcome in DISOBEYED:
            self._counters.disobeyed(event.client, caller.client_version, outcome)
            self._note(caller.principal, event, outcome)
        self._recorder.put_outcome(
            OutcomeReport(
                at=datetime.now(UTC),
                organisation=caller.principal.organisation,
                user=caller.principal.user,
                session_id=event.session_id,
                agent_id=event.agent_id,
                tool=event.tool_name,
                tool_use_id=event.tool_use_id,
                outcome=outcome,
                duration_ms=event.duration_ms,
                can_ask=can_ask(event.client),
                usage=usage,
                team=caller.principal.team,
            )
        )
        return degraded

    def turn_ended(self, caller: Caller, event: HookEvent) -> None:
        """Report the end of an agent's turn: what a person was asked about and did not run by then was refused."""
        if not event.session_id or caller.disabled:
            return
        self._events.turn_ended(caller, event)
        self._recorder.put_outcome(
            OutcomeReport(
                at=datetime.now(UTC),
                organisation=caller.principal.organisation,
                user=caller.principal.user,
                session_id=event.session_id,
                agent_id=event.agent_id,
                tool="",
                tool_use_id="",
                outcome="refused",
            )
        )

    async def notice(self, principal: Principal, session_id: str) -> str:
        """Return what the person should know of the session's disobeyed decisions, once; "" for nothing."""
        if not session_id:
            return ""
        key = _disobeyed(principal, session_id)
        try:
            async with asyncio.timeout(NOTICE_S):
                flat = await self._redis.script(_TAKE, [key], [])
        except (RedisUnavailable, TimeoutError):
            return ""
        counts = {field.decode(): int(count) for field, count in zip(flat[::2], flat[1::2], strict=True)}
        said = [
            saying.replace("{tools}", _tools(counts, outcome))
            for outcome, saying in _SAYINGS.items()
            if any(field.startswith(f"{outcome} ") for field in counts)
        ]
        if not said:
            return ""
        return (
            f"Baton: this client {', and '.join(said)}. Its hooks did not stop or change the call: update the client, and run"
            " `baton doctor`. `baton decisions --outcome` shows the calls."
        )

    async def _taken(self, principal: Principal, event: HookEvent) -> Watch | None:
        field = digest(event.agent_id, event.tool_use_id)
        found = await self._redis.call(b"HGET", _watched(principal, event.session_id), field)
        try:
            return None if found is None else _decode(found)
        except msgspec.MsgspecError:  # written by another version of Baton
            return None

    def _note(self, principal: Principal, event: HookEvent, outcome: Outcome) -> None:
        key = _disobeyed(principal, event.session_id)
        self._redis.send(b"HINCRBY", key, storable(f"{outcome} {event.tool_name[:LONGEST_NAME]}"), 1)
        self._redis.send(b"EXPIRE", key, WATCHED_S)


def _tools(counts: dict[str, int], outcome: Outcome) -> str:
    of_it = {field.partition(" ")[2]: n for field, n in counts.items() if field.startswith(f"{outcome} ")}
    most = sorted(of_it, key=lambda name: (-of_it[name], name))
    names = [f"`{name}`" + (f" {of_it[name]} times" if of_it[name] > 1 else "") for name in most[:MOST_NAMES]]
    more = len(most) - len(names)
    return ", ".join(names) + (f" and {more} more tools" if more else "")


def _watched(principal: Principal, session_id: str) -> bytes:
    return b"baton:watched:" + session_tag(principal, session_id)


def _disobeyed(principal: Principal, session_id: str) -> bytes:
    return b"baton:disobeyed:" + session_tag(principal, session_id)
