"""Payloads about tool calls: execution, decision and outcome."""

from datetime import datetime
from typing import Annotated, Any, Literal, cast

import msgspec
from msgspec import UNSET, UnsetType

from baton.rules.call.record import Record

# The common fields of all payloads.

Ratio = Annotated[float, msgspec.Meta(ge=0, le=1)]
Count = Annotated[int, msgspec.Meta(ge=0)]
Milliseconds = Annotated[float, msgspec.Meta(ge=0)]


class Payload(msgspec.Struct, frozen=True, kw_only=True):
    """The base of every payload; a string is "" if unknown.

    `correlation_id` is shared by all events of one prompt, of one tool call, or of one job.
    """

    session_id: str = ""
    correlation_id: str = ""


class ToolExecuted(Payload, frozen=True, kw_only=True):
    """A tool call ended. `summary` says so in words and holds nothing of the call's content."""

    tool_execution_id: str
    tool_name: str
    success: bool
    duration_ms: Count | UnsetType = UNSET
    summary: str = ""
    agent_id: str = ""
    client: str = ""


class MatchedRule(msgspec.Struct, frozen=True, kw_only=True):
    """A matched rule with its effect."""

    id: str
    effect: str


_NAMES = {"id": "decision_id", "tool": "tool_name", "tool_use_id": "tool_execution_id", "revision": "policy_revision"}
_TOLD = (
    "id tool tool_use_id agent_id agent_type client project decision effect rules mode_enabled mode_level revision"
    " model_injected overridden degraded elapsed_us"
)
DECISION_FIELDS = {_NAMES.get(name, name): name for name in _TOLD.split()}
"""The fields of a decision's event: its names for fields of `Record`."""
_WIDER = {"effect": str, "rules": tuple[MatchedRule, ...], "elapsed_us": Count}
_REQUIRED = {"id", "tool", "decision", "effect"}


def _like(own: msgspec.structs.FieldInfo, name: str) -> tuple[str, Any] | tuple[str, Any, Any]:
    kind = _WIDER.get(own.name, own.type)
    return (name, kind) if own.name in _REQUIRED else (name, kind, "" if own.required else own.default)


_RECORD = {field.name: field for field in msgspec.structs.fields(Record)}
_SAID = "Baton decided a call. `GET /decisions/{decision_id}` returns its command and paths to permitted readers."
_fields = [_like(_RECORD[own], name) for name, own in DECISION_FIELDS.items()]
_made = msgspec.defstruct(
    "DecisionMade", _fields, bases=(Payload,), module=__name__, namespace={"__doc__": _SAID}, frozen=True, kw_only=True
)
DecisionMade = cast("type[Payload]", _made)


class OutcomeReported(Payload, frozen=True, kw_only=True):
    """The outcome of a decided call, as reported by its client."""

    tool_name: str
    tool_execution_id: str = ""
    agent_id: str = ""
    outcome: Literal["ran", "failed", "refused", "ran_anyway", "rewrite_ignored", "changed_by_other", "unknown"]
    duration_ms: Count | UnsetType = UNSET
    model_used: str = ""
    input_tokens: Count = 0
    cached_tokens: Count = 0
    output_tokens: Count = 0


class ModeChanged(Payload, frozen=True, kw_only=True):
    """Somebody changed the orchestrator mode of a scope; `action` is the audit's word for it.

    `scope_user` is the setting's owner, if the scope is a user's project or session.
    """

    scope: str
    scope_id: str = ""
    scope_user: str = ""
    action: str
    enabled: bool
    level: str = ""
    auto_activated: bool = False


class JobChanged(Payload, frozen=True, kw_only=True):
    """A delegated job reached a state. It holds neither its prompt nor its output.

    `runner_user` owns its machine.
    """

    job_id: str
    state: str
    agent: str = ""
    provider: str = ""
    model: str = ""
    project: str = ""
    attempt: Count = 0
    reason: str = ""
    runner_user: str = ""


class QuestionChanged(Payload, frozen=True, kw_only=True):
    """An agent waits for a person's permission, or the question is over. The requested action is not included.

    `job_id` is "" for a call of a session, waiting for an approval (`/approvals`). `answered_by` is the answering person.
    A `question_id` that begins with `exc_` is a request for an exception: its grant answers `allow`, its end `deny`.
    An expired question was denied, because nobody answered in time or the attempt ended (`reason`). `runner_user` owns
    the agent's machine, and alone answers it. `approvers` are those of a request, separated by spaces: `lead`,
    `role:…`, `user:…`.
    """

    question_id: str
    job_id: str
    state: Literal["opened", "answered", "expired"]
    answer: Literal["", "allow", "deny"] = ""
    answered_by: str = ""
    reason: Literal["", "timeout", "end"] = ""
    tool_name: str = ""
    agent: str = ""
    project: str = ""
    runner_user: str = ""
    approvers: str = ""


# Payloads about routing prompts to agents.


class RoutingCandidate(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate agent with its score from 0 to 1."""

    agent: str
    score: float


class RoutingDecision(Payload, frozen=True, kw_only=True):
    """A prompt was routed. `selected_agent` is "" if no agent was chosen. `method` names the deciding tier."""

    route_id: str
    selected_agent: str = ""
    confidence: Ratio = 0.0
    method: str
    candidates: tuple[RoutingCandidate, ...] = ()
    latency_ms: Milliseconds = 0.0
    degraded: tuple[str, ...] = ()


# Payloads about enrichment of prompts, and about compliance with learned patterns.


class ContextEnrichment(Payload, frozen=True, kw_only=True):
    """One enrichment handler's result for one prompt; `latency_ms` has three digits after the point."""

    enrichment_type: str
    model_used: str = ""
    latency_ms: Milliseconds = 0.0
    result_token_count: Count = 0
    relevance_score: Ratio = 0.0
    fallback_used: bool = False
    tokens_saved: Count = 0
    was_dropped: bool = False
    prompt_version: str = ""


class ApplicablePattern(msgspec.Struct, frozen=True, kw_only=True):
    """A validated pattern to evaluate content against."""

    pattern_id: str
    pattern_signature: str
    domain_id: str = ""
    confidence: Ratio


class ComplianceEvaluate(Payload, frozen=True, kw_only=True):
    """A request to evaluate an agent's output: at most 32,768 bytes of content against at most 10 patterns."""

    source_path: str
    content: str
    language: str = ""
    applicable_patterns: Annotated[tuple[ApplicablePattern, ...], msgspec.Meta(max_length=10)]


class ComplianceViolation(msgspec.Struct, frozen=True, kw_only=True):
    """One evaluated pattern."""

    violated: bool
    pattern_id: str
    pattern_signature: str = ""
    domain_id: str = ""
    confidence: Ratio
    message: str = ""


class ComplianceEvaluated(Payload, frozen=True, kw_only=True):
    """The result of an evaluation, with the request's `correlation_id`."""

    violations: tuple[ComplianceViolation, ...]


# Payloads about sessions, prompts and the agents' states.

LONGEST_PROMPT = 65_536
"""Characters of a whole prompt that are sent, on the restricted topic."""
LONGEST_PREVIEW = 100
"""Characters of a prompt's preview."""


class SessionStarted(Payload, frozen=True, kw_only=True):
    """A session of a client started; `hook_source` is why: startup, resume, clear, compact, fork."""

    working_directory: str = ""
    git_branch: str = ""
    hook_source: str = ""
    client: str = ""
    project: str = ""


class SessionEnded(Payload, frozen=True, kw_only=True):
    """A session ended. If its start was not seen, the duration is absent and the counts are 0.

    `outcome` is judged by the tool calls: `abandoned` had none, `failed` ended with a failed one, `success` with a
    successful one; `unknown` is a session without a seen start.
    """

    reason: str = ""
    duration_seconds: Annotated[float, msgspec.Meta(ge=0)] | UnsetType = UNSET
    tools_used_count: Count = 0
    tools_failed_count: Count = 0
    outcome: Literal["success", "failed", "abandoned", "unknown"] = "unknown"
    client: str = ""


class PromptSubmitted(Payload, frozen=True, kw_only=True):
    """A person sent a prompt. The preview is masked and then cut to 97 characters and `...`; the length is in characters."""

    entity_id: str = ""
    causation_id: str = ""
    emitted_at: datetime
    prompt_id: str
    prompt_preview: Annotated[str, msgspec.Meta(max_length=LONGEST_PREVIEW)]
    prompt_length: Count
    detected_intent: str = ""
    client: str = ""


class ClaudeHookEvent(Payload, frozen=True, kw_only=True):
    """The whole prompt of teams keeping prompts, with secrets masked; the first 65,536 characters of a long one."""

    hook_event_name: str = "UserPromptSubmit"
    emitted_at: datetime
    prompt_id: str
    prompt: str
    prompt_length: Count
    truncated: bool = False
    client: str = ""


class NotificationBlocked(Payload, frozen=True, kw_only=True):
    """An agent waits for a person."""

    agent_name: str = ""
    tool_name: str = ""
    reason: str = ""


class NotificationCompleted(Payload, frozen=True, kw_only=True):
    """An agent's turn ended: it waits for the next prompt."""

    agent_name: str = ""
