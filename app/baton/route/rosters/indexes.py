"""Builds indexes of rosters beside the loop and keeps them by content. It does not know whose roster one is.

Two rosters of the same agents share an index, so a push that changes nothing and an inline roster that comes with every
prompt cost one look-up.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

from baton.engine.routing.candidates import Agent
from baton.engine.routing.index import Embedder, Index
from baton.route.rosters import word_table

log = logging.getLogger(__name__)

MOST_AGENTS = 120_000
"""Agents of all indexes that are kept: some 600 MB with bodies of six thousand characters."""
Words = Literal["unread", "loaded", "missing"]
"""The table of word vectors: nobody has asked for it yet, it is there, it is not installed."""
DEGRADED = "embeddings"
"""What an answer says that was scored by words alone."""


class Indexes:
    """Indexes by the digest of their agents; those that were not asked for longest go first."""

    def __init__(self, load: Callable[[], Embedder] = word_table.find) -> None:
        self._load = load
        self._embedder: Embedder | None = None
        self._loading: asyncio.Task[None] | None = None
        self._kept: OrderedDict[str, Index] = OrderedDict()
        self._building: dict[str, asyncio.Task[Index]] = {}
        self._one = asyncio.Lock()

    @property
    def degraded(self) -> bool:
        """Tell whether agents are compared by their words alone."""
        return self._embedder is None

    @property
    def words(self) -> Words:
        """Tell how it stands with the table of word vectors."""
        if self._embedder is not None:
            return "loaded"
        return "unread" if self._loading is None or not self._loading.done() else "missing"

    async def start(self) -> None:
        """Read the table of word vectors; without it, words alone are compared."""
        try:
            self._embedder = await asyncio.to_thread(self._load)
        except word_table.WordTableMissing as error:
            log.warning("prompts are routed by words alone: %s", error)

    def find(self, digest: str) -> Index | None:
        """Give an index that stands ready."""
        found = self._kept.get(digest)
        if found is not None:
            self._kept.move_to_end(digest)
        return found

    async def get(self, digest: str, agents: Callable[[], Awaitable[Sequence[Agent]]]) -> Index:
        """Give an index, built now where it is not there; whoever stops waiting does not stop the building."""
        found = self.find(digest)
        if found is not None:
            return found
        building = self._building.get(digest)
        if building is None:
            building = self._building[digest] = asyncio.create_task(self._build(digest, agents))
            building.add_done_callback(lambda done: self._built(digest, done))
        return await asyncio.shield(building)

    async def _build(self, digest: str, agents: Callable[[], Awaitable[Sequence[Agent]]]) -> Index:
        async with self._one:
            if self._loading is None:
                self._loading = asyncio.create_task(self.start())
            await asyncio.shield(self._loading)
            given = await agents()
            index = await asyncio.to_thread(Index, given, self._embedder)
        self._kept[digest] = index
        while len(self._kept) > 1 and sum(map(len, self._kept.values())) > MOST_AGENTS:
            self._kept.popitem(last=False)
        return index

    def _built(self, digest: str, done: asyncio.Task[Index]) -> None:
        self._building.pop(digest, None)
        if not done.cancelled() and done.exception() is not None:
            log.warning("a roster could not be indexed: %s", done.exception())
