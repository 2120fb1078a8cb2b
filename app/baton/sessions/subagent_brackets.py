"""Assigns calls between a sub-agent's start and end to it, for clients without agent ids in calls.

The brackets are in Redis, so that all servers agree. An uncertain call belongs to the main agent, under the stricter
rules: calls of the turn that started the sub-agent, all of them without Redis, and all of a session refused for an
attempt on Baton itself, because such an agent may post the start of a sub-agent without running it.
"""

from pathlib import Path

import msgspec

from baton.clients.event import AgentSign, HookEvent
from baton.kernel.redis.client import Redis, RedisUnavailable, Script, session_tag
from baton.rules.call.call import Principal
from baton.shared.storable import storable

SAME_TURN_MS = 200
"""How far apart two calls of one turn of the main agent may be, in milliseconds by the client's clock.

The client asks about all calls of a turn before it runs any, each as soon as the process for the one before is started.
A sub-agent's first call comes after these answers and an answer of its model.
"""
LIFETIME_S = 3_600
"""How long a bracket lasts without a call in it, in seconds: its end may never come, as when a client is killed."""
DISTRUSTED_S = 7 * 24 * 3_600
"""How long nothing that a session says of sub-agents is believed, in seconds, after it was refused an attempt on Baton."""
LONGEST_NAME = 200
"""Characters of an agent's name."""
UNKNOWN = ("subagents",)
"""What an answer's `degraded` says where it is not known whether a sub-agent makes the call."""


class SubagentBrackets:
    """The running sub-agents of each session."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._script = Script.read(
            Path(__file__).with_suffix(".lua"),
            same_turn_ms=SAME_TURN_MS,
            lifetime_s=LIFETIME_S,
            distrusted_s=DISTRUSTED_S,
        )

    async def place(self, principal: Principal, event: HookEvent) -> tuple[HookEvent, tuple[str, ...]]:
        """Record an event's news of sub-agents. Return it with its agent, and the unavailable services.

        A call starting a sub-agent is the main agent's and records nothing: it may be refused yet (`started`).
        """
        sign = event.sign
        if sign is None or not event.session_id or (sign.kind == "start" and event.name == "PreToolUse"):
            return event, ()
        try:
            found = await self._note(principal, event.session_id, sign)
        except RedisUnavailable:
            return event, UNKNOWN
        if found is None:
            return event, ()
        agent_id, agent_type = found
        return msgspec.structs.replace(event, agent_id=agent_id.decode(), agent_type=agent_type.decode()), ()

    async def started(self, principal: Principal, event: HookEvent) -> None:
        """Record the sub-agent started by a call that was not refused. Without Redis it counts as not started."""
        if event.sign is not None and event.sign.kind == "start" and event.name == "PreToolUse" and event.session_id:
            try:
                await self._note(principal, event.session_id, event.sign)
            except RedisUnavailable:
                return

    async def distrust(self, principal: Principal, event: HookEvent) -> None:
        """Take all calls of a session for the main agent's from now on. Without Redis they are so anyway."""
        if event.session_id:
            try:
                await self._note(principal, event.session_id, AgentSign(kind="distrust"))
            except RedisUnavailable:
                return

    async def _note(self, principal: Principal, session_id: str, sign: AgentSign) -> list[bytes] | None:
        agent = storable(sign.agent[:LONGEST_NAME])
        agent_id = storable(sign.agent_id[:LONGEST_NAME]) or f"{agent}-{sign.at_ms}"
        tag = session_tag(principal, session_id)
        keys = [b"{baton}:subagents:" + tag, b"{baton}:subagents-distrusted:" + tag]
        arguments = (sign.kind, sign.at_ms, agent, agent_id, b"" if sign.agent_id else b"1")
        found: list[bytes] | None = await self._redis.script(self._script, keys, arguments)
        return found
