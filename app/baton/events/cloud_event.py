"""The envelope: CloudEvents 1.0 in JSON, around `event_type`, `schema_version` and the payload."""

from functools import cache

import msgspec

from baton.events.log import Emission
from baton.events.topics import BY_NAME, SCHEMA_VERSION

SOURCE = "baton"

_encode = msgspec.json.Encoder().encode


class CloudEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event for readers. `organisation`, `team` and `user` are extension attributes: the event's owner."""

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
    session = _subject(emission.data).session_id
    return _encode(
        CloudEvent(
            id=emission.id,
            source=source_of(emission.organisation),
            type=full_name,
            time=emission.time,
            subject=session,
            dataschema=schema_name(emission.topic),
            organisation=emission.organisation,
            team=emission.team,
            user=emission.user,
            data=msgspec.Raw(data),
        )
    )


def source_of(organisation: str) -> str:
    """Return the `source` of an organisation's events from Baton."""
    return f"/baton/{organisation}"


@cache
def _head(event_type: str) -> bytes:
    return _encode({"event_type": event_type, "schema_version": SCHEMA_VERSION, "source": SOURCE})


def schema_name(topic: str) -> str:
    """Return the URI of a topic's schema, served by `GET /events/schemas/{topic}`."""
    return f"urn:baton:event:{topic}:{SCHEMA_VERSION}"


class _Subject(msgspec.Struct, frozen=True):
    session_id: str = ""


_subject = msgspec.json.Decoder(_Subject).decode
