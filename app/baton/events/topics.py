"""The one table of topics: each event's name, its payload, and whether it is restricted."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from baton.events import payloads
from baton.events.payloads import Payload

SCHEMA_VERSION = "1.0.0"
"""Of the payloads; a field that is added keeps the major version."""
PREFIX = "baton"
"""The first part of every topic's full name, unless the operator sets another."""

_Kind = Literal["evt", "cmd"]


class Topic(msgspec.Struct, frozen=True, kw_only=True):
    """One topic. `name` is its short name in the API and the settings.

    An event (`evt`) reports a fact, a command (`cmd`) requests work. A restricted topic holds content of prompts or files.
    """

    name: str
    payload: type[Payload]
    kind: _Kind = "evt"
    restricted: bool = False

    @property
    def event_type(self) -> str:
        """Return the envelope's `event_type`."""
        return self.name.replace("-", ".")

    @property
    def summary(self) -> str:
        """Return the topic's purpose in one line."""
        return (self.payload.__doc__ or "").partition("\n")[0]

    def full_name(self, prefix: str = PREFIX) -> str:
        """Return the name outside Baton: `baton.prompt-submitted.v1`."""
        return f"{prefix}.{self.name}.v1"


TOPICS: tuple[Topic, ...] = (
    Topic(name="session-started", payload=payloads.SessionStarted),
    Topic(name="session-ended", payload=payloads.SessionEnded),
    Topic(name="prompt-submitted", payload=payloads.PromptSubmitted),
    Topic(name="claude-hook-event", payload=payloads.ClaudeHookEvent, kind="cmd", restricted=True),
    Topic(name="notification-blocked", payload=payloads.NotificationBlocked),
    Topic(name="notification-completed", payload=payloads.NotificationCompleted),
    Topic(name="tool-executed", payload=payloads.ToolExecuted),
    Topic(name="routing-decision", payload=payloads.RoutingDecision),
    Topic(name="context-enrichment", payload=payloads.ContextEnrichment),
    Topic(name="compliance-evaluate", payload=payloads.ComplianceEvaluate, kind="cmd", restricted=True),
    Topic(name="compliance-evaluated", payload=payloads.ComplianceEvaluated),
    Topic(name="decisions", payload=payloads.DecisionMade),
    Topic(name="outcomes", payload=payloads.OutcomeReported),
    Topic(name="modes", payload=payloads.ModeChanged),
    Topic(name="jobs", payload=payloads.JobChanged),
    Topic(name="questions", payload=payloads.QuestionChanged),
)
BY_NAME: dict[str, Topic] = {topic.name: topic for topic in TOPICS}
BY_PAYLOAD: dict[type[Payload], Topic] = {topic.payload: topic for topic in TOPICS}


def full_names(prefix: str, own: Mapping[str, str]) -> dict[str, str]:
    """Return every topic's full name by its short one. `own` are the operator's names."""
    return {topic.name: own.get(topic.name) or topic.full_name(prefix) for topic in TOPICS}
