"""`POST /pre-tool-use`: one tool call in, the typed decision out."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from baton.clients.event import CallFields
from baton.decide.service import PreToolUse
from baton.kernel.http.fields import LONGEST_TEXT, optional_text, required_text
from baton.kernel.http.serving.hot_routes import Headers, Request, Response, decode_object, encode
from baton.lib.bash.model import SOMEWHERE, Category, Shell
from baton.machines.known_clients import read_fields
from baton.machines.session_projects import ClientActivity
from baton.rules.call.call import ModelChoice, Step, ToolCall, call_of
from baton.rules.call.verdict import RuleHit, Verdict
from baton.shared.caller import PROTOCOL, Caller
from baton.shared.decided import Decision, ModeInForce
from baton.shared.storable import project_name

# The answer of `/pre-tool-use`, in its users' terms: decision, reason, guidance, suggestion.

_DECISIONS: dict[str, Literal["allow", "ask", "block"]] = {"deny": "block", "ask": "ask"}


class ShellView(msgspec.Struct, frozen=True, kw_only=True):
    """The facts read from the shell command."""

    programs: list[tuple[str, ...]]
    """Every program that the line would run, at any nesting level, outermost first, without quotes."""
    writes: list[str]
    """Files that redirections and programs write to."""
    categories: list[Category]
    unparsed: bool
    """True if a part of the line could not be read."""
    unparsed_reason: str | UnsetType = UNSET


class ModelView(msgspec.Struct, frozen=True, kw_only=True):
    """The model of an agent. `name` is the model given to the call, absent if unchanged."""

    name: str | UnsetType = UNSET
    step: Step
    """What decided, first to last: the call, the agent's own file, the team's row, the shipped roster, its default."""
    reason: str


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """The rules' verdict on a call. A field without a value is absent, never null."""

    decision: Literal["allow", "ask", "block"]
    continue_: bool = msgspec.field(name="continue")
    """False only with `block`."""
    reason: str | UnsetType = UNSET
    """Why the call is blocked or needs a person: what was found, what to do instead, how to get out."""
    guidance: str | UnsetType = UNSET
    suggestion: str | UnsetType = UNSET
    """A Task call to make instead, ready to copy."""
    message: str | UnsetType = UNSET
    """Changes of the input."""
    modified_input: dict[str, Any] = msgspec.field(name="modifiedInput")
    """The whole tool input, as it is to be used."""
    model: ModelView | UnsetType = UNSET
    """The model of the agent that the call starts."""
    rules: tuple[RuleHit, ...]
    """Every rule that matched; effect `guidance` is a deny that the guidance level softened."""
    mode: ModeInForce
    shell: ShellView | UnsetType = UNSET
    policy_revision: str


class PreToolUseAnswer(Judgement, frozen=True, kw_only=True):
    """A recorded decision."""

    decision_id: str
    degraded: tuple[str, ...]
    """The parts of Baton that were unavailable while it decided, such as `history`."""
    elapsed_ms: float
    overridden: bool | UnsetType = UNSET
    """True if a person switched Baton off for the session, or lifted a rule that matched."""


def shell_view(shell: Shell) -> ShellView:
    """Return the reading of a command as the API shows it."""
    return ShellView(
        programs=[program.argv for program in shell.programs],
        writes=list(dict.fromkeys(write.target for write in shell.writes if write.target != SOMEWHERE)),
        categories=list(shell.categories),
        unparsed=shell.unparsed != "",
        unparsed_reason=shell.unparsed or UNSET,
    )


def judgement_fields(verdict: Verdict, tool_input: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a `Judgement` for the verdict on a call with this input."""
    word = _DECISIONS.get(verdict.effect, "allow")
    return {
        "decision": word,
        "continue_": word != "block",
        "reason": verdict.reason or UNSET,
        "guidance": verdict.guidance or UNSET,
        "suggestion": verdict.suggestion or UNSET,
        "message": verdict.message or UNSET,
        "modified_input": tool_input if verdict.updated_input is None else verdict.updated_input,
        "model": UNSET if verdict.model is None else _model_view(verdict.model),
        "rules": verdict.hits,
        "shell": UNSET if verdict.shell is None else shell_view(verdict.shell),
    }


def _model_view(choice: ModelChoice) -> ModelView:
    return ModelView(name=choice.name or UNSET, step=choice.step, reason=choice.reason)


def render(decision: Decision, tool_input: dict[str, Any]) -> PreToolUseAnswer:
    """Return the answer for a decision about a call with this input."""
    return PreToolUseAnswer(
        **judgement_fields(decision.verdict, tool_input),
        decision_id=decision.id,
        mode=decision.mode,
        policy_revision=decision.revision,
        degraded=decision.degraded,
        elapsed_ms=decision.elapsed_us / 1000,
        overridden=decision.overridden or UNSET,
    )


MAX_BODY = 8 << 20
CLIENT = "api"
"""The client's name in records of calls that come in here and name none."""

_Text = Annotated[str, msgspec.Meta(max_length=LONGEST_TEXT)]
_Absent = Annotated[str, msgspec.Meta(max_length=0)] | UnsetType


class _Payload(CallFields, frozen=True, kw_only=True):
    """The usual payload: snake_case, every text a string. The slower `read_call` handles anything else.

    The camelCase names are fields here and must be absent, so a payload with one of them does not match.
    """

    client: Annotated[_Text, msgspec.Meta(min_length=1)] = CLIENT
    session_id: _Text = ""
    agent_id: _Text = ""
    agent_type: _Text = ""
    cwd: _Text = ""
    permission_mode: _Text = ""
    tool_name: _Text
    tool_input: dict[str, Any]
    tool_use_id: _Text = ""
    project: _Text = ""
    sessionId: _Absent = UNSET  # noqa: N815
    toolUseId: _Absent = UNSET  # noqa: N815
    agentId: _Absent = UNSET  # noqa: N815
    agentType: _Absent = UNSET  # noqa: N815
    directory: _Absent = UNSET
    permissionMode: _Absent = UNSET  # noqa: N815


_decode_payload = msgspec.json.Decoder(_Payload).decode


def read_call(payload: dict[str, Any], caller: Caller) -> ToolCall:
    """Read a PreToolUse payload, in snake_case or camelCase. Unknown keys are ignored.

    Raises:
        Invalid: If a field is missing or of a wrong type; the error names it.
    """
    required_text(payload, "tool_name", "toolName")
    client, project = optional_text(payload, "client") or CLIENT, optional_text(payload, "project")
    return _as_call(_Payload(client=client, project=project, **read_fields(payload)), caller)


def _as_call(payload: _Payload, caller: Caller) -> ToolCall:
    return call_of(payload, project_name(payload.project) or caller.project, caller.root, caller.worktrees)


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
    return _as_call(payload, caller) if payload.tool_name.strip() else read_call(decode_object(body), caller)


def decision_headers(decision: Decision, *, debug: bool) -> Headers:
    """Return the headers showing the decision to a shim, or to a person with curl."""
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
    """Return a header value: one line, UTF-8, no control characters, at most 512 bytes."""
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
