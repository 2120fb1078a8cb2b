"""What the live stream says of an event of the bus, and who may hear it: the rights are those of the lists."""

from collections.abc import Callable
from typing import Any, Literal, get_args

import msgspec

from baton.engine.call.modes import ModeSetting
from baton.engine.call.principal import Principal
from baton.modes.listing import ModeList
from baton.people.permissions import covers, reach
from baton.records.review.feed import FeedEntry, LiveEvent

LiveTopic = Literal["decisions", "questions", "jobs", "sessions", "modes"]
LIVE_TOPICS: tuple[LiveTopic, ...] = get_args(LiveTopic)
ACTIONS: dict[LiveTopic, str] = {
    "decisions": "decisions.read",
    "questions": "jobs.read",
    "jobs": "jobs.read",
    "sessions": "sessions.read",
    "modes": "modes.read",
}
"""What a principal must be allowed to do to follow a topic."""

_SESSION_STATES = {
    "session-started": "started",
    "notification-blocked": "waiting",
    "notification-completed": "idle",
    "session-ended": "ended",
}
_OF_BUS: dict[str, LiveTopic] = {
    **dict.fromkeys(_SESSION_STATES, "sessions"),
    "questions": "questions",
    "jobs": "jobs",
    "modes": "modes",
}
_JOB_FIELDS = ("job_id", "state", "agent", "provider", "model", "project", "attempt", "reason", "runner_user")
_QUESTION_FIELDS = (
    "question_id", "job_id", "answer", "answered_by", "reason", "tool_name", "agent", "project", "runner_user",
)  # fmt: skip
_SESSION_FIELDS = ("client", "project", "agent_name", "tool_name", "reason")
_MODE_FIELDS = ("scope", "scope_id", "scope_user", "action", "enabled", "level", "auto_activated")
_encode = msgspec.json.Encoder().encode


class Shown(msgspec.Struct, frozen=True):
    """One event of the live stream: its name, and its data as JSON."""

    name: str
    data: bytes


class LiveEvents:
    """Turns entries of the feed into events for one reader at a time."""

    def __init__(self, modes: ModeList) -> None:
        self._modes = modes

    def shown(self, entry: FeedEntry, reader: Principal, topics: frozenset[LiveTopic]) -> Shown | None:
        """Return what a reader is told of an entry, None for one that they do not follow or may not see."""
        event = entry.event
        if event is None or event.organisation != reader.organisation:
            return None
        topic = _OF_BUS.get(event.topic)
        if topic is None or topic not in topics or not self._may_see(reader, topic, event):
            return None
        name, made = _NAMES[topic]
        if not entry.shown:  # the same for every reader
            entry.shown = _encode({"at": event.time, "user": event.user, "team": event.team} | made(event))
        return Shown(name(event), entry.shown)

    def _may_see(self, reader: Principal, topic: LiveTopic, event: LiveEvent) -> bool:
        if reach(reader, ACTIONS[topic]) in {None, "job"}:  # the role may have changed since the stream began
            return False
        if topic == "modes":
            return self._modes.visible(reader, _setting(event))
        on_their_machine = topic in {"jobs", "questions"} and event.data.get("runner_user") == reader.user
        return on_their_machine or covers(reader, ACTIONS[topic], user=event.user, team=event.team)


def _picked(fields: tuple[str, ...]) -> Callable[[LiveEvent], dict[str, Any]]:
    def pick(event: LiveEvent) -> dict[str, Any]:
        found = {name: value for name in fields if (value := event.data.get(name)) not in {"", None}}
        session = event.data.get("session_id")
        return found | ({"session_id": session} if session else {})

    return pick


def _session(event: LiveEvent) -> dict[str, Any]:
    return _picked(_SESSION_FIELDS)(event) | {"state": _SESSION_STATES[event.topic]}


_NAMES: dict[LiveTopic, tuple[Callable[[LiveEvent], str], Callable[[LiveEvent], dict[str, Any]]]] = {
    "questions": (lambda event: f"question.{event.data.get('state')}", _picked(_QUESTION_FIELDS)),
    "jobs": (lambda _: "job.state", _picked(_JOB_FIELDS)),
    "sessions": (lambda _: "session.update", _session),
    "modes": (lambda _: "mode.changed", _picked(_MODE_FIELDS)),
}


def _setting(event: LiveEvent) -> ModeSetting:
    """Return as much of a mode setting as says who may see it; whoever changed it is the event's user."""
    data, scope = event.data, event.data.get("scope", "organisation")
    whole = scope != "user_project"
    return ModeSetting(
        scope=scope,
        id=data.get("scope_id", "") if whole else "",
        project="" if whole else data.get("scope_id", ""),
        user=data.get("scope_user", ""),
        set_by=event.user,
    )
