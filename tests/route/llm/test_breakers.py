"""Breakers of several servers: opening and closing, probes, and people's control."""

import asyncio
import logging

import msgspec
import pytest

from baton.kernel.base.errors import Forbidden, NotFound, StoreUnavailable
from baton.kernel.changes import audit_store
from baton.kernel.redis.client import Redis
from tests.support.breakers import ADMIN, Server


@pytest.fixture
def new(sqlite, redis):
    return lambda redis=redis: Server(sqlite, redis)


@pytest.fixture
async def away():
    redis = Redis("redis://127.0.0.1:1", timeout_s=0.05)
    await redis.start()
    yield redis
    await redis.close()


async def test_failures_of_all_servers_open_the_breaker_together(new):
    servers = [new() for _ in range(5)]
    for server in servers:
        await server.calls(200, 200)
    assert [server.breaker.allows for server in servers][-1] is False
    for server in servers:
        await server.breaker.refresh()
    assert not any(server.breaker.allows for server in servers)


async def test_a_breaker_opens_after_ten_slow_calls_and_logs_it_once(new, caplog):
    caplog.set_level(logging.INFO)
    servers = [new(), new()]
    await servers[0].calls(*[200] * 9)
    assert servers[0].breaker.allows
    await asyncio.gather(*(server.calls(*[200] * 20) for server in servers))
    changes = [server.counters.breaker_changes for server in servers]
    assert sum(change["model", "open"] for change in changes) == 1
    assert caplog.text.count("breaker `model` is open") == 1
    seen = servers[0].breaker.status()
    assert round(seen.state.until - seen.state.since) == 30


async def test_a_call_does_not_wait_for_the_store(new):
    server = new()
    server.breaker.count(200, "answered")
    assert server.breaker.status().calls == 0
    await server.breaker.settle()
    assert server.breaker.status().calls == 1


@pytest.mark.parametrize(
    ("took_ms", "marks", "slow", "failed"),
    [(80, {}, 0, 0), (80.1, {}, 1, 0), (1, {"failed": True}, 0, 1), (1, {"timed_out": True}, 1, 1)],
)
async def test_slow_and_failed_calls_are_distinguished(new, took_ms, marks, slow, failed):
    server = new()
    server.breaker.count(took_ms, "outcome", **marks)
    await server.breaker.settle()
    status = server.breaker.status()
    assert (status.calls, status.slow, status.failed) == (1, slow, failed)
    assert server.counters.model_calls["model", "outcome"] == 1


async def test_after_its_time_one_server_probes_and_three_good_ones_close_it(new, redis):
    servers = [new(), new(), new()]
    await servers[0].calls(*[200] * 10)
    await passed(redis)
    await asyncio.gather(*(server.breaker.refresh() for server in servers))
    assert sorted(len(server.probes) for server in servers) == [0, 0, 3]
    for server in servers:
        await server.breaker.refresh()
        assert server.breaker.allows
    assert sum(server.counters.breaker_changes["model", "closed"] for server in servers) == 1


@pytest.mark.parametrize("answers", [None, 81.0])
async def test_a_probe_that_fails_or_is_slow_opens_it_for_longer(new, redis, answers):
    server = new()
    await server.calls(*[200] * 10)
    server.answers = answers
    await passed(redis)
    await server.breaker.refresh()
    assert server.probes == [0]
    state = server.breaker.status().state
    assert (state.phase, state.times, round(state.until - state.since)) == ("open", 2, 60)


async def test_no_probe_runs_before_the_pause_ends(new):
    server = new()
    await server.calls(*[200] * 10)
    await server.breaker.refresh()
    assert server.probes == []


async def test_a_server_that_dies_while_it_probes_is_followed_by_another(new, redis):
    dying, other = new(), new()
    await dying.calls(*[200] * 10)
    await passed(redis)

    async def die():
        raise asyncio.CancelledError

    dying.breaker._probe = die
    with pytest.raises(asyncio.CancelledError):
        await dying.breaker.refresh()
    await other.breaker.refresh()
    assert (other.phase, other.probes) == ("half_open", [])
    await passed(redis)
    await other.breaker.refresh()
    assert other.phase == "closed"


async def test_without_redis_each_server_has_its_own_breaker(new, away):
    one, other = new(redis=away), new(redis=away)
    await one.calls(*[200] * 10)
    await other.breaker.refresh()
    assert (one.breaker.allows, other.breaker.allows) == (False, True)
    assert one.breaker.status().local


async def test_a_person_holds_a_breaker_on_every_server_and_is_audited(new, sqlite):
    one, other = new(), new()
    await one.breakers.load()
    await other.breakers.load()
    await one.breakers.set(ADMIN, "model", "open", "it is being moved")
    assert not one.breaker.allows
    await other.changes.catch_up()
    assert not other.breaker.allows
    await other.breakers.set(ADMIN, "model", "close", "")
    await other.calls(*[200] * 50)
    assert (other.breaker.allows, other.phase) == (True, "closed")
    entries = await audit_store.find_entries(sqlite, "acme", kind="breaker")
    assert [(one.actor, one.action, one.object, one.reason) for one in entries] == [
        ("ann", "breaker.close", "model", ""),
        ("ann", "breaker.open", "model", "it is being moved"),
    ]
    assert (entries[1].before["held"], entries[1].after["held"]) == ("", "open")


async def test_a_reset_restarts_a_breaker_on_every_server(new, away):
    one, other = new(), new(redis=away)
    for server in (one, other):
        await server.breakers.load()
        await server.calls(*[200] * 10)
        assert not server.breaker.allows
    seen = await one.breakers.set(ADMIN, "model", "reset", "")
    assert (seen.allows, seen.calls, seen.held) == (True, 0, "")
    await other.changes.catch_up()
    assert other.breaker.allows


async def test_a_held_breaker_is_not_probed(new, redis):
    server = new()
    await server.calls(*[200] * 10)
    await server.breakers.set(ADMIN, "model", "open", "")
    await passed(redis)
    await server.breaker.refresh()
    assert server.probes == []


async def test_a_start_is_no_reset(new):
    server = new()
    await server.breakers.set(ADMIN, "model", "reset", "")
    await server.calls(*[200] * 10)
    later = new()
    await later.breakers.load()
    await later.breaker.refresh()
    assert not later.breaker.allows


async def test_a_breaker_is_set_by_an_admin_and_listed_by_a_developer(new):
    server = new()
    developer = msgspec.structs.replace(ADMIN, role="developer")
    with pytest.raises(Forbidden):
        await server.breakers.set(developer, "model", "open", "")
    with pytest.raises(NotFound, match="did you mean `model`"):
        await server.breakers.set(ADMIN, "modle", "open", "")
    assert [one.name for one in server.breakers.list_breakers(developer)] == ["model"]


async def test_without_a_database_nothing_is_changed(no_database, redis):
    server = Server(no_database, redis)
    with pytest.raises(StoreUnavailable, match="nothing was changed"):
        await server.breakers.set(ADMIN, "model", "open", "")
    assert server.breaker.allows


async def passed(redis):
    """Let the time of an open breaker, and of its lease, have passed."""
    key = b"{baton}:breaker:{acme/model}"
    state = msgspec.json.decode(await redis.call(b"HGET", key, b"s"))
    await redis.call(b"HSET", key, b"s", msgspec.json.encode(state | {"until": 0, "leased_until": 0}))
