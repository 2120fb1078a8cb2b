"""`GET /stream`: live updates for people, as server-sent events."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing
from typing import Annotated, Any, Literal, NamedTuple, get_args

import msgspec
from fastapi import APIRouter, Depends, Query
from pydantic import Field
from sse_starlette import EventSourceResponse, ServerSentEvent

from baton.events.log import Emission, LogEntry, LogPage, Place, place_text
from baton.kernel.base.errors import Forbidden, Invalid
from baton.kernel.http.features import of
from baton.modes.listing import ModeList
from baton.people.approvals import is_named
from baton.people.users import covers, reach, row_scope
from baton.records.pipeline.store import Filters
from baton.records.review.decision_stream import FeedReaders, fitting
from baton.records.review.feed_api import CursorQuery, FeedRequest, event_answer
from baton.rules.call.call import Principal
from baton.rules.call.modes import ModeSetting
from baton.rules.call.record import Record

# All live updates in one stream: decisions as stored, and events as published.

# The live stream's view of an event of the bus, with the access rights of the lists.

LiveTopic = Literal["decisions", "questions", "jobs", "sessions", "modes"]
LIVE_TOPICS: tuple[LiveTopic, ...] = get_args(LiveTopic)
ACTIONS: dict[LiveTopic, str] = {
    "decisions": "decisions.read",
    "questions": "jobs.read",
    "jobs": "jobs.read",
    "sessions": "sessions.read",
    "modes": "modes.read",
}
"""The permission required for each topic."""

_SESSION_STATES = {
    "session-started": "started",
    "notification-blocked": "waiting",
    "notification-completed": "idle",
    "session-ended": "ended",
}
_OF_LOG: dict[str, LiveTopic] = {
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

    def shown(self, entry: LogEntry, reader: Principal, topics: frozenset[LiveTopic]) -> Shown | None:
        """Return what a reader is told of an entry, None for one that they do not follow or may not see."""
        event = entry.content
        if not isinstance(event, Emission) or entry.is_late or event.organisation != reader.organisation:
            return None
        topic = _OF_LOG.get(event.topic)
        if topic is None or topic not in topics or not self._may_see(reader, topic, event, entry.data):
            return None
        name, fields = _NAMES[topic]
        if not entry.shown:  # the same for every reader
            made = {one: value for one in (*fields, "session_id") if (value := entry.data.get(one)) not in {"", None}}
            state = {"state": _SESSION_STATES[event.topic]} if topic == "sessions" else {}
            entry.shown = _encode({"at": event.time, "user": event.user, "team": event.team} | made | state)
        return Shown(name.format(**entry.data), entry.shown)

    def _may_see(self, reader: Principal, topic: LiveTopic, event: Emission, data: dict[str, Any]) -> bool:
        if reach(reader, ACTIONS[topic]) in {None, "job"}:  # the role may have changed since the stream began
            return False
        if topic == "modes":
            return self._modes.visible(reader, _setting(event, data))
        if topic == "questions" and is_named(reader, _Asked(event.user, event.team, data.get("approvers", ""))):
            return True
        on_their_machine = topic in {"jobs", "questions"} and data.get("runner_user") == reader.user
        return on_their_machine or covers(reader, ACTIONS[topic], user=event.user, team=event.team)


class _Asked(NamedTuple):
    user: str
    team: str
    approvers: str


_NAMES: dict[LiveTopic, tuple[str, tuple[str, ...]]] = {
    "questions": ("question.{state}", _QUESTION_FIELDS),
    "jobs": ("job.state", _JOB_FIELDS),
    "sessions": ("session.update", _SESSION_FIELDS),
    "modes": ("mode.changed", _MODE_FIELDS),
}


def _setting(event: Emission, data: dict[str, Any]) -> ModeSetting:
    """Return as much of a mode setting as says who may see it; whoever changed it is the event's user."""
    scope = data.get("scope", "organisation")
    whole = scope != "user_project"
    return ModeSetting(
        scope=scope,
        id=data.get("scope_id", "") if whole else "",
        project="" if whole else data.get("scope_id", ""),
        user=data.get("scope_user", ""),
        set_by=event.user,
    )


_ALL = Filters()


class LiveBatch(msgspec.Struct, frozen=True):
    """Events for a reader, each with the place after it, oldest first.

    `place` is after all of them, `before` is the reader's former place; `lost` if some before them are missing.
    """

    events: list[tuple[Place, Shown]]
    place: Place
    before: Place
    lost: bool = False

    @property
    def moves(self) -> bool:
        """Whether an event is in the feed at `place`."""
        return bool(self.events)


class LiveStream:
    """The open streams of this process; they count with those of `/decisions/stream`."""

    def __init__(self, readers: FeedReaders, events: LiveEvents) -> None:
        self._readers = readers
        self._events = events

    def admit(self, principal: Principal, topics: list[LiveTopic]) -> frozenset[LiveTopic]:
        """Return the topics of a new stream: the named ones, or all permitted ones.

        Raises:
            Forbidden: If the role may not follow one of the topics, or none at all.
            RateLimited: If the process or the user has too many streams.
        """
        wanted = topics or [one for one in LIVE_TOPICS if reach(principal, ACTIONS[one]) not in {None, "job"}]
        for topic in wanted or LIVE_TOPICS:
            row_scope(principal, ACTIONS[topic])
        self._readers.admit(principal)
        return frozenset(wanted)

    async def follow(
        self,
        principal: Principal,
        topics: frozenset[LiveTopic],
        after: Place | None,
        now: Callable[[], Principal | None],
    ) -> AsyncIterator[LiveBatch]:
        """Yield updates after a place, from now on for None, at most every 100 ms.

        The first batch is empty and only gives the place. The stream ends when `now` returns no principal.
        """
        before: Place | None = None
        async with aclosing(self._readers.pages(principal, after, now)) as pages:
            async for reader, page in pages:
                events = list(self._of_page(page, reader, topics))
                yield LiveBatch(events, page.place, before or page.place, page.lost)
                before = page.place

    def _of_page(self, page: LogPage, reader: Principal, topics: frozenset[LiveTopic]) -> list[tuple[Place, Shown]]:
        """Return a page's events for a reader; decisions between two other events come together."""
        found: list[tuple[Place, Shown]] = []
        decisions: list[LogEntry] = []

        def flush() -> None:
            if decisions and "decisions" in topics:
                try:
                    fit = fitting(decisions, reader, _ALL)
                except Forbidden:  # the role was changed meanwhile; other topics continue
                    fit = []
                if fit:
                    found.append((decisions[-1].place, Shown("decisions", b'{"items":[' + b",".join(fit) + b"]}")))
            decisions.clear()

        for entry in page.entries:
            if isinstance(entry.content, Record):
                decisions.append(entry)
            elif shown := self._events.shown(entry, reader, topics):
                flush()
                found.append((entry.place, shown))
        flush()
        return found


router = APIRouter(tags=["stream"])
LiveStreamOf = Annotated[LiveStream, Depends(of(LiveStream))]
_ANSWER = event_answer(
    [
        "decisions", "question.opened", "question.answered", "question.expired", "job.state", "session.update",
        "mode.changed", "gap",
    ],
    "Events, each with a JSON object as its data: `decisions` (`items` as `GET /decisions` shows them, oldest first),"
    " `question.opened`, `question.answered` and `question.expired` of delegated agents, `job.state`,"
    " `session.update` (its `state` is `started`, `waiting`, `idle` or `ended`), `mode.changed`; and `gap`, with the"
    " moments `from` and `to` between which events may be missing: read the lists again. All but `decisions` say"
    " what changed, and not what it holds: read that by its id. With `BATON_EVENTS=off` only decisions are told.",
    'id: 1770000000000-0\nevent: job.state\ndata: {"at":"2026-02-02T03:04:05.000+00:00","user":"ada",'
    '"team":"web","job_id":"job_1","state":"running","session_id":"s"}\n\n'
)  # fmt: skip


class LiveQuery(CursorQuery):
    """The topics and the start of a stream."""

    topics: str = Field(
        "",
        max_length=100,
        description=f"What to follow, separated by commas: {', '.join(f'`{one}`' for one in LIVE_TOPICS)}."
        " Without it, everything that you may read.",
    )


@router.get("/stream", response_class=EventSourceResponse, responses=_ANSWER)
async def stream_live(
    stream: Annotated[FeedRequest, Depends()], streams: LiveStreamOf, query: Annotated[LiveQuery, Query()]
) -> EventSourceResponse:
    """Stream updates, from now on or after `Last-Event-ID`, with the access rights of the lists."""
    after = stream.after(query.cursor)
    topics = streams.admit(stream.principal, _topics(query.topics))
    return stream.answer(streams.follow(stream.principal, topics, after, stream.reader), _shown)


def _shown(batch: LiveBatch) -> Iterator[ServerSentEvent]:
    for place, shown in batch.events:
        yield ServerSentEvent(data=shown.data.decode(), event=shown.name, id=place_text(place), sep="\n")


def _topics(text: str) -> list[LiveTopic]:
    named = [one.strip() for one in text.split(",") if one.strip()]
    found: list[LiveTopic] = [one for one in LIVE_TOPICS if one in named]
    for one in named:
        if one not in LIVE_TOPICS:
            raise Invalid("topics", f"names `{one}`", list(LIVE_TOPICS))
    return found
