"""What the rest of the system hears of a session: its start and end, prompts, tool calls, and an agent that waits."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import PurePosixPath

import msgspec
from msgspec import UNSET
from uuid_utils import uuid7

from baton.clients.event import HookEvent
from baton.engine.call.call import ToolCall
from baton.engine.call.edited_paths import edited_paths
from baton.engine.routing.local_answers import classify
from baton.engine.routing.prompts import workflow_kind
from baton.engine.text.masking import mask, mask_and_cut_bytes, mask_json
from baton.events.content import bounded
from baton.events.emitting.emission import Emitter, call_id, natural_id, session_entity
from baton.events.payloads.base import Ids, Payload
from baton.events.payloads.sessions import (
    LONGEST_PROMPT,
    ClaudeHookEvent,
    NotificationBlocked,
    NotificationCompleted,
    PromptSubmitted,
    SessionEnded,
    SessionStarted,
    StaticContextEditDetected,
)
from baton.events.payloads.tools import LARGEST_CONTENT, ToolContent, ToolExecuted
from baton.events.preview import preview
from baton.kernel.base.caller import Caller
from baton.kernel.base.storable import storable, storable_json

STATIC_CONTEXT = frozenset(
    {"agents.md", "claude.md", "claude.local.md", "gemini.md", "copilot-instructions.md", ".cursorrules"}
)
"""Files that a client puts into every session, by their names in lower case."""
_EDITING_TOOLS = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit", "apply_patch"})
_LARGEST_MASKED = 2 * LARGEST_CONTENT
"""Characters of a tool call that are masked; more than is sent, so that what is sent is masked whole."""
_encode = msgspec.json.Encoder().encode


class SessionEvents:
    """Emits the events. Nothing is emitted of a session in which the person has switched Baton off.

    `keeps_prompts` says of a team whether its prompts may be kept.
    """

    def __init__(self, events: Emitter, keeps_prompts: Callable[[str], bool]) -> None:
        self._events = events
        self._keeps_prompts = keeps_prompts

    def started(self, caller: Caller, event: HookEvent, project: str) -> None:
        """Emit that a session started or went on."""
        if caller.disabled:
            return
        payload = SessionStarted(
            session_id=event.session_id,
            correlation_id=_session(caller, event),
            working_directory=event.cwd[:1_000],
            hook_source=event.source,
            client=event.client,
            project=project[:1_000],
        )
        self._events.emit(caller.principal, payload)

    def ended(self, caller: Caller, event: HookEvent) -> None:
        """Emit that a session ended; the courier knows how long it was and how it went."""
        if caller.disabled:
            return
        payload = SessionEnded(
            session_id=event.session_id,
            correlation_id=_session(caller, event),
            reason=event.reason[:200],
            client=event.client,
        )
        self._events.emit(caller.principal, payload)

    def prompted(self, caller: Caller, event: HookEvent, route_id: str = "") -> None:
        """Emit a person's prompt twice: a preview for everybody, and the whole prompt on the restricted topic."""
        if caller.disabled or not event.prompt:
            return
        prompt_id, now = route_id or str(uuid7()), datetime.now(UTC)
        whole_id, length = natural_id("claude-hook-event", prompt_id), len(event.prompt)
        # A prompt may be megabytes: what is never sent must not wait in memory.
        text = event.prompt[: 2 * LONGEST_PROMPT]
        ids = {"session_id": event.session_id, "correlation_id": prompt_id, "prompt_id": prompt_id}

        def whole() -> Payload:
            masked = mask(storable(text))
            return ClaudeHookEvent(
                **ids,
                hook_event_name=event.native_name,
                emitted_at=now,
                prompt=masked[:LONGEST_PROMPT],
                prompt_length=length,
                truncated=length > len(text) or len(masked) > LONGEST_PROMPT,
                client=event.client,
            )

        def shown() -> Payload:
            return PromptSubmitted(
                **ids,
                entity_id=_session(caller, event),
                causation_id=whole_id,
                emitted_at=now,
                prompt_preview=preview(text),
                prompt_length=length,
                detected_intent=intent(text),
                client=event.client,
            )

        self._events.emit_later(caller.principal, shown, size=len(text), topic="prompt-submitted")
        # A team that keeps no prompts has none in Redis either, not even where few may read them.
        if self._keeps_prompts(caller.principal.team):
            self._events.emit_later(
                caller.principal, whole, size=len(text), topic="claude-hook-event", event_id=whole_id
            )

    def tool_used(self, caller: Caller, event: HookEvent) -> None:
        """Emit that a tool call ended, and what it was about on the restricted topic."""
        if caller.disabled or event.name not in {"PostToolUse", "PostToolUseFailure"}:
            return
        principal, ran = caller.principal, event.name == "PostToolUse"
        correlation = call_id(principal.organisation, principal.user, event.session_id, event.tool_use_id)
        execution = event.tool_use_id or str(uuid7())
        ids = Ids(session_id=event.session_id, correlation_id=correlation or execution)
        duration = "" if event.duration_ms is None else f" in {event.duration_ms} ms"
        executed = ToolExecuted(
            **ids,
            tool_execution_id=execution[:200],
            tool_name=event.tool_name[:200],
            success=ran,
            duration_ms=UNSET if event.duration_ms is None else event.duration_ms,
            summary=f"{event.tool_name[:200]} {'ran' if ran else 'failed'}{duration}",
            agent_id=event.agent_id[:200],
            client=event.client,
        )

        told = {"input": event.tool_input, "response": event.tool_response}
        held, size = bounded(told, _LARGEST_MASKED)

        def content() -> Payload:
            text = _encode(mask_json(storable_json(held))).decode()
            return ToolContent(
                **ids,
                tool_execution_id=execution[:200],
                tool_name=event.tool_name[:200],
                content=mask_and_cut_bytes(text, LARGEST_CONTENT),
                content_length=len(text),
                truncated=size >= _LARGEST_MASKED or len(text.encode()) > LARGEST_CONTENT,
            )

        # A client may post the end of a call again, and to another server.
        own = (principal.user, event.session_id, event.agent_id, execution)
        self._events.emit(principal, executed, event_id=natural_id("tool-executed", *own))
        self._events.emit_later(
            principal, content, size=size, topic="tool-content", event_id=natural_id("tool-content", *own)
        )
        if ran:
            self._static_context(caller, event, ids, own)

    def waits(self, caller: Caller, event: HookEvent) -> None:
        """Emit that an agent waits for a person's leave."""
        if caller.disabled:
            return
        principal = caller.principal
        payload = NotificationBlocked(
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
        payload = NotificationCompleted(
            session_id=event.session_id, correlation_id=_session(caller, event), agent_name=event.client
        )
        self._events.emit(caller.principal, payload)

    def _static_context(self, caller: Caller, event: HookEvent, ids: Ids, own: tuple[str, ...]) -> None:
        if event.tool_name not in _EDITING_TOOLS:
            return
        call = ToolCall(
            client=event.client,
            session_id=event.session_id,
            tool_name=event.tool_name,
            tool_input=event.tool_input,
            cwd=event.cwd,
            project_root=caller.root,
        )
        changed = tuple(path for path in edited_paths(call) if PurePosixPath(path).name.lower() in STATIC_CONTEXT)
        if changed:
            payload = StaticContextEditDetected(**ids, changed_files=changed)
            self._events.emit(caller.principal, payload, event_id=natural_id("static-context-edit-detected", *own))


def intent(prompt: str) -> str:
    """Return what a prompt asks for in one word: a kind of workflow, or test, document, debug …; "" if it names no task."""
    found = workflow_kind(prompt)
    if found:
        return found
    task = classify(prompt, threshold=0).intent
    return "" if task == "unknown" else task


def _session(caller: Caller, event: HookEvent) -> str:
    return session_entity(caller.principal.organisation, caller.principal.user, event.session_id)
