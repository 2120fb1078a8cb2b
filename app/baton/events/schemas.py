"""The JSON Schemas of events, and the AsyncAPI file describing all topics."""

from functools import cache
from typing import Any

import msgspec

from baton.events.cloud_event import CloudEvent, schema_name
from baton.events.topics import PREFIX, SCHEMA_VERSION, TOPICS, Topic, full_names

DIALECT = "https://json-schema.org/draft/2020-12/schema"


@cache
def schema(topic: Topic) -> dict[str, Any]:
    """Return the JSON Schema of a topic's events: the CloudEvent, with the payload in `data`."""
    (_, payload), definitions = _components(topic)
    envelope = {
        "event_type": {"const": topic.event_type},
        "schema_version": {"const": SCHEMA_VERSION},
        "source": {"const": "baton"},
    }
    fields = payload["properties"]
    data = {
        "type": "object",
        "description": payload.get("description", ""),
        "properties": envelope | fields,
        # The encoder leaves out only unset fields, and only some types can be unset. All others are always there.
        "required": [*envelope, *(name for name in fields if not _may_be_absent(topic, name))],
    }
    attributes = {name: {"type": "string"} for name in CloudEvent.__struct_fields__ if name != "data"}
    attributes |= {
        "specversion": {"const": "1.0"},
        "datacontenttype": {"const": "application/json"},
        "dataschema": {"const": schema_name(topic.name)},
        "time": {"type": "string", "format": "date-time"},
    }
    return {
        "$schema": DIALECT,
        "$id": schema_name(topic.name),
        "title": topic.name,
        "description": topic.summary,
        "type": "object",
        "properties": attributes | {"data": data},
        "required": [*attributes, "data"],
        **({"$defs": definitions} if definitions else {}),
    }


def asyncapi() -> dict[str, Any]:
    """Return the AsyncAPI 3 document of all topics under their default names."""
    names = full_names(PREFIX, {})
    channels = {
        topic.name: {
            "address": names[topic.name],
            "description": topic.summary
            + (" Restricted: readers need the role `observer`." if topic.restricted else ""),
            "messages": {topic.name: {"$ref": f"#/components/messages/{topic.name}"}},
        }
        for topic in TOPICS
    }
    operations = {
        f"send-{topic.name}": {
            "action": "send",
            "channel": {"$ref": f"#/channels/{topic.name}"},
            "messages": [{"$ref": f"#/channels/{topic.name}/messages/{topic.name}"}],
        }
        for topic in TOPICS
    }
    messages = {
        topic.name: {
            "name": topic.event_type,
            "title": topic.summary,
            "contentType": "application/cloudevents+json",
            "payload": {"schemaFormat": "application/schema+json;version=draft-2020-12", "schema": _inlined(topic)},
        }
        for topic in TOPICS
    }
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Baton's events",
            "version": SCHEMA_VERSION,
            "description": "Events of Baton on its bus, on Kafka, for webhooks and in files. An operator may rename topics.",
        },
        "defaultContentType": "application/cloudevents+json",
        "channels": channels,
        "operations": operations,
        "components": {"messages": messages},
    }


def _inlined(topic: Topic) -> dict[str, Any]:
    """Return a topic's schema without definitions: a reference in an AsyncAPI file counts from the file's root."""
    found = schema(topic)
    definitions = found.get("$defs", {})

    def resolve(value: Any) -> Any:
        if isinstance(value, dict):
            if "$ref" in value:
                return resolve(definitions[value["$ref"].rpartition("/")[2]])
            return {name: resolve(part) for name, part in value.items() if name != "$defs"}
        return [resolve(part) for part in value] if isinstance(value, list) else value

    inlined: dict[str, Any] = resolve(found)
    return inlined


def _components(topic: Topic) -> tuple[tuple[str, dict[str, Any]], dict[str, Any]]:
    (reference,), definitions = msgspec.json.schema_components([topic.payload], ref_template="#/$defs/{name}")
    name = reference["$ref"].rpartition("/")[2]
    return (name, definitions.pop(name)), dict(definitions)


def _may_be_absent(topic: Topic, name: str) -> bool:
    field = next(field for field in msgspec.structs.fields(topic.payload) if field.name == name)
    return field.default is msgspec.UNSET
