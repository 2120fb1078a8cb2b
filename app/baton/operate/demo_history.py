"""A demonstration's past: today's actions of its agents, stored again at earlier times.

The API stores decisions only with the current time, to prevent forged history. So this works on the database alone, for
callers with write access to it, and only while it contains nothing but a demonstration (docs/decisions/0041).
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from random import Random

import msgspec

from baton.kernel.base.sql import Database
from baton.kernel.changes import audit_store
from baton.records.pipeline import store as decisions
from baton.records.pipeline.rows import LARGEST_BATCH
from baton.records.pipeline.search import Filters
from baton.route.feedback import store as feedback_store
from baton.route.feedback.store import Feedback
from baton.rules.call.call import Principal
from baton.rules.call.record import Record
from baton.shared.record_ids import id_at

DEMO = "demo-"
"""Prefix of the names of a demonstration's people and sessions."""
PAST = "demo-past-"
"""Prefix of the sessions with invented times."""
WHY = "demonstration (`baton demo`)"
DAYS = 7
FIRST_HOUR, LAST_HOUR = 8, 18
"""The working hours, in the server's time zone."""
SATURDAY = 5
LAST_HOUR_SESSIONS = 12
LAST_MINUTES = (12, 58)
"""Start times of the last hour's sessions, in minutes ago."""
PAUSE_S = (4, 60)
"""Seconds from one call of a session to the next."""
MOST_FEEDBACK = 1_000


class NotDemonstrationError(ValueError):
    """The database contains more than a demonstration, none at all, or one with an existing past."""


async def add_past(database: Database, principal: Principal, now: datetime, choice: Random) -> int:
    """Store the demonstration's sessions again, in the last days; return the number of stored decisions.

    Each copy is the beginning of a session, with its original decisions and measurements; only ids and times are new,
    as shown by the session's name.

    Raises:
        NotDemonstrationError: If the database contains anything else, or such copies already.
        DatabaseUnavailable: If the database is unavailable.
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
            connection, principal, action="demonstration.past", object="decisions",
            after={"decisions": len(records), "days": DAYS}, reason=WHY,
        )  # fmt: skip
    return len(records)


async def _sessions(database: Database, organisation: str) -> list[list[Record]]:
    """Return the actions of the demonstration's people by session; a lone route request is a session as well."""
    found: list[Record] = []
    cursor = ""
    while True:
        page, cursor = await decisions.find_records(database, organisation, Filters(), cursor, decisions.LARGEST_PAGE)
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
    """Yield the start times of sessions: during working hours, a few at other times, and some in the last hour."""
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
    """Yield the beginning of a session with its copy, starting at `start`."""
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
