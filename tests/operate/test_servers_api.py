"""`/status/servers` and `/status/settings`: running servers, start times and settings, without any secret."""

import os
from contextlib import suppress

import httpx2
import pytest

from baton.kernel.base.home import HomeInUse, HomeLock
from baton.kernel.base.settings import Settings
from baton.operate.backing import backing
from baton.operate.servers import settings_in_force
from tests.support.http_calls import ok, refused
from tests.support.server import serving, until

SECRET = "hunter2-and-more"


@pytest.mark.slow("starts three workers one after another")
def test_every_worker_of_every_server_is_listed_while_it_runs(tmp_path):
    with serving(tmp_path / "home", BATON_WORKERS="2") as server, server.client() as http:
        found = until(lambda: [one for one in ok(http.get("/status/servers"))["servers"] if len(one["workers"]) == 2])
        (only,) = found
        assert only["pid"] == server.process.pid
        assert {worker["phase"] for worker in only["workers"]} == {"ready"}
        gone = only["workers"][0]["pid"]
        os.kill(gone, 15)

        def pids():
            with suppress(httpx2.TransportError):  # a worker that ends closes its connections
                return {w["pid"] for one in ok(http.get("/status/servers"))["servers"] for w in one["workers"]}
            return {gone}

        until(lambda: gone not in pids() and len(pids()) == 2)


def test_dependencies_say_since_when_and_where_they_are(http):
    found = ok(http.get("/status/servers"))
    by_name = {one["name"]: one for one in found["dependencies"]}
    assert by_name["redis"]["state"] == by_name["database"]["state"] == "up"
    assert by_name["redis"]["place"] == "the bundled Valkey"
    assert by_name["database"]["since"] <= found["servers"][0]["workers"][0]["seen_at"]
    assert found["queue"]["jobs"]["queued"] >= 0


def test_settings_show_no_secret(tmp_path):
    shown = {
        one.name: one
        for one in settings_in_force(
            Settings(
                home=tmp_path,
                model_key=SECRET,
                kafka_url=f"kafka://ada:{SECRET}@broker:9092",
                redis_url=f"redis://:{SECRET}@cache:6379",
                database_url=f"postgresql://baton:{SECRET}@db/baton",
                otel_headers=f"authorization={SECRET}",
                local_delegation_endpoints={"test": {"url": "http://m", "key": SECRET}},
                allowed_hosts="baton.example.com",
                auth="on",
            )
        )
    }
    assert SECRET not in repr(shown)
    assert (shown["BATON_MODEL_KEY"].value, shown["BATON_MODEL_KEY"].is_secret) == ("", True)
    assert not shown["BATON_ROUTING_NODE_KEY"].is_secret
    assert shown["BATON_REDIS_URL"].value == "redis://:[masked:url-password]@cache:6379"
    assert shown["BATON_ALLOWED_HOSTS"].value == '["baton.example.com"]'
    assert not shown["BATON_AUTH"].is_default
    assert shown["BATON_WORKERS"].is_default
    assert shown["PORT"].name == "PORT"
    assert set(shown) - {"PORT"} == {f"BATON_{name.upper()}" for name in Settings.model_fields if name != "port"}


@pytest.mark.parametrize("path", ["/status/servers", "/status/settings"])
def test_a_developer_sees_neither(server, path):
    with server.client(**{"Baton-User": "dora"}) as dora:
        refused(dora.get(path), 403, "forbidden")


async def test_a_folder_is_one_server_s_also_with_redis_and_sql_elsewhere(tmp_path, valkey_url, sqlite_url):
    lock = HomeLock(tmp_path / "home")
    lock.acquire()
    settings = Settings(home=tmp_path / "home", redis_url=valkey_url, database_url=sqlite_url, workers=2)
    with pytest.raises(HomeInUse):
        async with backing(settings):
            pass
    lock.release()
