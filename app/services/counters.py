"""Counts what people must be able to see: fail-opens, degraded answers, clients last heard of. It keeps no history."""

from collections import Counter
from datetime import UTC, datetime

import msgspec

from app.engine.principal import Principal


class ClientSeen(msgspec.Struct, frozen=True, kw_only=True):
    """A client that talks to this server, since the server started."""

    user: str
    client: str
    last_seen: datetime
    protocol: str = ""


class Counters:
    """In-process counts since the server started."""

    def __init__(self) -> None:
        self.degraded: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        self._seen: dict[tuple[str, str, str], tuple[float, str]] = {}

    def seen(self, principal: Principal, client: str, protocol: str) -> None:
        """Note that a client has posted."""
        self._seen[(principal.organisation, principal.user, client)] = (datetime.now(UTC).timestamp(), protocol)

    def answered(self, degraded: tuple[str, ...]) -> None:
        """Count what an answer had to do without."""
        self.degraded.update(degraded)

    def failed(self, client: str, answer: str, code: str) -> None:
        """Count a hook call that got its client's failure answer instead of a decision."""
        self.failures[f"{client} {answer} {code}"] += 1

    def clients(self, principal: Principal) -> list[ClientSeen]:
        """List the clients that a principal may see, newest first."""
        seen = [
            ClientSeen(user=user, client=client, last_seen=datetime.fromtimestamp(at, UTC), protocol=protocol)
            for (organisation, user, client), (at, protocol) in self._seen.items()
            if organisation == principal.organisation and (user == principal.user or principal.sees_all())
        ]
        return sorted(seen, key=lambda one: one.last_seen, reverse=True)
