"""Sum up decisions by session, user, team or day, in SQL."""

from collections.abc import Iterable
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Select, String, case, cast, func, literal, or_, select
from sqlalchemy.sql.functions import Function

from baton.engine.agents.rosters import MODELS
from baton.kernel.base.sql import Database
from baton.kernel.base.storable import storable
from baton.kernel.base.uuid7 import least_id
from baton.people.row_scope import RowScope
from baton.records.pipeline.tables import DECISIONS
from baton.records.review.delegation_groups import FIRST, After, By, Group, GroupFilter

_d = DECISIONS
_GUIDANCE_HIT = '%"effect":"guidance"%'


async def find(
    database: Database,
    organisation: str,
    scope: RowScope,
    wanted: GroupFilter,
    by: By,
    *,
    agent_tools: Iterable[str],
    after: After = FIRST,
    limit: int = 50,
) -> list[Group]:
    """Return the sums by group, the group of the newest call first."""
    keys = _keys(by, database.dialect)
    query = _where(select(*keys.values(), *_sums(sorted(agent_tools))), organisation, scope, wanted)
    query = query.group_by(*keys.values()).order_by(func.max(_d.c.id).desc()).limit(limit)
    if after.newest:
        query = query.where(_d.c.id <= after.newest).having(func.max(_d.c.id) < after.last_id)
    async with database.transaction() as connection:
        rows = (await connection.execute(query)).all()
    return [_group(row._asdict()) for row in rows]


def _keys(by: By, dialect: str) -> dict[str, ColumnElement[Any]]:
    match by:
        case "session":
            return {"session_id": _d.c.session_id, "user": _d.c.user}
        case "user":
            return {"user": _d.c.user}
        case "team":
            return {"team": _d.c.team}
        case "day":
            # SQLite stores UTC; Postgres would cut the day in the time zone of its session.
            moment: ColumnElement[Any] = _d.c.at if dialect == "sqlite" else func.timezone("UTC", _d.c.at)
            return {"day": cast(func.date(moment), String).label("day")}


def _sums(agent_tools: list[str]) -> list[ColumnElement[Any]]:
    spawns = _d.c.tool.in_(agent_tools)
    passed = _d.c.decision != "block"
    obeyed = passed & (_d.c.outcome != "rewrite_ignored")
    delegates = spawns | (_d.c.agent_id != "")
    return [
        func.max(_d.c.id).label("last_id"),
        func.max(_d.c.project).label("last_project"),
        func.max(_d.c.client).label("last_client"),
        func.max(_d.c.team).label("last_team"),
        func.min(_d.c.at).label("first_at"),
        func.max(_d.c.at).label("last_at"),
        func.count().label("calls"),
        _count(passed & delegates).label("delegated"),
        _count(passed & ~delegates).label("direct"),
        _count(~passed).label("blocked"),
        _count(_d.c.decision == "ask").label("asked"),
        _count(_d.c.overridden).label("overridden"),
        _count(cast(_d.c.rules, String).like(_GUIDANCE_HIT)).label("guided"),
        _count(passed & spawns).label("spawned"),
        _count(passed & ~obeyed).label("ignored"),
        *(_count(obeyed & (_d.c.model_injected == model)).label(f"injected_{model}") for model in sorted(MODELS)),
    ]


def _count(condition: ColumnElement[bool]) -> Function[int]:
    return func.sum(case((condition, literal(1)), else_=literal(0)))


def _where(query: Select[Any], organisation: str, scope: RowScope, wanted: GroupFilter) -> Select[Any]:
    query = scope.limit(query, _d).where(
        _d.c.organisation == organisation, _d.c.event == "PreToolUse", _d.c.id >= least_id(wanted.since)
    )
    if wanted.until is not None:
        query = query.where(_d.c.id < least_id(wanted.until))
    for name in ("user", "team", "project", "session_id", "client"):
        if value := getattr(wanted, name):
            query = query.where(_d.c[name] == storable(value))
    if wanted.called_since is not None:  # the few that are live are found by time, and then summed up by session
        live = select(_d.c.session_id).where(
            _d.c.organisation == organisation, _d.c.event == "PreToolUse", _d.c.id >= least_id(wanted.called_since)
        )
        query = query.where(_d.c.session_id.in_(scope.limit(live, _d)))
    if q := storable(wanted.q):
        begins = (func.lower(_d.c[name]).startswith(q.lower(), autoescape=True) for name in ("session_id", "user"))
        query = query.where(or_(*begins, func.lower(_d.c.project).contains(q.lower(), autoescape=True)))
    return query


def _group(row: dict[str, Any]) -> Group:
    row["injected"] = {model: n for model in sorted(MODELS) if (n := int(row.pop(f"injected_{model}")))}
    for name in ("project", "client", "team"):
        last = row.pop(f"last_{name}")
        if "session_id" in row:
            row[name] = last
    return msgspec.convert(row, Group, strict=False)
