"""`POST /session-start`, `/session-end` and `/post-tool-use`: the other typed events."""

from datetime import datetime
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from baton.clients.event import EventName, HookEvent
from baton.context.compliance.service import Compliance
from baton.decide.hooks import StartPatterns
from baton.kernel.base.errors import Invalid
from baton.kernel.http.fields import optional_count, optional_text, required_text
from baton.kernel.http.serving.hot_routes import Request, Response, decode_object, encode
from baton.machines.known_clients import read_fields
from baton.rules.call.modes import Mode
from baton.sessions.history import Outcomes
from baton.sessions.service import Sessions
from baton.shared.caller import Caller, as_call
from baton.shared.storable import project_name

SOURCES = ["startup", "resume", "clear", "compact", "fork"]


class ModeView(msgspec.Struct, frozen=True, kw_only=True):
    """The mode in force, and its scope."""

    enabled: bool
    level: Literal["strict", "guidance"]
    scope: str
    auto_activated: bool
    activated_at: datetime | UnsetType = UNSET

    @classmethod
    def build(cls, mode: Mode) -> "ModeView":
        """Return a mode as the API shows it."""
        return cls(
            enabled=mode.enabled,
            level=mode.level,
            scope=mode.scope,
            auto_activated=mode.auto_activated,
            activated_at=mode.activated_at or UNSET,
        )


class SessionStartAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a session's start."""

    mode: ModeView
    additional_context: str | UnsetType = UNSET
    """Directives for the orchestrator while the mode is on, and what the team has learned; absent without either."""
    message: str | UnsetType = UNSET
    """A notice for the person."""
    degraded: tuple[str, ...]


class Acknowledged(msgspec.Struct, frozen=True, kw_only=True):
    """The event was noted."""

    ok: Literal[True] = True
    degraded: tuple[str, ...] = ()


class SessionEventsEndpoint:
    """Read the events and hand them to `Sessions`."""

    def __init__(
        self, sessions: Sessions, outcomes: Outcomes, start_patterns: StartPatterns, compliance: Compliance
    ) -> None:
        self._sessions = sessions
        self._outcomes = outcomes
        self._start_patterns = start_patterns
        self._compliance = compliance

    async def start(self, request: Request, caller: Caller) -> Response:
        """Answer the start of a session."""
        payload, caller = _read(request, caller)
        event = read_event(payload, "SessionStart")
        if event.source and event.source not in SOURCES:
            raise Invalid("source", f"is `{event.source}`", SOURCES)
        work_items = optional_count(payload, "work_items", "workItems")
        if work_items is not None:
            caller = msgspec.structs.replace(caller, work_items=work_items)
        started = await self._sessions.start(caller, event)
        started = await self._start_patterns.add_to(started, caller, event)
        answer = SessionStartAnswer(
            mode=ModeView.build(started.mode),
            additional_context=started.context or UNSET,
            message=started.notice or UNSET,
            degraded=started.degraded,
        )
        return Response(encode(answer))

    async def end(self, request: Request, caller: Caller) -> Response:
        """Answer the end of a session."""
        payload, caller = _read(request, caller)
        event = read_event(payload, "SessionEnd")
        return Response(encode(Acknowledged(degraded=await self._sessions.end(caller, event))))

    async def tool_used(self, request: Request, caller: Caller) -> Response:
        """Answer the end of a tool call."""
        payload, caller = _read(request, caller)
        required_text(payload, "tool_name", "toolName")
        event = read_event(payload, "PostToolUse")
        degraded = await self._sessions.tool_used(caller, event)
        degraded += tuple(cause for cause in (await self._outcomes.ended(caller, event))[1] if cause not in degraded)
        if not caller.disabled:
            self._compliance.submit(
                caller.principal, self._sessions.projects.place(caller.principal, as_call(caller, event))
            )
        return Response(encode(Acknowledged(degraded=degraded)))


def _read(request: Request, caller: Caller) -> tuple[dict[str, Any], Caller]:
    payload = decode_object(request.body)
    project = project_name(optional_text(payload, "project"))
    return payload, msgspec.structs.replace(caller, project=project) if project else caller


def read_event(payload: dict[str, Any], name: EventName) -> HookEvent:
    """Read an event's payload.

    Raises:
        Invalid: If a field is missing or of a wrong type; the error names it.
    """
    required_text(payload, "session_id", "sessionId")
    return HookEvent(
        client="api",
        name=name,
        native_name=name,
        tool_response=payload.get("tool_response", payload.get("toolResponse")),
        source=optional_text(payload, "source"),
        model=optional_text(payload, "model"),
        reason=optional_text(payload, "reason"),
        duration_ms=optional_count(payload, "duration_ms", "durationMs"),
        **read_fields(payload),
    )
