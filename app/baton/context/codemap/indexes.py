"""Keeps the indexes of the code maps in use in memory; each is read again when its map has another version."""

import asyncio
from collections import OrderedDict

import msgspec

from baton.context.codemap import store
from baton.context.codemap.index import CodeIndex
from baton.engine.call.principal import Principal
from baton.kernel.base.sql import Database

MOST_KEPT = 150_000
"""Symbols of all indexes that a process keeps: about 100 MB."""

_Key = tuple[str, str, str]


class _Kept(msgspec.Struct, frozen=True):
    version: int
    index: CodeIndex


class CodeIndexes:
    """The index of each developer's map of a project."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._kept: OrderedDict[_Key, _Kept] = OrderedDict()
        self._reading: dict[_Key, asyncio.Task[CodeIndex | None]] = {}

    def warm(self, principal: Principal, project: str) -> None:
        """Read a map in the background, so that the first prompt need not wait for it."""
        self._begin(principal, project).add_done_callback(_seen)

    async def find(self, principal: Principal, project: str) -> CodeIndex | None:
        """Return the index of the newest version of a map, None if there is no map.

        A caller that gives up does not end the reading: the next one finds the index ready.

        Raises:
            DatabaseUnavailable: If the database is away.
        """
        return await asyncio.shield(self._begin(principal, project))

    def _begin(self, principal: Principal, project: str) -> "asyncio.Task[CodeIndex | None]":
        key = (principal.organisation, principal.user, project)
        task = self._reading.get(key)
        if task is None:
            task = self._reading[key] = asyncio.create_task(self._read(key, principal, project))
            task.add_done_callback(lambda _: self._reading.pop(key, None))
            task.add_done_callback(_seen)
        return task

    async def _read(self, key: _Key, principal: Principal, project: str) -> CodeIndex | None:
        version = await store.version(self._database, principal, project)
        kept = self._kept.get(key)
        if kept is not None and kept.version == version:
            self._kept.move_to_end(key)
            return kept.index
        if not version:
            self._kept.pop(key, None)
            return None
        rows = await store.outlines(self._database, principal, project)
        index = await asyncio.to_thread(CodeIndex, rows)
        # The version was read first: outlines that came between the two are read again at the next look.
        self._kept[key] = _Kept(version, index)
        self._kept.move_to_end(key)
        while len(self._kept) > 1 and sum(one.index.size for one in self._kept.values()) > MOST_KEPT:
            self._kept.popitem(last=False)
        return index


def _seen(task: "asyncio.Task[CodeIndex | None]") -> None:
    """Take note of a failure that nobody may be waiting for."""
    if not task.cancelled():
        task.exception()
