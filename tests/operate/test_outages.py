"""What operators see while Redis, the database or the disk accepts no writes: the cause, and one line at each end."""

import re
from contextlib import contextmanager
from subprocess import DEVNULL, Popen

import pytest
from redis import Redis
from redis.exceptions import RedisError

from baton.kernel.redis.bundled import program
from tests.support.server import free_port, serving, until

pytestmark = pytest.mark.slow("breaks what a server depends on, for seconds")

CALL = {"session_id": "s", "tool_name": "Bash", "tool_input": {"command": "git status"}}


def outages(server, name):
    """Return the log's lines about a dependency, without their times."""
    return re.findall(rf"baton\.operate\.health: ({name} is .*)", server.log.read_text())


def test_answers_for_operators_keep_what_is_known_while_the_database_hangs(tmp_path, own_postgres):
    url = own_postgres.url("postgres")
    with serving(tmp_path / "home", BATON_DATABASE_URL=url) as server:
        token = (server.home / "admin-token").read_text().strip()
        with server.client(Authorization=f"Bearer {token}") as http:
            http.post("/pre-tool-use", json=CALL).raise_for_status()
            known = until(lambda: http.get("/status").json().get("decisions"))
            http.get("/metrics")
            with own_postgres.hung():
                until(lambda: outages(server, "database"))
                assert http.get("/readyz").json() | {"policy_revision": ""} == {
                    "status": "ready", "redis": "up", "database": "down", "policy_revision": "", "policy_problems": [],
                    "causes": {"database": "it does not answer"},
                }  # fmt: skip
                assert http.get("/status").json()["decisions"] == known
                assert "baton_jobs{" in http.get("/metrics").text
            until(lambda: http.get("/readyz").json()["causes"] == {})
            begun, ended = until(lambda: len(found := outages(server, "database")) == 2 and found)
    host = re.escape(url.partition("@")[2])
    assert re.fullmatch(rf"database is unavailable at {host}: it does not answer; \d+ entries wait", begun)
    assert "is available again" in ended


@contextmanager
def valkey(folder):
    """Run a Valkey of its own; yield its port and a client."""
    port = free_port()
    process = Popen(
        [str(program()), "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder), "--save", ""], stdout=DEVNULL
    )
    try:
        with Redis(port=port) as client:
            until(lambda: pings(client))
            yield port, client
    finally:
        process.kill()
        process.wait()


def pings(client):
    try:
        return client.ping()
    except RedisError:
        return False


@pytest.mark.parametrize(
    ("broken", "repaired", "cause"),
    [
        (("CONFIG", "SET", "maxmemory", "1"), ("CONFIG", "SET", "maxmemory", "0"), "OOM"),
        (("ACL", "SETUSER", "default", "-@scripting"), ("ACL", "SETUSER", "default", "+@all"), "NOPERM"),
        (("REPLICAOF", "127.0.0.1", "1"), ("REPLICAOF", "NO", "ONE"), "READONLY"),
    ],
    ids=["out of memory", "refuses scripts", "is a replica"],
)
def test_a_redis_that_refuses_writes_is_down(tmp_path, broken, repaired, cause):
    with (
        valkey(tmp_path) as (port, redis),
        serving(tmp_path / "home", BATON_REDIS_URL=f"redis://127.0.0.1:{port}") as server,
        server.client() as http,
    ):
        assert http.get("/readyz").json()["redis"] == "up"
        redis.execute_command(*broken)
        until(lambda: cause in http.get("/status").json()["causes"].get("redis", ""))
        assert http.get("/readyz").json()["status"] == "ready"
        assert http.get("/status").json()["status"] == "degraded"
        begun = until(lambda: outages(server, "redis"))
        redis.execute_command(*repaired)
        until(lambda: http.get("/readyz").json()["redis"] == "up")
        found = until(lambda: len(found := outages(server, "redis")) == 2 and found)
    assert f"redis is unavailable at 127.0.0.1:{port}: {cause}" in begun[0]
    assert "is available again" in found[1]
