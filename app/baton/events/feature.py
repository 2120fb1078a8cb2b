"""Builds the emission of events and their reading."""

import msgspec

from baton.events.catalogue import TopicCatalogue
from baton.events.emitting.emission import NO_EVENTS, Emitter, Events
from baton.events.reading import EventReader
from baton.events.stats import EventStats
from baton.events.webhooks.service import Webhooks
from baton.kernel.kernel import Kernel


class EventsFeature(msgspec.Struct, frozen=True, kw_only=True):
    """What other rooms emit with, and what consumers read with."""

    emitter: Emitter
    catalogue: TopicCatalogue
    reader: EventReader
    stats: EventStats
    webhooks: Webhooks


async def build(kernel: Kernel) -> EventsFeature:
    """Build the services and start to send.

    Raises:
        DatabaseUnavailable: If the webhooks cannot be read.
        ValueError: If a setting names a topic that is none.
    """
    catalogue = TopicCatalogue(kernel.settings)
    reader = EventReader(kernel.redis.url)
    await reader.start()
    kernel.on_stop(reader.stop)
    emitter = await _emitter(kernel)
    webhooks = Webhooks(
        kernel.database,
        kernel.changes,
        kernel.redis,
        organisation=kernel.organisation,
        internal_hosts=kernel.settings.webhook_hosts,
    )
    await webhooks.load()
    kernel.run(webhooks.run)
    return EventsFeature(
        emitter=emitter,
        catalogue=catalogue,
        reader=reader,
        stats=EventStats(emitter, kernel.redis),
        webhooks=webhooks,
    )


async def _emitter(kernel: Kernel) -> Emitter:
    if kernel.settings.events == "off":
        return NO_EVENTS
    events = Events(kernel.redis.url, without=kernel.settings.silent_topics)
    await events.start()
    kernel.on_stop(events.stop)
    return events
