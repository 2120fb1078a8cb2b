"""The types for summing up calls by session, user, team or day: the filter, the page and the group."""

from datetime import datetime
from typing import Literal

import msgspec

By = Literal["session", "user", "team", "day"]


class GroupFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Filters for decisions, all of which must match. `since` is included, `until` is not.

    `called_since` selects sessions with a call at that time or later, `q` those with this prefix of the id or user, or
    with it in the project's name.
    """

    since: datetime
    until: datetime | None = None
    user: str = ""
    team: str = ""
    project: str = ""
    session_id: str = ""
    client: str = ""
    called_since: datetime | None = None
    q: str = ""


class After(msgspec.Struct, frozen=True):
    """A page's start: below the `last_id` of the page before, among decisions up to the first page's newest.

    Without `newest`, a group with a new call between two pages would move ahead of the cursor and be on no page.
    """

    last_id: str = ""
    newest: str = ""


FIRST = After()


class CallGroup(msgspec.Struct, frozen=True, kw_only=True):
    """The sums of one session, user, team or day.

    `calls` = `delegated` + `direct` + `blocked`: calls by sub-agents and the calls starting them, calls by the main
    thread itself, and refused calls. `asked`, `overridden` and `guided` count some of the same calls again; `injected`
    counts calls by the model set by Baton, without the `ignored` ones, run unchanged by the client. `last_id` is the id
    of the group's newest decision.
    """

    last_id: str
    user: str = ""
    team: str = ""
    session_id: str = ""
    day: str = ""
    project: str = ""
    client: str = ""
    first_at: datetime
    last_at: datetime
    calls: int
    delegated: int
    direct: int
    blocked: int
    asked: int
    overridden: int
    guided: int
    spawned: int
    injected: dict[str, int]
    ignored: int
