"""Builds the emission of events and their reading."""

import msgspec

from baton.events.catalogue import TopicCatalogue
from baton.events.emission import NO_EVENTS, Emitter
from baton.events.feed import TIMEOUT_S, LiveFeed
from baton.events.personal_events import PersonalEvents
from baton.events.reading import EventReader
from baton.events.webhooks import Webhooks
from baton.events.writer import LogWriter
from baton.kernel.kernel import Kernel, PeriodicTask
from baton.kernel.redis.client import Redis


class EventsFeature(msgspec.Struct, frozen=True, kw_only=True):
    """Emitting for other rooms, and reading for consumers."""

    emitter: Emitter
    writer: LogWriter
    feed: LiveFeed
    catalogue: TopicCatalogue
    reader: EventReader
    personal: PersonalEvents
    webhooks: Webhooks


async def build(kernel: Kernel) -> EventsFeature:
    """Build the services. The recorder starts and stops the writer.

    Raises:
        DatabaseUnavailable: If the webhooks cannot be read.
        ValueError: If a setting names an unknown topic.
    """
    settings = kernel.settings
    catalogue = TopicCatalogue(settings)
    writer = LogWriter(kernel.redis.url, settings.home, most_bytes=settings.records_redis_mb << 20)
    redis = Redis(kernel.redis.url, timeout_s=TIMEOUT_S)  # its own: pages of the log must not delay decisions
    await redis.start()
    kernel.on_stop(redis.close)
    feed = LiveFeed(redis)
    webhooks = Webhooks(
        kernel.database,
        kernel.changes,
        kernel.redis,
        organisation=kernel.organisation,
        internal_hosts=settings.webhook_hosts,
    )
    await webhooks.load()
    kernel.every(PeriodicTask("webhooks", 5, lambda _: webhooks.mirror()))
    return EventsFeature(
        emitter=NO_EVENTS if settings.events == "off" else Emitter(writer, without=settings.events_without),
        writer=writer,
        feed=feed,
        catalogue=catalogue,
        reader=EventReader(feed, catalogue),
        personal=PersonalEvents(feed.log, catalogue),
        webhooks=webhooks,
    )
