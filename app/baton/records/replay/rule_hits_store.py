"""Queries over the tables of decisions and wrong blocks: by rule, and in order of time."""

from collections import Counter, defaultdict
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
import numpy as np
from sqlalchemy import Select, func, literal_column, select

from baton.kernel.base.sql import Database
from baton.people.users import RowScope
from baton.records.columns import reading as columns
from baton.records.columns.piece import Condition, Piece, grouped, in_scope, met
from baton.records.columns.reading import Period, bounds_of
from baton.records.columns.tables import hits_in
from baton.records.pipeline.search import Filters, newest
from baton.records.review.wrong_blocks import WRONG_BLOCKS
from baton.records.tables import DECISIONS, LISTED
from baton.rules.call.record import Record
from baton.rules.policy.rules.files import pack_of
from baton.shared.record_ids import moment_of

STOPS = ("deny", "ask", "shadow")
"""Effects of a hit that stopped a call, or would have."""


class EffectHits(msgspec.Struct, frozen=True, kw_only=True):
    """How often a rule matched with one effect, and when last."""

    rule: str
    effect: str
    count: int
    last: datetime


class HitSums(msgspec.Struct, frozen=True):
    """The hits of a period by rule and effect, and how many users had a hit of each rule.

    `calls` is the number of tool calls, `packs` how many of them a pack stopped, or would have in shadow.
    """

    hits: list[EffectHits]
    users: dict[str, int]
    calls: int
    packs: dict[str, int]


async def hits(database: Database, organisation: str, scope: RowScope, period: Period) -> HitSums:
    """Sum up the rule hits of a period, from its columns."""
    counts: Counter[tuple[str, str]] = Counter()
    last: dict[tuple[str, str], bytes] = {}
    users: dict[str, set[str]] = defaultdict(set)
    packs: Counter[str] = Counter()
    every = [*in_scope(scope), lambda piece: piece.where("event", "PreToolUse".__eq__)]
    conditions = [*in_scope(scope), lambda piece: ~piece.where("rules", "[]".__eq__)]
    calls = 0

    def work(piece: Piece) -> None:
        nonlocal calls
        calls += int(piece.calls()[met(piece, every)].sum())
        mask = met(piece, conditions)
        if not mask.any():
            return
        groups = grouped(piece, ("rules", "user"), mask)
        newest = piece.ids()[groups.last()].tolist()
        of_groups = groups.sums(piece.calls()[np.newaxis])[0].tolist()
        for (rules, user), count, key in zip(groups.keys, of_groups, newest, strict=True):
            stopped_by = {pack_of(one.id) for one in hits_in(rules) if one.effect in STOPS} - {""}
            packs.update(dict.fromkeys(stopped_by, count))
            for hit in {(one.id, one.effect) for one in hits_in(rules)}:
                counts[hit] += count
                last[hit] = max(last.get(hit, b""), key)
                users[hit[0]].add(user)

    async with database.transaction() as connection:
        await columns.read(connection, organisation, {"id", "rules", "user", "team", "event", "repeats"}, period, work)
    found = [
        EffectHits(rule=rule, effect=effect, count=count, last=moment_of(str(UUID(bytes=last[rule, effect]))))
        for (rule, effect), count in sorted(counts.items())
    ]
    return HitSums(found, {rule: len(of_rule) for rule, of_rule in users.items()}, calls, dict(packs))


async def reports(database: Database, organisation: str, scope: RowScope, period: Period) -> dict[str, int]:
    """Return how many wrong blocks were reported of each rule."""
    query = select(WRONG_BLOCKS.c.rule, func.count()).group_by(WRONG_BLOCKS.c.rule)
    in_period = WRONG_BLOCKS.c.at >= period.since, WRONG_BLOCKS.c.at < period.until
    query = scope.limit(query.where(WRONG_BLOCKS.c.organisation == organisation, *in_period), WRONG_BLOCKS)
    return {row[0]: row[1] for row in await _all(database, query)}


async def calls(
    database: Database, organisation: str, scope: RowScope, period: Period, *, after: str, limit: int
) -> list[Record]:
    """Return recorded tool calls, oldest first; `after` is the id of the last one of the page before."""
    query = select(*LISTED).where(DECISIONS.c.event == "PreToolUse", DECISIONS.c.id > after)
    query = _limited(query, organisation, scope, period).order_by(DECISIONS.c.id).limit(limit)
    return [msgspec.convert(row._asdict(), Record) for row in await _all(database, query)]


async def stopped_calls(
    database: Database, organisation: str, scope: RowScope, period: Period, begins: str, limit: int
) -> list[Record]:
    """Return the latest calls stopped by a rule whose id `begins` so, in effect or in shadow, oldest first."""

    def is_stop(rules: str) -> bool:
        return any(one.id.startswith(begins) and one.effect in STOPS for one in hits_in(rules))

    wanted = Filters(scope=scope, since=period.since, until=period.until)
    conditions: dict[str, Condition] = {"rules": lambda piece: piece.where("rules", is_stop)}
    found: list[str] = []
    before = ""
    async with database.transaction() as connection:
        while len(found) < limit:
            keys, before = await newest(connection, organisation, wanted, conditions, before, limit)
            found += keys
            if not before:
                break
    query = _limited(select(*LISTED).where(DECISIONS.c.id.in_(found[:limit])), organisation, scope, period)
    rows = await _all(database, query.order_by(DECISIONS.c.id))
    return [msgspec.convert(row._asdict(), Record) for row in rows]


async def count_calls(database: Database, organisation: str, scope: RowScope, period: Period, most: int) -> int:
    """Return how many tool calls of the period are recorded, as far as `most`."""
    query: Select[Any] = select(literal_column("1")).where(DECISIONS.c.event == "PreToolUse")
    some = _limited(query, organisation, scope, period).limit(most).subquery()
    return int((await _all(database, select(func.count()).select_from(some)))[0][0])


def _limited(query: Select[Any], organisation: str, scope: RowScope, period: Period) -> Select[Any]:
    """Restrict a query of decisions to a scope and a period, by their ids."""
    return scope.limit(query.where(DECISIONS.c.organisation == organisation, *bounds_of(*period.ids)), DECISIONS)


async def _all(database: Database, query: Select[Any]) -> Any:
    return await database.rows(query)
