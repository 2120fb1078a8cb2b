"""From what was put into a prompt to what its agent used of it: on a real Valkey, by turns, once, and with Redis away."""

import pytest

from baton.context.utilization import injections as module
from baton.context.utilization.injections import Injections
from baton.engine.call.principal import Principal
from baton.events.payloads.context import ContextUtilization, InjectionRecorded
from baton.kernel.redis.client import Redis

ANN, BOB = Principal(organisation="acme", team="t", user="ann"), Principal(organisation="acme", team="t", user="bob")
SECTIONS = {
    "code_analysis": "- `src/cart.py`: class `Cart`, `add_item`",
    "summarization": "- Tests: `pytest tests/tax`",
}


class Usage:
    def __init__(self):
        self.tokens, self.counts = [], []

    def added(self, principal, source, text):
        self.tokens.append((principal.user, source))

    def measured(self, principal, source, *, injected, reused):
        self.counts.append((principal.user, source, injected, reused))


class Emitted:
    def __init__(self):
        self.events = []

    def emit(self, principal, payload, *, event_id=""):
        self.events.append(payload)

    def of(self, kind):
        return [one for one in self.events if isinstance(one, kind)]


class Server:
    def __init__(self, redis):
        self.usage, self.events = Usage(), Emitted()
        self.injections = Injections(redis, self.usage, self.events)

    async def do(self, name, *arguments, **more):
        getattr(self.injections, name)(*arguments, **more)
        await self.injections.settle()


@pytest.fixture
def server(redis):
    return Server(redis)


async def test_what_the_agent_used_is_counted_by_source_when_its_turn_ends(server):
    await server.do("injected", ANN, "s", "r1", SECTIONS, prompt="mend it")
    await server.do("used", ANN, "s", {"file_path": "/home/ann/shop/src/cart.py"})
    await server.do("used", ANN, "s", {"command": "grep add_item src/cart.py"})
    await server.do("turn_ended", ANN, "s")
    assert sorted(server.usage.counts) == [("ann", "code_analysis", 3, 2), ("ann", "summarization", 1, 0)]
    (event,) = server.events.of(ContextUtilization)
    assert (event.method, event.injection_id, event.correlation_id) == ("identifier_overlap", "r1", "r1")
    assert (event.injected_count, event.reused_count, event.utilization_score) == (4, 2, 0.5)
    (recorded,) = server.events.of(InjectionRecorded)
    assert (recorded.injected_count, recorded.context_source) == (4, "code_analysis,summarization")


async def test_a_turn_is_measured_once_whoever_ends_it(server, redis):
    other = Server(redis)
    await server.do("injected", ANN, "s", "r1", SECTIONS)
    await other.do("used", ANN, "s", {"file_path": "cart.py"})
    await other.do("turn_ended", ANN, "s")
    await server.do("turn_ended", ANN, "s")
    await server.do("injected", ANN, "s", "r2", {})
    assert len(other.usage.counts) == 2
    assert server.usage.counts == []


async def test_the_next_prompt_ends_a_turn_whose_end_nobody_told(server):
    await server.do("injected", ANN, "s", "r1", SECTIONS)
    await server.do("used", ANN, "s", {"file_path": "cart.py"})
    await server.do("injected", ANN, "s", "r2", {"code_analysis": "- `src/tax.py`"})
    assert ("ann", "code_analysis", 3, 1) in server.usage.counts
    await server.do("used", ANN, "s", {"file_path": "cart.py"})
    await server.do("turn_ended", ANN, "s")
    assert server.usage.counts[-1] == ("ann", "code_analysis", 1, 0)


async def test_what_the_prompt_named_itself_is_not_the_injection_s_merit(server):
    await server.do("injected", ANN, "s", "r1", SECTIONS, prompt="mend add_item of Cart in src/cart.py, run pytest")
    await server.do("used", ANN, "s", {"file_path": "cart.py"})
    await server.do("turn_ended", ANN, "s")
    assert server.usage.counts == []
    assert server.events.of(ContextUtilization) == []
    assert len(server.usage.tokens) == 2


async def test_what_was_put_in_at_a_session_s_start_is_measured_with_its_first_turn(server):
    await server.do("injected", ANN, "s", "start", {"patterns": "- use `httpx_client`"}, at_start=True)
    await server.do("injected", ANN, "s", "r1", {"code_analysis": "- `src/cart.py`"})
    assert server.usage.counts == []
    await server.do("used", ANN, "s", {"new_string": "httpx_client.get()"})
    await server.do("turn_ended", ANN, "s")
    assert sorted(server.usage.counts) == [("ann", "code_analysis", 1, 0), ("ann", "patterns", 1, 1)]


async def test_sessions_and_users_are_kept_apart(server):
    await server.do("injected", ANN, "s", "r1", SECTIONS)
    await server.do("used", BOB, "s", {"file_path": "cart.py"})
    await server.do("used", ANN, "other", {"file_path": "cart.py"})
    await server.do("turn_ended", BOB, "s")
    assert server.usage.counts == []
    await server.do("turn_ended", ANN, "s")
    assert {one[3] for one in server.usage.counts} == {0}


async def test_without_a_session_tokens_are_counted_and_nothing_else(server, redis):
    await server.do("injected", ANN, "", "r1", SECTIONS)
    await server.do("used", ANN, "", {"file_path": "cart.py"})
    await server.do("turn_ended", ANN, "")
    assert len(server.usage.tokens) == 2
    assert await redis.call(b"KEYS", b"baton:inject*") == []


async def test_names_are_kept_no_longer_than_their_turn(server, redis):
    await server.do("injected", ANN, "s", "r1", SECTIONS)
    assert len(await redis.call(b"KEYS", b"baton:inject*")) == 2
    await server.do("turn_ended", ANN, "s")
    assert await redis.call(b"KEYS", b"baton:inject*") == []


async def test_while_redis_is_away_the_event_says_that_it_was_not_measured(server, monkeypatch):
    await server.do("injected", ANN, "s", "r1", SECTIONS)
    away = Redis("redis://127.0.0.1:1", timeout_s=0.1)
    monkeypatch.setattr(server.injections, "_redis", away)
    await server.do("used", ANN, "s", {"file_path": "cart.py"})
    await server.do("turn_ended", ANN, "s")
    await server.do("turn_ended", ANN, "s")
    (event,) = server.events.of(ContextUtilization)
    assert (event.method, event.injection_id, event.injected_count) == ("error_fallback", "r1", 0)
    assert server.usage.counts == []


async def test_a_redis_that_hangs_is_said_too(server, monkeypatch):
    class Hangs:
        async def pipeline(self, commands):
            raise TimeoutError

    await server.do("injected", ANN, "s", "r1", SECTIONS)
    monkeypatch.setattr(server.injections, "_redis", Hangs())
    await server.do("turn_ended", ANN, "s")
    assert [one.method for one in server.events.of(ContextUtilization)] == ["timeout_fallback"]


async def test_too_many_calls_at_once_are_not_measured(server, monkeypatch):
    monkeypatch.setattr(module, "MOST_AT_ONCE", 0)
    await server.do("used", ANN, "s", {"file_path": "cart.py"})
    assert server.usage.counts == []
