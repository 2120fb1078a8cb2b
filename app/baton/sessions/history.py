"""Keeps in Redis what a session has done so far: look-ups, retries, background tasks, recent edits."""

import asyncio
import json
import time
from hashlib import blake2b
from pathlib import Path

import msgspec

from baton.engine.call.call import ToolCall
from baton.engine.call.edited_paths import edited_paths
from baton.engine.call.principal import Principal
from baton.kernel.base.call_rate import UNLIMITED, CallRate, rate_key
from baton.kernel.base.storable import storable
from baton.kernel.redis.client import Redis, Script
from baton.kernel.redis.session_keys import digest, place_key, session_tag

NAMES_KEPT = 50
"""Tool names kept per session and agent."""
LONGEST_NAME = 256
"""Characters kept of a tool's name."""
RETRY_S = 600
"""How long a tool_use_id is remembered, in seconds."""
MOST_UNDER_WORK_ITEMS = 200
"""Sessions of one user in one project that are known to work under the mode of work items."""
LEAST_CALLS = 20
"""Calls of a session's main agent before a compaction is believed: no conversation is full after fewer."""
EDIT_S = 600
"""How long an edit counts as recent, in seconds."""

_encode = msgspec.json.Encoder().encode


class Prior(msgspec.Struct, frozen=True, kw_only=True):
    """What Redis held before a call.

    `prior` holds the tool names of this session and agent, oldest first. `retry` is set if the same call came before:
    then `decision_id` is the first one that it was given, and `prior` what it was decided on.
    `other_editor` is the id of another live session that has just edited the call's file, or "". `place` is the
    project and root that the session is pinned to, "" if unknown. If `wait_ms` is not 0, the user has made too many
    calls and must wait that long, in milliseconds; such a call is not appended. `agents` is the checksum of the
    session's inventory, "" for none.
    """

    prior: tuple[str, ...]
    decision_id: str
    retry: bool = False
    background_running: int = 0
    other_editor: str = ""
    place: tuple[str, str] = ("", "")
    wait_ms: int = 0
    agents: str = ""


class Past(msgspec.Struct, frozen=True, kw_only=True):
    """What Redis holds of a session: tool names by agent, oldest first (`main`, or a digest for a sub-agent).

    `project` and `root` are what the session is pinned to, `other_project` is the last other one that it named.
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
            interval_ms=rate.interval,
            tolerance_ms=rate.tolerance,
        )

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
    ) -> Prior:
        """Read what stood before the call and append the call, in one trip; a retry appends nothing.

        The session is pinned to the call's project, or its folder, unless it is pinned already. `entry` is what
        is appended, the tool's name if it is "" (`PolicySet.history_name`). `other` is the project
        that the client named, if it is not the call's. `name` is the result of `name_of_call`, if the caller has it already. Without `editors` no other editor of the
        call's file is looked for, and `other_editor` is "".
        """
        session = session_tag(principal, call.session_id)
        rate = rate_key(principal.organisation, principal.user)
        keys = [b"baton:calls:" + session, b"baton:background:" + session, place_key(session), rate]
        if call.tool_use_id:
            keys.append(b"baton:call:%b:%b" % (session, name or name_of_call(call)))
        tool = storable((entry or call.tool_name)[:LONGEST_NAME].replace("\n", " "))
        agent = digest(call.agent_id) if call.agent_id else b"main"
        root = storable(call.project_root or call.cwd)
        project = storable(call.project) or root
        # Queued before the script, so that one write sends both.
        edits = self._ask_for_editors(principal, call) if editors else []
        begun = await self._redis.script(self._begin, keys, (agent, tool, decision_id, project, root, storable(other)))
        names, first_id, retry, background, pinned, pinned_root, wait_ms, agents = begun
        return Prior(
            prior=tuple(names.decode().split("\n")[:-1]),
            decision_id=first_id.decode(),
            retry=bool(retry),
            background_running=background,
            other_editor=_other_editor([await edit for edit in edits], session) if edits else "",
            place=((pinned or b"").decode(), (pinned_root or b"").decode()),
            wait_ms=wait_ms,
            agents=(agents or b"").decode(),
        )

    def _ask_for_editors(self, principal: Principal, call: ToolCall) -> list[asyncio.Future[list[bytes]]]:
        keys = [_edits_key(principal, call.project, path) for path in edited_paths(call)]
        return [self._redis.submit(b"HGETALL", key) for key in keys]

    async def started(self, principal: Principal, session_id: str, task: str) -> None:
        """Note that a background task of the session runs. Noting a task twice counts once."""
        key = b"baton:background:" + session_tag(principal, session_id)
        await self._redis.pipeline([(b"SADD", key, digest(task)), (b"EXPIRE", key, self._ttl_s)])

    def announced(self, principal: Principal, session_id: str, agent_type: str) -> None:
        """Note that a call starts an agent of this type, so that its start is expected; nobody waits for it."""
        key = b"baton:announced:" + session_tag(principal, session_id)
        self._redis.send(b"HINCRBY", key, digest(agent_type), 1)
        self._redis.send(b"EXPIRE", key, self._ttl_s)

    async def unannounced(self, principal: Principal, session_id: str, agent_type: str) -> int:
        """Return 0 for an agent whose start a call announced, otherwise how many of its type have started so."""
        key, field = b"baton:announced:" + session_tag(principal, session_id), digest(agent_type)
        if await self._redis.call(b"HINCRBY", key, field, -1) >= 0:
            return 0
        missed = b"unannounced " + field
        _, count, _ = await self._redis.pipeline(
            [(b"HINCRBY", key, field, 1), (b"HINCRBY", key, missed, 1), (b"EXPIRE", key, self._ttl_s)]
        )
        return int(count)

    async def ended(self, principal: Principal, session_id: str, task: str) -> None:
        """Note that a background task of the session ended."""
        await self._redis.call(b"SREM", b"baton:background:" + session_tag(principal, session_id), digest(task))

    async def note_edit(self, principal: Principal, project: str, path: str, session_id: str) -> None:
        """Note for `EDIT_S` that the session has edited a file of the project."""
        session = session_tag(principal, session_id)
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
        session = session_tag(principal, session_id)
        flat, background, place = await self._redis.pipeline(
            [
                (b"HGETALL", b"baton:calls:" + session),
                (b"SCARD", b"baton:background:" + session),
                (b"HMGET", place_key(session), "project", "root", "other"),
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
            other_project=(place[2] or b"").decode(),
        )

    async def reset(self, principal: Principal, session_id: str) -> None:
        """Forget the calls of all agents of a session."""
        await self._redis.call(b"DEL", b"baton:calls:" + session_tag(principal, session_id))

    async def compacted(self, principal: Principal, session_id: str) -> None:
        """Forget the calls of a session whose context was compacted, unless it is too young for that to be true."""
        names = await self._redis.call(b"HGET", b"baton:calls:" + session_tag(principal, session_id), b"main")
        if names is not None and names.count(b"\n") >= LEAST_CALLS:
            await self.reset(principal, session_id)

    def works_under_items(self, principal: Principal, project: str, session_id: str) -> None:
        """Note that a session works under the mode of work items; nobody waits for it."""
        key = _items_key(principal, project)
        self._redis.send(b"SADD", key, storable(session_id))
        self._redis.send(b"EXPIRE", key, self._ttl_s)

    async def under_items(self, principal: Principal, project: str) -> list[str] | None:
        """Return the sessions that have worked under the mode of work items, None where they are too many to read."""
        key = _items_key(principal, project)
        if await self._redis.call(b"SCARD", key) > MOST_UNDER_WORK_ITEMS:
            return None
        return [name.decode() for name in await self._redis.call(b"SMEMBERS", key)]

    async def end(self, principal: Principal, session_id: str) -> None:
        """Forget what ends with a session: its background tasks and recent edits.

        Its calls and its project stay for their lifetime: a session that is resumed is the same session, and an agent can
        post the end of its own.
        """
        session = session_tag(principal, session_id)
        edited = b"baton:edited:" + session
        edits = await self._redis.call(b"SMEMBERS", edited)
        await self._redis.pipeline(
            [
                (b"DEL", edited, b"baton:background:" + session, b"baton:announced:" + session),
                *((b"HDEL", key, session) for key in edits),
            ],
        )

    async def forget(self, principal: Principal, session_id: str) -> None:
        """Forget all that is kept of a session, its project too."""
        await self.end(principal, session_id)
        await self._redis.call(b"DEL", place_key(session_tag(principal, session_id)))


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
    return b"baton:edits:{%b}" % digest(principal.organisation, project, path)


def _items_key(principal: Principal, project: str) -> bytes:
    return b"baton:items:{%b}" % digest(principal.organisation, principal.user, project)


def _other_editor(replies: list[list[bytes]], session: bytes) -> str:
    """Find the latest recent edit by another session; Redis returns each file's editors as a flat list."""
    latest, editor = time.time() - EDIT_S, ""
    for flat in replies:
        for member, note in zip(flat[::2], flat[1::2], strict=True):
            at, _, session_id = note.partition(b" ")
            if member != session and float(at) > latest:
                latest, editor = float(at), session_id.decode()
    return editor
