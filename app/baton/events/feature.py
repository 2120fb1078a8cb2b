"""Builds the emission of events."""

import msgspec

from baton.events.emission import NO_EVENTS, Emitter, Events
from baton.kernel.kernel import Kernel


class EventsFeature(msgspec.Struct, frozen=True, kw_only=True):
    """What other rooms emit with."""

    emitter: Emitter


async def build(kernel: Kernel) -> EventsFeature:
    """Build the emitter and start to send."""
    if kernel.settings.events == "off":
        return EventsFeature(emitter=NO_EVENTS)
    events = Events(kernel.redis.url, without=kernel.settings.events_without)
    await events.start()
    kernel.on_stop(events.stop)
    return EventsFeature(emitter=events)
