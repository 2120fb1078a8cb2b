"""Two servers on one Postgres and one Redis: what is set on one holds on the other, whatever is away."""

import asyncio
import itertools
from contextlib import ExitStack

import psutil
import pytest

from app.store.redis import Redis
from app.store.valkey import Valkey
from tests.support.server import serving, until

_names = itertools.count()


@pytest.fixture
def own_valkey(short_folder):
    """A Valkey that a test may take down."""
    valkey = Valkey(short_folder / f"v{next(_names)}")
    with asyncio.Runner() as runner:
        runner.run(valkey.start())
        yield valkey
        runner.run(valkey.stop())


@pytest.fixture
def two(tmp_path, own_valkey, postgres_url):
    env = {"BATON_REDIS_URL": own_valkey.url, "BATON_DATABASE_URL": postgres_url}
    with ExitStack() as stack:
        servers = [stack.enter_context(serving(tmp_path / name, **env)) for name in "ab"]
        token = (servers[0].home / "admin-token").read_text().strip()
        yield [stack.enter_context(server.client(Authorization=f"Bearer {token}")) for server in servers]


def converges(two):
    a, b = two
    for enabled in (True, False, True):
        body = {"scope": "organisation", "enabled": enabled, "level": "strict"}
        assert a.put("/mode", json=body).status_code == 200
        until(lambda enabled=enabled: b.get("/mode").json()["enabled"] is enabled, seconds=2)


def test_a_mode_set_on_one_server_holds_on_the_other(two):
    converges(two)


async def test_it_also_does_when_the_subscriptions_are_cut(two, own_valkey):
    redis = Redis(own_valkey.url, timeout_s=5)
    await redis.start()
    until_connected = lambda: redis.call(b"PUBSUB", b"NUMSUB", b"baton:changed:default")  # noqa: E731
    while (await until_connected())[1] < 2:
        await asyncio.sleep(0.05)
    assert await redis.call(b"CLIENT", b"KILL", b"TYPE", b"pubsub") == 2
    await asyncio.to_thread(converges, two)
    while (await until_connected())[1] < 2:
        await asyncio.sleep(0.05)
    await redis.close()


def test_it_also_does_while_redis_hangs(two, own_valkey):
    process = psutil.Process(own_valkey.pid)
    process.suspend()
    try:
        converges(two)
    finally:
        process.resume()
