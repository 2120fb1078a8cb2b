"""Payloads about tool calls: what ran, what was decided, and what became of it."""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, UnsetType

from baton.events.payloads.base import Count, Milliseconds, Payload, Ratio

LARGEST_CONTENT = 32_768
"""Bytes of the content of a tool call that are sent."""


class ToolExecuted(Payload, frozen=True, kw_only=True):
    """A tool call ended. `summary` says so in words and holds nothing of the call's content."""

    tool_execution_id: str
    tool_name: str
    success: bool
    duration_ms: Count | UnsetType = UNSET
    summary: str = ""
    agent_id: str = ""
    client: str = ""


class ToolContent(Payload, frozen=True, kw_only=True):
    """What a tool call that ended was given and answered, as JSON text with secrets masked, at most 32,768 bytes of it."""

    tool_execution_id: str
    tool_name: str
    content: str
    content_length: Count
    truncated: bool = False


class MatchedRule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that matched a call, with its effect."""

    id: str
    effect: str


class DecisionMade(Payload, frozen=True, kw_only=True):
    """Baton decided a call. Without its command and paths: `GET /decisions/{decision_id}` has them, for who may read it."""

    decision_id: str
    tool_name: str
    tool_execution_id: str = ""
    agent_id: str = ""
    agent_type: str = ""
    client: str = ""
    project: str = ""
    decision: Literal["allow", "ask", "block"]
    effect: str
    rules: tuple[MatchedRule, ...] = ()
    mode_enabled: bool = False
    mode_level: str = ""
    policy_revision: str = ""
    model_injected: str = ""
    overridden: bool = False
    degraded: tuple[str, ...] = ()
    elapsed_us: Count = 0


class OutcomeReported(Payload, frozen=True, kw_only=True):
    """What became of a decided call, as its client reports it."""

    tool_name: str
    tool_execution_id: str = ""
    agent_id: str = ""
    outcome: Literal["ran", "failed", "refused", "ran_anyway", "rewrite_ignored", "unknown"]
    duration_ms: Count | UnsetType = UNSET
    model_used: str = ""
    input_tokens: Count = 0
    cached_tokens: Count = 0
    output_tokens: Count = 0


class ModeChanged(Payload, frozen=True, kw_only=True):
    """Somebody changed the orchestrator mode of a scope; `action` is the audit's word for it.

    `scope_user` is whose setting it is, where the scope is a user's project or session.
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

    `runner_user` owns the machine that it runs on.
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
    """A delegated agent asks a person for permission, or the question is over. It does not hold what the agent wants to do.

    `answered_by` is the person who answered. A question that expired was denied, because nobody answered in time or the
    attempt ended (`reason`). `runner_user` owns the machine that the agent runs on, and alone answers it.
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


class TaskDelegated(Payload, frozen=True, kw_only=True):
    """A local model was asked to answer a prompt in the agent's place."""

    task_type: str
    handler_used: str = ""
    model_used: str = ""
    quality_gate_passed: bool
    quality_gate_reason: str = ""
    delegation_success: bool
    estimated_savings_usd: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    latency_ms: Milliseconds = 0.0
    confidence: Ratio = 0.0
