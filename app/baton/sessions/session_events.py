"""Emits a session's events: start and end, prompts, tool calls, and a waiting agent."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Literal

from msgspec import UNSET
from uuid_utils import uuid7

from baton.clients.event import HookEvent
from baton.events import payloads
from baton.events.emission import Emitter, call_id, natural_id, session_entity
from baton.kernel.redis.client import Redis, RedisUnavailable, session_tag
from baton.lib.router.local_answers import classify
from baton.lib.router.prompts import workflow_kind
from baton.lib.text.masking import WINDOW, cut_at_word, mask
from baton.shared.caller import Caller
from baton.shared.storable import storable

KEPT_S = 7 * 86_400
"""How long the counts of a silent session are kept, in seconds."""
_ELLIPSIS = "..."


class SessionEvents:
    """Emits the events. A session with Baton switched off by the person emits nothing.

    `keeps_prompts` returns whether a team's prompts may be kept.
    """

    def __init__(self, redis: Redis, events: Emitter, keeps_prompts: Callable[[str], bool]) -> None:
        self._redis = redis
        self._events = events
        self._keeps_prompts = keeps_prompts

    def started(self, caller: Caller, event: HookEvent, project: str) -> None:
        """Emit that a session started or resumed."""
        if caller.disabled:
            return
        payload = payloads.SessionStarted(
            session_id=event.session_id,
            correlation_id=_session(caller, event),
            working_directory=event.cwd[:1_000],
            hook_source=event.source,
            client=event.client,
            project=project[:1_000],
        )
        self._events.emit(caller.principal, payload)
        key = _tally(caller, event)
        self._redis.send(b"HSETNX", key, b"started", int(time.time() * 1000))
        self._redis.send(b"EXPIRE", key, KEPT_S)

    async def ended(self, caller: Caller, event: HookEvent) -> None:
        """Emit that a session ended, with its known length and calls."""
        if caller.disabled:
            return
        try:
            found = await self._redis.call(b"HMGET", _tally(caller, event), b"started", b"ran", b"failed", b"last")
        except RedisUnavailable:
            found = [None] * 4
        started_ms, ran, failed = (int(value or 0) for value in found[:3])
        ended: Literal["failed", "success"] = "failed" if found[3] == b"failed" else "success"
        payload = payloads.SessionEnded(
            session_id=event.session_id,
            correlation_id=_session(caller, event),
            reason=event.reason[:200],
            client=event.client,
            duration_seconds=max(0, int(time.time() * 1000) - started_ms) / 1000 if started_ms else UNSET,
            tools_used_count=ran + failed,
            tools_failed_count=failed,
            outcome="unknown" if not started_ms else ended if ran + failed else "abandoned",
        )
        self._events.emit(caller.principal, payload)

    def prompted(self, caller: Caller, event: HookEvent, route_id: str = "") -> None:
        """Emit a person's prompt twice: a preview for everybody, and the whole prompt on the restricted topic."""
        if caller.disabled or not event.prompt:
            return
        prompt_id, now = route_id or str(uuid7()), datetime.now(UTC)
        whole_id, length = natural_id("claude-hook-event", prompt_id), len(event.prompt)
        # A prompt may be megabytes, and the answer waits for its masking.
        text = event.prompt[: 2 * payloads.LONGEST_PROMPT]
        ids = {"session_id": event.session_id, "correlation_id": prompt_id, "prompt_id": prompt_id}

        def whole() -> payloads.Payload:
            masked = mask(storable(text))
            return payloads.ClaudeHookEvent(
                **ids,
                hook_event_name=event.native_name,
                emitted_at=now,
                prompt=masked[: payloads.LONGEST_PROMPT],
                prompt_length=length,
                truncated=length > len(text) or len(masked) > payloads.LONGEST_PROMPT,
                client=event.client,
            )

        def shown() -> payloads.Payload:
            return payloads.PromptSubmitted(
                **ids,
                entity_id=_session(caller, event),
                causation_id=whole_id,
                emitted_at=now,
                prompt_preview=preview(text),
                prompt_length=length,
                detected_intent=intent(text),
                client=event.client,
            )

        self._events.emit_built(caller.principal, shown, topic="prompt-submitted")
        # A team not keeping prompts has none in Redis either, not even in restricted topics.
        if self._keeps_prompts(caller.principal.team):
            self._events.emit_built(caller.principal, whole, topic="claude-hook-event", event_id=whole_id)

    def tool_used(self, caller: Caller, event: HookEvent, *, counts: bool) -> None:
        """Emit that a tool call ended. It `counts` for the session unless it was reported before."""
        if caller.disabled or event.name not in {"PostToolUse", "PostToolUseFailure"}:
            return
        principal, ran = caller.principal, event.name == "PostToolUse"
        if counts:
            key, how = _tally(caller, event), b"ran" if ran else b"failed"
            self._redis.send(b"HINCRBY", key, how, 1)
            self._redis.send(b"HSET", key, b"last", how)
            self._redis.send(b"EXPIRE", key, KEPT_S)
        correlation = call_id(principal.organisation, principal.user, event.session_id, event.tool_use_id)
        execution = event.tool_use_id or str(uuid7())
        duration = "" if event.duration_ms is None else f" in {event.duration_ms} ms"
        executed = payloads.ToolExecuted(
            session_id=event.session_id,
            correlation_id=correlation or execution,
            tool_execution_id=execution[:200],
            tool_name=event.tool_name[:200],
            success=ran,
            duration_ms=UNSET if event.duration_ms is None else event.duration_ms,
            summary=f"{event.tool_name[:200]} {'ran' if ran else 'failed'}{duration}",
            agent_id=event.agent_id[:200],
            client=event.client,
        )
        # A client may post the end of a call again, and to another server.
        natural = natural_id("tool-executed", principal.user, event.session_id, event.agent_id, execution)
        self._events.emit(principal, executed, event_id=natural)

    def waits(self, caller: Caller, event: HookEvent) -> None:
        """Emit that an agent waits for a person's permission."""
        if caller.disabled:
            return
        principal = caller.principal
        payload = payloads.NotificationBlocked(
            session_id=event.session_id,
            correlation_id=call_id(principal.organisation, principal.user, event.session_id, event.tool_use_id)
            or _session(caller, event),
            agent_name=(event.agent_type or event.client)[:200],
            tool_name=event.tool_name[:200],
            reason="a person is asked for permission",
        )
        self._events.emit(principal, payload)

    def turn_ended(self, caller: Caller, event: HookEvent) -> None:
        """Emit that the main agent has ended its turn and waits for the next prompt."""
        if caller.disabled or event.name != "Stop":
            return
        payload = payloads.NotificationCompleted(
            session_id=event.session_id, correlation_id=_session(caller, event), agent_name=event.client
        )
        self._events.emit(caller.principal, payload)


def intent(prompt: str) -> str:
    """Return a prompt's intent: a kind of workflow, or test, document, debug …; "" if it names no task."""
    found = workflow_kind(prompt)
    if found:
        return found
    task = classify(prompt, threshold=0).intent
    return "" if task == "unknown" else task


def _tally(caller: Caller, event: HookEvent) -> bytes:
    return b"{baton}:tally:" + session_tag(caller.principal, event.session_id)


def _session(caller: Caller, event: HookEvent) -> str:
    return session_entity(caller.principal.organisation, caller.principal.user, event.session_id)


def preview(prompt: str) -> str:
    """Return what a whole team may see of a prompt: the first 100 characters with secrets masked, or 97 and `...`."""
    # Content after a secret longer than the window is not shown anyway, and masking time grows with the length.
    masked = mask(storable(cut_at_word(prompt, WINDOW)))
    if len(masked) <= payloads.LONGEST_PREVIEW:
        return masked
    cut = masked[: payloads.LONGEST_PREVIEW - len(_ELLIPSIS)]
    opening = cut.rfind("[masked:")
    if opening > cut.rfind("]"):
        cut = cut[:opening]  # half a mask could be taken for the value of a secret's name, and be masked again
    shown = cut + _ELLIPSIS
    # The cut can bring together what is a secret only at a text's end: then the last word goes, too.
    while mask(shown) != shown and cut:
        cut = cut[: cut.rstrip().rfind(" ") + 1] if " " in cut.rstrip() else ""
        shown = cut + _ELLIPSIS
    return shown
