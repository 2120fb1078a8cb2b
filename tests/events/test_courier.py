"""From an emission to the bus: what is published, once, and within its bounds."""

import asyncio
import json
from datetime import UTC, datetime

import msgspec
import pytest

from baton.engine.call.outcome import OutcomeReport
from baton.engine.call.principal import Principal
from baton.engine.call.record import Record
from baton.engine.call.verdict import RuleHit
from baton.events.courier import Courier, CourierOrder
from baton.events.emitting.emission import Events, natural_id
from baton.events.payloads.sessions import SessionStarted
from baton.events.redis_streams import bus, outbox
from baton.events.redis_streams.bus import Bounds, Bus, Publication
from baton.events.redis_streams.outbox import Outbox
from baton.records.pipeline.stream import RecordStream

ANN = Principal(organisation="acme", team="web", user="ann")
WIDE = Bounds(entries=1_000, bytes=1 << 20, age_s=3_600)
ORDER = CourierOrder(prefix="onex", bounds=WIDE)


async def publish(redis, order=ORDER):
    courier = Courier(redis, order)
    courier.finish()
    await courier.run()


async def published(redis, topic):
    entries = await redis.call(b"XRANGE", bus.stream_of(topic), b"-", b"+")
    return [json.loads(fields[fields.index(b"event") + 1]) for _, fields in entries]


@pytest.fixture
async def events(redis):
    events = Events(redis.url)
    await events.start()
    yield events
    await events.stop()


async def test_an_emitted_event_is_published_as_a_cloud_event(redis, events):
    events.emit(ANN, SessionStarted(session_id="s", correlation_id="c", hook_source="startup"), event_id="one")
    await events.stop()
    await publish(redis)
    (event,) = await published(redis, "session-started")
    assert event.pop("time").endswith("+00:00")
    assert event == {
        "specversion": "1.0",
        "id": "one",
        "source": "/baton/acme",
        "type": "onex.evt.omniclaude.session-started.v1",
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


async def test_an_id_is_published_once_however_often_and_by_whom_it_is_emitted(redis, events):
    other = Events(redis.url)
    await other.start()
    once = natural_id("session-started", "s", "1")
    for server in (events, other, events):
        server.emit(ANN, SessionStarted(session_id="s"), event_id=once)
    await events.stop()
    await other.stop()
    await asyncio.gather(publish(redis), publish(redis))
    assert [event["id"] for event in await published(redis, "session-started")] == [once]


async def test_a_courier_that_died_before_it_acknowledged_publishes_nothing_twice(redis, events):
    events.emit(ANN, SessionStarted(session_id="s"))
    await events.stop()
    dying = Courier(redis, ORDER)
    dying._outbox.done = lambda _: asyncio.sleep(3_600)
    task = asyncio.create_task(dying.run())
    while not await published(redis, "session-started"):  # noqa: ASYNC110 - Redis sets no event
        await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert (await Outbox(redis).counts())["waiting"] == 1
    await publish(redis)
    assert len(await published(redis, "session-started")) == 1
    assert await Outbox(redis).counts() == {"waiting": 0, "bytes": 0, "dropped": 0}


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
    await RecordStream(redis, with_events=True).append([*packed, b"\x00 no record"])
    await publish(redis)
    (decision,) = await published(redis, "decisions")
    (outcome,) = await published(redis, "outcomes")
    assert decision["id"] == decision["data"]["decision_id"] == "d"
    assert decision["data"]["rules"] == [{"id": "a/b", "effect": "deny"}]
    assert "passwd" not in json.dumps(decision)
    assert (outcome["data"]["outcome"], outcome["data"]["duration_ms"], outcome["team"]) == ("ran", 12, "web")
    assert outcome["data"]["correlation_id"] == decision["data"]["correlation_id"]
    assert (await Outbox(redis).counts())["waiting"] == 0


async def test_without_events_records_leave_none(redis):
    await RecordStream(redis).append([b"record"])
    assert await Outbox(redis).counts() == {"waiting": 0, "bytes": 0, "dropped": 0}


async def test_bytes_of_what_another_courier_has_published_as_well_are_counted_once(redis):
    one, two = Outbox(redis), Outbox(redis)
    await one.append([b"x" * 10, b"x" * 20, b"x" * 30, b"x" * 40])
    taken = (await one.take())[:3]
    two.look_back(idle_ms=0)
    assert (await two.take())[:3] == taken
    await one.done([taken[1]])
    assert (await one.counts())["bytes"] == 80
    await two.done(taken)
    assert await two.counts() == {"waiting": 1, "bytes": 40, "dropped": 0}
    await one.done(taken)
    assert await one.counts() == {"waiting": 1, "bytes": 40, "dropped": 0}


async def test_a_full_outbox_refuses_the_newest_and_counts_them(redis, monkeypatch):
    small = outbox.Script.read(outbox._FOLDER / "outbox.lua", MOST_ENTRIES=3, MOST_BYTES=100)
    monkeypatch.setattr(outbox, "_APPEND", outbox.Script.read(outbox._FOLDER / "outbox_append.lua", after=small))
    box = Outbox(redis)
    assert await box.append([b"1" * 10, b"2" * 200, b"3" * 10, b"4", b"5"]) == 2
    assert await box.counts() == {"waiting": 3, "bytes": 21, "dropped": 2}
    taken = await box.take()
    assert [entry.fields[b"e"][:1] for entry in taken] == [b"1", b"3", b"4"]
    await box.done(taken[:1])
    assert await box.counts() == {"waiting": 2, "bytes": 11, "dropped": 2}


@pytest.mark.parametrize(
    ("bounds", "left"),
    [
        (Bounds(entries=3, bytes=1 << 20, age_s=3_600), 3),
        (Bounds(entries=1_000, bytes=45, age_s=3_600), 4),
        (WIDE, 120),
    ],
)
async def test_a_stream_stays_within_its_bounds_and_numbers_show_what_left(redis, bounds, left):
    writer = Bus(redis, bounds)
    for n in range(120):
        one = Publication(topic="jobs", id=str(n), user="", team="", event=b"x" * 10)
        assert await writer.publish([one]) == [n + 1]
    found = (await bus.counts(redis))["jobs"]
    assert found.get("removed", 0) == 120 - left
    assert (found["entries"], found["bytes"], found["number"]) == (left, left * 10, 120)
    entries = await redis.call(b"XRANGE", bus.stream_of("jobs"), b"-", b"+")
    assert [int(fields[1]) for _, fields in entries] == list(range(121 - left, 121))


async def test_what_is_too_old_leaves_a_quiet_topic(redis):
    await Bus(redis, WIDE).publish([Publication(topic="jobs", id="1", user="", team="", event=b"x")])
    await asyncio.sleep(0.01)
    await Bus(redis, Bounds(entries=10, bytes=100, age_s=0)).trim()
    assert (await bus.counts(redis))["jobs"] == {"number": 1, "entries": 0, "bytes": 0, "removed": 1}
