"""`POST /pre-tool-use`: one tool call in, the typed decision out."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, UnsetType

from baton.clients.last_heard import ClientActivity
from baton.decide.bodies import render
from baton.decide.service import PreToolUse
from baton.engine.call.call import ToolCall
from baton.kernel.base.caller import Caller
from baton.kernel.http.asgi import Headers, Request, Response
from baton.kernel.http.fields import LONGEST_TEXT, optional_text, required_object, required_text
from baton.kernel.http.json_io import decode_object, encode
from baton.people.callers import PROTOCOL
from baton.records.pipeline.decision import Decision

MAX_BODY = 8 << 20
CLIENT = "api"
"""The client's name in records of calls that come in here and name none."""

_Text = Annotated[str, msgspec.Meta(max_length=LONGEST_TEXT)]
_Absent = Annotated[str, msgspec.Meta(max_length=0)] | UnsetType


def read_call(payload: dict[str, Any], caller: Caller) -> ToolCall:
    """Read a PreToolUse payload, in snake_case or camelCase. Unknown keys are ignored.

    Raises:
        Invalid: If a field is missing or of a wrong type; the error names it.
    """
    return ToolCall(
        client=optional_text(payload, "client") or CLIENT,
        session_id=optional_text(payload, "session_id", "sessionId"),
        tool_name=required_text(payload, "tool_name", "toolName"),
        tool_input=required_object(payload, "tool_input", "toolInput"),
        tool_use_id=optional_text(payload, "tool_use_id", "toolUseId"),
        agent_id=optional_text(payload, "agent_id", "agentId"),
        agent_type=optional_text(payload, "agent_type", "agentType"),
        cwd=optional_text(payload, "cwd", "directory"),
        project=optional_text(payload, "project") or caller.project,
        project_root=caller.root,
        permission_mode=optional_text(payload, "permission_mode", "permissionMode"),
    )


class _Payload(msgspec.Struct, frozen=True):
    """The usual payload: snake_case, every text a string. Anything else is left to `read_call`, which is slower.

    The camelCase names stand here as fields that must be absent, so that a payload with one of them does not match.
    """

    tool_name: _Text
    tool_input: dict[str, Any]
    client: _Text = ""
    session_id: _Text = ""
    tool_use_id: _Text = ""
    agent_id: _Text = ""
    agent_type: _Text = ""
    cwd: _Text = ""
    project: _Text = ""
    permission_mode: _Text = ""
    sessionId: _Absent = UNSET  # noqa: N815
    toolUseId: _Absent = UNSET  # noqa: N815
    agentId: _Absent = UNSET  # noqa: N815
    agentType: _Absent = UNSET  # noqa: N815
    directory: _Absent = UNSET
    permissionMode: _Absent = UNSET  # noqa: N815


_decode_payload = msgspec.json.Decoder(_Payload).decode


def decode_call(body: bytes, caller: Caller) -> ToolCall:
    """Decode a PreToolUse payload into a call.

    Raises:
        BadJSON: If the body is no JSON object.
        Invalid: If a field is missing or of a wrong type; the error names it.
    """
    try:
        payload = _decode_payload(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return read_call(decode_object(body), caller)
    if not payload.tool_name.strip():
        return read_call(decode_object(body), caller)
    return ToolCall(
        client=payload.client or CLIENT,
        session_id=payload.session_id,
        tool_name=payload.tool_name,
        tool_input=payload.tool_input,
        tool_use_id=payload.tool_use_id,
        agent_id=payload.agent_id,
        agent_type=payload.agent_type,
        cwd=payload.cwd,
        project=payload.project or caller.project,
        project_root=caller.root,
        permission_mode=payload.permission_mode,
    )


def decision_headers(decision: Decision, *, debug: bool) -> Headers:
    """Return the headers by which a shim, or a person with curl, sees what was decided."""
    headers: Headers = [(b"baton-protocol", PROTOCOL.encode()), (b"baton-decision-id", decision.id.encode())]
    if decision.degraded:
        headers.append((b"baton-degraded", ",".join(decision.degraded).encode()))
    if debug:
        verdict = decision.verdict
        headers.append((b"baton-decision", f"{verdict.effect} {verdict.rule}".strip().encode()))
        if verdict.message:
            headers.append((b"baton-message", header_text(verdict.message)))
    return headers


def header_text(text: str) -> bytes:
    """Return a text as a header value: one line, UTF-8, no control characters, at most 512 bytes."""
    shown = "".join(character if character.isprintable() else " " for character in text[:512])
    return " ".join(shown.split()).encode("utf-8", "replace")[:512]


class PreToolUseEndpoint:
    """Read the call, decide it, render the decision."""

    def __init__(self, service: PreToolUse, seen: ClientActivity) -> None:
        self._service = service
        self._seen = seen

    async def answer(self, request: Request, caller: Caller) -> Response:
        """Answer one call."""
        call = decode_call(request.body, caller)
        self._seen.note(caller.principal, call.client, caller.protocol)
        decision = await self._service.decide(caller, call)
        headers = decision_headers(decision, debug=caller.debug)
        return Response(encode(render(decision, call.tool_input)), 200, headers)
