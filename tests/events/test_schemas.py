"""Each topic's schema: what is published validates against it, and the files in `openapi/` have not drifted."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args, get_origin

import jsonschema
import msgspec
import pytest

from baton.engine.call.principal import Principal
from baton.events.cloud_event import enveloped
from baton.events.emitting.emission import pack
from baton.events.payloads.base import Payload
from baton.events.redis_streams.outbox import Emission
from baton.events.schemas import asyncapi, schema
from baton.events.topics import BY_NAME, TOPICS, full_names

ROOT = Path(__file__).parents[2]
SEED = {
    # topic: the fields that the seed names, beside those of every event
    "prompt-submitted": "entity_id causation_id emitted_at prompt_id prompt_preview prompt_length detected_intent",
    "claude-hook-event": "prompt",
    "session-started": "working_directory git_branch hook_source",
    "session-ended": "reason duration_seconds tools_used_count",
    "session-outcome": "outcome",
    "session-outcome-command": "outcome",
    "tool-executed": "tool_execution_id tool_name success duration_ms summary",
    "tool-content": "content",
    "routing-decision": "selected_agent confidence method candidates",
    "llm-routing-decision": "llm_confidence llm_latency_ms fallback_used model_used fuzzy_top_candidate"
    " llm_selected_candidate agreement routing_prompt_version",
    "latency-breakdown": "routing_time_ms retrieval_time_ms injection_time_ms agent_load_time_ms total_hook_ms"
    " user_visible_latency_ms cache_hit cohort",
    "context-enrichment": "enrichment_type model_used latency_ms result_token_count relevance_score fallback_used"
    " tokens_saved was_dropped prompt_version",
    "context-injected": "context_source pattern_count context_size_bytes agent_domain min_confidence_threshold"
    " retrieval_duration_ms",
    "context-utilization": "method injected_count reused_count utilization_score",
    "compliance-evaluate": "source_path content language applicable_patterns",
    "compliance-evaluated": "violations",
    "task-delegated": "task_type handler_used model_used quality_gate_passed quality_gate_reason delegation_success"
    " estimated_savings_usd latency_ms",
    "static-context-edit-detected": "changed_files is_versioned git_diff_stat",
    "agent-status": "state progress current_phase current_task blocking_reason",
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
    packed = pack(Principal(organisation="acme", team="web", user="ann"), payload, event_id="", at_ms=1_000)
    emission = msgspec.msgpack.decode(packed, type=Emission)
    return json.loads(enveloped(emission, full_names("onex", {})[emission.topic]))


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)
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


@pytest.mark.parametrize("topic", SEED)
def test_a_topic_has_every_field_of_the_seed(topic):
    fields = set(BY_NAME[topic].payload.__struct_fields__)
    assert set(SEED[topic].split()) | {"session_id", "correlation_id"} <= fields


def test_names_are_the_seed_s_unless_an_operator_sets_others():
    names = full_names("onex", {"jobs": "acme.jobs"})
    assert names["prompt-submitted"] == "onex.evt.omniclaude.prompt-submitted.v1"
    assert names["claude-hook-event"] == "onex.cmd.omniintelligence.claude-hook-event.v1"
    assert names["compliance-evaluated"] == "onex.evt.omniintelligence.compliance-evaluated.v1"
    assert names["session-outcome"] == "onex.evt.omniclaude.session-outcome.v1"
    assert names["session-outcome-command"] == "onex.cmd.omniintelligence.session-outcome.v1"
    assert names["jobs"] == "acme.jobs"
    assert full_names("acme", {})["agent-status"] == "acme.evt.omniclaude.agent-status.v1"
    assert len(set(names.values())) == len(TOPICS)


def test_content_is_on_restricted_topics_alone():
    telling = {"prompt", "content", "command", "tool_input", "output", "description"}
    assert {topic.name for topic in TOPICS if telling & set(topic.payload.__struct_fields__)} == {
        topic.name for topic in TOPICS if topic.restricted
    }


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
