"""Read the parts of a session's timeline from SQL, each in the order of the whole, from a place on."""

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from sqlalchemy import Select, and_, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.delegate.core.job import ENDED_STATES
from baton.delegate.core.stores.tables import EVENTS, JOBS
from baton.kernel.changes.audit_store import AUDIT
from baton.people.users import RowScope
from baton.records.pipeline import recorder
from baton.records.tables import DECISIONS
from baton.rules.call.kept import LONGEST_ID
from baton.rules.call.record import Record
from baton.sessions.timeline.bodies import CALLS, JOB_STEPS, MODES, JobStep, Kind, ModeChange, SortKey, TimelineItem
from baton.shared.record_ids import least_id, moment_of
from baton.shared.storable import storable

MOST_CHANGES = 1_000
"""Changes of modes, within the time of one session, that are looked at."""
_STEPS = ("job.state", "permission.requested", "permission.resolved")


class SessionOwner(msgspec.Struct, frozen=True, kw_only=True):
    """A session's owner, and the times of its first and last calls; None if it only has jobs."""

    user: str
    team: str
    project: str
    first: datetime | None = None
    last: datetime | None = None


async def owner(
    connection: AsyncConnection, organisation: str, scope: RowScope, session_id: str, user: str, preferred: str
) -> SessionOwner | None:
    """Return the owner of the session of an id, the preferred one of several; None if nobody's is in scope."""
    for name in dict.fromkeys((user,) if user else (preferred, "")):
        for table in (DECISIONS, JOBS):
            query = select(table.c.user, table.c.team, table.c.project)
            query = scope.limit(_of_session(query, table, organisation, session_id, name), table)
            row = (await connection.execute(query.order_by(table.c.id.desc()).limit(1))).first()
            if row is not None:
                bounds = select(func.min(DECISIONS.c.id), func.max(DECISIONS.c.id))
                first, last = (
                    await connection.execute(_of_session(bounds, DECISIONS, organisation, session_id, row.user))
                ).one()
                times = {"first": moment_of(first), "last": moment_of(last)} if first else {}
                return SessionOwner(user=row.user, team=row.team, project=row.project, **times)
    return None


async def calls(
    connection: AsyncConnection,
    organisation: str,
    scope: RowScope,
    session: tuple[str, str],
    kinds: Collection[Kind],
    after: SortKey | None,
    limit: int,
) -> list[TimelineItem]:
    """Read prompts, routes, decisions and spawns after a place, at least `limit` of them if there are as many."""
    session_id, user = session
    query = scope.limit(_of_session(select(DECISIONS), DECISIONS, organisation, session_id, user), DECISIONS)
    if after is not None:
        if after.source == CALLS:  # a row may have two items, so the place's own row is read again
            first = after.id
        else:  # of one moment, the calls come before the steps of jobs
            first = least_id(after.at + timedelta(microseconds=int(after.source > CALLS)))
        query = query.where(DECISIONS.c.id >= first)
    query = query.where(or_(*(_IS[kind] for kind in kinds if kind in _IS))).order_by(DECISIONS.c.id).limit(limit + 1)
    found: list[TimelineItem] = []
    for row in await connection.execute(query):
        record = msgspec.convert(row._asdict(), Record)
        for part, kind in enumerate(_kinds(record)):
            place_of_it = SortKey(moment_of(record.id), CALLS, record.id, part)
            if kind in kinds and (after is None or place_of_it > after):
                found.append(TimelineItem(place=place_of_it, kind=kind, record=record))
    return found


async def job_steps(
    connection: AsyncConnection,
    organisation: str,
    scope: RowScope,
    session: tuple[str, str],
    kinds: Collection[Kind],
    after: SortKey | None,
    limit: int,
) -> list[TimelineItem]:
    """Read the steps of a session's jobs after a place."""
    session_id, user = session
    types = [one for one in _STEPS if ("job" if one == "job.state" else "question") in kinds]
    columns = ("provider", "agent_type", "description", "error_code", "tier", "ended_at", "cost_usd")
    tokens = ("input_tokens", "cached_tokens", "output_tokens")
    query = (
        select(
            *(EVENTS.c[name] for name in ("job_id", "no", "type", "body", "at")),
            *(JOBS.c[name].label(f"job_{name}") for name in (*columns, *tokens)),
        )
        .join(JOBS, JOBS.c.id == EVENTS.c.job_id)
        .where(
            EVENTS.c.organisation == organisation,
            EVENTS.c.user == storable(user),
            EVENTS.c.session_id == storable(session_id),
            EVENTS.c.type.in_(types),
        )
        .order_by(EVENTS.c.at, EVENTS.c.job_id, EVENTS.c.no)
        .limit(limit + 1)
    )
    if after is not None:
        job_id, _, number = after.id.rpartition(" ")
        behind = EVENTS.c.at > after.at
        if after.source < JOB_STEPS:
            behind = EVENTS.c.at >= after.at
        elif after.source == JOB_STEPS:
            same_job = and_(EVENTS.c.job_id == job_id, EVENTS.c.no > int(number))
            behind = or_(behind, and_(EVENTS.c.at == after.at, or_(EVENTS.c.job_id > job_id, same_job)))
        query = query.where(behind)
    return [_step(row) for row in await connection.execute(scope.limit(query, JOBS))]


async def mode_changes(
    connection: AsyncConnection, organisation: str, session_id: str, whose: SessionOwner, after: SortKey | None
) -> list[TimelineItem]:
    """Read the changes of modes during a session, after a place."""
    if whose.first is None or whose.last is None:
        return []
    query = select(AUDIT).where(
        AUDIT.c.organisation == organisation,
        AUDIT.c.kind == "mode",
        AUDIT.c.id >= least_id(whose.first if after is None else max(after.at, whose.first)),
        AUDIT.c.at <= whose.last,
    )
    found = []
    for row in await connection.execute(query.order_by(AUDIT.c.id).limit(MOST_CHANGES)):
        setting = row.after or row.before
        place = SortKey(moment_of(row.id), MODES, row.id)
        if _concerns(setting, session_id, whose) and (after is None or place > after):
            mode = ModeChange(
                action=row.action,
                scope=str(setting.get("scope", "")),
                actor=row.actor,
                enabled=bool(row.after.get("enabled")),
                level=str(row.after.get("level", "")),
                reason=row.reason,
            )
            found.append(TimelineItem(place=place, kind="mode", mode=mode))
    return found


def _of_session(query: Select[Any], table: Any, organisation: str, session_id: str, user: str) -> Select[Any]:
    query = query.where(table.c.organisation == organisation, table.c.session_id == storable(session_id)[:LONGEST_ID])
    return query.where(table.c.user == storable(user)) if user else query


_IS = {
    "session": DECISIONS.c.event == "SessionStart",
    "prompt": DECISIONS.c.event == "UserPromptSubmit",
    "route": and_(DECISIONS.c.event == "UserPromptSubmit", DECISIONS.c.routed_by != ""),
    "advisory": DECISIONS.c.event == recorder.ADVISORIES,
    "decision": and_(DECISIONS.c.event == "PreToolUse", DECISIONS.c.started_agent == ""),
    "spawn": or_(
        and_(DECISIONS.c.event == "PreToolUse", DECISIONS.c.started_agent != ""), DECISIONS.c.event == "SubagentStart"
    ),
}


def _kinds(record: Record) -> tuple[Kind, ...]:
    """Return a record's kinds, as in `_IS` of the SQL."""
    match record.event:
        case "UserPromptSubmit":
            return ("prompt", "route") if record.routed_by else ("prompt",)
        case recorder.ADVISORIES:
            return ("advisory",)
        case "SubagentStart":
            return ("spawn",)
        case "PreToolUse":
            return ("spawn",) if record.started_agent else ("decision",)
        case _:
            return ("session",)


def _step(row: Any) -> TimelineItem:
    body: dict[str, Any] = row.body
    state = str(body.get("state", ""))
    # A retried job has several ends; its tokens are shown once, at the last.
    is_over = row.type == "job.state" and state in ENDED_STATES and row.job_ended_at == row.at.astimezone(UTC)
    step = JobStep(
        job=row.job_id,
        type=row.type,
        state=state,
        provider=row.job_provider,
        agent_type=row.job_agent_type,
        description=row.job_description,
        error=row.job_error_code if is_over else "",
        input_tokens=row.job_input_tokens if is_over else 0,
        output_tokens=row.job_output_tokens if is_over else 0,
        detail={} if row.type == "job.state" else body,
    )
    return TimelineItem(
        place=SortKey(row.at, JOB_STEPS, f"{row.job_id} {row.no}"),
        kind="job" if row.type == "job.state" else "question",
        job=step,
        usd=row.job_cost_usd if is_over else None,
    )


def _concerns(setting: dict[str, Any], session_id: str, whose: SessionOwner) -> bool:
    given = {name: setting.get(name) or "" for name in ("id", "user", "project")}
    match setting.get("scope"):
        case "session":
            return given["id"] == session_id and given["user"] in {"", whose.user}
        case "user":
            return given["id"] == whose.user
        case "team":
            return given["id"] == whose.team
        case "project":
            return given["id"] == whose.project
        case "user_project":
            return (given["user"], given["project"]) == (whose.user, whose.project)
        case _:
            return setting.get("scope") == "organisation"
