"""A session's calls in Redis: earlier ones, retries, background tasks, recent edits, outcomes."""

import asyncio
import json
import re
import time
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from baton.clients.event import HookEvent
from baton.clients.registry import can_ask, words_of
from baton.kernel.base.call_rate import UNLIMITED, CallRate, rate_key
from baton.kernel.redis.client import Redis, RedisUnavailable, Script, digest, place_key, session_tag
from baton.machines.session_projects import SessionProject
from baton.records.pipeline.recorder import Counters, Recorder
from baton.rules.call.call import Principal, ToolCall
from baton.rules.call.edited_files import edited_paths
from baton.rules.call.outcome import (
    DISOBEYED,
    Ended,
    Outcome,
    OutcomeReport,
    Watch,
    injected_model,
    input_digest,
    judge,
    judged_digest,
    usage_of,
)
from baton.rules.call.verdict import Verdict
from baton.rules.policy.evaluate import is_refused
from baton.sessions.session_events import SessionEvents
from baton.shared.caller import Caller
from baton.shared.storable import storable

NAMES_KEPT = 50
"""Tool names kept per session and agent."""
LONGEST_NAME = 256
"""Characters kept of a tool's name."""
RETRY_S = 600
"""How long a tool_use_id is remembered, in seconds."""
MOST_UNDER_WORK_ITEMS = 200
"""Sessions of one user in one project that are known to work under the mode of work items."""
LEAST_CALLS = 20
"""Calls of a session's main agent, refused ones too, before a compaction is believed: no conversation is full after fewer."""
EDIT_S = 600
"""How long an edit counts as recent, in seconds."""

_CALLS = b"calls:"
"""Begins the fields of a session's hash that hold an agent's calls."""

_encode = msgspec.json.Encoder().encode


class Prior(msgspec.Struct, frozen=True, kw_only=True):
    """The state in Redis before a call.

    `prior` holds the tool names of this session and agent, oldest first. `retry` is set for a repeated call: then
    `decision_id` is its first decision, and `prior` the history of that decision. `other_editor` is the id of another
    live session with a recent edit of the call's file, or "". `place` is the session's pinned project. If `wait_ms` is
    not 0, the user has made too many calls and must wait, in milliseconds; such a call is not appended. `agents` is the
    checksum of the session's inventory, "" for none. A call that `is_kept_out` was refused, so only counted.
    """

    prior: tuple[str, ...]
    decision_id: str
    retry: bool = False
    background_running: int = 0
    other_editor: str = ""
    place: SessionProject = SessionProject("", "")
    wait_ms: int = 0
    agents: str = ""
    is_kept_out: bool = False


class Past(msgspec.Struct, frozen=True, kw_only=True):
    """The session's state in Redis: tool names by agent, oldest first (`main`, or a digest for a sub-agent).

    `project` and `root` are the pinned ones. `other_project` is the last other project named by the session; its mode
    and rules do not apply.
    """

    calls: dict[str, list[str]] = {}
    background_running: int = 0
    project: str = ""
    root: str = ""
    other_project: str = ""


class History:
    """Each session's recent past. Every key carries organisation, user and session, and has a lifetime.

    All methods raise `RedisUnavailable`.
    """

    def __init__(self, redis: Redis, ttl_s: int, rate: CallRate = UNLIMITED) -> None:
        self._redis = redis
        self._ttl_s = ttl_s
        self._begin = Script.read(
            Path(__file__).with_name("history.lua"),
            most=NAMES_KEPT,
            lifetime_s=ttl_s,
            retry_s=RETRY_S,
            watched_s=WATCHED_S,
            interval_ms=rate.interval,
            tolerance_ms=rate.tolerance,
        )
        # Sent whole, so without its comments.
        self._correct = re.sub(rb"(?m)^--.*\n", b"", Path(__file__).with_name("correct.lua").read_bytes())

    async def begin(
        self,
        principal: Principal,
        call: ToolCall,
        decision_id: str,
        name: bytes = b"",
        *,
        entry: str = "",
        other: str = "",
        editors: bool = True,
        refused_within: int | None = None,
        like: str = "",
        is_placed: bool = True,
    ) -> Prior:
        """Read the earlier calls and append this one, in one trip; a retry appends nothing.

        Of two simultaneous calls, one is first and the other sees it: two reads in one message count as two.

        The session is pinned to the call's project, or its folder, unless it is pinned already. `entry` is appended, or
        the tool's name if it is "" (`PolicySet.history_name`). `other` is the client's project, if it differs from the
        call's. `name` is the result of `name_of_call`, if known. A call that is refused is only counted: it will not run. That is known
        if `refused_within` is 0, or a number of last calls, and one of them is `like` it (`Lookups.like`). Unless the call `is_placed`, it must have the session's pin, too. Without `editors`, the call's file is not checked for other editors, and `other_editor` is "".

        The usual verdict is noted for the call's end, too (`Outcomes.watch`): most calls run as they are.
        """
        session = session_tag(principal, call.session_id)
        rate = rate_key(principal.organisation, principal.user)
        keys = [place_key(session), b"{baton}:background:" + session, rate]
        note = b""
        if call.tool_use_id:
            keys.append(b"{baton}:call:%b:%b" % (session, name or name_of_call(call)))
            keys.append(_watched(principal, call.session_id, call.agent_id, call.tool_use_id))
            note = b"" if refused_within == 0 and is_placed else _watch(call)
        agent, tool = _entry(call, entry)
        root = storable(call.project_root or call.cwd)
        project = storable(call.project) or root
        # Queued before the script, so one write sends both.
        edits = self._ask_for_editors(principal, call) if editors else []
        refused = (b"" if refused_within is None else _REFUSED, b"" if is_placed else b"1")
        past = (refused_within or b"", storable(like))
        begun = await self._redis.script(
            self._begin, keys, (agent, tool, decision_id, project, root, storable(other), note, *refused, *past)
        )
        names, first_id, retry, background, pinned, pinned_root, wait_ms, agents, reported, *counted = begun
        return Prior(
            prior=tuple(names.decode().split("\n")[:-1]),
            decision_id=first_id.decode(),
            retry=bool(retry),
            background_running=background,
            other_editor=_other_editor([await edit for edit in edits], session) if edits else "",
            place=SessionProject.stored(pinned, pinned_root, reported),
            wait_ms=wait_ms,
            agents=(agents or b"").decode(),
            is_kept_out=counted == [1],
        )

    def correct(self, principal: Principal, call: ToolCall, entry: str = "", *, refused: bool) -> None:
        """Remove a call from the history that is refused after all, and note its end so; or append one that may run after all.

        `entry` is what `begin` appended. Fire-and-forget.
        """
        agent, name = _entry(call, entry)
        keys = [place_key(session_tag(principal, call.session_id))]
        if refused and call.tool_use_id:
            keys.append(_watched(principal, call.session_id, call.agent_id, call.tool_use_id))
        given = _CALLS + agent, name, b"1" if refused else b"", _REFUSED, WATCHED_S
        # By its source: nobody waits for the reply that Redis does not know its name.
        self._redis.send(b"EVAL", self._correct, len(keys), *keys, *given)

    def _ask_for_editors(self, principal: Principal, call: ToolCall) -> list[asyncio.Future[list[bytes]]]:
        keys = [_edits_key(principal, call.project, path) for path in edited_paths(call)]
        return [self._redis.submit(b"HGETALL", key) for key in keys]

    async def started(self, principal: Principal, session_id: str, task: str) -> None:
        """Record a running background task of the session. Repeating it counts once."""
        session = session_tag(principal, session_id)
        key, place = b"{baton}:background:" + session, place_key(session)
        await self._redis.pipeline(
            [
                (b"SADD", key, digest(task)),
                (b"EXPIRE", key, self._ttl_s),
                (b"HSET", place, b"tasks", 1),
                (b"EXPIRE", place, self._ttl_s),
            ]
        )

    def announced(self, principal: Principal, session_id: str, agent_type: str) -> None:
        """Expect an agent of this type, because a call starts it. Fire-and-forget."""
        key = b"{baton}:announced:" + session_tag(principal, session_id)
        self._redis.send(b"HINCRBY", key, digest(agent_type), 1)
        self._redis.send(b"EXPIRE", key, self._ttl_s)

    async def unannounced(self, principal: Principal, session_id: str, agent_type: str) -> int:
        """Return 0 for an announced agent, otherwise how many of its type have started unannounced."""
        key, field = b"{baton}:announced:" + session_tag(principal, session_id), digest(agent_type)
        if await self._redis.call(b"HINCRBY", key, field, -1) >= 0:
            return 0
        missed = b"unannounced " + field
        _, count, _ = await self._redis.pipeline(
            [(b"HINCRBY", key, field, 1), (b"HINCRBY", key, missed, 1), (b"EXPIRE", key, self._ttl_s)]
        )
        return int(count)

    async def ended(self, principal: Principal, session_id: str, task: str) -> None:
        """Record the end of a background task."""
        await self._redis.call(b"SREM", b"{baton}:background:" + session_tag(principal, session_id), digest(task))

    async def note_edit(self, principal: Principal, project: str, path: str, session_id: str) -> None:
        """Record an edit of a project's file for `EDIT_S`."""
        session = session_tag(principal, session_id)
        edits, edited = _edits_key(principal, project, path), b"{baton}:edited:" + session
        await self._redis.pipeline(
            [
                (b"HSET", edits, session, f"{time.time():.3f} {session_id[:LONGEST_NAME]}"),
                (b"EXPIRE", edits, EDIT_S),
                (b"SADD", edited, edits),
                (b"EXPIRE", edited, EDIT_S),
            ]
        )

    async def look(self, principal: Principal, session_id: str) -> Past:
        """Read a session's state without changing it."""
        session = session_tag(principal, session_id)
        flat, background = await self._redis.pipeline(
            [(b"HGETALL", place_key(session)), (b"SCARD", b"{baton}:background:" + session)]
        )
        place = dict(zip(flat[::2], flat[1::2], strict=True))
        pin = SessionProject.stored(place.get(b"project"), place.get(b"root"), None)
        return Past(
            calls={
                name[len(_CALLS) :].decode(): names.decode().split("\n")[:-1]
                for name, names in place.items()
                if name.startswith(_CALLS)
            },
            background_running=background,
            project=pin.project,
            root=pin.root,
            other_project=place.get(b"other", b"").decode(),
        )

    async def reset(self, principal: Principal, session_id: str) -> None:
        """Forget the calls of all agents of a session."""
        key = place_key(session_tag(principal, session_id))
        agents = [name for name in await self._redis.call(b"HKEYS", key) if name.startswith(_CALLS)]
        if agents:
            await self._redis.call(b"HDEL", key, *agents)

    async def compacted(self, principal: Principal, session_id: str) -> None:
        """Forget the calls of a compacted session, unless it is too young for a real compaction."""
        place = place_key(session_tag(principal, session_id))
        names, refused = await self._redis.call(b"HMGET", place, _CALLS + b"main", b"refused")
        if (names or b"").count(b"\n") + int(refused or 0) >= LEAST_CALLS:
            await self.reset(principal, session_id)

    async def session_started(self, principal: Principal, project: str, session_id: str, *, fork: bool) -> None:
        """Record the user's latest session in a project. A fork starts with the calls of the previous one.

        No client reports which session it forks.
        """
        if not session_id:
            return
        latest = b"{baton}:latest:{%b}" % digest(principal.organisation, principal.user, principal.job, project)
        own = place_key(session_tag(principal, session_id))
        if fork and (parent := await self._redis.call(b"GET", latest)):
            flat = await self._redis.call(b"HGETALL", parent)
            calls = [pair for pair in zip(flat[::2], flat[1::2], strict=True) if pair[0].startswith(_CALLS)]
            if calls:
                await self._redis.pipeline(
                    [*((b"HSETNX", own, *pair) for pair in calls), (b"EXPIRE", own, self._ttl_s)]
                )
        await self._redis.call(b"SET", latest, own, b"EX", str(self._ttl_s))

    def works_under_items(self, principal: Principal, project: str, session_id: str) -> None:
        """Mark a session as working under the mode of work items. Fire-and-forget."""
        key = _items_key(principal, project)
        self._redis.send(b"SADD", key, storable(session_id))
        self._redis.send(b"EXPIRE", key, self._ttl_s)

    async def under_items(self, principal: Principal, project: str) -> list[str] | None:
        """Return the sessions marked by `works_under_items`, None if they are too many to read."""
        key = _items_key(principal, project)
        if await self._redis.call(b"SCARD", key) > MOST_UNDER_WORK_ITEMS:
            return None
        return [name.decode() for name in await self._redis.call(b"SMEMBERS", key)]

    async def end(self, principal: Principal, session_id: str) -> None:
        """Forget the background tasks and recent edits of an ended session.

        Its calls and its project stay for their lifetime: a resumed session is the same session, and an agent can post
        the end of its own.
        """
        session = session_tag(principal, session_id)
        edited = b"{baton}:edited:" + session
        edits = await self._redis.call(b"SMEMBERS", edited)
        await self._redis.pipeline(
            [
                (b"DEL", edited, b"{baton}:background:" + session, b"{baton}:announced:" + session),
                *((b"HDEL", key, session) for key in edits),
            ]
        )

    async def forget(self, principal: Principal, session_id: str) -> None:
        """Forget a session and its project."""
        await self.end(principal, session_id)
        await self._redis.call(b"DEL", place_key(session_tag(principal, session_id)))


def _entry(call: ToolCall, name: str) -> tuple[bytes, bytes]:
    line = storable((name or call.tool_name)[:LONGEST_NAME].replace("\n", " "))
    return digest(call.agent_id) if call.agent_id else b"main", line.encode()


def name_of_call(call: ToolCall) -> bytes:
    """Return the name of one call of a session: a digest of its id and content.

    The content is part of it because some clients use an id twice: two different calls must get two decisions.
    """
    try:
        content = _encode((call.agent_id, call.tool_use_id, call.tool_name, call.tool_input))
    except (UnicodeEncodeError, TypeError):  # half a surrogate pair, or a number that no float holds
        content = json.dumps((call.agent_id, call.tool_use_id, call.tool_name, call.tool_input), default=repr).encode()
    return blake2b(content, digest_size=16).hexdigest().encode()


def _edits_key(principal: Principal, project: str, path: str) -> bytes:
    return b"{baton}:edits:{%b}" % digest(principal.organisation, project, path)


def _items_key(principal: Principal, project: str) -> bytes:
    return b"{baton}:items:{%b}" % digest(principal.organisation, principal.user, project)


def _other_editor(replies: list[list[bytes]], session: bytes) -> str:
    """Find the latest recent edit by another session; Redis returns each file's editors as a flat list."""
    latest, editor = time.time() - EDIT_S, ""
    for flat in replies:
        for member, note in zip(flat[::2], flat[1::2], strict=True):
            at, _, session_id = note.partition(b" ")
            if member != session and float(at) > latest:
                latest, editor = float(at), session_id.decode()
    return editor


# Advice on a call, kept in Redis for clients showing it to the model only with the call's result.

LIFETIME_S = 3_600
"""How long advice waits for the result of its call, in seconds."""


class LateAdvice:
    """The advice on running calls."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    def keep(self, principal: Principal, call: ToolCall, text: str) -> None:
        """Keep the advice on a call; nobody waits for it."""
        if call.session_id:
            self._redis.send(b"SET", _key(principal, call), text, b"EX", str(LIFETIME_S))

    async def take(self, principal: Principal, call: ToolCall) -> str:
        """Return the advice on a finished call, once; "" for none, or if Redis is unavailable."""
        if not call.session_id:
            return ""
        key = _key(principal, call)
        try:
            text, _ = await self._redis.pipeline([(b"GET", key), (b"DEL", key)])
        except RedisUnavailable:
            return ""
        return (text or b"").decode()


def _key(principal: Principal, call: ToolCall) -> bytes:
    return b"{baton}:advice:%b:%b" % (session_tag(principal, call.session_id), name_of_call(call))


# How decided calls end: the input allowed to run is compared with the executed one, and differences are reported.

WATCHED_S = 86_400
"""How long a call may run before its end can no longer be compared with its decision, in seconds."""
LONGEST_TOOL = 64
"""Characters of a tool's name that a notice shows."""
MOST_NAMES = 5
"""Tools that a notice names."""
NOTICE_S = 0.2
"""Longest that a prompt waits for the notice, in seconds; it is told at a later prompt then."""

_ENDED: dict[str, Ended] = {"PostToolUse": "ran", "PostToolUseFailure": "failed", "PermissionDenied": "refused"}
_SAYINGS = {
    "ran_anyway": "ran {tools} although Baton had refused it",
    "rewrite_ignored": "ran {tools} without the changes that Baton's policies made to it",
    "changed_by_other": "ran {tools} with an input that another hook or program had changed after Baton's decision",
    "changed_refused": "ran {tools} as another hook or program had changed it, which Baton would have stopped",
}
_TAKE_DISOBEYED = Script.read(Path(__file__).with_name("take_hash.lua"))
_packed = msgspec.msgpack.Encoder().encode
_unpacked = msgspec.msgpack.Decoder(Watch).decode
_REFUSED = _packed(Watch(refused=True))


def _watch(call: ToolCall, updated: dict[str, Any] | None = None) -> bytes:
    """Note a call that may run by the digest of its input, or of a rewritten one."""
    original = "" if updated is None else input_digest(call.tool_input)
    judged = judged_digest(call.tool_name, call.tool_input if updated is None else updated)
    return _packed(Watch(refused=False, original=original, model=injected_model(call, updated), judged=judged))


class Outcomes:
    """Follows calls from decision to end. Redis keeps the watched calls, the recorder takes the reports."""

    def __init__(self, redis: Redis, recorder: Recorder, counters: Counters, events: SessionEvents) -> None:
        self._redis = redis
        self._events = events
        self._recorder = recorder
        self._counters = counters

    def watch(self, principal: Principal, call: ToolCall, verdict: Verdict, *, noted: bool | None) -> None:
        """Note a decision for the call's end, unless `begin` noted it: `noted` as refused or not; None for no note."""
        refused, updated = is_refused(call.client, verdict.effect), verdict.updated_input
        is_noted = noted is refused and (refused or updated is None)
        if call.tool_use_id and call.session_id and not is_noted:
            key = _watched(principal, call.session_id, call.agent_id, call.tool_use_id)
            self._redis.send(b"SET", key, _REFUSED if refused else _watch(call, updated), b"EX", WATCHED_S)

    async def ended(self, caller: Caller, event: HookEvent) -> tuple[Outcome, tuple[str, ...]]:
        """Report a call's end, and count it if it ran otherwise than decided. Return that and unavailable services."""
        # Without a tool the report would mean the end of a turn.
        if not event.session_id or not event.tool_name or caller.disabled:
            return "unknown", ()
        ended, usage = _ENDED[event.name], usage_of(event.tool_response)
        watch: Watch | None = None
        degraded: tuple[str, ...] = ()
        if event.tool_use_id:
            try:
                watch = await self._taken(caller.principal, event)
            except RedisUnavailable:
                degraded = ("outcome",)
        self._events.tool_used(caller, event, counts=watch is not None or not event.tool_use_id)
        outcome = judge(ended, watch, event.tool_name, event.tool_input, usage)
        if outcome in DISOBEYED:
            self._counters.disobeyed(event.client, caller.client_version, outcome)
            if outcome != "changed_by_other":
                self.note_disobeyed(caller.principal, event, outcome)
        elif watch is not None:  # a repeated report says the same without it
            self._redis.send(b"DEL", _watched(caller.principal, event.session_id, event.agent_id, event.tool_use_id))
            if outcome == "refused" and watch.refused:
                return outcome, degraded  # its record says so already
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
        return outcome, degraded

    def turn_ended(self, caller: Caller, event: HookEvent) -> None:
        """Report the end of an agent's turn: calls without a report were refused.

        A prompt ends it, too: an interrupted turn has no Stop.
        """
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
                reports_all="PostToolUseFailure" in words_of(event.client).natives,
            )
        )

    async def notice(self, principal: Principal, session_id: str) -> str:
        """Return the notice about the session's disobeyed decisions, once; "" for none."""
        if not session_id:
            return ""
        key = _disobeyed(principal, session_id)
        try:
            async with asyncio.timeout(NOTICE_S):
                flat = await self._redis.script(_TAKE_DISOBEYED, [key], [])
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
            f"Baton: this client {', and '.join(said)}. Update the client, look for other hooks that change calls, and run"
            " `baton doctor`. `baton decisions --outcome` shows the calls."
        )

    async def _taken(self, principal: Principal, event: HookEvent) -> Watch | None:
        found = await self._redis.call(b"GET", _watched(principal, event.session_id, event.agent_id, event.tool_use_id))
        try:
            return None if found is None else _unpacked(found)
        except msgspec.MsgspecError:  # written by another version of Baton
            return None

    def note_disobeyed(self, principal: Principal, event: HookEvent, outcome: str) -> None:
        """Keep a call that ran otherwise than decided for the session's notice. Fire-and-forget."""
        key = _disobeyed(principal, event.session_id)
        self._redis.send(b"HINCRBY", key, storable(f"{outcome} {event.tool_name[:LONGEST_TOOL]}"), 1)
        self._redis.send(b"EXPIRE", key, WATCHED_S)


def _tools(counts: dict[str, int], outcome: str) -> str:
    of_it = {field.partition(" ")[2]: n for field, n in counts.items() if field.startswith(f"{outcome} ")}
    most = sorted(of_it, key=lambda name: (-of_it[name], name))
    names = [f"`{name}`" + (f" {of_it[name]} times" if of_it[name] > 1 else "") for name in most[:MOST_NAMES]]
    more = len(most) - len(names)
    return ", ".join(names) + (f" and {more} more tools" if more else "")


def _watched(principal: Principal, session_id: str, agent_id: str, tool_use_id: str) -> bytes:
    return b"{baton}:watched:%b:%b" % (session_tag(principal, session_id), digest(agent_id, tool_use_id))


def _disobeyed(principal: Principal, session_id: str) -> bytes:
    return b"{baton}:disobeyed:" + session_tag(principal, session_id)
