"""Two servers on one Postgres and one Redis: settings of one apply to the other, whatever is unavailable."""

import asyncio
import itertools
from contextlib import ExitStack

import psutil
import pytest
from redis import Redis

from baton.kernel.redis.bundled import Valkey
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
        until(lambda enabled=enabled: b.get("/mode").json()["enabled"] is enabled)


@pytest.mark.slow("starts two servers")
def test_a_mode_set_on_one_server_holds_on_the_other(two):
    converges(two)


@pytest.mark.slow("waits for new subscriptions")
def test_a_change_reaches_every_server_after_subscriptions_are_cut(two, own_valkey):
    subscribed = ("PUBSUB", "NUMSUB", "baton:changed:default")
    with Redis.from_url(own_valkey.url) as redis:
        until(lambda: redis.execute_command(*subscribed)[1] == 2)
        assert redis.execute_command("CLIENT", "KILL", "TYPE", "pubsub") >= 2
        converges(two)
        until(lambda: redis.execute_command(*subscribed)[1] == 2)


@pytest.mark.slow("waits for a hung Redis")
def test_a_change_reaches_every_server_while_redis_hangs(two, own_valkey):
    process = psutil.Process(own_valkey.pid)
    process.suspend()
    try:
        converges(two)
    finally:
        process.resume()
