"""Sum up calls by session, user, team or day, from their columns."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.kernel.base.sql import Database
from baton.people.users import RowScope
from baton.records.columns.piece import Condition, Mask, Piece, grouped, in_scope, is_equal, met
from baton.records.columns.reading import Period, bounds_of, of_rows, read
from baton.records.review.delegation_share.groups import FIRST, After, By, CallGroup, GroupFilter
from baton.records.tables import DECISIONS
from baton.rules.call.call import MODELS
from baton.shared.record_ids import least_id, moment_of
from baton.shared.storable import storable

_KEYS: dict[By, tuple[str, ...]] = {"session": ("session_id", "user"), "user": ("user",), "team": ("team",), "day": ()}
_LAST = ("project", "client", "team")
"""Further fields of a session, taken from its newest call."""
_EQUAL = ("user", "team", "project", "session_id", "client")
_COUNTED = ("event", "effect", "outcome", "tool", "agent_id", "overridden", "rules", "model_injected", "repeats")
"""The columns that the counts of a group are made of."""
_MODELS = sorted(MODELS)
_COUNTS = (
    "calls", "blocked", "asked", "delegated", "direct", "overridden", "guided", "spawned", "ignored",
    *(f"injected_{model}" for model in _MODELS),
)  # fmt: skip
_ROW = np.dtype(
    [
        ("counts", np.int64, len(_COUNTS)), ("first_hour", np.int64), ("last_hour", np.int64), ("first_id", "V16"),
        ("last_id", "V16"), *((name, object) for name in _LAST),
    ]
)  # fmt: skip
_NO_HOUR = 2**62
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_GUIDANCE_HIT = '"effect":"guidance"'


async def find_groups(
    database: Database,
    organisation: str,
    scope: RowScope,
    wanted: GroupFilter,
    by: By,
    *,
    agent_tools: Iterable[str],
    after: After = FIRST,
    limit: int = 50,
) -> list[CallGroup]:
    """Return the sums by group, the group of the newest call first.

    `agent_tools` are the tools for starting agents.
    """
    groups = _Groups(by, frozenset(agent_tools))
    names = {"id", "user", "team", *_KEYS[by], *_COUNTED, *(_LAST if by == "session" else ())}
    names |= {name for name in _EQUAL if getattr(wanted, name)}
    if wanted.q or wanted.called_since is not None:
        names |= {"session_id", "project"}
    period = Period(wanted.since, wanted.until, after.newest)
    async with database.transaction() as connection:
        conditions = [is_equal("event", "PreToolUse"), *in_scope(scope), *_conditions(wanted)]
        if wanted.called_since is not None:
            live = await _live_sessions(connection, organisation, scope, wanted.called_since)
            conditions.append(lambda piece: piece.where("session_id", live.__contains__))

        def work(piece: Piece) -> None:
            mask = met(piece, conditions)
            if mask.any():
                groups.add(piece, mask)

        if wanted.session_id:  # few rows, found by an index
            theirs = DECISIONS.c.session_id == storable(wanted.session_id)
            await of_rows(connection, organisation, names, [*bounds_of(*period.ids), theirs], work)
        else:
            await read(connection, organisation, names, period, work)
    return groups.newest(after, limit)


def _conditions(wanted: GroupFilter) -> list[Condition]:
    found = [is_equal(name, storable(value)) for name in _EQUAL if (value := getattr(wanted, name))]
    if q := storable(wanted.q).lower():

        def begins(name: str) -> Condition:
            return lambda piece: piece.where(name, lambda one: one.lower().startswith(q))

        session, user = begins("session_id"), begins("user")
        found.append(lambda piece: session(piece) | user(piece) | piece.where("project", lambda one: q in one.lower()))
    return found


async def _live_sessions(
    connection: AsyncConnection, organisation: str, scope: RowScope, called_since: datetime
) -> set[str]:
    live = select(DECISIONS.c.session_id).where(
        DECISIONS.c.organisation == organisation,
        DECISIONS.c.event == "PreToolUse",
        DECISIONS.c.id >= least_id(called_since),
    )
    return set((await connection.execute(scope.limit(live, DECISIONS))).scalars())


class _Groups:
    """The sums of each group so far: one row per group, in growing arrays."""

    def __init__(self, by: By, agent_tools: frozenset[str]) -> None:
        self._by: By = by
        self._agent_tools = agent_tools
        self._rows: dict[tuple[Any, ...], int] = {}
        self._sums = np.zeros(0, _ROW)

    def add(self, piece: Piece, mask: Mask) -> None:
        """Add the calls of a piece selected by a nonempty mask."""
        groups = grouped(piece, _KEYS[self._by], mask)
        keys = [(piece.hour // 24,)] if self._by == "day" else groups.keys
        rows = np.array([self._rows.setdefault(key, len(self._rows)) for key in keys], np.intp)
        if len(self._rows) > len(self._sums):
            more = np.zeros(len(self._rows), _ROW)
            more["first_hour"], more["last_hour"] = _NO_HOUR, -1
            self._sums = np.concatenate((self._sums, more))
        self._sums["counts"][rows] += groups.tallies(self._measures(piece), piece.calls())
        # Pieces come in any order.
        earlier = piece.hour < self._sums["first_hour"][rows]
        self._sums["first_hour"][rows[earlier]] = piece.hour
        self._sums["first_id"][rows[earlier]] = piece.ids()[groups.first()[earlier]]
        later = piece.hour > self._sums["last_hour"][rows]
        self._sums["last_hour"][rows[later]] = piece.hour
        last = groups.last()[later]
        self._sums["last_id"][rows[later]] = piece.ids()[last]
        if self._by == "session":
            for name in _LAST:
                self._sums[name][rows[later]] = np.array(piece.values(name), object)[piece.codes(name)[last]]

    def _measures(self, piece: Piece) -> list[Mask]:
        """Return the counted calls for each of `_COUNTS`."""
        blocked = piece.where("effect", "deny".__eq__)
        spawns = piece.where("tool", self._agent_tools.__contains__)
        delegates = spawns | ~piece.where("agent_id", "".__eq__)
        is_ignored = piece.where("outcome", "rewrite_ignored".__eq__)
        obeyed = ~blocked & ~is_ignored
        return [
            np.ones(piece.count, np.bool_),
            blocked,
            piece.where("effect", "ask".__eq__),
            ~blocked & delegates,
            ~blocked & ~delegates,
            piece.where("overridden", bool),
            piece.where("rules", lambda rules: _GUIDANCE_HIT in rules),
            ~blocked & spawns,
            ~blocked & is_ignored,
            *(obeyed & piece.where("model_injected", model.__eq__) for model in _MODELS),
        ]

    def newest(self, after: After, limit: int) -> list[CallGroup]:
        """Return a page of groups, the one with the newest call first."""
        last = [key.hex() for key in self._sums["last_id"][: len(self._rows)].tolist()]
        in_order = sorted(range(len(last)), key=last.__getitem__, reverse=True)
        if after.newest:
            before = after.last_id.replace("-", "")
            in_order = [row for row in in_order if last[row] < before]
        keys = list(self._rows)
        return [self._group(keys[row], self._sums[row]) for row in in_order[:limit]]

    def _group(self, key: tuple[Any, ...], row: Any) -> CallGroup:
        counts = dict(zip(_COUNTS, row["counts"].tolist(), strict=True))
        first_id, last_id = (str(UUID(bytes=bytes(row[name]))) for name in ("first_id", "last_id"))
        shown: dict[str, Any] = {name: row[name] for name in _LAST} if self._by == "session" else {}
        shown |= dict(zip(_KEYS[self._by], key, strict=False))
        if self._by == "day":
            shown["day"] = (_EPOCH + timedelta(days=key[0])).date().isoformat()
        return CallGroup(
            last_id=last_id,
            first_at=moment_of(first_id),
            last_at=moment_of(last_id),
            injected={model: n for model in _MODELS if (n := counts.pop(f"injected_{model}"))},
            **shown,
            **counts,
        )
