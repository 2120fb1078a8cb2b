"""Calls summed up by session, user, team or day: which ones, in which groups, and where a page of groups begins."""

from datetime import datetime
from typing import Literal

import msgspec

By = Literal["session", "user", "team", "day"]


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which decisions to sum up; all that are set must hold. `since` is included, `until` is not."""

    since: datetime
    until: datetime | None = None
    user: str = ""
    team: str = ""
    project: str = ""
    session_id: str = ""
    client: str = ""


class After(msgspec.Struct, frozen=True):
    """Where a page begins: below the `last_id` of the page before, among decisions up to the first page's newest.

    A group that goes on while it is paged through would otherwise move ahead of the cursor and be on no page.
    """

    last_id: str = ""
    newest: str = ""


FIRST = After()


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """What the calls of one session, user, team or day came to.

    `calls` = `delegated` + `direct` + `blocked`: what sub-agents did and the calls that started them, what the main
    thread did itself, and what was refused. `asked`, `overridden` and `guided` count calls that are among them too;
    `injected` counts calls by the model that was put in. `last_id` is the group's newest decision.
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
