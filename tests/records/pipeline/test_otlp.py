"""Spans and log events at an OTLP receiver: names, traces, and the case without a receiver."""

import asyncio
import gzip
import threading
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import msgspec
import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from baton.kernel.base import trace
from baton.records.pipeline import otlp, telemetry
from baton.records.pipeline.otlp import Otlp
from baton.records.pipeline.telemetry import JOBS_KEY, EndedAttempt, JobTraces, Telemetry, TelemetryOrder
from baton.rules.call.verdict import RuleHit
from tests.delegate.jobs.test_api import tell
from tests.support.cases import every
from tests.support.http_calls import ok
from tests.support.records import record, until
from tests.support.server import serving
from tests.support.server import until as until_now

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SECRET = "ghp_" + "a1B2" * 9


class Receiver:
    """An OTLP endpoint over HTTP that keeps what it gets."""

    def __init__(self):
        self.spans, self.logs, self.headers, self.resources = [], [], [], []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                body = gzip.decompress(body) if self.headers["content-encoding"] == "gzip" else body
                receiver.headers.append(dict(self.headers))
                if self.path == "/v1/traces":
                    for one in ExportTraceServiceRequest.FromString(body).resource_spans:
                        receiver.resources.append(plain(one.resource.attributes))
                        receiver.spans += [span for scope in one.scope_spans for span in scope.spans]
                elif self.path == "/v1/logs":
                    for one in ExportLogsServiceRequest.FromString(body).resource_logs:
                        receiver.logs += [log for scope in one.scope_logs for log in scope.log_records]
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def receiver():
    one = Receiver()
    yield one
    one.close()


def plain(attributes):
    def value(one):
        kind = one.WhichOneof("value")
        return [value(each) for each in one.array_value.values] if kind == "array_value" else getattr(one, kind)

    return {one.key: value(one.value) for one in attributes}


def decision(**fields):
    given = {
        "at": NOON, "tool": "Bash", "tool_use_id": "toolu_1", "session_id": "s", "effect": "deny", "decision": "block",
        "rules": (RuleHit("a/b", "deny"),), "elapsed_us": 1_500, "agent_id": "a1", "agent_type": "Explore",
    }  # fmt: skip
    return record(**given | fields)


def job(**fields):
    given = {
        "id": "job_1", "attempt": 2, "organisation": "default", "team": "t", "user": "ann", "session_id": "s",
        "project": "shop", "provider": "claude_code", "agent_type": "reviewer", "model": "opus", "state": "failed",
        "error_code": "timeout", "began_at": NOON, "ended_at": NOON + timedelta(seconds=3), "input_tokens": 7,
        "output_tokens": 8,
    }  # fmt: skip
    return EndedAttempt(**given | fields)


def sent(receiver, *traced):
    assert Otlp(TelemetryOrder(endpoint=f"{receiver.url}/", headers={"x-key": "k"}))(traced)
    return [(span, plain(span.attributes)) for span in receiver.spans]


def test_a_decision_has_a_span_and_a_log_event_with_the_names_of_the_conventions(receiver):
    one = decision()
    ((span, attributes),) = sent(receiver, one)
    assert span.name == "execute_tool Bash"
    expected = {
        "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "Bash", "gen_ai.tool.call.id": "toolu_1",
        "gen_ai.conversation.id": "s", "gen_ai.agent.id": "a1", "gen_ai.agent.name": "Explore", "user.name": "ann",
        "baton.decision.id": one.id, "baton.effect": "deny", "baton.decision": "block", "baton.rules": ["a/b"],
        "baton.mode": "off",
    }  # fmt: skip
    assert expected.items() <= attributes.items()
    assert span.end_time_unix_nano - span.start_time_unix_nano == 1_500_000
    assert span.end_time_unix_nano == int(NOON.timestamp()) * 10**9
    (log,) = receiver.logs
    assert (log.event_name, log.severity_text, log.trace_id, log.span_id) == (
        "baton.decision", "WARN", span.trace_id, span.span_id,
    )  # fmt: skip
    assert plain(log.attributes) == attributes
    assert receiver.resources[0]["service.name"] == "baton"
    assert all(headers["x-key"] == "k" for headers in receiver.headers)


def test_a_route_and_a_job_have_spans_too(receiver):
    route = record(
        event="UserPromptSubmit", routed_to="fixer", routed_by="scorer", confidence=0.5, prompt="secret plan"
    )
    (of_route, of_job) = sent(receiver, route, job())
    assert of_route[0].name == "baton.route"
    assert {
        "gen_ai.agent.name": "fixer",
        "baton.route.tier": "scorer",
        "baton.route.confidence": 0.5,
    }.items() <= of_route[1].items()
    assert "secret plan" not in str(receiver.spans) + str(receiver.logs)
    span, attributes = of_job
    assert (span.name, span.status.code) == ("invoke_agent reviewer", 2)
    assert span.end_time_unix_nano - span.start_time_unix_nano == 3 * 10**9
    expected = {
        "gen_ai.operation.name": "invoke_agent", "gen_ai.provider.name": "anthropic", "gen_ai.request.model": "opus",
        "gen_ai.usage.input_tokens": 7, "gen_ai.usage.output_tokens": 8, "error.type": "timeout",
        "baton.job.id": "job_1", "baton.job.attempt": 2,
    }  # fmt: skip
    assert expected.items() <= attributes.items()
    assert [log.event_name for log in receiver.logs] == ["baton.route", "baton.job"]


def test_a_span_belongs_to_the_trace_of_its_client_or_of_its_session(receiver):
    within = decision(traceparent=f"00-{TRACE}-{PARENT}-01")
    unsampled = decision(traceparent=f"00-{TRACE}-{PARENT}-00")
    one, two, other = decision(), decision(), decision(session_id="other")
    spans = [span for span, _ in sent(receiver, within, unsampled, one, two, other, one)]
    assert len(spans) == 5
    assert (spans[0].trace_id.hex(), spans[0].parent_span_id.hex()) == (TRACE, PARENT)
    assert spans[1].trace_id == spans[2].trace_id != spans[3].trace_id
    assert spans[1].parent_span_id == b""
    assert len({span.span_id for span in spans[:4]}) == 4
    assert spans[1].span_id == spans[4].span_id, "sent twice, it is the same span"


def test_an_unsampled_decision_is_not_sent(receiver):
    assert Otlp(TelemetryOrder(endpoint=receiver.url))([decision(traceparent=f"00-{TRACE}-{PARENT}-00")])
    assert receiver.headers == []


def test_a_collector_that_is_away_is_an_answer_and_not_an_error(receiver, monkeypatch):
    monkeypatch.setattr(otlp, "TIMEOUT_S", 0.2)
    url = receiver.url
    receiver._server.server_close()
    assert Otlp(TelemetryOrder(endpoint=url))([decision()]) is False


@every(
    ("text", "parts"),
    [(f"00-{TRACE}-{PARENT}-01", (int(TRACE, 16), int(PARENT, 16), True)),
     (f"00-{TRACE}-{PARENT}-00", (int(TRACE, 16), int(PARENT, 16), False)),
     (f"00-{TRACE}-{PARENT}-03", (int(TRACE, 16), int(PARENT, 16), True)),
     ("", None), (f"01-{TRACE}-{PARENT}-01", None), (f"00-{TRACE}-{'0' * 16}-01", None)],
)  # fmt: skip
def test_a_traceparent_is_read(text, parts):
    assert trace.parts(text) == parts
    if parts:
        assert trace.parts(trace.traceparent_of(parts[0], parts[1], sampled=parts[2])) == parts


async def test_what_no_collector_takes_is_dropped_and_counted(redis, monkeypatch):
    monkeypatch.setattr(telemetry, "LOOK_S", 0.01)
    monkeypatch.setattr(telemetry, "LONGEST_PAUSE_S", 0.02)
    await redis.call(b"DEL", telemetry.COUNTS_KEY, JOBS_KEY)
    taken, answers = [], iter([False])

    def export(batch):
        if next(answers, True):
            taken.append(batch)
            return True
        return False

    one = Telemetry(redis, export)
    one.export([decision(), record(event="SessionStart")])
    assert len(one._queue) == 1
    running = asyncio.create_task(one.run())
    await until(lambda: one.dropped == 1)
    JobTraces(redis, is_on=True).ended(job())
    JobTraces(redis, is_on=False).ended(job())
    await redis.call(b"RPUSH", JOBS_KEY, b"\xc1")
    one.export([decision()])
    await until(lambda: one.sent == 2)
    one.finish()
    await running
    assert sorted(type(each).__name__ for batch in taken for each in batch) == ["EndedAttempt", "Record"]
    assert await telemetry.TelemetryStats(redis).read() == {"sent": 2, "dropped": 1}


async def test_queues_are_bounded(redis, monkeypatch):
    monkeypatch.setattr(telemetry, "MOST_QUEUED", 3)
    monkeypatch.setattr(telemetry, "MOST_JOBS", 2)
    one = Telemetry(redis, lambda _: True)
    one.export([decision()] * 5)
    assert (len(one._queue), one.dropped) == (3, 2)
    for _ in range(5):
        JobTraces(redis, is_on=True).ended(job())
    assert await redis.call(b"LLEN", JOBS_KEY) == 2
    await redis.call(b"DEL", JOBS_KEY)


@pytest.mark.slow
def test_a_server_sends_what_it_decides_with_secrets_masked(receiver, tmp_path):
    with serving(
        tmp_path / "home", BATON_OTEL_ENDPOINT=receiver.url, BATON_OTEL_HEADERS="x-key=k1, x-other=k2"
    ) as server:
        call = {
            "session_id": SECRET,
            "tool_name": "Bash",
            "tool_input": {"command": f"echo {SECRET}"},
            "tool_use_id": "t1",
        }
        with server.client(**{"Baton-User": "dora"}) as http:
            sampled = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
            ok(http.post("/pre-tool-use", json=call, headers=sampled))
            until_now(lambda: receiver.spans and receiver.logs)
            asked = {"session_id": "s", "user_prompt": "git status"}
            ok(http.post("/delegate", json=asked, headers=sampled), 202)
            poll = {"boot_id": "b", "slots": 1, "wait_s": 0, "providers": ["codex", "claude_code"], "workspaces": ["w"]}
            (lease,) = until_now(lambda: http.post("/runners/r/poll", json=poll).json()["jobs"])
            assert lease["traceparent"].startswith(f"00-{TRACE}-")
            claim = {"attempt": lease["attempt"], "token": lease["token"]}
            ok(tell(http, lease["job"], claim, state="completed"))
            spans = until_now(lambda: len(receiver.spans) == 2 and receiver.spans)
        assert receiver.headers[0]["x-key"] == "k1"
        assert receiver.headers[0]["x-other"] == "k2"
        assert SECRET not in str(receiver.spans) + str(receiver.logs)
        assert {span.trace_id.hex() for span in spans} == {TRACE}
        assert spans[1].span_id.hex() in lease["traceparent"], "the agent's own calls stand under the job"
        with server.client() as admin:
            until_now(lambda: 'baton_telemetry_total{result="sent"} 2.0' in admin.get("/metrics").text)
    assert "x-key" not in server.log.read_text()


def test_a_job_s_record_has_all_that_a_span_tells():
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(job()), type=EndedAttempt) == job()
