"""The envelope: CloudEvents 1.0 in JSON, around the envelope's fields of the seed."""

from datetime import UTC, datetime
from functools import cache

import msgspec

from baton.events.redis_streams.outbox import Emission
from baton.events.topics import BY_NAME, SCHEMA_VERSION

SOURCE = "baton"

_encode = msgspec.json.Encoder().encode


class CloudEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event as readers get it. `organisation`, `team` and `user` are extension attributes: whose event it is."""

    specversion: str = "1.0"
    id: str
    source: str
    type: str
    time: str
    subject: str
    datacontenttype: str = "application/json"
    dataschema: str
    organisation: str
    team: str
    user: str
    data: msgspec.Raw


def enveloped(emission: Emission, full_name: str) -> bytes:
    """Return an emission as a CloudEvent; `full_name` is its topic's."""
    topic = BY_NAME[emission.topic]
    head = _head(topic.event_type)
    # The payload is JSON already: its fields follow the envelope's.
    body = emission.data[1:-1].strip()
    data = head[:-1] + (b"," + body if body else b"") + b"}"
    session = _session(emission.data)
    return _encode(
        CloudEvent(
            id=emission.id,
            source=source_of(emission.organisation),
            type=full_name,
            time=datetime.fromtimestamp(emission.at_ms / 1000, UTC).isoformat(timespec="milliseconds"),
            subject=session,
            dataschema=schema_name(emission.topic),
            organisation=emission.organisation,
            team=emission.team,
            user=emission.user,
            data=msgspec.Raw(data),
        )
    )


def source_of(organisation: str) -> str:
    """Return the `source` of the events that Baton makes for an organisation."""
    return f"/baton/{organisation}"


@cache
def _head(event_type: str) -> bytes:
    return _encode({"event_type": event_type, "schema_version": SCHEMA_VERSION, "source": SOURCE})


def schema_name(topic: str) -> str:
    """Return the URI of a topic's schema; `GET /events/schemas/{topic}` returns what it names."""
    return f"urn:baton:event:{topic}:{SCHEMA_VERSION}"


class _Subject(msgspec.Struct, frozen=True):
    session_id: str = ""


_subject = msgspec.json.Decoder(_Subject).decode


def _session(data: bytes) -> str:
    return _subject(data).session_id
