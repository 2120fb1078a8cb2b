"""From an emission to a reader: what is published, under which id."""

import asyncio
import json
from datetime import UTC, datetime

import msgspec
import pytest

from baton.events.catalogue import TopicCatalogue
from baton.events.emission import Emitter, natural_id
from baton.events.feed import LiveFeed
from baton.events.log import LOG, NEWER, WAITS, Log
from baton.events.payloads import SessionStarted
from baton.events.reading import EventReader
from baton.events.writer import LogWriter
from baton.kernel.base.errors import StoreUnavailable
from baton.kernel.base.settings import Settings
from baton.kernel.redis.client import Redis
from baton.rules.call.call import Principal
from baton.rules.call.outcome import OutcomeReport
from baton.rules.call.record import Record
from baton.rules.call.verdict import RuleHit

ANN = Principal(organisation="acme", team="web", user="ann")


async def published(redis, topic, principal=ANN, **settings):
    reader = EventReader(LiveFeed(redis), TopicCatalogue(Settings(**settings)))
    found, cursor = [], ""
    while (page := await reader.read(principal, topic, cursor=cursor, limit=2)).events:
        found += [json.loads(bytes(event)) for event in page.events]
        cursor = page.cursor
    return found


@pytest.fixture
async def events(redis, tmp_path):
    writer = LogWriter(redis.url, tmp_path, most_bytes=1 << 20)
    await writer.start()
    yield Emitter(writer), writer
    await writer.stop()


async def test_an_emitted_event_is_published_as_a_cloud_event(redis, events):
    emitter, writer = events
    emitter.emit(ANN, SessionStarted(session_id="s", correlation_id="c", hook_source="startup"), event_id="one")
    await writer.stop()
    (event,) = await published(redis, "session-started")
    assert event.pop("time").endswith("+00:00")
    assert event == {
        "specversion": "1.0",
        "id": "one",
        "source": "/baton/acme",
        "type": "baton.session-started.v1",
        "subject": "s",
        "datacontenttype": "application/json",
        "dataschema": "urn:baton:event:session-started:1.0.0",
        "organisation": "acme",
        "team": "web",
        "user": "ann",
        "data": {
            "event_type": "session.started",
            "schema_version": "1.0.0",
            "source": "baton",
            "session_id": "s",
            "correlation_id": "c",
            "working_directory": "",
            "git_branch": "",
            "hook_source": "startup",
            "client": "",
            "project": "",
        },
    }


async def test_an_event_that_is_emitted_again_has_the_same_id(redis, events):
    emitter, writer = events
    once = natural_id("session-started", "s", "1")
    for _ in range(3):
        emitter.emit(ANN, SessionStarted(session_id="s"), event_id=once)
    await writer.stop()
    assert [event["id"] for event in await published(redis, "session-started")] == [once] * 3


async def test_decisions_and_outcomes_are_published_from_their_records(redis):
    decided = Record(
        id="d", at=datetime.now(UTC), organisation="acme", team="web", user="ann", client="codex", event="PreToolUse",
        session_id="s", tool="Bash", tool_use_id="t", effect="deny", decision="block", rules=(RuleHit("a/b", "deny"),),
        command="cat /etc/passwd", paths=("/etc/passwd",),
    )  # fmt: skip
    prompt = msgspec.structs.replace(decided, id="p", event="UserPromptSubmit")
    report = OutcomeReport(decided.at, "acme", "ann", "s", "", "Bash", "t", "ran", 12, team="web")
    end_of_turn = OutcomeReport(decided.at, "acme", "ann", "s", "", "", "", "refused")
    packed = [msgspec.msgpack.encode(one) for one in (decided, prompt, report, report, end_of_turn)]
    await Log(redis).append([*packed, b"\x00 no record"])
    (decision,) = await published(redis, "decisions")
    outcome, again = await published(redis, "outcomes")
    assert decision["id"] == decision["data"]["decision_id"] == "d"
    assert decision["data"]["rules"] == [{"id": "a/b", "effect": "deny"}]
    assert "passwd" not in json.dumps(decision)
    assert (outcome["data"]["outcome"], outcome["data"]["duration_ms"], outcome["team"]) == ("ran", 12, "web")
    assert outcome["data"]["correlation_id"] == decision["data"]["correlation_id"]
    assert outcome == again
    assert await published(redis, "decisions", events="off") == []
    assert await published(redis, "outcomes", events_without=("outcomes",)) == []
    assert await published(redis, "decisions", Principal(organisation="acme", team="web", user="bob")) == []
    assert await published(redis, "decisions", Principal(organisation="other", user="root", role="admin")) == []
    lead = Principal(organisation="acme", team="web", user="lea", role="lead")
    assert len(await published(redis, "decisions", lead)) == 1


async def test_topics_that_are_switched_off_are_not_even_built(redis, tmp_path):
    writer = LogWriter(redis.url, tmp_path, most_bytes=1 << 20)
    emitter = Emitter(writer, without=["prompt-submitted"])
    emitter.emit_built(ANN, lambda: 1 / 0, topic="prompt-submitted")
    emitter.emit_built(ANN, lambda: None, topic="modes")
    await asyncio.sleep(0)
    assert writer.counts() == {"queued": 0, "dropped": 0, "shed": 0, "appended": 0}


@pytest.mark.parametrize("stream", [LOG, NEWER])
async def test_events_are_the_first_to_be_dropped_while_the_log_is_full(redis, stream, tmp_path):
    writer = LogWriter(redis.url, tmp_path, most_bytes=7_000)
    await Log(redis).append([b"x"] * 20, WAITS, stream)
    await writer.start()
    emitter = Emitter(writer)
    emitter.emit(ANN, SessionStarted())
    async with asyncio.timeout(60):
        while not writer.shedding:  # noqa: ASYNC110 - it is looked at when an entry is appended
            await asyncio.sleep(0.01)
    emitter.emit(ANN, SessionStarted())
    assert writer.counts()["shed"] == 1
    await writer.stop()


async def test_a_reader_that_waits_is_woken_and_one_that_was_too_slow_is_told_of_a_gap(redis, events):
    emitter, _ = events
    reader = EventReader(LiveFeed(redis), TopicCatalogue(Settings()))
    first = await reader.read(ANN, "session-started", cursor="newest", limit=10)
    waiting = asyncio.create_task(reader.read(ANN, "session-started", cursor=first.cursor, limit=10, wait_s=20))
    await asyncio.sleep(0.2)
    emitter.emit(ANN, SessionStarted(session_id="s"))
    page = await waiting
    assert (len(page.events), page.gap) == (1, False)
    log = Log(redis)
    await log.append([b"x", b"x"])
    await log.done(await log.take())
    await log.trim(1, 3_600)
    assert (await reader.read(ANN, "session-started", cursor=page.cursor, limit=10)).gap


async def test_without_redis_events_cannot_be_read():
    away = Redis("redis://127.0.0.1:1", timeout_s=0.05)
    await away.start()
    with pytest.raises(StoreUnavailable, match="try again"):
        await EventReader(LiveFeed(away), TopicCatalogue(Settings())).read(ANN, "jobs", cursor="", limit=1)
    await away.close()
