"""Sum up calls by session, user, team or day, in SQL, from hourly sums where they are kept."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Select, Table, func, literal_column, or_, select

from baton.engine.agents.rosters import MODELS
from baton.kernel.base.sql import Database
from baton.kernel.base.storable import storable
from baton.kernel.base.uuid7 import least_id, moment_of
from baton.people.row_scope import RowScope
from baton.records.pipeline.tables import DECISIONS
from baton.records.review.delegation_groups import FIRST, After, By, Group, GroupFilter
from baton.records.sums.periods import parts
from baton.records.sums.reading import calls

_COUNTS = {
    "calls": "decisions", "blocked": "effect_deny", "asked": "effect_ask",
    **{name: name for name in ("delegated", "direct", "overridden", "guided", "spawned", "ignored")},
    **{f"injected_{model}": f"injected_{model}" for model in sorted(MODELS)},
}  # fmt: skip
"""The counts of a group, and the columns of the sums that they are made of."""
_KEYS: dict[By, tuple[str, ...]] = {"session": ("session_id", "user"), "user": ("user",), "team": ("team",), "day": ()}
_LAST = ("project", "client", "team")
"""What is shown of a session besides."""


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
    keys, last = _KEYS[by], _LAST if by == "session" else ()

    def restrict(query: Select[Any], table: Table) -> Select[Any]:
        query = scope.limit(query, table).where(table.c.event == "PreToolUse")
        for name in ("user", "team", "project", "session_id", "client"):
            if value := getattr(wanted, name):
                query = query.where(table.c[name] == storable(value))
        if wanted.called_since is not None:  # the few that are live are found by time, and then summed up by session
            live = select(DECISIONS.c.session_id).where(
                DECISIONS.c.organisation == organisation,
                DECISIONS.c.event == "PreToolUse",
                DECISIONS.c.id >= least_id(wanted.called_since),
            )
            query = query.where(table.c.session_id.in_(scope.limit(live, DECISIONS)))
        if q := storable(wanted.q):
            begins = (
                func.lower(table.c[name]).startswith(q.lower(), autoescape=True) for name in ("session_id", "user")
            )
            query = query.where(or_(*begins, func.lower(table.c.project).contains(q.lower(), autoescape=True)))
        return query

    async with database.transaction() as connection:
        part = await parts(connection, organisation, wanted.since, wanted.until, after.newest)
        columns = dict.fromkeys(("first_id", "last_id", *keys, *last, *_COUNTS.values()))
        source = calls(database.dialect, organisation, part, [*columns], restrict, agent_tools)
        by_key: list[ColumnElement[Any]] = [source.c[name] for name in keys] or [(source.c.hour // 24).label("day")]
        newest = func.max(source.c.last_id)
        query = select(
            *by_key,
            newest.label("last_id"),
            func.min(source.c.first_id).label("first_id"),
            *(func.max(source.c[name]).label(f"last_{name}") for name in last),
            *(func.sum(source.c[column]).label(name) for name, column in _COUNTS.items()),
        )
        query = query.group_by(*(literal_column(str(number + 1)) for number in range(len(by_key))))
        query = query.order_by(newest.desc()).limit(limit)
        if after.newest:
            query = query.having(newest < after.last_id)
        rows = (await connection.execute(query)).all()
    return [_group({str(name): value for name, value in row._asdict().items()}) for row in rows]


def _group(row: dict[str, Any]) -> Group:
    row["injected"] = {model: n for model in sorted(MODELS) if (n := int(row.pop(f"injected_{model}")))}
    row["first_at"], row["last_at"] = moment_of(row.pop("first_id")), moment_of(row["last_id"])
    if "day" in row:
        row["day"] = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=row["day"])).date().isoformat()
    for name in _LAST:
        if f"last_{name}" in row:
            row[name] = row.pop(f"last_{name}")
    return msgspec.convert(row, Group, strict=False)
