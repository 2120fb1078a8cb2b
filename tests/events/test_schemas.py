"""Each topic's schema: published events validate against it, and the files in `openapi/` are current."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args, get_origin

import jsonschema
import msgspec

from baton.events.cloud_event import enveloped
from baton.events.emission import pack
from baton.events.log import Emission
from baton.events.payloads import Payload
from baton.events.schemas import asyncapi, schema
from baton.events.topics import BY_NAME, PREFIX, TOPICS, full_names
from baton.kernel.base.settings import Settings
from baton.rules.call.call import Principal
from tests.support.cases import every

ROOT = Path(__file__).parents[2]
FIELDS = {
    # topic: the fields its consumers rely on, in addition to those of every event
    "prompt-submitted": "entity_id causation_id emitted_at prompt_id prompt_preview prompt_length detected_intent",
    "claude-hook-event": "prompt",
    "session-started": "working_directory git_branch hook_source",
    "session-ended": "reason duration_seconds tools_used_count outcome",
    "tool-executed": "tool_execution_id tool_name success duration_ms summary",
    "routing-decision": "selected_agent confidence method candidates",
    "context-enrichment": "enrichment_type model_used latency_ms result_token_count relevance_score fallback_used"
    " tokens_saved was_dropped prompt_version",
    "compliance-evaluate": "source_path content language applicable_patterns",
    "compliance-evaluated": "violations",
}


def example(kind):
    """Make a value of a payload's field."""
    if get_origin(kind) is not None and getattr(kind, "__metadata__", None):
        kind = get_args(kind)[0]
    arguments = get_args(kind)
    if kind in {str, int, float, bool, datetime}:
        return {str: "x", int: 1, float: 0.5, bool: True, datetime: datetime.now(UTC)}[kind]
    if get_origin(kind) is tuple:
        return (example(arguments[0]),)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return whole(kind)
    first = arguments[0]
    return first if isinstance(first, str) else example(first)


def whole(kind):
    return kind(**{field.name: example(field.type) for field in msgspec.structs.fields(kind)})


def least(kind):
    return kind(**{f.name: example(f.type) for f in msgspec.structs.fields(kind) if f.required})


def published(payload):
    packed = pack(Principal(organisation="acme", team="web", user="ann"), payload, event_id="")
    emission = msgspec.msgpack.decode(packed, type=Emission)
    return json.loads(enveloped(emission, full_names(PREFIX, {})[emission.topic]))


@every("topic", TOPICS, ids=lambda topic: topic.name)
def test_an_event_of_each_topic_fits_its_schema_and_no_other_one(topic):
    jsonschema.Draft202012Validator.check_schema(schema(topic))
    check = jsonschema.Draft202012Validator(schema(topic))
    for payload in (whole(topic.payload), least(topic.payload)):
        event = published(payload)
        check.validate(event)
        for name in schema(topic)["properties"]["data"]["required"]:
            without = event | {"data": {field: value for field, value in event["data"].items() if field != name}}
            assert not check.is_valid(without), f"`{name}` may be left out"
    assert not check.is_valid(event | {"specversion": "0.3"})


@every("topic", FIELDS)
def test_a_topic_has_the_fields_of_its_consumers(topic):
    fields = set(BY_NAME[topic].payload.__struct_fields__)
    assert set(FIELDS[topic].split()) | {"session_id", "correlation_id"} <= fields


def test_full_names_begin_with_baton_unless_an_operator_sets_others():
    names = full_names(Settings.model_fields["events_prefix"].default, {"jobs": "acme.jobs"})
    assert names["prompt-submitted"] == "baton.prompt-submitted.v1"
    assert names["jobs"] == "acme.jobs"
    assert full_names("onex.evt.omniclaude", {})["prompt-submitted"] == "onex.evt.omniclaude.prompt-submitted.v1"
    assert len(set(names.values())) == len(TOPICS)


def test_content_is_on_restricted_topics_alone():
    telling = {"prompt", "content", "command", "tool_input", "output", "description"}
    assert {topic.name for topic in TOPICS if telling & set(topic.payload.__struct_fields__)} == {
        topic.name for topic in TOPICS if topic.restricted
    }


def test_there_are_at_most_sixteen_topics():
    assert len(TOPICS) <= 16, "add a field to a topic before you add a topic"


def test_every_payload_has_a_topic_and_every_topic_says_what_it_is():
    def below(kind):
        return {kind, *(one for child in kind.__subclasses__() for one in below(child))}

    assert below(Payload) - {Payload} == {topic.payload for topic in TOPICS}
    assert all(re.match(r"[A-Z].{10,}", topic.summary) for topic in TOPICS)


def test_the_asyncapi_file_has_not_drifted_and_holds_together():
    document = json.loads(json.dumps(asyncapi()))
    assert json.loads((ROOT / "openapi" / "asyncapi.json").read_text()) == document, "run `make openapi` and commit it"
    assert set(document["channels"]) == set(BY_NAME)
    for reference in re.findall(r'"\$ref": "#/([^"]+)"', json.dumps(document)):
        found = document
        for part in reference.split("/"):
            found = found[part]


def test_the_table_of_the_docs_has_every_topic():
    rows = [
        f"| `{one.name}` | {one.kind} | {'restricted' if one.restricted else 'open'} | {one.summary} |"
        for one in TOPICS
    ]
    table = (ROOT / "docs" / "events.md").read_text().splitlines()
    assert [line for line in table if line.startswith("| `") and line.count("|") == 5] == rows
