"""Which calls are a sub-agent's, for clients whose calls do not say it: those between its start and its end.

The brackets are in Redis, so that all servers agree. Where it is not certain that a sub-agent makes a call, it is the main
agent's, for which the stricter rules hold: calls of the turn that started the sub-agent, and all of them without Redis.
"""

from pathlib import Path

import msgspec

from baton.clients.event import AgentSign, HookEvent
from baton.engine.call.principal import Principal
from baton.kernel.base.storable import storable
from baton.kernel.redis.client import Redis, RedisUnavailable, Script
from baton.kernel.redis.session_keys import session_tag

SAME_TURN_MS = 200
"""How far apart two calls of one turn of the main agent may be, in milliseconds by the client's clock.

Gemini CLI asks about all calls of a turn before it runs any, each as soon as the process for the one before is started. A
sub-agent's first call comes after these answers and an answer of its model.
"""
LIFETIME_S = 3_600
"""How long a bracket lasts without a call in it, in seconds: its end may never come, as when a client is killed."""
LONGEST_NAME = 200
"""Characters of an agent's name."""
UNKNOWN = ("subagents",)
"""What an answer's `degraded` says where it is not known whether a sub-agent makes the call."""


class SubagentBrackets:
    """The sub-agents that run in each session."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._script = Script.read(Path(__file__).with_suffix(".lua"), same_turn_ms=SAME_TURN_MS, lifetime_s=LIFETIME_S)

    async def place(self, principal: Principal, event: HookEvent) -> tuple[HookEvent, tuple[str, ...]]:
        """Note what an event tells about sub-agents. Return it with the agent that made it, and what was unavailable.

        A call that starts a sub-agent is the main agent's and notes nothing: it may be refused yet (`started`).
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
        """Note the sub-agent that a call starts, once the call was not refused. Without Redis it counts as not started."""
        if event.sign is not None and event.sign.kind == "start" and event.name == "PreToolUse" and event.session_id:
            try:
                await self._note(principal, event.session_id, event.sign)
            except RedisUnavailable:
                return

    async def _note(self, principal: Principal, session_id: str, sign: AgentSign) -> list[bytes] | None:
        agent = storable(sign.agent[:LONGEST_NAME])
        agent_id = storable(sign.agent_id[:LONGEST_NAME]) or f"{agent}-{sign.at_ms}"
        key = b"baton:subagents:" + session_tag(principal, session_id)
        arguments = (sign.kind, sign.at_ms, agent, agent_id, b"" if sign.agent_id else b"1")
        found: list[bytes] | None = await self._redis.script(self._script, [key], arguments)
        return found
