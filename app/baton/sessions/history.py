"""Keeps in Redis what a session has done so far: look-ups, retries, background tasks, recent edits."""

import asyncio
import json
import time
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

import msgspec

from baton.engine.call.call import ToolCall
from baton.engine.call.edited_paths import edited_paths
from baton.engine.call.principal import Principal
from baton.kernel.base.call_rate import UNLIMITED, CallRate, rate_key
from baton.kernel.base.sql import storable
from baton.kernel.redis.client import Redis, Script
from baton.records.pipeline.stream import ANSWER_S

NAMES_KEPT = 50
"""Tool names kept per session and agent."""
LONGEST_NAME = 256
"""Characters kept of a tool's name."""
RETRY_S = ANSWER_S
"""How long a tool_use_id is remembered, in seconds."""
EDIT_S = 600
"""How long an edit counts as recent, in seconds."""

_encode = msgspec.json.Encoder().encode


class Prior(msgspec.Struct, frozen=True, kw_only=True):
    """What Redis held before a call.

    `prior` holds the tool names of this session and agent, oldest first. `retry` is set if the same call came before:
    then `decision_id` is the first one that it was given, and `answer` the answer of that time if it is still stored.
    `other_editor` is the id of another live session that has just edited the call's file, or "". `place` is the
    session's project and root as noted at its start, "" if unknown. If `wait_ms` is not 0, the user has made too many
    calls and must wait that long, in milliseconds; such a call is not appended.
    """

    prior: tuple[str, ...]
    decision_id: str
    answer: bytes | None = None
    retry: bool = False
    background_running: int = 0
    other_editor: str = ""
    place: tuple[str, str] = ("", "")
    wait_ms: int = 0


class Past(msgspec.Struct, frozen=True, kw_only=True):
    """What Redis holds of a session: tool names by agent, oldest first (`main`, or a digest for a sub-agent)."""

    calls: dict[str, list[str]] = {}
    background_running: int = 0
    project: str = ""
    root: str = ""


def digest(*parts: str) -> bytes:
    """Return a name of 32 hexadecimal digits for these parts, whatever characters and lengths they have."""
    # With the lengths, ("ab", "c") and ("a", "bc") get different names.
    text = "".join(f"{len(part)}:{part}" for part in parts)
    return blake2b(text.encode(), digest_size=16).hexdigest().encode()


class History:
    """Each session's recent past. Every key carries organisation, user and session, and has a lifetime.

    All methods raise `RedisUnavailable`. The recorder stores answers, under `answer_key`.
    """

    def __init__(self, redis: Redis, ttl_s: int, rate: CallRate = UNLIMITED) -> None:
        self._redis = redis
        self._ttl_s = ttl_s
        self._begin = Script.read(
            Path(__file__).with_name("history.lua"),
            most=NAMES_KEPT,
            lifetime_s=ttl_s,
            retry_s=RETRY_S,
            interval_ms=rate.interval,
            tolerance_ms=rate.tolerance,
        )

    async def begin(
        self, principal: Principal, call: ToolCall, decision_id: str, name: bytes = b"", *, editors: bool = True
    ) -> Prior:
        """Read what stood before the call and append the call, in one trip; a retry appends nothing.

        `name` is the result of `name_of_call`, if the caller has it already. Without `editors` no other editor of the
        call's file is looked for, and `other_editor` is "".
        """
        session = _session(principal, call.session_id)
        keys = [b"baton:calls:" + session, b"baton:background:" + session, b"baton:place:" + session]
        if call.tool_use_id:
            name = name or name_of_call(call)
            keys += (b"baton:call:%b:%b" % (session, name), _answer_key(session, name))
        keys.append(rate_key(principal.organisation, principal.user))
        tool = storable(call.tool_name[:LONGEST_NAME].replace("\n", " "))
        agent = digest(call.agent_id) if call.agent_id else b"main"
        # Queued before the script, so that one write sends both.
        edits = self._ask_for_editors(principal, call) if editors else []
        begun = await self._redis.script(self._begin, keys, (agent, tool, decision_id))
        names, first_id, answer, retry, background, project, root, wait_ms = begun
        return Prior(
            prior=tuple(names.decode().split("\n")[:-1]),
            decision_id=first_id.decode(),
            answer=answer,
            retry=bool(retry),
            background_running=background,
            other_editor=_other_editor([await edit for edit in edits], session) if edits else "",
            place=((project or b"").decode(), (root or b"").decode()),
            wait_ms=wait_ms,
        )

    def _ask_for_editors(self, principal: Principal, call: ToolCall) -> list[asyncio.Future[list[bytes]]]:
        keys = [_edits_key(principal, call.project, path) for path in edited_paths(call)]
        return [self._redis.submit(b"HGETALL", key) for key in keys]

    async def note_place(self, principal: Principal, session_id: str, project: str, root: str) -> None:
        """Store the session's project and root, for calls that name none."""
        key = b"baton:place:" + _session(principal, session_id)
        await self._redis.pipeline([(b"HSET", key, "project", project, "root", root), (b"EXPIRE", key, self._ttl_s)])

    async def started(self, principal: Principal, session_id: str, task: str) -> None:
        """Note that a background task of the session runs. Noting a task twice counts once."""
        key = b"baton:background:" + _session(principal, session_id)
        await self._redis.pipeline([(b"SADD", key, digest(task)), (b"EXPIRE", key, self._ttl_s)])

    async def ended(self, principal: Principal, session_id: str, task: str) -> None:
        """Note that a background task of the session ended."""
        await self._redis.call(b"SREM", b"baton:background:" + _session(principal, session_id), digest(task))

    async def note_edit(self, principal: Principal, project: str, path: str, session_id: str) -> None:
        """Note for `EDIT_S` that the session has edited a file of the project."""
        session = _session(principal, session_id)
        edits, edited = _edits_key(principal, project, path), b"baton:edited:" + session
        await self._redis.pipeline(
            [
                (b"HSET", edits, session, f"{time.time():.3f} {session_id[:LONGEST_NAME]}"),
                (b"EXPIRE", edits, EDIT_S),
                (b"SADD", edited, edits),
                (b"EXPIRE", edited, EDIT_S),
            ],
        )

    async def look(self, principal: Principal, session_id: str) -> Past:
        """Read what Redis holds of a session, without changing it."""
        session = _session(principal, session_id)
        flat, background, place = await self._redis.pipeline(
            [
                (b"HGETALL", b"baton:calls:" + session),
                (b"SCARD", b"baton:background:" + session),
                (b"HMGET", b"baton:place:" + session, "project", "root"),
            ]
        )
        return Past(
            calls={
                agent.decode(): names.decode().split("\n")[:-1]
                for agent, names in zip(flat[::2], flat[1::2], strict=True)
            },
            background_running=background,
            project=(place[0] or b"").decode(),
            root=(place[1] or b"").decode(),
        )

    async def reset(self, principal: Principal, session_id: str) -> None:
        """Forget the calls of all agents of a session whose context was cleared or compacted."""
        await self._redis.call(b"DEL", b"baton:calls:" + _session(principal, session_id))

    async def end(self, principal: Principal, session_id: str) -> None:
        """Forget the session: its calls, background tasks, place and recent edits."""
        session = _session(principal, session_id)
        edited = b"baton:edited:" + session
        edits = await self._redis.call(b"SMEMBERS", edited)
        await self._redis.pipeline(
            [
                (b"DEL", edited, *(b"baton:%b:%b" % (kind, session) for kind in (b"calls", b"background", b"place"))),
                *((b"HDEL", key, session) for key in edits),
            ],
        )


def answer_key(principal: Principal, call: ToolCall, name: bytes) -> bytes:
    """Return the key of a call's stored answer, which `begin` reads; `name` is the result of `name_of_call`."""
    return _answer_key(_session(principal, call.session_id), name)


def name_of_call(call: ToolCall) -> bytes:
    """Return the name of one call of a session: a digest of its id and content.

    The content is part of it because some clients use an id twice: two different calls must get two decisions.
    """
    try:
        content = _encode((call.agent_id, call.tool_use_id, call.tool_name, call.tool_input))
    except (UnicodeEncodeError, TypeError):  # half a surrogate pair, or a number that no float holds
        content = json.dumps((call.agent_id, call.tool_use_id, call.tool_name, call.tool_input), default=repr).encode()
    return blake2b(content, digest_size=16).hexdigest().encode()


def _session(principal: Principal, session_id: str) -> bytes:
    """Return a hash tag that names a session of one user of one organisation, so that a cluster keeps its keys together.

    A delegated agent's sessions have names of their own: its token must not write into its owner's other sessions.
    """
    user = f"{principal.user} {principal.job}" if principal.job else principal.user
    return _tag(principal.organisation, user, session_id)


@lru_cache(maxsize=4_096)
def _tag(organisation: str, user: str, session_id: str) -> bytes:
    return b"{%b}" % digest(organisation, user, session_id)


def _answer_key(session: bytes, name: bytes) -> bytes:
    return b"baton:answer:%b:%b" % (session, name)


def _edits_key(principal: Principal, project: str, path: str) -> bytes:
    return b"baton:edits:{%b}" % digest(principal.organisation, project, path)


def _other_editor(replies: list[list[bytes]], session: bytes) -> str:
    """Find the latest recent edit by another session; Redis returns each file's editors as a flat list."""
    latest, editor = time.time() - EDIT_S, ""
    for flat in replies:
        for member, note in zip(flat[::2], flat[1::2], strict=True):
            at, _, session_id = note.partition(b" ")
            if member != session and float(at) > latest:
                latest, editor = float(at), session_id.decode()
    return editor
