"""Sum up the decisions of each hour that has ended, and again when something of it has changed."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Integer, Select, String, cast, delete, func, literal, literal_column, select
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.kernel.base.pause import pause
from baton.kernel.base.sql import Database, DatabaseUnavailable, insert_into
from baton.kernel.base.uuid7 import least_id, moment_of
from baton.kernel.changes import leadership
from baton.records.pipeline.hours import SETTLED_S, hour_of, start_of_hour
from baton.records.pipeline.tables import DECISIONS
from baton.records.sums import measures
from baton.records.sums.tables import CALLS, LATENCY, RULES, SUMMED

log = logging.getLogger(__name__)

WORK = "sums"
PERIOD = timedelta(minutes=1)
"""How often one server of all looks for hours to sum up."""
LONGEST_S = 45.0
"""How long it goes on at a time, in seconds, so that its leadership does not run out meanwhile."""
LEAST_PAUSE_S = 0.01
_SUMS = (CALLS, RULES, LATENCY)


class RollUp:
    """Keeps the sums of each hour, so that analytics read few rows of a long period."""

    def __init__(
        self,
        database: Database,
        organisation: str,
        agent_tools: Callable[[], Iterable[str]],
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`agent_tools` returns the tools that start agents."""
        self._database = database
        self._organisation = organisation
        self._agent_tools = agent_tools
        self._now = now

    async def run(self, stop: asyncio.Event) -> None:
        """Sum up hours until `stop` is set, in the one server that leads this work."""
        while not stop.is_set():
            with contextlib.suppress(DatabaseUnavailable):
                if await leadership.take(self._database, self._organisation, WORK, self._now(), PERIOD):
                    await self.catch_up(stop)
            await pause(stop, PERIOD.total_seconds())

    async def catch_up(self, stop: asyncio.Event) -> int:
        """Sum up the hours whose sums are missing or stale, the latest first; return how many were.

        Raises:
            DatabaseUnavailable: If the database is away.
        """
        loop = asyncio.get_running_loop()
        begun, done = loop.time(), 0
        for hour in await self.missing():
            started = loop.time()
            if stop.is_set() or started - begun > LONGEST_S:
                break
            await self.sum_up(hour)
            done += 1
            # At most half of the time, so that decisions are stored in between.
            await pause(stop, max(LEAST_PAUSE_S, loop.time() - started))
        return done

    async def sum_up(self, hour: int) -> None:
        """Sum up one hour in place of what was kept of it. Raises DatabaseUnavailable."""
        async with self._database.transaction() as connection:
            await sum_up(connection, self._organisation, hour, self._agent_tools())

    async def missing(self) -> list[int]:
        """Return the hours without valid sums between the first decision and now; forget those before."""
        oldest = select(func.min(DECISIONS.c.id)).where(DECISIONS.c.organisation == self._organisation)
        known = select(SUMMED.c.hour, SUMMED.c.valid).where(SUMMED.c.organisation == self._organisation)
        last = hour_of(self._now() - timedelta(seconds=SETTLED_S)) - 1
        async with self._database.transaction() as connection:
            first_id = (await connection.execute(oldest)).scalar()
            summed = {row.hour: row.valid for row in await connection.execute(known)}
        first = last + 1 if first_id is None else hour_of(moment_of(first_id))
        if any(hour < first for hour in summed):
            await self._forget(first)
        return [hour for hour in range(last, first - 1, -1) if not summed.get(hour)]

    async def _forget(self, first: int) -> None:
        async with self._database.transaction() as connection:
            for table in (SUMMED, *_SUMS):
                await connection.execute(
                    delete(table).where(table.c.organisation == self._organisation, table.c.hour < first)
                )


async def sum_up(connection: AsyncConnection, organisation: str, hour: int, agent_tools: Iterable[str]) -> None:
    """Sum up one hour in place of what was kept of it."""
    key = {"organisation": organisation, "hour": hour}
    # First, because it waits for those who change rows of this hour now, and they for this: `marks_of_stale`.
    insert = insert_into(connection.dialect.name, SUMMED).values(**key, valid=True)
    await connection.execute(
        insert.on_conflict_do_update(index_elements=["organisation", "hour"], set_={"valid": True})
    )
    for table in _SUMS:
        await connection.execute(delete(table).where(table.c.organisation == organisation, table.c.hour == hour))
    of_hour = (
        DECISIONS.c.organisation == organisation,
        DECISIONS.c.id >= least_id(start_of_hour(hour)),
        DECISIONS.c.id < least_id(start_of_hour(hour + 1)),
    )
    dialect = connection.dialect.name
    for table, names, query in (
        (CALLS, *_calls(agent_tools)),
        (RULES, *_rule_hits(dialect)),
        (LATENCY, *_latencies()),
    ):
        rows = query.where(*of_hour).add_columns(
            literal(organisation), literal(hour), cast(func.row_number().over(), Integer)
        )
        await connection.execute(
            insert_into(dialect, table).from_select([*names, "organisation", "hour", "number"], rows)
        )


def _calls(agent_tools: Iterable[str]) -> tuple[list[str], Select[Any]]:
    counted = {name: _sum(one) for name, one in measures.conditions(agent_tools).items()}
    values: dict[str, ColumnElement[Any]] = {
        "decisions": func.count(),
        "first_id": func.min(DECISIONS.c.id),
        "last_id": func.max(DECISIONS.c.id),
        **counted,
    }
    keys = [DECISIONS.c[name] for name in measures.DIMENSIONS]
    return [*measures.DIMENSIONS, *values], select(*keys, *values.values()).group_by(*keys)


def _rule_hits(dialect: str) -> tuple[list[str], Select[Any]]:
    whose = (DECISIONS.c.user, DECISIONS.c.team)
    query, rule, effect = measures.with_hits(select(*whose), dialect)
    counted = (func.count(func.distinct(DECISIONS.c.id)), func.max(DECISIONS.c.id))
    # By names that no column has: Postgres would group by the column `effect`.
    query = query.add_columns(rule.label("hit_rule"), effect.label("hit_effect"), *counted)
    query = query.group_by(*whose, literal_column("hit_rule"), literal_column("hit_effect"))
    return ["user", "team", "rule", "effect", "hits", "last_id"], query


def _latencies() -> tuple[list[str], Select[Any]]:
    keys = (DECISIONS.c.team, DECISIONS.c.event)
    lacked = cast(DECISIONS.c.degraded, String)
    query = select(*keys, measures.rounded_us().label("us"), lacked.label("lacked"), func.count())
    query = query.where(measures.is_timed()).group_by(*keys, literal_column("us"), literal_column("lacked"))
    return ["team", "event", "us", "degraded", "decisions"], query


def _sum(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return func.sum(measures.one_if(condition))
