"""Changes of stored task graphs: one at a time, each in a transaction that locks the graph's row."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection
from uuid_utils import uuid7

from baton.kernel.base import clock
from baton.kernel.base.errors import NotFound
from baton.kernel.base.sql import Database, StoreErrors
from baton.rules.agents.task_graph import Breach, Graph, closes_at, settled
from baton.rules.call.call import Principal
from baton.spawn.graphs import store
from baton.spawn.graphs.graph import StoredGraph, Violation

AWAY = "task graphs cannot be read or changed now; nothing was changed, try again"
MOST_REFUSED = 200
"""Maximum stored refused starts of one graph: an agent may retry endlessly."""


class LockedGraph(msgspec.Struct, frozen=True, kw_only=True):
    """A graph with its row locked by a transaction. `at` is the request time, by the database's clock."""

    connection: AsyncConnection
    stored: StoredGraph
    at: datetime


@asynccontextmanager
async def locked_graph(
    database: Database, principal: Principal, graph_id: str, *, arrived: float | None = None
) -> AsyncIterator[LockedGraph]:
    """Yield a principal's graph, locked until the end of the block, which commits its changes.

    `arrived` is the request's arrival by the loop's clock: its waiting time in the server does not make it late for its
    wave.

    Raises:
        NotFound: If the principal has no such graph.
        StoreUnavailable: If the database is unavailable; nothing was changed.
    """
    with StoreErrors(AWAY):
        async with clock.writing(database) as connection:
            at = await store.now(connection)  # before the lock: waiting for it does not make the request late either
            if arrived is not None:
                at -= timedelta(seconds=asyncio.get_running_loop().time() - arrived)
            stored = await store.lock(connection, principal.organisation, graph_id)
            if stored is None or stored.user != principal.user:
                raise NotFound(f"there is no task graph `{graph_id}`")
            yield LockedGraph(connection=connection, stored=stored, at=at)


async def change(
    locked: LockedGraph,
    organisation: str,
    graph: Graph,
    *,
    plans: Mapping[str, dict[str, Any]] | None = None,
    breaches: Iterable[Breach] = (),
) -> StoredGraph:
    """Store a locked graph's new state, and the violations of this change."""
    before = locked.stored
    after = msgspec.structs.replace(before, graph=settled(graph, locked.at), plans={**before.plans, **(plans or {})})
    await store.save(locked.connection, before, after, closes_at(after.graph))
    await note_breaches(locked, organisation, breaches)
    return after


async def note_breaches(locked: LockedGraph, organisation: str, breaches: Iterable[Breach]) -> None:
    """Store the violations of a locked graph; of refused starts only the first `MOST_REFUSED`."""
    before = locked.stored
    for one in breaches:
        if one.refused and await store.refusals(locked.connection, before.id) >= MOST_REFUSED:
            continue
        violation = Violation(
            id=str(uuid7()),
            graph_id=before.id,
            wave=one.wave,
            task=one.task,
            kind=one.kind,
            detail=one.detail,
            refused=one.refused,
            at=locked.at,
        )
        await store.note_violation(locked.connection, organisation, before.user, violation)
