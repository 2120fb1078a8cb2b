"""A demonstration's past: what its agents did today, stored again at moments of the days before.

Nothing in the API takes a decision with another moment than now, or an agent could write what never was. So this works on
the database alone, for whoever may write that, and only while it holds nothing but a demonstration (docs/decisions/0041).
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from random import Random

import msgspec

from baton.engine.call.principal import Principal
from baton.engine.call.record import Record
from baton.kernel.base.sql import Database
from baton.kernel.base.uuid7 import id_at
from baton.kernel.changes import audit_store
from baton.records.pipeline import store as decisions
from baton.records.pipeline.rows import LARGEST_BATCH
from baton.records.pipeline.search import Filters
from baton.route.feedback import store as feedback_store
from baton.route.feedback.feedback import Feedback

DEMO = "demo-"
"""What the names of a demonstration's people and sessions begin with."""
PAST = "demo-past-"
"""What the sessions begin with whose moments are made up."""
WHY = "demonstration (`baton demo`)"
DAYS = 7
FIRST_HOUR, LAST_HOUR = 8, 18
"""The hours in which people work, where the server is."""
SATURDAY = 5
LAST_HOUR_SESSIONS = 12
LAST_MINUTES = (12, 58)
"""How many minutes ago the sessions of the last hour begin."""
PAUSE_S = (4, 60)
"""Seconds from one call of a session to the next."""
MOST_FEEDBACK = 1_000


class NotDemonstrationError(ValueError):
    """The database holds more than a demonstration, no demonstration at all, or one that has its past already."""


async def add_past(database: Database, principal: Principal, now: datetime, choice: Random) -> int:
    """Store the demonstration's sessions again, at moments of the last days; return how many decisions were stored.

    Each copy is the beginning of a session, decided and measured as it was; only its ids and moments are new, and its session's
    name says that they are.

    Raises:
        NotDemonstrationError: If the database holds anything else, or holds such copies already.
        DatabaseUnavailable: If the database is away.
    """
    organisation = principal.organisation
    sessions = await _sessions(database, organisation)
    teams = sorted({one.team for session in sessions for one in session})
    said = [one for team in teams for one in await feedback_store.of_team(database, organisation, team, MOST_FEEDBACK)]
    by_route = {one.route_id: one for one in said}
    records: list[Record] = []
    feedback: list[Feedback] = []
    for start in _starts(now, choice):
        (session,) = choice.choices(sessions, weights=[len(one) for one in sessions])
        for old, new in _again(session, start, choice):
            if new.at >= now:
                break
            records.append(new)
            if judged := by_route.get(old.id):
                feedback.append(msgspec.structs.replace(judged, route_id=new.id, at=new.at))
    for first in range(0, len(records), LARGEST_BATCH):
        await decisions.add(database, records[first : first + LARGEST_BATCH])
    for one in feedback:
        await feedback_store.put(database, organisation, one)
    async with database.transaction() as connection:
        await audit_store.add(
            connection, principal, action="demonstration.past", kind="demonstration", object="decisions",
            after={"decisions": len(records), "days": DAYS}, reason=WHY,
        )  # fmt: skip
    return len(records)


async def _sessions(database: Database, organisation: str) -> list[list[Record]]:
    """Return what the demonstration's people did, session by session; a route that was asked for alone is one as well."""
    found: list[Record] = []
    cursor = ""
    while True:
        page, cursor = await decisions.find(database, organisation, Filters(), cursor, decisions.LARGEST_PAGE)
        for one in page:
            if one.session_id.startswith(PAST):
                raise NotDemonstrationError("the demonstration has its past already")
            if not one.user.startswith(DEMO) and not one.session_id.startswith(DEMO):
                raise NotDemonstrationError("the database holds decisions that are not the demonstration's")
            if one.user.startswith(DEMO):
                # Rows of a list come without the prompt.
                whole = await decisions.get(database, organisation, one.id) if one.event == "UserPromptSubmit" else one
                found.append(whole or one)
        if not cursor:
            break
    if not found:
        raise NotDemonstrationError("the database holds no demonstration; `baton demo` plays one")
    found.sort(key=lambda one: (one.session_id or one.id, one.id))
    return [list(group) for _, group in groupby(found, key=lambda one: one.session_id or one.id)]


def _starts(now: datetime, choice: Random) -> Iterator[datetime]:
    """Yield when sessions began: by day while people work, a few at other times, and some in the last hour."""
    hour = now.replace(minute=0, second=0, microsecond=0) - timedelta(days=DAYS)
    while hour < now - timedelta(hours=1):
        local = hour.astimezone()
        works = FIRST_HOUR <= local.hour < LAST_HOUR and local.weekday() < SATURDAY
        for _ in range(choice.randint(3, 9) if works else choice.randint(-3, 1)):
            yield hour + timedelta(seconds=choice.uniform(0, 3_600))
        hour += timedelta(hours=1)
    for _ in range(LAST_HOUR_SESSIONS):
        yield now - timedelta(minutes=choice.uniform(*LAST_MINUTES))


def _again(session: Sequence[Record], start: datetime, choice: Random) -> Iterator[tuple[Record, Record]]:
    """Yield the beginning of a session with its copy, which begins at `start`."""
    name = PAST + choice.randbytes(4).hex()
    at = start
    for one in session[: choice.randint(1, len(session))]:
        yield (
            one,
            msgspec.structs.replace(
                one,
                id=id_at(at, choice.randbytes(10)),
                at=at,
                session_id=name if one.session_id else "",
                agent_id=one.agent_id.replace(one.session_id, name) if one.session_id else one.agent_id,
                tool_use_id=one.tool_use_id and f"{PAST}{choice.randbytes(6).hex()}",
                traceparent="",
            ),
        )
        at += timedelta(seconds=choice.uniform(*PAUSE_S))
