"""Hook events and answers in a common form. Each client has a module here."""

from datetime import datetime
from typing import Any, Literal, Protocol, cast

import msgspec

from baton.clients import tool_inputs
from baton.clients.spec import Spec

EventName = Literal[
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PermissionRequest",
    "PermissionDenied",
    "PreSkillShellCommand",
    "UserPromptExpansion",
    "PreCompress",
    "SubagentStart",
    "SubagentStop",
    "Stop",
    "other",
]


_INPUTS = ("tool_input", "toolInput", "toolArgs", "tool_args", "arguments", "args", "input", "parameters", "params")
"""Possible field names of a tool's input."""
CONTEXT_LIMIT = 9_500  # maximum size of a context in bytes: Claude Code replaces a larger one by a pointer to a file


class AgentSign(msgspec.Struct, frozen=True, kw_only=True):
    """A hint about sub-agents, from a client that does not name the agent of a call.

    `call` may be a sub-agent's. `turn` precedes a request to a model. `start` and `end` are those of the sub-agent
    `agent`. At `none` no sub-agent runs. After `distrust`, never sent by clients, no start counts. A `start` that is
    itself a call of the main agent has no `agent_id`.
    """

    kind: Literal["call", "turn", "start", "end", "none", "distrust"]
    at_ms: int = 0  # time by the client's clock, in milliseconds; 0 if missing
    agent: str = ""
    agent_id: str = ""


class CallFields(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a tool call in a payload. Missing strings are ""."""

    client: str
    session_id: str = ""
    agent_id: str = ""
    agent_type: str = ""
    cwd: str = ""
    permission_mode: str = ""
    tool_name: str = ""
    tool_input: dict[str, Any] = {}
    tool_use_id: str = ""


class HookEvent(CallFields, frozen=True, kw_only=True):
    """One hook event from a client's payload.

    `native_name` is the client's event name, to be repeated in the answer. `source` is the reason of a session start
    (startup, resume, clear, compact, fork), `reason` that of its end. `prompt` is the person's. `duration_ms` is that
    of a finished call, or None. `command_name` and `command_args` are those of a slash command before its expansion.
    """

    name: EventName
    native_name: str
    tool_response: Any = None
    source: str = ""
    reason: str = ""
    prompt: str = ""
    command_name: str = ""
    command_args: str = ""
    sign: AgentSign | None = None
    model: str = ""  # the model of the session, or ""
    agents: str = ""  # the shim's checksum of the agents' files, or ""
    duration_ms: int | None = None


class HookAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a hook event, independent of the client. Empty fields are not sent.

    `effect` `none` is no opinion. `updated_input` is the full tool input. `context` is for the model, `system_message`
    for the person.
    """

    effect: Literal["none", "deny", "ask"] = "none"
    reason: str = ""
    updated_input: dict[str, Any] | None = None
    context: str = ""
    system_message: str = ""

    @property
    def context_for_both(self) -> str:
        """The context after the person's message, for clients without messages to the person."""
        told = f"Baton says to the person: {self.system_message}" if self.system_message else ""
        return "\n\n".join(filter(None, (told, self.context)))


class Client(Protocol):
    """One agent client: reads its payloads, renders its answers."""

    name: str  # the name in `/hooks/{client}`
    SPEC: Spec

    def read(self, payload: dict[str, Any], event: str) -> HookEvent:
        """Read a payload. `event` is the URL's event name, for payloads without one. Raise UnreadableFieldError."""
        ...

    def render(self, event: str, answer: HookAnswer) -> dict[str, Any]:
        """Render an answer for the native event name in the client's dialect; `{}` is no opinion."""
        ...


class UnreadableFieldError(ValueError):
    """An unreadable field of a payload: its name and the problem."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"`{field}` {message}")
        self.field, self.message = field, message


def event_name(spec: Spec, native: str) -> EventName:
    """Return Baton's name of a client's event, or `other` for an unused one."""
    return cast("EventName", spec.names.get(native, "other"))


def text(payload: dict[str, Any], *names: str) -> str:
    """Read the first non-empty string field of these names, or ""."""
    for name in names:
        value = payload.get(name)
        if isinstance(value, str) and value:
            return value
    return ""


def at_ms(payload: dict[str, Any]) -> int:
    """Read an event's ISO 8601 `timestamp`, in milliseconds; 0 if unreadable."""
    try:
        return int(datetime.fromisoformat(text(payload, "timestamp")).timestamp() * 1000)
    except (ValueError, OverflowError):
        return 0


def tool_input_of(tool: str, payload: dict[str, Any], *names: str) -> dict[str, Any]:
    """Read a tool's input from any field name. It may be absent or null. Raise UnreadableFieldError."""
    name = next((name for name in (*names, *_INPUTS) if payload.get(name) is not None), names[0])
    try:
        return tool_inputs.tool_input_of(tool, payload.get(name))
    except tool_inputs.UnreadableInput as error:
        raise UnreadableFieldError(name, str(error)) from None


def duration(payload: dict[str, Any], *names: str) -> int | None:
    """Read a call's duration in milliseconds, or None."""
    for name in names:
        value = payload.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 2**31:
            return round(value)
    return None


def clip(context: str) -> str:
    """Truncate a context to the clients' limit, at a character's boundary."""
    encoded = context.encode("utf-8", "replace")
    return context if len(encoded) <= CONTEXT_LIMIT else encoded[:CONTEXT_LIMIT].decode("utf-8", "ignore")
