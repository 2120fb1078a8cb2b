"""The topics as the operator has named them and switched them off."""

from baton.events.topics import BY_NAME, full_names
from baton.kernel.base.settings import Settings


class TopicCatalogue:
    """Names and switches of topics.

    Raises:
        ValueError: If a setting names an unknown topic; the server does not start then.
    """

    def __init__(self, settings: Settings) -> None:
        for setting, names in (("EVENTS_TOPICS", settings.events_topics), ("EVENTS_WITHOUT", settings.events_without)):
            unknown = [name for name in names if name not in BY_NAME]
            if unknown:
                raise ValueError(f"BATON_{setting}: `{unknown[0]}` is no topic; allowed: {', '.join(BY_NAME)}")
        self._names = full_names(settings.events_prefix, settings.events_topics)
        self._without = frozenset(BY_NAME if settings.events == "off" else settings.events_without)

    def full_name(self, topic: str) -> str:
        """Return a topic's name outside Baton."""
        return self._names[topic]

    def enabled(self, topic: str) -> bool:
        """Return whether anything is published on a topic."""
        return topic not in self._without
