"""`/sessions`: lists sessions, shows one in full, and resets its look-ups."""

from datetime import UTC, datetime
from typing import Annotated

import msgspec
from fastapi import APIRouter, Depends, Path, Query, Response
from pydantic import BaseModel, Field

from baton.kernel.http.features import of
from baton.kernel.http.fields import PROJECT, Moment, Shown
from baton.kernel.http.paging import Text, after, page
from baton.modes.bodies import ShownMode
from baton.people.callers import CallerOf
from baton.people.rate_limits import ADMIN, EXPENSIVE
from baton.records.review.delegation_share.groups import After, CallGroup
from baton.sessions.activity import LIVE, SessionActivity, SessionAgent
from baton.sessions.exceptions.api import ShownException
from baton.sessions.history import Past
from baton.sessions.inspection import SessionAdmin

router = APIRouter(tags=["sessions"])
SessionAdminOf = Annotated[SessionAdmin, Depends(of(SessionAdmin))]
SessionId = Annotated[str, Path(max_length=1_024)]
FilterText = Annotated[str, Field(max_length=1_024)]

_FROM_CALLS = (
    "session_id", "user", "team", "client", "project", "first_at", "last_at", "calls", "blocked", "asked", "overridden",
)  # fmt: skip


class SessionsQuery(BaseModel):
    """Filters and page of the list of sessions."""

    user: FilterText = ""
    team: FilterText = ""
    project: Annotated[FilterText, PROJECT] = ""
    client: FilterText = ""
    live: bool = Field(False, description="Only those with a call in the last ten minutes.")
    q: FilterText = Field("", description="What a session's id or user begins with, or a part of its project.")
    since: Moment | None = None
    until: Moment | None = None
    cursor: str = Field("", max_length=4_096, description="`next_cursor` of the page before.")
    limit: int = Field(50, ge=1, le=200)


class SessionModel(BaseModel):
    """A session, according to its recorded calls and its jobs.

    It is `live` for ten minutes after its last call. `waiting` counts jobs waiting for a person, `jobs` unfinished
    ones, `agents` the sub-agents with a call. `usd` is the cost of its agents and jobs, absent if unknown.
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
    def build(cls, group: CallGroup, activity: SessionActivity) -> "SessionModel":
        """Build the model of a session."""
        live = datetime.now(UTC) - group.last_at < LIVE
        fields = {name: getattr(group, name) for name in _FROM_CALLS}
        return cls.model_validate(fields | msgspec.structs.asdict(activity) | {"live": live})


class SessionPage(BaseModel):
    """A page of sessions, the one with the newest call first; `next_cursor` is absent on the last one."""

    items: list[SessionModel]
    next_cursor: str | None = None


class InspectedModel(SessionModel):
    """A session in full, with its first 500 agents; `past` is absent while Redis is down."""

    tree: list[Shown[SessionAgent]]
    mode: ShownMode
    past: Shown[Past] | None = None
    exceptions: list[ShownException]


@router.get("/sessions", response_model_exclude_none=True, dependencies=[EXPENSIVE])
async def list_sessions(
    caller: CallerOf, inspection: SessionAdminOf, query: Annotated[SessionsQuery, Query()]
) -> SessionPage:
    """List sessions by their recorded calls; without `since`, those of the last seven days."""
    place = After(*after(query.cursor, 2))
    wanted = query.model_dump(exclude={"cursor", "limit"})
    found = await inspection.search(caller.principal, wanted, after=place, limit=query.limit + 1)
    items, next_cursor = page(found, query.limit, lambda group: (group.last_id, place.newest or found[0].last_id))
    activity = await inspection.activity(caller.principal, items)
    models = [SessionModel.build(group, activity[group.session_id, group.user]) for group in items]
    return SessionPage(items=models, next_cursor=next_cursor)


@router.get("/sessions/{session_id}", response_model_exclude_none=True)
async def get_session(
    caller: CallerOf, inspection: SessionAdminOf, session_id: SessionId, user: Text = ""
) -> InspectedModel:
    """Show one session: its mode with the chain of settings, look-ups, background tasks, project and exceptions."""
    found = await inspection.inspect(caller.principal, session_id, user)
    return InspectedModel(
        **SessionModel.build(found.calls, found.activity).model_dump(),
        tree=list(found.agents),
        mode=found.mode,
        past=None if found.past is None else found.past,
        exceptions=list(found.exceptions),
    )


@router.post("/sessions/{session_id}/reset", status_code=204, dependencies=[ADMIN])
async def reset_session(
    caller: CallerOf,
    inspection: SessionAdminOf,
    session_id: SessionId,
    user: Text = "",
    reason: Annotated[str, Query(max_length=1_000)] = "",
) -> Response:
    """Forget a session's look-ups, so that the next one counts as the first. Its decisions stay."""
    await inspection.reset(caller.principal, session_id, user, reason)
    return Response(status_code=204)
