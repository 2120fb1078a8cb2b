"""`/events`: topics, their schemas, and their events for consumers."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import Response as RawResponse
from pydantic import BaseModel, Field

from baton.events.catalogue import TopicCatalogue
from baton.events.reading import EventReader, topic_named
from baton.events.schemas import schema
from baton.kernel.http.features import of
from baton.kernel.http.serving.hot_routes import encode
from baton.people.callers import CallerOf
from baton.people.rate_limits import EXPENSIVE

# The HTTP models of events.


class TopicModel(BaseModel):
    """A topic. `full_name` is its name in Kafka and in the CloudEvents attribute `type`."""

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
    """The cursor to continue from, and the time to wait."""

    cursor: str = Field(
        "",
        max_length=100,
        description="`cursor` of the previous page; empty or `oldest`, or `newest` for future events.",
    )
    limit: int = Field(100, ge=1, le=200)
    wait_s: float = Field(0, ge=0, le=20, description="Longest wait for a first event, in seconds.")


class EventsModel(BaseModel):
    """Events, oldest first. `gap`: events before them were removed before they were read."""

    events: list[dict[str, Any]] = Field(description="CloudEvents 1.0; `/events/schemas/{topic}` describes them.")
    cursor: str
    gap: bool


router = APIRouter(tags=["events"], prefix="/events")
EventReaderOf = Annotated[EventReader, Depends(of(EventReader))]
TopicCatalogueOf = Annotated[TopicCatalogue, Depends(of(TopicCatalogue))]


@router.get("/topics", operation_id="list_event_topics")
async def list_topics(caller: CallerOf, catalogue: TopicCatalogueOf, reader: EventReaderOf) -> TopicsModel:
    """List the topics with their configured names."""
    return TopicsModel(
        items=[
            TopicModel(
                name=topic.name,
                full_name=catalogue.full_name(topic.name),
                kind=topic.kind,
                restricted=topic.restricted,
                enabled=catalogue.enabled(topic.name),
                summary=topic.summary,
            )
            for topic in reader.topics(caller.principal)
        ]
    )


@router.get("/schemas", operation_id="list_event_schemas")
async def list_schemas(caller: CallerOf, reader: EventReaderOf) -> SchemasModel:
    """Show the JSON Schema of every topic's events."""
    return SchemasModel(schemas={topic.name: schema(topic) for topic in reader.topics(caller.principal)})


@router.get("/schemas/{topic}", operation_id="get_event_schema", response_model=dict[str, object])
async def get_schema(caller: CallerOf, reader: EventReaderOf, topic: str) -> Response:
    """Show the JSON Schema of one topic's events."""
    reader.topics(caller.principal)
    return RawResponse(encode(schema(topic_named(topic))), media_type="application/schema+json")


@router.get("/topics/{topic}", response_model=EventsModel, dependencies=[EXPENSIVE])
async def read_events(
    caller: CallerOf, reader: EventReaderOf, topic: str, query: Annotated[EventQuery, Query()]
) -> Response:
    """Read a topic's events visible to the caller, oldest first. A restricted topic requires the role `observer`."""
    page = await reader.read(caller.principal, topic, cursor=query.cursor, limit=query.limit, wait_s=query.wait_s)
    return RawResponse(encode(page), media_type="application/json")
