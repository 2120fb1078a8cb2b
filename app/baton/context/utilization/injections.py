"""Follows what was put into a session's prompt until its turn ends: which of its identifiers did the agent use?

Redis holds one injection a session: its sections' identifiers, and those of them that tool calls have named since. Nothing
here is waited for by an agent, and nothing raises.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from baton.context.utilization import identifiers
from baton.context.utilization.usage import ContextUsage
from baton.engine.call.principal import Principal
from baton.events.emitting.emission import Emitter
from baton.events.payloads.context import ContextUtilization, InjectionRecorded
from baton.kernel.base.storable import storable
from baton.kernel.redis.client import Redis, RedisUnavailable, Script
from baton.kernel.redis.session_keys import session_tag

log = logging.getLogger(__name__)

KEPT_S = 6 * 3_600
"""How long a turn may take, in seconds; what is used later is not counted."""
PATIENCE_S = 0.5
"""Longest wait for Redis when a turn has ended, in seconds."""
REMEMBERED = 5_000
"""Injections that a process remembers to have made."""
MOST_AT_ONCE = 500
"""Tasks that wait for Redis; more calls are not measured."""
Method = Literal["identifier_overlap", "timeout_fallback", "error_fallback"]


class Injection(msgspec.Struct, frozen=True, kw_only=True):
    """What was put in: the identifiers of each section by its source, apart from those that the prompt itself named.

    `at_start` says that it was put in before any prompt, so that the first prompt's turn measures it.
    """

    id: str
    sources: dict[str, list[str]]
    at_start: bool = False


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Injection).decode


class Injections:
    """Notes injections, what of them is used, and measures them."""

    def __init__(self, redis: Redis, usage: ContextUsage, events: Emitter) -> None:
        self._redis = redis
        self._usage = usage
        self._events = events
        self._reused = Script.read(Path(__file__).with_name("reused.lua"), lifetime_s=KEPT_S)
        self._made: OrderedDict[bytes, str] = OrderedDict()
        self._tasks: set[asyncio.Task[None]] = set()

    def injected(
        self,
        principal: Principal,
        session_id: str,
        injection_id: str,
        sections: Mapping[str, str],
        *,
        prompt: str = "",
        at_start: bool = False,
    ) -> None:
        """Note the sections that were put into a prompt, or into a session's start; this ends the turn before.

        Args:
            principal: Whose session it is.
            session_id: The session; without one, tokens are counted and nothing is measured.
            injection_id: The route's id, or one of its own.
            sections: The texts by their sources.
            prompt: What the person wrote: what it names itself, the agent does not owe to the injection.
            at_start: Whether no prompt was sent yet.
        """
        for source, text in sections.items():
            self._usage.added(principal, source, text)
        if not session_id:
            return
        named = identifiers.of_text(prompt)
        found = {source: sorted(identifiers.of_section(text) - named) for source, text in sections.items()}
        injection = Injection(id=injection_id, sources=found, at_start=at_start)
        self._begin(self._turn_over(principal, session_id, injection))

    def used(self, principal: Principal, session_id: str, tool_input: dict[str, Any]) -> None:
        """Note what a tool call names."""
        if not session_id or len(self._tasks) >= MOST_AT_ONCE:
            return
        names = identifiers.of_call(tool_input)
        if names:
            keys = _keys(session_tag(principal, session_id))[:2]
            self._begin(self._note(keys, [storable(name) for name in names]))

    def turn_ended(self, principal: Principal, session_id: str) -> None:
        """Measure what was put in for the turn that has ended."""
        if session_id:
            self._begin(self._end(principal, session_id))

    async def settle(self) -> None:
        """Wait until everything is noted and measured."""
        while self._tasks:
            await asyncio.gather(*self._tasks)

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _note(self, keys: list[bytes], names: list[str]) -> None:
        try:
            await self._redis.script(self._reused, keys, names)
        except RedisUnavailable:
            log.debug("what a call used was not noted: redis is away")

    async def _end(self, principal: Principal, session_id: str) -> None:
        taken = await self._take(principal, session_id)
        if taken is not None:
            self._measure(principal, session_id, *taken)

    async def _turn_over(self, principal: Principal, session_id: str, new: Injection) -> None:
        taken = await self._take(principal, session_id)
        if taken is not None:
            before, reused = taken
            if before.at_start and not new.at_start and not reused:
                # Nothing has been done since the session's start: this prompt's turn measures both.
                new = msgspec.structs.replace(new, sources=before.sources | new.sources)
            else:
                self._measure(principal, session_id, before, reused)
        names = sorted({name for found in new.sources.values() for name in found})
        if not names:
            return
        tag = session_tag(principal, session_id)
        injected, used, meta = _keys(tag)
        try:
            await self._redis.pipeline(
                [
                    (b"DEL", injected, used),
                    (b"SADD", injected, *(storable(name) for name in names)),
                    (b"EXPIRE", injected, KEPT_S),
                    (b"SET", meta, _encode(new), b"EX", KEPT_S),
                ]
            )
        except RedisUnavailable:
            return
        self._made[tag] = new.id
        if len(self._made) > REMEMBERED:
            self._made.popitem(last=False)
        # That patterns were injected, their own room tells, with their ids.
        sources = sorted(new.sources.keys() - {"patterns"})
        if sources:
            self._events.emit(
                principal,
                InjectionRecorded(
                    session_id=session_id,
                    correlation_id=new.id,
                    injection_id=new.id,
                    context_source=",".join(sources),
                    injected_count=len(names),
                ),
            )

    async def _take(self, principal: Principal, session_id: str) -> tuple[Injection, set[str]] | None:
        """Take what a session has open, and what of it was used; one of several callers gets it."""
        tag = session_tag(principal, session_id)
        injected, used, meta = _keys(tag)
        made = self._made.pop(tag, "")
        try:
            async with asyncio.timeout(PATIENCE_S):
                found, reused, _ = await self._redis.pipeline(
                    [(b"GETDEL", meta), (b"SMEMBERS", used), (b"DEL", injected, used)]
                )
            return None if found is None else (_decode(found), {name.decode() for name in reused})
        except TimeoutError:
            self._fell_back(principal, session_id, made, "timeout_fallback")
        except (RedisUnavailable, msgspec.MsgspecError):
            self._fell_back(principal, session_id, made, "error_fallback")
        return None

    def _measure(self, principal: Principal, session_id: str, injection: Injection, reused: set[str]) -> None:
        counted = {source: names for source, names in injection.sources.items() if names}
        if not counted:
            return
        for source, names in counted.items():
            self._usage.measured(principal, source, injected=len(names), reused=len(reused & set(names)))
        every = {name for names in counted.values() for name in names}
        score = len(reused & every) / len(every)
        self._events.emit(
            principal,
            ContextUtilization(
                session_id=session_id,
                correlation_id=injection.id,
                injection_id=injection.id,
                method="identifier_overlap",
                injected_count=len(every),
                reused_count=len(reused & every),
                utilization_score=round(score, 4),
            ),
        )

    def _fell_back(self, principal: Principal, session_id: str, injection_id: str, method: Method) -> None:
        """Report that an injection which this process made could not be measured; it counts nowhere."""
        if injection_id:
            self._events.emit(
                principal,
                ContextUtilization(
                    session_id=session_id, correlation_id=injection_id, injection_id=injection_id, method=method
                ),
            )


def _keys(tag: bytes) -> list[bytes]:
    return [b"baton:injected:" + tag, b"baton:reused:" + tag, b"baton:injection:" + tag]
