"""The HTTP models of events."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

GroupName = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,64}$")]


class TopicModel(BaseModel):
    """A topic. `full_name` is what Kafka and the CloudEvents attribute `type` call it."""

    name: str
    full_name: str
    kind: Literal["evt", "cmd"]
    restricted: bool
    enabled: bool
    summary: str


class TopicsModel(BaseModel):
    """All topics."""

    items: list[TopicModel]


class SchemasModel(BaseModel):
    """The JSON Schema of each topic's events, by the topic's short name."""

    schemas: dict[str, dict[str, Any]]


class EventQuery(BaseModel):
    """Where to read on, and for how long to wait."""

    cursor: str = Field(
        "",
        max_length=100,
        description="`cursor` of the page before; empty or `oldest`, or `newest` for what is to come.",
    )
    limit: int = Field(100, ge=1, le=200)
    wait_s: float = Field(0, ge=0, le=20, description="Longest wait for a first event, in seconds.")


class EventsModel(BaseModel):
    """Events, oldest first. `missed` is how many had left the bus before they were read."""

    events: list[dict[str, Any]] = Field(
        description="CloudEvents 1.0; `/events/schemas/{topic}` describes them.",
    )
    cursor: str
    missed: int


class TakeBody(BaseModel):
    """Who takes how many events."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"member": "host-1", "limit": 50}]})

    member: GroupName = Field("one", description="Name of the process that reads, within the group.")
    limit: int = Field(100, ge=1, le=200)
    wait_s: float = Field(0, ge=0, le=20, description="Longest wait for a first event, in seconds.")


class DeliveryModel(BaseModel):
    """Events for one member, each with the receipt that acknowledges it. `missed` had left the bus before."""

    events: list[dict[str, Any]]
    receipts: list[str]
    missed: int


class AcknowledgeBody(BaseModel):
    """What was handled."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"receipts": ["1795408115000-0"]}]})

    receipts: list[str] = Field(min_length=1, max_length=1_000)


class AcknowledgedModel(BaseModel):
    """How many events waited for this; the others had been acknowledged before."""

    acknowledged: int
