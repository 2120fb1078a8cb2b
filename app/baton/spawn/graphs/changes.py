"""Changes of stored task graphs: one at a time, each in one transaction that holds the graph's row. It judges none."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection
from uuid_utils import uuid7

from baton.engine.agents.task_graph import Graph, settled
from baton.engine.agents.waves import Breach, closes_at
from baton.engine.call.principal import Principal
from baton.kernel.base import clock
from baton.kernel.base.errors import NotFound, StoreUnavailable
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.spawn.graphs import store
from baton.spawn.graphs.store import StoredGraph, Violation

AWAY = "task graphs cannot be read or changed now; nothing was changed, try again"


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """A graph whose row a transaction holds, and the moment, by the database's clock, at which the change was asked for."""

    connection: AsyncConnection
    stored: StoredGraph
    at: datetime


@asynccontextmanager
async def holding(
    database: Database, principal: Principal, graph_id: str, *, arrived: float | None = None
) -> AsyncIterator[Held]:
    """Hold a graph of the principal's own until the end of the block, which commits what it changed.

    `arrived` is when the request came, by the loop's clock: what it waited here since does not make it late.

    Raises:
        NotFound: the principal has no such graph.
        StoreUnavailable: the database is away; nothing was changed.
    """
    try:
        async with clock.writing(database) as connection:
            at = await store.now(connection)
            if arrived is not None:
                at -= timedelta(seconds=asyncio.get_running_loop().time() - arrived)
            stored = await store.lock(connection, principal.organisation, graph_id)
            if stored is None or stored.user != principal.user:
                raise NotFound(f"there is no task graph `{graph_id}`")
            yield Held(connection=connection, stored=stored, at=at)
    except DatabaseUnavailable:
        raise StoreUnavailable(AWAY) from None


async def change(
    held: Held,
    organisation: str,
    graph: Graph,
    *,
    plans: Mapping[str, dict[str, Any]] | None = None,
    breaches: Iterable[Breach] = (),
) -> StoredGraph:
    """Store what has become of a graph, and the rules that this broke."""
    before = held.stored
    after = msgspec.structs.replace(before, graph=settled(graph, held.at), plans={**before.plans, **(plans or {})})
    await store.save(held.connection, before, after, closes_at(after.graph))
    for one in breaches:
        violation = Violation(
            id=str(uuid7()),
            graph_id=before.id,
            wave=one.wave,
            task=one.task,
            kind=one.kind,
            detail=one.detail,
            at=held.at,
        )
        await store.note(held.connection, organisation, before.user, violation)
    return after
