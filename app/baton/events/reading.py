"""Read events of a topic from the log, for consumers with a cursor."""

import asyncio
import re
from collections.abc import Callable
from difflib import get_close_matches

import msgspec

from baton.events.catalogue import TopicCatalogue
from baton.events.cloud_event import enveloped
from baton.events.feed import LiveFeed
from baton.events.from_records import event_of, topic_of
from baton.events.log import BATCH, START, Emission, Place, place_text
from baton.events.topics import BY_NAME, TOPICS, Topic
from baton.kernel.base.errors import Invalid
from baton.kernel.base.pause import pause
from baton.kernel.base.sql import StoreErrors
from baton.people.users import Reach, require
from baton.rules.call.call import Principal
from baton.shared.storable import storable

MOST_PAGES = 20
"""Pages of the log that one request reads: events of a rare topic may be far apart."""
LOOK_S = 1.0
"""How often a waiting request looks for new events if it is not woken, in seconds."""
_CURSOR = re.compile(r"(\d{1,15})-(\d{1,15})", re.ASCII)
_AWAY = "events cannot be read now, because Redis is unavailable; try again"


class EventPage(msgspec.Struct, frozen=True, kw_only=True):
    """Events as JSON, oldest first, and the next cursor. `gap`: events before them were removed unread."""

    events: list[msgspec.Raw]
    cursor: str
    gap: bool = False


class EventReader:
    """Serves consumers, each within their permission."""

    def __init__(self, feed: LiveFeed, catalogue: TopicCatalogue) -> None:
        self._feed = feed
        self._catalogue = catalogue

    def topics(self, principal: Principal) -> list[Topic]:
        """Return all topics.

        Raises:
            Forbidden: If the role may not read events at all.
        """
        require(principal, "events.read")
        return list(TOPICS)

    async def read(self, principal: Principal, name: str, *, cursor: str, limit: int, wait_s: float = 0) -> EventPage:
        """Return the events after a cursor, waiting up to `wait_s` for the first one.

        Without a cursor it starts at the oldest event, with `newest` at future events.

        Raises:
            Forbidden: If the role may not read the topic.
            Invalid: If the topic is unknown, or the cursor is not one of ours.
            StoreUnavailable: If Redis is unavailable.
        """
        topic, reach = _admitted(principal, name)
        user, team = storable(principal.user), storable(principal.team)

        def covered(event: Emission) -> bool:
            of_team = reach == "team" and team != "" and event.team == team
            return event.organisation == principal.organisation and (
                reach == "organisation" or event.user == user or of_team
            )

        until = asyncio.get_running_loop().time() + wait_s
        with StoreErrors(_AWAY):
            place = await self._position(cursor)
            page = await self._page(topic, covered, place, limit)
            if wait_s and not (page.events or page.gap):
                async with self._feed.follow() as woken:
                    while not (page.events or page.gap) and (left := until - asyncio.get_running_loop().time()) > 0:
                        await pause(woken, min(LOOK_S, left))
                        woken.clear()
                        page = await self._page(topic, covered, parsed(page.cursor), limit)
        return page

    async def _position(self, cursor: str) -> Place:
        if cursor == "newest":
            return await self._feed.log.newest()
        return START if cursor in ("", "oldest") else parsed(cursor)

    async def _page(self, topic: Topic, covered: Callable[[Emission], bool], place: Place, limit: int) -> EventPage:
        events: list[msgspec.Raw] = []
        gap, name = False, self._catalogue.full_name(topic.name)
        for _ in range(MOST_PAGES):
            page = await self._feed.after(place)
            gap, place = gap or page.lost, page.place
            for entry in page.entries if self._catalogue.enabled(topic.name) else ():
                if topic_of(entry.content) != topic.name:
                    continue
                if entry.content is not None and covered(event := event_of(entry.content)):
                    events.append(msgspec.Raw(enveloped(event, name)))
                    if len(events) == limit:
                        place = entry.place
                        break
            if len(events) == limit or len(page.entries) < BATCH:
                break
        return EventPage(events=events, cursor=place_text(place), gap=gap)


def topic_named(name: str, field: str = "topic") -> Topic:
    """Return a topic by its short name.

    Raises:
        Invalid: If it is unknown; the error names the nearest.
    """
    if name not in BY_NAME:
        hint = "".join(f"; did you mean `{near}`?" for near in get_close_matches(name, BY_NAME, 1))
        raise Invalid(field, f"is `{name}`, an unknown topic{hint}", list(BY_NAME))
    return BY_NAME[name]


def _admitted(principal: Principal, name: str) -> tuple[Topic, Reach]:
    # First the role: a caller without access to events learns no names from the error.
    reach = require(principal, "events.read")
    topic = topic_named(name)
    return topic, require(principal, "events.restricted") if topic.restricted else reach


def parsed(cursor: str, field: str = "cursor") -> Place:
    """Return the place of a cursor or of an event's id. Raise Invalid."""
    found = _CURSOR.fullmatch(cursor)
    if found is None:
        raise Invalid(field, "is not a cursor; use the one of the previous page, or the id of a streamed event")
    return int(found[1]), int(found[2])
