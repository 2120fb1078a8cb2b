"""A session's agents, on two servers of one Redis: ownership, and the state without Redis."""

import asyncio

import pytest

from baton.kernel.redis.client import Redis, RedisUnavailable
from baton.machines import inventories as module
from baton.machines.inventories import KEPT_S, MOST, Inventories
from baton.rules.call.call import Principal

ANN, BOB = Principal(user="ann"), Principal(user="bob")
TEXT = "= project one.md\n name: one\n model: haiku\n"
SUM = "123-45"


@pytest.fixture
def servers(redis):
    return [Inventories(redis, 60) for _ in range(2)]


async def begun(server, session="s", *, who=ANN, checksum=SUM, project="p"):
    return await server.begin(who, session, "claude-code", project, checksum)


async def names(server, session="s", *, who=ANN, client="claude-code", project="p"):
    found, missing = await server.of_session(who, session, client, project)
    return [one.name for one in found.agents] if found else None, missing


async def test_agents_are_wanted_once_and_known_to_every_server(servers):
    one, other = servers
    assert await begun(one)
    assert await names(one) == (None, True)
    await one.put(ANN, "claude-code", SUM, TEXT)
    assert await names(one) == await names(other) == (["one"], False)
    assert not await begun(other, "later")
    assert await names(one, "later") == (["one"], False)


async def test_a_colleague_has_none_of_them(servers):
    one, _ = servers
    await begun(one)
    await one.put(ANN, "claude-code", SUM, TEXT)
    assert await names(one, who=BOB) == (None, False)
    assert await begun(one, who=BOB)
    assert await one.of_user(BOB) == []


async def test_a_known_inventory_is_unchanged(servers):
    one, other = servers
    await begun(one)
    await one.put(ANN, "claude-code", SUM, TEXT)
    await other.put(ANN, "claude-code", SUM, TEXT.replace("haiku", "opus"))
    found, _ = await other.of_session(ANN, "s", "claude-code", "p")
    assert found.agent("one").model == "haiku"


async def test_a_session_without_agents_inherits_none(servers):
    one, other = servers
    await begun(one)
    await one.put(ANN, "claude-code", SUM, TEXT)
    assert await names(other, "", client="api") == (["one"], False)
    assert await names(other, "never started") == (["one"], False)
    assert await names(other, "", project="elsewhere") == (None, False)
    assert not await begun(other, "bare", checksum="")
    assert await names(one, "bare") == await names(one, "") == (None, False)
    assert await names(one) == (["one"], False)


async def test_a_resumed_session_has_its_last_inventory(servers):
    one, other = servers
    await begun(one)
    await one.put(ANN, "claude-code", SUM, TEXT)
    await names(one)
    assert await begun(other, checksum="9-9")
    await other.put(ANN, "claude-code", "9-9", "= user two.md\n name: two\n")
    assert await names(one) == (["two"], False)


async def test_agents_are_forgotten_with_their_person_and_expire(servers, redis):
    one, _ = servers
    await begun(one)
    await one.put(ANN, "claude-code", SUM, TEXT)
    keys = await redis.call(b"KEYS", b"{baton}:agents*")
    assert {0 < await redis.call(b"TTL", key) <= KEPT_S for key in keys} == {True}
    await one.forget(ANN)
    assert await redis.call(b"KEYS", b"{baton}:agents*") == []
    assert await one.of_user(ANN) == []


async def test_a_person_s_storage_is_limited(servers, redis):
    one, _ = servers
    for number in range(MOST + 5):
        await begun(one, str(number), checksum=f"{number}-1", project=str(number))
        await one.put(ANN, "claude-code", f"{number}-1", TEXT)
    assert len(await redis.call(b"KEYS", b"{baton}:agents:*")) <= MOST


async def test_without_redis_local_inventories_apply_and_others_are_reported(servers, redis):
    one, other = servers
    await begun(one)
    await one.put(ANN, "claude-code", SUM, TEXT)
    await names(one)
    one._redis = other._redis = Redis("unix:///nowhere", timeout_s=1)
    assert await names(one) == (["one"], False)
    assert await names(other) == (None, True)
    with pytest.raises(RedisUnavailable):
        await begun(one, "new")


async def test_the_first_prompt_waits_for_a_shim_that_is_about_to_tell_and_no_later_one(servers, monkeypatch):
    one, other = servers
    await begun(one)

    async def asked(server):
        found, missing = await server.for_prompt(ANN, "s", "claude-code", "p")
        return [agent.name for agent in found.agents] if found else None, missing

    waiting = asyncio.create_task(asked(one))
    await asyncio.sleep(0.05)
    await other.put(ANN, "claude-code", SUM, TEXT)
    assert await waiting == (["one"], False)
    await begun(other, "t", checksum="8-8")
    monkeypatch.setattr(module, "PATIENCE_S", 0.0)
    assert (await other.for_prompt(ANN, "t", "claude-code", "p"))[1]
    monkeypatch.setattr(module, "PATIENCE_S", 60.0)
    assert (await other.for_prompt(ANN, "t", "claude-code", "p"))[1]


async def test_a_prompt_of_copilot_waits_for_its_session_s_start(servers):
    one, other = servers
    await begun(one, "earlier")
    await one.put(ANN, "claude-code", SUM, TEXT)
    waiting = asyncio.create_task(one.for_prompt(ANN, "s", "copilot-cli", "p"))
    await asyncio.sleep(0.05)
    await other.begin(ANN, "s", "copilot-cli", "p", SUM)
    assert (await waiting)[0].agent("one")


async def test_a_process_distinguishes_known_inventories(servers):
    one, _ = servers
    assert not one.knows(ANN, "s")
    await begun(one, checksum="")
    assert one.knows(ANN, "s")
    assert not one.knows(BOB, "s")
