"""`GET /analytics/delegation`: how many calls agents delegated, made themselves, or were refused."""

from typing import Annotated, Literal

import msgspec
from fastapi import APIRouter, Depends, Query, Response
from pydantic import BaseModel

from baton.kernel.http.features import of
from baton.kernel.http.fields import PROJECT, ApiModel, Moment
from baton.kernel.http.paging import JSON_OR_CSV, AsTable, PageQuery, Text, after, csv_response, page
from baton.people.callers import CallerOf
from baton.people.rate_limits import EXPENSIVE
from baton.records.review.delegation_share.groups import FIRST
from baton.records.review.delegation_share.service import After, CallGroup, DelegationShare, cheaper, share

router = APIRouter(tags=["analytics"])
DelegationShareOf = Annotated[DelegationShare, Depends(of(DelegationShare))]
By = Literal["session", "user", "team", "day"]
Model = Literal["haiku", "sonnet", "opus", "fable"]
MOST_IN_A_TABLE = 10_000
"""Groups of a table, which is one answer; a page of JSON is short and has a next one."""
_COLUMNS = (
    "first_at", "last_at", "calls", "delegated", "direct", "blocked", "asked", "overridden", "guided", "spawned",
    "share_delegated", "ignored", "cheaper",
)  # fmt: skip
_KEYS: dict[By, tuple[str, ...]] = {
    "session": ("session_id", "user", "team", "project"),
    "user": ("user",),
    "team": ("team",),
    "day": ("day",),
}


class GroupShare(CallGroup, frozen=True, kw_only=True):
    """One group: a session of a user, a user, a team or a day (UTC).

    `calls` is `delegated` (by sub-agents, and the calls starting them) + `direct` (by the main thread itself) +
    `blocked`; `share_delegated` is of the unblocked ones. `cheaper` counts the agent calls with a model of a cheaper
    tier than the parent's, out of `injected` by model. Calls with the new model `ignored` by the client are in neither.
    """

    share_delegated: float
    cheaper: int

    @classmethod
    def of(cls, group: CallGroup, parent: str) -> "GroupShare":
        """Return a group with its shares."""
        return cls(**msgspec.structs.asdict(group), share_delegated=share(group), cheaper=cheaper(group, parent))


ShownGroup = Annotated[
    GroupShare,
    ApiModel("DelegationModel", without=("last_id", "client"), blank=("session_id", "user", "team", "day", "project")),
]


class DelegationPage(BaseModel):
    """A page of groups, the one with the newest call first; `next_cursor` is absent on the last one."""

    by: By
    parent: Model
    items: list[ShownGroup]
    next_cursor: str | None = None


class DelegationQuery(PageQuery):
    """The calls to sum up, and the grouping; all filters must match."""

    by: By = "day"
    parent: Model = "opus"
    user: Text = ""
    team: Text = ""
    project: Annotated[Text, PROJECT] = ""
    session_id: Text = ""
    client: Text = ""
    since: Moment | None = None
    until: Moment | None = None


@router.get(
    "/analytics/delegation",
    response_model_exclude_none=True,
    dependencies=[EXPENSIVE],
    response_model=DelegationPage,
    responses=JSON_OR_CSV,
)
async def get_delegation(
    caller: CallerOf, delegation_share: DelegationShareOf, query: Annotated[DelegationQuery, Query()], as_table: AsTable
) -> DelegationPage | Response:
    """Sum up calls by session, user, team or day, by default of the last seven days.

    `parent` is the inherited model of agent calls without one; `cheaper` is counted against it. `Accept: text/csv`
    gives all groups (the newest 10,000) as one table.
    """
    wanted = query.filters()
    by, parent = wanted.pop("by"), wanted.pop("parent")
    if as_table:
        groups = await delegation_share.summarize(caller.principal, wanted, by, after=FIRST, limit=MOST_IN_A_TABLE)
        rows = [msgspec.to_builtins(GroupShare.of(one, parent)) for one in groups]
        columns = (*_KEYS[by], *_COLUMNS)
        return csv_response(columns, [tuple(row[name] for name in columns) for row in rows])
    place = After(*after(query.cursor, 2))
    found = await delegation_share.summarize(caller.principal, wanted, by, after=place, limit=query.limit + 1)
    items, next_cursor = page(found, query.limit, lambda group: (group.last_id, place.newest or found[0].last_id))
    return DelegationPage(
        by=by, parent=parent, items=[GroupShare.of(one, parent) for one in items], next_cursor=next_cursor
    )
