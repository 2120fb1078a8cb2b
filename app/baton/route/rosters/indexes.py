"""Indexes of rosters, built in a thread and cached by content.

Two rosters of the same agents share an index, so a push without changes and an inline roster in every prompt cost one
search.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from hashlib import blake2b
from typing import Literal

import msgspec

from baton.kernel.base import word_table
from baton.lib.router.agents import Agent
from baton.lib.router.index import AgentReading, Embedder, Index

log = logging.getLogger(__name__)

MOST_AGENTS = 120_000  # agents of all indexes in the cache: some 600 MB with bodies of six thousand characters
MOST_TERMS = 2_000_000
"""Terms of all agents whose readings are kept: some 250 MB where no two are alike, a tenth of that else."""
WordTableState = Literal["unread", "loaded", "missing"]
"""Whether the table of word vectors is there: it is read when the first index is built."""
DEGRADED = "embeddings"  # how an answer's `degraded` names the missing table: agents are compared by their words alone


class _Readings:
    """Agents as indexes read them, by content; the longest unused go first.

    A team's rosters are indexed each by itself and all together. So a push reads only its own roster's agents.
    """

    def __init__(self) -> None:
        self._cache: OrderedDict[bytes, AgentReading] = OrderedDict()
        self._terms = 0

    def get(self, agent: Agent, embedder: Embedder | None) -> AgentReading:
        """Return an agent's reading. One index is built at a time, so no lock is needed."""
        key = blake2b(msgspec.json.encode(agent), digest_size=16).digest() + (b"" if embedder is None else b"+")
        found = self._cache.get(key)
        if found is not None:
            self._cache.move_to_end(key)
            return found
        found = self._cache[key] = AgentReading(agent, embedder)
        self._terms += len(found.weighted)
        while self._terms > MOST_TERMS and len(self._cache) > 1:
            self._terms -= len(self._cache.popitem(last=False)[1].weighted)
        return found


class Indexes:
    """Indexes by the digest of their agents; the least recently used go first."""

    def __init__(self, load: Callable[[], Embedder] = word_table.shared) -> None:
        self._load = load
        self._embedder: Embedder | None = None
        self._loading: asyncio.Task[None] | None = None
        self._cache: OrderedDict[str, Index] = OrderedDict()
        self._readings = _Readings()
        self._building: dict[str, asyncio.Task[Index]] = {}
        # One index is built at a time: several threads would only take the processor from the loop.
        self._one = asyncio.Lock()

    @property
    def degraded(self) -> bool:
        """Whether agents are compared by their words alone."""
        return self._embedder is None

    @property
    def words(self) -> WordTableState:
        """The state of the table of word vectors."""
        if self._embedder is not None:
            return "loaded"
        return "unread" if self._loading is None or not self._loading.done() else "missing"

    async def start(self) -> None:
        """Read the table of word vectors; if it is not installed, words alone are compared."""
        try:
            self._embedder = await asyncio.to_thread(self._load)
        except word_table.WordTableMissing as error:
            log.warning("prompts are routed by words alone: %s", error)

    def cached(self, digest: str) -> Index | None:
        """Return an index from the cache, None if it is not there."""
        found = self._cache.get(digest)
        if found is not None:
            self._cache.move_to_end(digest)
        return found

    async def get(self, digest: str, agents: Callable[[], Awaitable[Sequence[Agent]]]) -> Index:
        """Return an index, built now if it is not in the cache.

        All callers with the same digest wait for one build, and a caller giving up does not stop it.

        Args:
            digest: The name of the content, as `digest_of` makes it.
            agents: Reads the agents; called only if the index must be built. Its exceptions propagate.
        """
        found = self.cached(digest)
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
            index = await asyncio.to_thread(Index, given, self._embedder, self._readings.get)
        self._cache[digest] = index
        while len(self._cache) > 1 and sum(map(len, self._cache.values())) > MOST_AGENTS:
            self._cache.popitem(last=False)
        return index

    def _built(self, digest: str, done: asyncio.Task[Index]) -> None:
        self._building.pop(digest, None)
        if not done.cancelled() and done.exception() is not None:
            log.warning("a roster could not be indexed: %s", done.exception())
