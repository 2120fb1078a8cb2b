"""`/events`: topics, their schemas, and their events for consumers."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import Response as RawResponse

from baton.events.bodies import (
    AcknowledgeBody,
    AcknowledgedModel,
    DeliveryModel,
    EventQuery,
    EventsModel,
    GroupName,
    SchemasModel,
    TakeBody,
    TopicModel,
    TopicsModel,
)
from baton.events.catalogue import TopicCatalogue
from baton.events.reading import EventReader, topic_named
from baton.events.schemas import schema
from baton.kernel.http.features import of
from baton.kernel.http.json_io import encode
from baton.people.callers import CallerOf
from baton.people.rate_limits import EXPENSIVE

router = APIRouter(tags=["events"], prefix="/events")
EventReaderOf = Annotated[EventReader, Depends(of(EventReader))]
TopicCatalogueOf = Annotated[TopicCatalogue, Depends(of(TopicCatalogue))]


@router.get("/topics", operation_id="list_event_topics")
async def list_topics(caller: CallerOf, catalogue: TopicCatalogueOf, reader: EventReaderOf) -> TopicsModel:
    """List the topics, with the names that the operator gave them."""
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


@router.get("/topics/{topic}", operation_id="read_events", response_model=EventsModel, dependencies=[EXPENSIVE])
async def read_events(
    caller: CallerOf, reader: EventReaderOf, topic: str, query: Annotated[EventQuery, Query()]
) -> Response:
    """Read a topic's events that the caller may see, oldest first. A restricted topic wants the role `observer`."""
    page = await reader.read(caller.principal, topic, cursor=query.cursor, limit=query.limit, wait_s=query.wait_s)
    return RawResponse(encode(page), media_type="application/json")


@router.post(
    "/topics/{topic}/groups/{group}/take",
    operation_id="take_events",
    response_model=DeliveryModel,
    dependencies=[EXPENSIVE],
)
async def take_events(
    caller: CallerOf, reader: EventReaderOf, topic: str, group: GroupName, body: TakeBody
) -> Response:
    """Take events as a member of a group: each goes to one member, and to another if it is not acknowledged in a minute."""
    delivery = await reader.take(
        caller.principal, topic, group, member=body.member, limit=body.limit, wait_s=body.wait_s
    )
    return RawResponse(encode(delivery), media_type="application/json")


@router.post("/topics/{topic}/groups/{group}/acknowledge", operation_id="acknowledge_events")
async def acknowledge_events(
    caller: CallerOf, reader: EventReaderOf, topic: str, group: GroupName, body: AcknowledgeBody
) -> AcknowledgedModel:
    """Acknowledge events that were handled, so that no member gets them again."""
    done = await reader.acknowledge(caller.principal, topic, group, body.receipts)
    return AcknowledgedModel(acknowledged=done)


@router.delete("/topics/{topic}/groups/{group}", operation_id="end_event_group", status_code=204)
async def end_group(caller: CallerOf, reader: EventReaderOf, topic: str, group: GroupName) -> None:
    """Remove a group of the caller's own, with what it has not acknowledged."""
    await reader.end_group(caller.principal, topic, group)
