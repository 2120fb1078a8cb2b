"""`/sessions`: lists sessions, shows one in full, and resets its look-ups."""

from datetime import UTC, datetime
from typing import Annotated

import msgspec
from fastapi import APIRouter, Depends, Path, Query, Response
from pydantic import BaseModel, Field

from baton.kernel.http.features import of
from baton.kernel.http.moments import Moment
from baton.kernel.http.paging import Text, after, page
from baton.modes.bodies import ModeModel
from baton.people.callers import CallerOf
from baton.people.rate_limits import ADMIN, EXPENSIVE
from baton.records.review.delegation_share.groups import After, Group
from baton.sessions.activity import LIVE, SessionActivity
from baton.sessions.inspection import SessionAdmin, SessionFilter
from baton.sessions.overrides.api import OverrideModel

router = APIRouter(tags=["sessions"])
SessionAdminOf = Annotated[SessionAdmin, Depends(of(SessionAdmin))]
SessionId = Annotated[str, Path(max_length=1_024)]
FilterText = Annotated[str, Field(max_length=1_024)]

_FROM_CALLS = (
    "session_id", "user", "team", "client", "project", "first_at", "last_at", "calls", "blocked", "asked", "overridden",
)  # fmt: skip


class SessionsQuery(BaseModel):
    """Which sessions are listed, and which page of them."""

    user: FilterText = ""
    team: FilterText = ""
    project: FilterText = ""
    client: FilterText = ""
    live: bool = Field(False, description="Only those with a call in the last ten minutes.")
    q: FilterText = Field("", description="What a session's id or user begins with, or a part of its project.")
    since: Moment | None = None
    until: Moment | None = None
    cursor: str = Field("", max_length=4_096, description="`next_cursor` of the page before.")
    limit: int = Field(50, ge=1, le=200)

    def filter(self) -> SessionFilter:
        """Return the filter without the page."""
        return SessionFilter(**self.model_dump(exclude={"cursor", "limit"}))


class SessionModel(BaseModel):
    """A session as its recorded calls and its jobs show it.

    It is `live` for ten minutes after its last call. `waiting` counts jobs that wait for a person, `jobs` those that have not
    ended, `agents` the sub-agents that made a call. `usd` is what its agents and jobs cost, absent where nothing is known.
    """

    session_id: str
    user: str
    team: str
    client: str
    project: str
    first_at: datetime
    last_at: datetime
    calls: int
    blocked: int
    asked: int
    overridden: int
    live: bool
    waiting: int
    jobs: int
    agents: int
    usd: float | None = None

    @classmethod
    def of(cls, group: Group, activity: SessionActivity) -> "SessionModel":
        """Build the model of a session."""
        live = datetime.now(UTC) - group.last_at < LIVE
        fields = {name: getattr(group, name) for name in _FROM_CALLS}
        return cls.model_validate(fields | msgspec.structs.asdict(activity) | {"live": live})


class SessionPage(BaseModel):
    """A page of sessions, the one with the newest call first; `next_cursor` is absent on the last one."""

    items: list[SessionModel]
    next_cursor: str | None = None


class PastModel(BaseModel):
    """The past that rules may ask about: tool names by agent, oldest first, and the number of background tasks."""

    calls: dict[str, list[str]]
    background_running: int
    project: str
    root: str
    other_project: str = Field(
        "", description="The last other project that the session named; its mode and rules are not followed."
    )


class SessionAgentModel(BaseModel):
    """A sub-agent of a session. `parent` is the id of the agent that started it, `main` for the main thread.

    An agent that made no call has the id of the decision on its start. `model` and `usd` are known once it has ended, where its
    client reports them.
    """

    id: str
    type: str
    parent: str
    first_at: datetime
    last_at: datetime
    calls: int
    blocked: int
    is_over: bool
    model: str
    usd: float | None = None


class InspectedModel(SessionModel):
    """A session in full, with its first 500 agents; `past` is absent while Redis is down."""

    tree: list[SessionAgentModel]
    mode: ModeModel
    past: PastModel | None = None
    overrides: list[OverrideModel]


@router.get("/sessions", operation_id="list_sessions", response_model_exclude_none=True, dependencies=[EXPENSIVE])
async def list_sessions(
    caller: CallerOf, inspection: SessionAdminOf, query: Annotated[SessionsQuery, Query()]
) -> SessionPage:
    """List sessions by their recorded calls; without `since`, those of the last seven days."""
    place = After(*after(query.cursor, 2))
    found = await inspection.find(caller.principal, query.filter(), after=place, limit=query.limit + 1)
    items, next_cursor = page(found, query.limit, lambda group: (group.last_id, place.newest or found[0].last_id))
    activity = await inspection.activity(caller.principal, items)
    models = [SessionModel.of(group, activity[group.session_id, group.user]) for group in items]
    return SessionPage(items=models, next_cursor=next_cursor)


@router.get("/sessions/{session_id}", operation_id="get_session", response_model_exclude_none=True)
async def get_session(
    caller: CallerOf, inspection: SessionAdminOf, session_id: SessionId, user: Text = ""
) -> InspectedModel:
    """Show one session: its mode with the chain of settings, look-ups, background tasks, project and overrides."""
    found = await inspection.inspect(caller.principal, session_id, user)
    return InspectedModel(
        **SessionModel.of(found.calls, found.activity).model_dump(),
        tree=[SessionAgentModel.model_validate(one, from_attributes=True) for one in found.agents],
        mode=ModeModel.of(found.mode),
        past=None if found.past is None else PastModel.model_validate(found.past, from_attributes=True),
        overrides=[OverrideModel.model_validate(one, from_attributes=True) for one in found.overrides],
    )


@router.post("/sessions/{session_id}/reset", operation_id="reset_session", status_code=204, dependencies=[ADMIN])
async def reset_session(
    caller: CallerOf,
    inspection: SessionAdminOf,
    session_id: SessionId,
    user: Text = "",
    reason: Annotated[str, Query(max_length=1_000)] = "",
) -> Response:
    """Forget a session's look-ups, so that its next one counts as the first; its decisions stay."""
    await inspection.reset(caller.principal, session_id, user, reason)
    return Response(status_code=204)
