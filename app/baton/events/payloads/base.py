"""What the payload of every event has."""

from typing import Annotated, TypedDict

import msgspec

Ratio = Annotated[float, msgspec.Meta(ge=0, le=1)]
Count = Annotated[int, msgspec.Meta(ge=0)]
Milliseconds = Annotated[float, msgspec.Meta(ge=0)]


class Payload(msgspec.Struct, frozen=True, kw_only=True):
    """The base of every payload; a text is "" where nothing is known.

    `correlation_id` is the same for all events that belong together: those of one prompt, of one tool call, of one job.
    """

    session_id: str = ""
    correlation_id: str = ""


class Ids(TypedDict):
    """The fields of `Payload`, to be passed on to several payloads."""

    session_id: str
    correlation_id: str
