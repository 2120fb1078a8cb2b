"""The sinks: a file, webhooks and Kafka get every event at least once; a hanging or failing one delays no other."""

import asyncio
import base64
import contextlib
import hashlib
import hmac
import json
import os
import stat
from urllib.parse import parse_qsl, urlsplit

import msgspec
import pytest

from baton.events.log import STORED, Emission, Log
from baton.events.sinks.clickhouse import ClickHouseSink
from baton.events.sinks.runner import SinkCounts, SinkEvent, SinkFailed, SinkRunner, sink_counts
from baton.events.sinks.sinks import KEPT, FileSink, Sinks, SinksOrder
from baton.events.sinks.webhook import Webhook, WebhookSink, signed
from tests.support.cases import every
from tests.support.records import until


def event(n):
    return json.dumps({"id": f"e{n}", "subject": "s", "data": {}}).encode()


async def publish(redis, *numbers, topic="jobs", stored=True):
    log = Log(redis)
    emissions = [Emission(topic, f"e{n}", 0, "default", "web", "ann", b"{}") for n in numbers]
    await log.append([msgspec.msgpack.encode(one) for one in emissions])
    if stored:
        await store(log)


async def store(log):
    while entries := await log.take():
        await log.done(entries)


class Memory:
    """A sink that keeps what it gets; `broken` says how often it fails first."""

    name = "memory"
    attempts = 3

    def __init__(self, broken=0, hangs=False):
        self.broken, self.hangs, self.got, self.closed = broken, hangs, [], False

    async def send(self, events):
        if self.hangs:
            await asyncio.sleep(3_600)
        if self.broken:
            self.broken -= 1
            raise SinkFailed("it is broken")
        self.got += [int(json.loads(one.event)["id"][1:]) for one in events]

    async def close(self):
        self.closed = True


@pytest.fixture(autouse=True)
def _hasty(monkeypatch):
    monkeypatch.setattr("baton.events.sinks.runner.FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr("baton.events.sinks.runner.WAIT_S", 0.02)


@contextlib.asynccontextmanager
async def running(redis, sink, topics=("jobs",), owner="one", **more):
    names = {topic: f"baton.{topic}.v1" for topic in topics}
    runner = SinkRunner(redis, sink, names, asyncio.Event(), owner=owner, **more)
    task = asyncio.create_task(runner.run())
    try:
        yield runner
    finally:
        runner.finish()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def counts_of(redis, name):
    return (await sink_counts(redis, [name]))[name]


async def counted(redis, field, number):
    """Wait until the sink `memory` has counted so many, and return its counts."""
    async with asyncio.timeout(60):
        while getattr(found := await counts_of(redis, "memory"), field) != number:  # noqa: ASYNC110 - as above
            await asyncio.sleep(0.01)
    return found


async def test_a_sink_gets_every_event_of_its_topics_in_order(redis):
    await publish(redis, *range(50))
    await publish(redis, 99, topic="modes")
    sink = Memory()
    async with running(redis, sink):
        await until(lambda: len(sink.got) == 50)
        await publish(redis, 50)
        await until(lambda: len(sink.got) == 51)
    assert sink.got == list(range(51))
    assert sink.closed


async def test_a_sink_that_fails_gets_the_same_events_again(redis):
    await publish(redis, 1, 2)
    sink = Memory(broken=2)
    async with running(redis, sink):
        await until(lambda: sink.got)
        await until(lambda: sink.got == [1, 2])
        found = await counted(redis, "sent", 2)
    assert (found.failures, found.given_up, found.error) == (2, 0, "it is broken")


async def test_what_a_sink_never_takes_is_given_up_and_counted(redis):
    await publish(redis, 1)
    sink = Memory(broken=3)
    async with running(redis, sink):
        found = await counted(redis, "given_up", 1)
        await publish(redis, 2)
        await until(lambda: sink.got == [2])
    assert found.failures == 3


async def test_what_a_killed_sink_had_not_sent_comes_again(redis):
    await publish(redis, 1)
    async with running(redis, Memory(hangs=True)):
        await asyncio.sleep(0.2)
    sink = Memory()
    async with running(redis, sink):
        await until(lambda: sink.got == [1])


async def test_what_was_trimmed_before_a_sink_read_it_is_counted_as_a_gap(redis):
    await publish(redis, 1)
    sink = Memory()
    async with running(redis, sink):
        await counted(redis, "sent", 1)
    await publish(redis, *range(2, 12))
    await Log(redis).trim(3, 3_600)
    async with running(redis, sink):
        found = await counted(redis, "sent", 4)
    assert (found.gaps, sink.got) == (1, [1, 9, 10, 11])


async def test_no_event_comes_before_what_precedes_it_is_stored(redis):
    await publish(redis, 1)
    await publish(redis, 2, 3, stored=False)
    sink = Memory()
    async with running(redis, sink):
        await counted(redis, "sent", 1)
        await asyncio.sleep(0.1)
        assert sink.got == [1]
        await store(Log(redis))
        await until(lambda: sink.got == [1, 2, 3])


async def test_what_was_stored_from_the_spool_comes_too(redis):
    await Log(redis).append([msgspec.msgpack.encode(Emission("jobs", "e7", 0, "default", "", "ann", b"{}"))], STORED)
    sink = Memory()
    async with running(redis, sink):
        await store(Log(redis))
        await until(lambda: sink.got == [7])


async def test_a_sink_is_fed_by_one_drain_at_a_time_and_by_another_one_afterwards(redis):
    one, two = Memory(), Memory()
    async with running(redis, two, owner="two"):
        async with running(redis, one):
            await publish(redis, *range(50))
            await until(lambda: len(one.got) + len(two.got) == 50)
            await asyncio.sleep(0.1)
        await publish(redis, *range(50, 60))
        await until(lambda: len(one.got) + len(two.got) == 60)
    assert sorted(one.got + two.got) == list(range(60))


@pytest.mark.parametrize(("later_ms", "expected"), [(0, [2, 3]), (3_600_000, [3])])
async def test_a_new_webhook_begins_with_the_first_event_after_its_registration(redis, later_ms, expected):
    await publish(redis, 1)
    at_ms, number = await Log(redis).newest()
    await publish(redis, 2)
    sink = Memory()
    async with running(redis, sink, since=(at_ms + later_ms, number)):
        while not await redis.call(b"HEXISTS", b"{baton}:events:sinks:memory", b"cursor"):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        await publish(redis, 3)
        await until(lambda: sink.got == expected)
    assert (await counts_of(redis, "memory")).gaps == 0


async def test_a_removed_sink_leaves_nothing(redis):
    await publish(redis, 1)
    sink = Memory()
    async with running(redis, sink) as runner:
        await counted(redis, "sent", 1)
    await runner.forget()
    assert await redis.call(b"KEYS", b"{baton}:events:*memory*") == []
    assert await counts_of(redis, "memory") == SinkCounts()


def lines(*numbers):
    return [SinkEvent("jobs", event(n)) for n in numbers]


async def test_a_file_is_appended_to_and_rotated(tmp_path):
    path = tmp_path / "new" / "events.ndjson"
    sink = FileSink(path, most_bytes=3 * (len(event(10)) + 1))
    for n in range(10, 40):
        await sink.send(lines(n))
    files = [path, *(path.with_name(f"{path.name}.{n}") for n in range(1, KEPT + 1))]
    assert sorted(path.parent.iterdir()) == sorted(files)
    kept = [line for file in reversed(files) for line in file.read_bytes().splitlines()]
    assert kept == [event(n) for n in range(22, 40)]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_a_file_that_cannot_be_written_is_a_failure_that_says_why(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SinkFailed, match="file"):
        await FileSink(tmp_path / "file" / "below", 100).send(lines(1))


async def test_a_file_that_hangs_holds_up_neither_the_loop_nor_the_others(redis, tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)  # opening it waits until somebody reads
    await publish(redis, 1)
    sink = Memory()
    async with running(redis, FileSink(fifo, 1 << 20)), running(redis, sink):
        await until(lambda: sink.got == [1])
    os.close(os.open(fifo, os.O_RDONLY | os.O_NONBLOCK))  # lets the thread go


class Receiver:
    """An HTTP server that keeps requests and answers with the statuses it is given, 200 behind the last."""

    def __init__(self, *statuses, hangs=False):
        self.statuses, self.hangs, self.requests, self._serving = list(statuses), hangs, [], set()

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/in?x=1"
        return self

    async def __aexit__(self, *_):
        self._server.close()
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    async def _serve(self, reader, writer):
        self._serving.add(asyncio.current_task())
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                headers = dict(line.lower().split(": ", 1) for line in head.splitlines()[1:] if line)
                exact = dict(line.split(": ", 1) for line in head.splitlines()[1:] if line)
                body = await reader.readexactly(int(headers["content-length"]))
                self.requests.append((head.splitlines()[0], {k.lower(): v for k, v in exact.items()}, body))
                if self.hangs:
                    await asyncio.sleep(3_600)
                status = self.statuses.pop(0) if self.statuses else 200
                writer.write(
                    f"HTTP/1.1 {status} X\r\nlocation: http://127.0.0.1:{self.port}/\r\ncontent-length: 0\r\n\r\n".encode()
                )
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


SECRET = "whsec_" + base64.b64encode(b"k" * 32).decode()


def webhook(url):
    return Webhook(id="w", url=url, topics=("jobs",), secret=SECRET)


async def test_a_webhook_is_posted_with_a_signature_that_its_receiver_can_check():
    async with Receiver() as receiver:
        sink = WebhookSink(webhook(receiver.url), ["127.0.0.1"])
        await sink.send(lines(7))
        await sink.close()
    ((request, headers, body),) = receiver.requests
    assert request == "POST /in?x=1 HTTP/1.1"
    assert body == event(7)
    assert headers["webhook-id"] == "e7"
    assert headers["content-type"] == "application/cloudevents+json"
    told = f"e7.{headers['webhook-timestamp']}.".encode() + body
    expected = base64.b64encode(hmac.new(b"k" * 32, told, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"


MESSAGES = [
    (
        {
            "user": "ann",
            "data": {"question_id": "apr_1", "state": "opened", "tool_name": "Bash", "approvers": "self lead"},
        },
        "ann's agent waits for an answer: Bash (for self or lead) <https://baton.corp/ui/waiting/apr_1|Open>",
    ),
    (
        {
            "user": "ann",
            "data": {
                "question_id": "perm_1",
                "state": "answered",
                "answer": "deny",
                "answered_by": "lea",
                "project": "<@U1>",
            },
        },
        "lea denied what ann's agent asked: perm_1 in &lt;@U1&gt; <https://baton.corp/ui/waiting/perm_1|Open>",
    ),
    (
        {"user": "ann", "data": {"question_id": "apr_2", "state": "expired", "tool_name": "Bash", "project": "shop"}},
        "Nobody answered ann's agent in time: Bash in shop <https://baton.corp/ui/waiting/apr_2|Open>",
    ),
    (
        {"user": "ann", "data": {"event_type": "jobs", "project": "<!channel> & <https://x|y>", "state": "done"}},
        "ann: jobs (project &lt;!channel&gt; &amp; &lt;https://x|y&gt;, state done)",
    ),
    (
        {"user": "ann", "data": {"event_type": "questions", "question_id": "exc_1", "tool_name": "Bash"}},
        "ann asks for an exception: Bash <https://baton.corp/ui/modes?tab=exceptions|Open>",
    ),
    ({"type": "baton.modes.v1", "data": {}}, ": baton.modes.v1"),
]


@every(("event", "text"), MESSAGES)
async def test_slack_gets_a_text_with_a_link_and_nothing_in_it_is_a_mention(event, text):
    async with Receiver() as receiver:
        to = msgspec.structs.replace(webhook(receiver.url), format="slack", console="https://baton.corp")
        sink = WebhookSink(to, ["127.0.0.1"])
        await sink.send([SinkEvent("questions", json.dumps({"id": "e7"} | event).encode())])
        await sink.close()
    ((_, headers, body),) = receiver.requests
    assert (json.loads(body), headers["content-type"]) == ({"text": text}, "application/json")


def test_the_signature_is_that_of_the_specification_s_example():
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    headers = signed(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@every("status", [301, 400, 404, 500])
async def test_a_webhook_that_is_not_taken_is_sent_again_and_what_was_taken_is_not(status):
    async with Receiver(200, status) as receiver:
        sink = WebhookSink(webhook(receiver.url), [f"127.0.0.1:{receiver.port}"])
        with pytest.raises(SinkFailed, match=str(status)):
            await sink.send(lines(1, 2))
        await sink.send(lines(1, 2))
        await sink.close()
    assert [headers["webhook-id"] for _, headers, _ in receiver.requests] == ["e1", "e2", "e2"]


async def test_a_receiver_that_hangs_holds_up_nobody_else(redis):
    await publish(redis, 1)
    other = Memory()
    async with Receiver(hangs=True) as receiver, running(redis, other):
        hanging = WebhookSink(webhook(receiver.url), ["127.0.0.1"])
        async with running(redis, hanging):
            await until(lambda: receiver.requests and other.got)
    assert other.got == [1]


async def test_clickhouse_gets_a_page_as_one_insert_and_again_until_it_is_taken(redis):
    await publish(redis, *range(50))
    async with Receiver(500) as receiver:
        url = f"clickhouse://ann:p%40ss@127.0.0.1:{receiver.port}/db/events"
        sinks = Sinks(redis, SinksOrder(owner="one", prefix="baton", kafka_url=url))
        task = asyncio.create_task(sinks.run())
        async with asyncio.timeout(60):
            while not (found := await counts_of(redis, "clickhouse")).sent:  # noqa: ASYNC110 - as above
                await asyncio.sleep(0.01)
        sinks.finish()
        await task
    (request, headers, body), again = receiver.requests
    method, target, _ = request.split(" ")
    options = dict(parse_qsl(urlsplit(target).query))
    assert (method, options["query"]) == ("POST", "INSERT INTO `db`.`events` FORMAT JSONEachRow")
    assert options["date_time_input_format"] == "best_effort"
    assert base64.b64decode(headers["authorization"].removeprefix("Basic ")) == b"ann:p@ss"
    assert [json.loads(line)["id"] for line in body.split(b"\n")] == [f"e{n}" for n in range(50)]
    assert again[2] == body  # the same rows: ReplacingMergeTree keeps one of each
    assert (found.sent, found.failures, found.given_up) == (50, 1, 0)
    assert found.error == "ClickHouse answered 500, exception code unknown"


@every(
    "url",
    [
        "clickhouse://a:1",
        "clickhouse://a/db",
        "clickhouse:///db/t",
        "clickhouse://a/db/t`x",
        "clickhouse+x://a/d/t",
        "clickhouse://a:se/cret@h/d/t",
    ],
)
def test_a_clickhouse_url_without_host_database_or_table_is_refused(url):
    with pytest.raises(ValueError, match=r"BATON_KAFKA_URL must be `clickhouse://\[user:password@\]host"):
        ClickHouseSink(url)


async def test_an_internal_address_is_not_sent_to():
    async with Receiver() as receiver:
        sink = WebhookSink(webhook(receiver.url), [])
        with pytest.raises(SinkFailed, match="internal address"):
            await sink.send(lines(1))
        await sink.close()
    assert receiver.requests == []
