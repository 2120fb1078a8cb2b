"""The entries of one person in the log: read for their export, removed with their data."""

from collections.abc import AsyncIterator

from baton.events.catalogue import TopicCatalogue
from baton.events.cloud_event import enveloped
from baton.events.from_records import event_of, topic_of
from baton.events.log import START, Log, LogEntry
from baton.events.topics import BY_NAME
from baton.shared.storable import storable


class PersonalEvents:
    """Reads the whole log; all methods raise `RedisUnavailable`."""

    def __init__(self, log: Log, catalogue: TopicCatalogue) -> None:
        self._log = log
        self._catalogue = catalogue

    async def check(self) -> None:
        """Check Redis."""
        await self._log.length()

    async def export(self, user: str, *, restricted: bool) -> AsyncIterator[bytes]:
        """Yield a user's events as JSON, oldest first; those of restricted topics only if asked."""
        async for entries in self._pages(user):
            for entry in entries:
                topic = BY_NAME.get(topic_of(entry.content))
                if entry.content is not None and topic is not None and (restricted or not topic.restricted):
                    yield enveloped(event_of(entry.content), self._catalogue.full_name(topic.name))

    async def remove(self, user: str) -> int:
        """Remove a user's entries, stored or not; return how many there were."""
        gone = 0
        async for entries in self._pages(user):
            gone += await self._log.remove([entry.place for entry in entries])
        return gone

    async def _pages(self, user: str) -> AsyncIterator[list[LogEntry]]:
        whose, page = storable(user), await self._log.after(START)
        while page.entries:
            yield [entry for entry in page.entries if entry.content is not None and entry.content.user == whose]
            page = await self._log.after(page.place)
