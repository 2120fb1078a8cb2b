"""`POST /pre-tool-use`: one tool call in, the typed decision out, in the seeds' words. It does not decide."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from baton.clients.last_heard import ClientsSeen
from baton.decide.service import PreToolUse
from baton.engine.call.call import ToolCall
from baton.engine.call.verdict import RuleHit, Verdict
from baton.engine.shell.model import SOMEWHERE, Category, Shell
from baton.kernel.base.caller import Caller
from baton.kernel.http.asgi import Headers, Request, Response
from baton.kernel.http.fields import LONGEST_TEXT, optional_text, required_object, required_text
from baton.kernel.http.json_io import decode_object, encode
from baton.people.callers import PROTOCOL
from baton.records.pipeline.decision import Decision, ModeInForce

MAX_BODY = 8 << 20
CLIENT = "api"
"""The client's name in records of calls that came in here and did not say."""

_Text = Annotated[str, msgspec.Meta(max_length=LONGEST_TEXT)]
_Absent = Annotated[str, msgspec.Meta(max_length=0)] | UnsetType
_DECISIONS: dict[str, Literal["allow", "ask", "block"]] = {"deny": "block", "ask": "ask"}


class ShellView(msgspec.Struct, frozen=True, kw_only=True):
    """What reading the shell command yielded."""

    programs: list[tuple[str, ...]]
    """Every program that the line would run, at any nesting level, outermost first; quotes removed."""
    writes: list[str]
    """Targets of redirections and of programs that write."""
    categories: list[Category]
    unparsed: bool
    """True when the line could not be read whole."""
    unparsed_reason: str | UnsetType = UNSET


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """What the rules say of a call, in the seeds' words. What is absent was not said; nothing is ever null."""

    decision: Literal["allow", "ask", "block"]
    continue_: bool = msgspec.field(name="continue")
    """False only with `block`."""
    reason: str | UnsetType = UNSET
    """Why the call is blocked or asked about: what was found, what to do instead, the way out."""
    guidance: str | UnsetType = UNSET
    suggestion: str | UnsetType = UNSET
    """A ready-made Task call."""
    message: str | UnsetType = UNSET
    """What was rewritten."""
    modified_input: dict[str, Any] = msgspec.field(name="modifiedInput")
    """The full tool input, rewritten or not."""
    rules: tuple[RuleHit, ...]
    """Every rule that matched; effect `guidance` is a deny that the guidance level softened."""
    mode: ModeInForce
    shell: ShellView | UnsetType = UNSET
    policy_revision: str


class PreToolUseAnswer(Judgement, frozen=True, kw_only=True):
    """The typed decision: the judgement, and what makes it one that was made and recorded."""

    decision_id: str
    degraded: tuple[str, ...]
    """What was unavailable while deciding."""
    elapsed_ms: float
    overridden: bool | UnsetType = UNSET
    """True when the person had switched Baton off for the session."""


def read_call(payload: dict[str, Any], caller: Caller) -> ToolCall:
    """Read a PreToolUse payload; the seeds' camelCase is taken beside snake_case, unknown keys are ignored.

    Raises:
        baton.kernel.base.errors.Invalid: naming the field that is missing or of a wrong type.
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
    """A payload as clients send it: snake_case, every text a text. `read_call` reads all others, and says what is wrong."""

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
    sessionId: _Absent = UNSET  # noqa: N815 - the seeds' words: whoever uses one of them is read by `read_call`
    toolUseId: _Absent = UNSET  # noqa: N815
    agentId: _Absent = UNSET  # noqa: N815
    agentType: _Absent = UNSET  # noqa: N815
    directory: _Absent = UNSET
    permissionMode: _Absent = UNSET  # noqa: N815


_decode_payload = msgspec.json.Decoder(_Payload).decode


def decode_call(body: bytes, caller: Caller) -> ToolCall:
    """Decode a PreToolUse payload into a call.

    Raises:
        baton.kernel.base.errors.BadJSON: the body is no JSON object.
        baton.kernel.base.errors.Invalid: naming the field that is missing or of a wrong type.
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


def shell_view(shell: Shell) -> ShellView:
    """Show a reading as the API does."""
    return ShellView(
        programs=[program.argv for program in shell.programs],
        writes=list(dict.fromkeys(write.target for write in shell.writes if write.target != SOMEWHERE)),
        categories=list(shell.categories),
        unparsed=shell.unparsed != "",
        unparsed_reason=shell.unparsed or UNSET,
    )


def judgement_fields(verdict: Verdict, tool_input: dict[str, Any]) -> dict[str, Any]:
    """Give the fields of a `Judgement` that come from the verdict on a call with this input."""
    word = _DECISIONS.get(verdict.effect, "allow")
    return {
        "decision": word,
        "continue_": word != "block",
        "reason": verdict.reason or UNSET,
        "guidance": verdict.guidance or UNSET,
        "suggestion": verdict.suggestion or UNSET,
        "message": verdict.message or UNSET,
        "modified_input": tool_input if verdict.updated_input is None else verdict.updated_input,
        "rules": verdict.hits,
        "shell": UNSET if verdict.shell is None else shell_view(verdict.shell),
    }


def render(decision: Decision, tool_input: dict[str, Any]) -> PreToolUseAnswer:
    """Render a decision about a call with this input."""
    return PreToolUseAnswer(
        **judgement_fields(decision.verdict, tool_input),
        decision_id=decision.id,
        mode=decision.mode,
        policy_revision=decision.revision,
        degraded=decision.degraded,
        elapsed_ms=decision.elapsed_us / 1000,
        overridden=decision.overridden or UNSET,
    )


def decision_headers(decision: Decision, *, debug: bool) -> Headers:
    """The response headers by which a shim (and a person with curl) can tell what was decided."""
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
    """Make a text fit for a header: one line, UTF-8, no control characters, at most 512 bytes."""
    shown = "".join(character if character.isprintable() else " " for character in text[:512])
    return " ".join(shown.split()).encode("utf-8", "replace")[:512]


class PreToolUseEndpoint:
    """Reads, decides, renders."""

    def __init__(self, service: PreToolUse, seen: ClientsSeen) -> None:
        self._service = service
        self._seen = seen

    async def answer(self, request: Request, caller: Caller) -> Response:
        """Answer one call."""
        call = decode_call(request.body, caller)
        self._seen.note(caller.principal, call.client, caller.protocol)
        decision = await self._service.decide(caller, call)
        headers = decision_headers(decision, debug=caller.debug)
        return Response(encode(render(decision, call.tool_input)), 200, headers)
