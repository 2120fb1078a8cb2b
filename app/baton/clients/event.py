"""Hook events and answers in one form for all clients; each client has its own module here."""

from datetime import datetime
from typing import Any, Literal, Protocol

import msgspec

EventName = Literal[
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PermissionRequest",
    "PermissionDenied",
    "SubagentStart",
    "SubagentStop",
    "Stop",
    "other",
]


CONTEXT_LIMIT = 9_500
"""Bytes of a context that Claude Code passes on in line (more becomes a pointer to a file); no client gets more."""


class AgentSign(msgspec.Struct, frozen=True, kw_only=True):
    """What an event tells about sub-agents, of a client whose calls do not name the agent that makes them.

    `call` may be a sub-agent's call, `turn` asks a model, `start` and `end` are those of the sub-agent `agent`, and at `none`
    no sub-agent runs. A `start` that is itself a call of the main agent has no `agent_id`.
    """

    kind: Literal["call", "turn", "start", "end", "none"]
    at_ms: int = 0
    """When it happened by the client's own clock, in milliseconds; 0 if it does not say."""
    agent: str = ""
    agent_id: str = ""


class HookEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One hook event, read from a client's payload. Text fields are "" where the client said nothing.

    `native_name` is the event's name in the client's own words, which its answer must repeat. `source` is why a
    session started (startup, resume, clear, compact, fork), `reason` why it ended; `prompt` is what a person sent.
    `duration_ms` is how long a finished call took, None where the client does not tell.
    """

    client: str
    name: EventName
    native_name: str
    session_id: str = ""
    agent_id: str = ""
    agent_type: str = ""
    cwd: str = ""
    permission_mode: str = ""
    tool_name: str = ""
    tool_input: dict[str, Any] = {}
    tool_use_id: str = ""
    tool_response: Any = None
    source: str = ""
    reason: str = ""
    prompt: str = ""
    sign: AgentSign | None = None
    agents: str = ""
    """The checksum of the agents' files, from the shim; "" if there are none."""
    duration_ms: int | None = None


class HookAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a hook event, before it is put into a client's dialect. Empty fields are not sent.

    `effect` is `none` for no opinion. `updated_input` is the full tool input. `context` goes to the model,
    `system_message` to the person.
    """

    effect: Literal["none", "deny", "ask"] = "none"
    reason: str = ""
    updated_input: dict[str, Any] | None = None
    context: str = ""
    system_message: str = ""

    @property
    def context_for_both(self) -> str:
        """The context with the person's message in front, for clients that show a person nothing."""
        told = f"Baton says to the person: {self.system_message}" if self.system_message else ""
        return "\n\n".join(filter(None, (told, self.context)))


class Client(Protocol):
    """One agent client: reads its payload, renders its answer."""

    name: str
    """The name in `/hooks/{client}`."""

    def read(self, payload: dict[str, Any], event: str) -> HookEvent:
        """Read a payload; `event` is the event's name from the URL, for payloads that do not say it.

        Raises:
            baton.kernel.base.errors.Invalid: when a field that the event needs has a wrong type.
        """
        ...

    def render(self, event: str, answer: HookAnswer) -> dict[str, Any]:
        """Render an answer to the native event name in the client's own dialect; `{}` is no opinion."""
        ...


def text(payload: dict[str, Any], *names: str) -> str:
    """Read the first text field of these names; anything but a text counts as absent."""
    for name in names:
        value = payload.get(name)
        if isinstance(value, str) and value:
            return value
    return ""


def at_ms(payload: dict[str, Any]) -> int:
    """Read when an event happened, from an ISO 8601 `timestamp`, in milliseconds; 0 for none that can be read."""
    try:
        return int(datetime.fromisoformat(text(payload, "timestamp")).timestamp() * 1000)
    except (ValueError, OverflowError):
        return 0


def tool_input_of(payload: dict[str, Any], *names: str) -> dict[str, Any]:
    """Read the tool's input; a client that has none to send may leave it out or send null."""
    for name in names:
        value = payload.get(name)
        if isinstance(value, dict):
            return value
    return {}


def duration(payload: dict[str, Any], *names: str) -> int | None:
    """Read how long a call took, in whole milliseconds; None where the payload holds no such number."""
    for name in names:
        value = payload.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 2**31:
            return round(value)
    return None


def clip(context: str) -> str:
    """Cut a context to what the client passes on in line, on a character's border."""
    encoded = context.encode("utf-8", "replace")
    return context if len(encoded) <= CONTEXT_LIMIT else encoded[:CONTEXT_LIMIT].decode("utf-8", "ignore")
