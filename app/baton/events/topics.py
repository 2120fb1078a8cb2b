"""The one table of topics: each event's name, its payload, and whether it is restricted."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from baton.events.payloads import context, routing, sessions, tools
from baton.events.payloads.base import Payload

SCHEMA_VERSION = "1.0.0"
"""Of the payloads; a field that is added keeps the major version."""
PREFIX = "onex"
"""The first part of every topic's full name, unless the operator sets another."""

_Kind = Literal["evt", "cmd"]


class Topic(msgspec.Struct, frozen=True, kw_only=True):
    """One topic. `name` is its short name, which the API and the settings use.

    `kind` and `owner` are parts of the full name: an event (`evt`) is owned by who emits it, a command (`cmd`) by who takes
    it. A restricted topic holds content of prompts or files. The events of a `live` one are also on the feed (`baton.events.feed`).
    """

    name: str
    payload: type[Payload]
    owner: str = "omniclaude"
    kind: _Kind = "evt"
    restricted: bool = False
    live: bool = False

    @property
    def event_type(self) -> str:
        """Return the envelope's `event_type`."""
        return self.name.replace("-", ".")

    @property
    def summary(self) -> str:
        """Return what the topic is for, in one line."""
        return (self.payload.__doc__ or "").partition("\n")[0]

    def full_name(self, prefix: str = PREFIX) -> str:
        """Return the name outside Baton: `onex.evt.omniclaude.prompt-submitted.v1`."""
        return f"{prefix}.{self.kind}.{self.owner}.{self.name.removesuffix('-command')}.v1"


_LEARNER = "omniintelligence"

TOPICS: tuple[Topic, ...] = (
    Topic(name="session-started", payload=sessions.SessionStarted, live=True),
    Topic(name="session-ended", payload=sessions.SessionEnded, live=True),
    Topic(name="session-outcome", payload=sessions.SessionOutcome),
    Topic(name="session-outcome-command", payload=sessions.SessionOutcomeCommand, owner=_LEARNER, kind="cmd"),
    Topic(name="prompt-submitted", payload=sessions.PromptSubmitted),
    Topic(name="claude-hook-event", payload=sessions.ClaudeHookEvent, owner=_LEARNER, kind="cmd", restricted=True),
    Topic(name="notification-blocked", payload=sessions.NotificationBlocked, live=True),
    Topic(name="notification-completed", payload=sessions.NotificationCompleted, live=True),
    Topic(name="agent-status", payload=sessions.AgentStatus),
    Topic(name="static-context-edit-detected", payload=sessions.StaticContextEditDetected),
    Topic(name="tool-executed", payload=tools.ToolExecuted),
    Topic(name="tool-content", payload=tools.ToolContent, owner=_LEARNER, kind="cmd", restricted=True),
    Topic(name="task-delegated", payload=tools.TaskDelegated),
    Topic(name="routing-decision", payload=routing.RoutingDecision),
    Topic(name="llm-routing-decision", payload=routing.LlmRoutingDecision),
    Topic(name="llm-routing-fallback", payload=routing.LlmRoutingFallback),
    Topic(name="routing-feedback", payload=routing.RoutingFeedback),
    Topic(name="routing-feedback-skipped", payload=routing.RoutingFeedbackSkipped),
    Topic(name="agent-match", payload=routing.AgentMatch),
    Topic(name="latency-breakdown", payload=routing.LatencyBreakdown),
    Topic(name="context-enrichment", payload=context.ContextEnrichment),
    Topic(name="context-retrieval-requested", payload=context.ContextRetrievalRequested, kind="cmd"),
    Topic(name="context-retrieval-completed", payload=context.ContextRetrievalCompleted),
    Topic(name="context-injected", payload=context.ContextInjected),
    Topic(name="injection-recorded", payload=context.InjectionRecorded),
    Topic(name="context-utilization", payload=context.ContextUtilization),
    Topic(name="compliance-evaluate", payload=context.ComplianceEvaluate, owner=_LEARNER, kind="cmd", restricted=True),
    Topic(name="compliance-evaluated", payload=context.ComplianceEvaluated, owner=_LEARNER),
    Topic(name="decisions", payload=tools.DecisionMade, owner="baton"),
    Topic(name="outcomes", payload=tools.OutcomeReported, owner="baton", live=True),
    Topic(name="modes", payload=tools.ModeChanged, owner="baton", live=True),
    Topic(name="jobs", payload=tools.JobChanged, owner="baton", live=True),
    Topic(name="questions", payload=tools.QuestionChanged, owner="baton", live=True),
)
BY_NAME: dict[str, Topic] = {topic.name: topic for topic in TOPICS}
BY_PAYLOAD: dict[type[Payload], Topic] = {topic.payload: topic for topic in TOPICS}


def full_names(prefix: str, own: Mapping[str, str]) -> dict[str, str]:
    """Return every topic's full name by its short one; `own` are those that the operator set."""
    return {topic.name: own.get(topic.name) or topic.full_name(prefix) for topic in TOPICS}
