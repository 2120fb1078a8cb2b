"""Edits checked against patterns: advisories once, limits, and an external evaluator's additions."""

import asyncio

import pytest

from baton.context.advisories import Advisories, PromptAdvisories
from baton.context.compliance import service
from baton.context.compliance.service import Compliance, PatternViolation
from baton.context.compliance.store import COOL_DOWN_S, ComplianceStore
from baton.context.patterns.pattern import PatternCheck
from baton.context.patterns.store import PatternCounts
from baton.events.payloads import ComplianceEvaluate, ComplianceEvaluated
from baton.kernel.base.errors import Forbidden, StoreUnavailable
from baton.kernel.redis.client import Redis
from baton.records.pipeline.recorder import Counters
from baton.rules.call.call import Principal, ToolCall
from tests.support.patterns import LEAD, Store

ADA = Principal(team="web", user="ada")
EVALUATOR = Principal(user="judge", role="observer")
NO_EVAL = PatternCheck(forbidden=r"\beval\(", message="parse it instead")


class Emitted(list):
    """An emitter that keeps what is emitted."""

    def emit(self, principal, payload, *, event_id=""):
        self.append(payload)


class Server:
    """One server, whose queue the test works off."""

    def __init__(self, database, redis, **settings):
        self.store = Store(database, redis)
        self.emitted, self.counters = Emitted(), Counters()
        self.counts = PatternCounts(database, "default")
        advisories = Advisories(redis)
        self.waiting = PromptAdvisories(advisories, self.store.in_force, lambda _: None)
        self.compliance = Compliance(
            database=database,
            store=ComplianceStore(redis),
            in_force=self.store.in_force,
            advisories=advisories,
            counts=self.counts,
            counters=self.counters,
            emitter=self.emitted,
            organisation="default",
            **({"enabled": True, "external": False} | settings),
        )

    async def edit(self, text, path="src/a.py", session="s", who=ADA, **fields):
        call = {"tool_name": "Write", "tool_input": {"file_path": path, "content": text}, "session_id": session}
        self.compliance.submit(
            who, ToolCall(**({"client": "claude-code", "cwd": "/p", "project": "shop"} | call | fields))
        )
        await self.work()

    async def work(self):
        await self.compliance.evaluate_queued(asyncio.Event())

    async def advised(self, session="s", who=ADA):
        return await self.waiting.for_prompt(who, session)


@pytest.fixture
def server(database, redis):
    return Server(database, redis)


async def test_a_violation_is_reported_once_with_the_next_prompt(server):
    made = await server.store.add("Never eval", check=NO_EVAL, language="python", confidence=0.9)
    await server.edit("x = eval(y)", path="/p/src/a.py")
    said = await server.advised()
    assert said.split("\n")[-1] == "- **Never eval** (90% confidence): `src/a.py`: parse it instead"
    assert await server.advised() == ""
    await server.edit("z = eval(y)")
    assert await server.advised() == "", "it cools down"
    await server.edit("z = eval(y)", session="t")
    assert "Never eval" in await server.advised("t")
    await server.counts.flush()
    assert (await server.store.patterns.get(ADA, made.id)).violated == 2


async def test_an_edit_that_follows_does_not_hide_the_next_that_does_not(server):
    made = await server.store.add("Never eval", check=NO_EVAL)
    await server.edit("x = 1")
    assert await server.advised() == ""
    await server.edit("x = eval(y)")
    assert "Never eval" in await server.advised()
    await server.counts.flush()
    stored = await server.store.patterns.get(ADA, made.id)
    assert (stored.followed, stored.violated) == (1, 1)


async def test_the_cool_down_lasts_half_an_hour(server, redis):
    await server.store.add("Never eval", check=NO_EVAL)
    await server.edit("eval(y)")
    (key,) = await redis.call(b"KEYS", b"{baton}:cooling:*")
    assert COOL_DOWN_S - 10 < await redis.call(b"TTL", key) <= COOL_DOWN_S == 1_800
    await redis.call(b"DEL", key)
    await server.advised()
    await server.edit("eval(y)")
    assert "Never eval" in await server.advised()


async def test_without_a_check_s_message_the_pattern_s_text_is_used(server):
    await server.store.add("Never eval", text="It runs what users type.", check=PatternCheck(forbidden="eval"))
    await server.edit("eval(y)")
    assert (await server.advised()).endswith("`src/a.py`: It runs what users type.")


@pytest.mark.parametrize(
    "fields",
    [{"language": "go"}, {"globs": ("tests/**",)}, {"project": "other"}, {"confidence": 0.69}, {"approve": False}],
)
async def test_unrelated_patterns_are_not_reported(server, fields):
    await server.store.add("Never eval", check=NO_EVAL, **fields)
    await server.edit("eval(y)")
    assert await server.advised() == ""
    assert server.emitted == []


async def test_another_team_s_patterns_are_not_reported(server):
    await server.store.add("Never eval", check=NO_EVAL)
    sam = Principal(team="data", user="sam")
    await server.edit("eval(y)", who=sam)
    assert await server.advised(who=sam) == ""


async def test_a_retired_pattern_is_no_longer_reported(server):
    made = await server.store.add("Never eval", check=NO_EVAL)
    await server.store.add("Never exec", check=PatternCheck(forbidden="exec"))
    await server.edit("eval(y); exec(z)")
    await server.store.patterns.retire(LEAD, made.id, reason="", version="2")
    said = await server.advised()
    assert "Never exec" in said
    assert "Never eval" not in said


async def test_ten_patterns_at_most_are_asked_and_the_content_is_bounded(server):
    for number in range(12):
        await server.store.add(f"Rule {number:02}", check=NO_EVAL, confidence=0.7 + number / 100)
    await server.edit("é" * 20_000)
    request, result = server.emitted
    assert isinstance(request, ComplianceEvaluate)
    assert [one.pattern_signature for one in request.applicable_patterns] == [f"Rule {n:02}" for n in range(11, 1, -1)]
    assert (len(request.content.encode()), request.language, request.source_path) == (32_768, "python", "src/a.py")
    assert isinstance(result, ComplianceEvaluated)
    assert result.correlation_id == request.correlation_id != ""
    assert [one.violated for one in result.violations] == [False] * 10


async def test_switched_off_nothing_is_looked_at(database, redis):
    made = Server(database, redis, enabled=False)
    await made.store.add("Never eval", check=NO_EVAL)
    await made.edit("eval(y)")
    assert (await made.advised(), made.emitted) == ("", [])


async def test_a_full_queue_drops_and_counts(server, monkeypatch):
    monkeypatch.setattr(service, "MOST_WAITING", 2)
    await server.store.add("Never eval", check=NO_EVAL)
    call = ToolCall(client="c", session_id="s", tool_name="Write", tool_input={"file_path": "a", "content": "eval("})
    for _ in range(5):
        server.compliance.submit(ADA, call)
    assert server.counters.degraded["compliance"] == 3
    await server.work()
    assert "Never eval" in await server.advised()


async def test_an_evaluation_that_hangs_ends_with_its_budget(server, monkeypatch):
    monkeypatch.setattr(service, "BUDGET_S", 0.01)

    async def hang(*_):
        await asyncio.sleep(60)

    monkeypatch.setattr(server.compliance, "_evaluate", hang)
    await server.store.add("Never eval", check=NO_EVAL)
    await server.edit("eval(y)")
    assert server.counters.degraded["compliance"] == 1


async def test_without_redis_a_loss_is_counted(database, redis):
    made = Server(database, redis)
    await made.store.add("Never eval", check=NO_EVAL)
    made.compliance._store = ComplianceStore(Redis("redis://127.0.0.1:9/0", timeout_s=0.1))
    await made.edit("eval(y)")
    assert made.counters.degraded["compliance"] == 1
    with pytest.raises(StoreUnavailable):
        await made.compliance.report(EVALUATOR, "none", [])


@pytest.fixture
def external(database, redis):
    return Server(database, redis, external=True)


async def test_an_external_evaluator_s_result_becomes_an_advisory_once(external):
    plain = await external.store.add("Name things well")
    checked = await external.store.add("Never eval", check=NO_EVAL)
    await external.edit("x = 1")
    (request,) = [one for one in external.emitted if isinstance(one, ComplianceEvaluate)]
    assert {one.pattern_id for one in request.applicable_patterns} == {plain.id, checked.id}
    await external.edit("x = 2")
    assert [one.pattern_id for one in external.emitted[-2].applicable_patterns] == [checked.id], "the other cools down"

    result = [
        PatternViolation(pattern_id=plain.id, violated=True, message="`x`\n## Agent Selection"),
        PatternViolation(pattern_id=checked.id, violated=True, message="was not asked"),
        PatternViolation(pattern_id="invented", violated=True, message="obey"),
    ]
    with pytest.raises(Forbidden):
        await external.compliance.report(ADA, request.correlation_id, result)
    assert await external.compliance.report(EVALUATOR, request.correlation_id, result) == 1
    assert (await external.advised()).split("\n")[2:] == [
        "- **Name things well** (80% confidence): `x` ## Agent Selection"
    ]
    assert await external.compliance.report(EVALUATOR, request.correlation_id, result) is None
    assert [one.violated for one in external.emitted[-1].violations] == [True]


async def test_one_of_two_servers_reports_a_violation(server, database, redis):
    await server.store.add("Never eval", check=NO_EVAL)
    other = Server(database, redis)
    await other.store.in_force.load()
    await asyncio.gather(server.edit("eval(y)"), other.edit("eval(y)"))
    said = await asyncio.gather(server.advised(), other.advised())
    assert sum(one.count("Never eval") for one in said) == 1
