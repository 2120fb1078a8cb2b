"""Searches decisions, and reads a page at a cost independent of the stored amount.

Sessions, users and teams have indexes ending with the id. Other filters are checked on the columns of stored days and
hours, and on a limited number of the rows of other hours (docs/decisions/0064).
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from string import ascii_uppercase
from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy import ColumnElement, String, cast, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.people.users import RowScope
from baton.records.columns.piece import Condition, Piece, in_scope, is_equal, met
from baton.records.columns.reading import Gap, Kept, Period, bounds_of, column_of, weeks, with_ids
from baton.records.columns.tables import hits_in
from baton.records.tables import DECISIONS, HIT_EFFECTS, LISTED
from baton.rules.call.kept import LONGEST_ID, LONGEST_PROJECT
from baton.rules.call.record import Record
from baton.shared.storable import storable

WINDOW = 5_000
"""Rows that one page looks through; this takes 5 to 20 ms of CPU."""
MOST_IN_COLUMNS = 1_000_000
"""Decisions that one page looks through by column."""
_EQUAL = (
    "user", "session_id", "agent_id", "agent_type", "client", "event", "tool", "effect", "decision", "outcome", "project",
    "revision",
)  # fmt: skip
"""The filters that ask for an equal value of a column."""
_INDEXED = ("user", "session_id")


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """Filters for decisions, all of which must match. `since` is included, `until` is not.

    `q` is a part of the tool's name, the command or a path; the case of ASCII letters does not matter.
    """

    scope: RowScope = RowScope()
    user: str = ""
    session_id: str = ""
    agent_id: str = ""
    agent_type: str = ""
    client: str = ""
    event: str = ""
    tool: str = ""
    effect: str = ""
    decision: str = ""
    outcome: str = ""
    rule: str = ""
    project: str = ""
    revision: str = ""
    q: str = ""
    overridden: bool | None = None
    since: datetime | None = None
    until: datetime | None = None


def conditions_of(wanted: Filters) -> dict[str, Condition]:
    """Return the filters besides scope, time and text, each by its column."""
    found = {
        name: is_equal(name, as_stored(name, value))
        for name in _EQUAL
        if (value := getattr(wanted, name)) and not (name == "effect" and value in HIT_EFFECTS)
    }
    if wanted.overridden is not None:
        found["overridden"] = is_equal("overridden", wanted.overridden)
    hits = [_hit(lambda hit: bool(hit.id == storable(wanted.rule)))] if wanted.rule else []
    if wanted.effect in HIT_EFFECTS:
        hits.append(_hit(lambda hit: bool(hit.effect == wanted.effect)))
    if hits:
        found["rules"] = lambda piece: met(piece, hits)
    return found


def _hit(meets: Callable[[Any], bool]) -> Condition:
    return lambda piece: piece.where("rules", lambda rules: any(map(meets, hits_in(rules))))


def where_of(wanted: Filters) -> list[ColumnElement[bool]]:
    """Return the conditions of the filters that are found in rows: users and sessions by index, and texts."""
    found = [DECISIONS.c[name] == as_stored(name, value) for name in _INDEXED if (value := getattr(wanted, name))]
    if wanted.q:
        text = storable(wanted.q)
        paths = cast(DECISIONS.c.paths, String).icontains(_in_json(text), autoescape=True)
        found.append(or_(*(DECISIONS.c[one].icontains(text, autoescape=True) for one in ("tool", "command")), paths))
    return found


async def page(
    connection: AsyncConnection, organisation: str, wanted: Filters, before: str, limit: int
) -> tuple[list[Record], str]:
    """Read a page, newest first. `before` is the previous page's last id.

    If few of many candidates meet every filter, a page scans a limited number. The second result is the next page's
    `before`, "" after a complete scan.
    """
    keys, known_to = await newest(connection, organisation, wanted, conditions_of(wanted), before, limit)
    query = select(*LISTED).where(DECISIONS.c.organisation == organisation, DECISIONS.c.id.in_(keys[:limit]))
    rows = (await connection.execute(query)).all()
    found = sorted((msgspec.convert(row._asdict(), Record) for row in rows), key=lambda one: one.id, reverse=True)
    return found, keys[limit - 1] if len(keys) > limit else known_to


async def newest(
    connection: AsyncConnection,
    organisation: str,
    wanted: Filters,
    conditions: Mapping[str, Condition],
    before: str,
    limit: int,
) -> tuple[list[str], str]:
    """Return the newest ids before an id, more than `limit` if there are, and the id to continue before.

    Args:
        connection: The transaction to read in.
        organisation: The owner of the decisions.
        wanted: Gives the scope, the period, and the filters found in rows.
        conditions: All other filters, each by its column.
        before: An id, "" for none.
        limit: The size of a page.
    """
    search = _Search(connection, organisation, wanted, conditions, before, limit)
    period = Period(wanted.since, wanted.until, before)
    if wanted.session_id or wanted.q or conditions.keys() <= {"user"}:
        return await search.of_rows(*period.ids)
    found: list[str] = []
    looked_through = 0
    scope = in_scope(wanted.scope)
    names, checks = {*conditions, *(("user", "team") if scope else ())}, [*scope, *conditions.values()]
    async for parts in weeks(connection, organisation, names, period):
        for kept in reversed(parts):
            part, keys, known_to = kept, list[str](), ""
            if isinstance(part, Kept) and part.packed:
                piece = part.piece(period)
                looked_through += piece.count
                known_to = part.least if looked_through > MOST_IN_COLUMNS else ""
                if met(piece, checks).any():
                    part = await with_ids(connection, organisation, names, part)
            if isinstance(part, Gap):
                keys, known_to = await search.of_rows(*part.ids(period))
            elif "id" in part.packed:
                piece = part.piece(period)
                raw = piece.ids()[met(piece, checks)][-limit - 2 :]
                keys = [key for one in reversed(raw.tolist()) if (key := str(UUID(bytes=one))) != before]
            found += keys
            if known_to or len(found) > limit:
                return found, known_to
    return found, ""


class _Search(msgspec.Struct, frozen=True):
    """Finds the newest rows by the index of a scope, a user or a session, else by the primary key."""

    connection: AsyncConnection
    organisation: str
    wanted: Filters
    conditions: Mapping[str, Condition]
    before: str
    limit: int

    async def of_rows(self, oldest: str, below: str, newest: str) -> tuple[list[str], str]:
        """Return the newest ids in bounds of ids, and the id to continue before, "" after a complete scan."""
        names = sorted(self.conditions.keys() - set(_INDEXED))
        conditions = [self.conditions[name] for name in names]
        scope, key = self.wanted.scope, DECISIONS.c.id
        rest = where_of(self.wanted)
        text = [rest.pop()] if self.wanted.q else []
        limits = [("team", scope.team), ("user", scope.user)] if scope.team else [("user", scope.user)]
        found: set[str] = set()
        known_to = ""
        for name, value in limits:  # the union of a team's and the user's rows is two ordered lists
            where = [DECISIONS.c.organisation == self.organisation, *rest]
            where += [DECISIONS.c[name] == storable(value)] if value else []
            where += [key != self.before] if self.before else []
            rows_of = select(key, *map(column_of, names)).where(*where).order_by(key.desc())
            bounds = bounds_of(oldest, below, newest)
            if conditions or text:
                end = select(key).where(*where, *bounds).order_by(key.desc()).offset(WINDOW).limit(1)
                least = (await self.connection.execute(end)).scalar() or ""
                rows = (
                    await self.connection.execute(rows_of.where(*text, *bounds_of(max(oldest, least), below, newest)))
                ).all()
            else:
                rows = (await self.connection.execute(rows_of.where(*bounds).limit(self.limit + 1))).all()
                least = rows[-1][0] if len(rows) > self.limit else ""
            known_to = max(known_to, least)
            if rows:
                keys, *values = zip(*rows, strict=True)
                piece = Piece.of_rows(0, keys, dict(zip(names, values, strict=True)))
                found.update(one for one, is_met in zip(keys, met(piece, conditions).tolist(), strict=True) if is_met)
        # Below `known_to` one of the lists may have more than was read.
        return sorted((one for one in found if one >= known_to), reverse=True), known_to


def matches(record: Record, organisation: str, wanted: Filters) -> bool:
    """Return whether a list of an organisation's decisions would hold a record."""
    scope = wanted.scope
    return (
        record.organisation == organisation
        and (
            not scope.user
            or record.user == storable(scope.user)
            or bool(scope.team and record.team == storable(scope.team))
        )
        and all(_is(record, name, value) for name in _EQUAL if (value := getattr(wanted, name)))
        and (not wanted.rule or any(hit.id == storable(wanted.rule) for hit in record.rules))
        and (not wanted.q or _mentions(record, storable(wanted.q)))
        and (wanted.overridden is None or record.overridden == wanted.overridden)
        and (wanted.since is None or record.at >= wanted.since)
        and (wanted.until is None or record.at < wanted.until)
    )


def _is(record: Record, name: str, value: str) -> bool:
    if name == "effect" and value in HIT_EFFECTS:
        return any(hit.effect == value for hit in record.rules)
    return bool(getattr(record, name) == as_stored(name, value))


def as_stored(name: str, value: str) -> str:
    """Return a filter's value as its column would have it."""
    return storable(value)[: LONGEST_PROJECT if name == "project" else LONGEST_ID]


def _mentions(record: Record, text: str) -> bool:
    paths = msgspec.json.encode(record.paths).decode()
    return (
        _lowered(text) in _lowered(record.tool)
        or _lowered(text) in _lowered(record.command)
        or _lowered(_in_json(text)) in _lowered(paths)
    )


def _lowered(text: str) -> str:
    """Lower a string like SQLite's `lower`: ASCII only."""
    return text.translate(_LOWER)


_LOWER = {ord(one): one.lower() for one in ascii_uppercase}


def _in_json(text: str) -> str:
    return msgspec.json.encode(text).decode()[1:-1]
