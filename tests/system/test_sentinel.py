"""A master and a replica behind a real sentinel: after the master is killed, answers continue and history returns."""

import subprocess

import pytest
from redis import Redis
from redis.exceptions import RedisError

from baton.kernel.redis.bundled import program
from baton.kernel.redis.connection import SentinelURL, check
from tests.support.cases import every
from tests.support.server import free_port, serving, until


def answers(port):
    try:
        with Redis(port=port, password="pw") as redis:
            return redis.ping()
    except RedisError:
        return False


@pytest.fixture
def watched(tmp_path):
    """Return the sentinel's port, and the process on each port of the two that it watches."""
    master, replica, sentinel = free_port(), free_port(), free_port()
    config = tmp_path / "sentinel.conf"
    config.write_text(
        f"port {sentinel}\nbind 127.0.0.1\ndir {tmp_path}\n"
        f"sentinel monitor mymaster 127.0.0.1 {master} 1\nsentinel auth-pass mymaster pw\n"
        "sentinel down-after-milliseconds mymaster 3000\nsentinel failover-timeout mymaster 2000\n"
    )
    common = ("--bind", "127.0.0.1", "--save", "", "--requirepass", "pw", "--masterauth", "pw", "--dir", str(tmp_path))
    commands = [
        ("--port", str(master), *common),
        ("--port", str(replica), *common, "--replicaof", f"127.0.0.1 {master}", "--repl-diskless-sync-delay", "0"),
        (str(config), "--sentinel"),
    ]
    processes = [
        subprocess.Popen([str(program()), *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for command in commands
    ]
    try:
        until(lambda: answers(master) and answers(replica))
        with Redis(port=master, password="pw") as redis:
            until(lambda: any(state["state"] == "online" for state in online(redis)))
        with Redis(port=sentinel) as redis:
            until(lambda: replicas(redis))
        yield sentinel, dict(zip((master, replica), processes, strict=False))
    finally:
        for process in processes:
            process.kill()
            process.wait()


def online(redis):
    return [
        value for name, value in redis.info("replication").items() if name.startswith("slave") and name[5:].isdigit()
    ]


def replicas(redis):
    return redis.execute_command("SENTINEL", "REPLICAS", "mymaster")


def master_of(redis):
    return redis.execute_command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "mymaster")


@pytest.mark.slow("waits until a sentinel gives the master up")
def test_decisions_outlive_the_master_and_history_follows_the_new_one(tmp_path, watched):
    port, processes = watched
    dead = free_port()
    url = f"sentinel://127.0.0.1:{dead},127.0.0.1:{port}/mymaster?password=pw"
    with serving(tmp_path / "home", BATON_REDIS_URL=url) as server, server.client() as http:

        def ask(tool="Read"):
            call = {"session_id": "s", "tool_name": tool, "tool_input": {"file_path": "a.py"}}
            response = http.post("/pre-tool-use", json=call)
            assert response.status_code == 200
            return response.json()["decision"], tuple(response.json()["degraded"])

        assert http.put("/mode", json={"scope": "organisation", "enabled": True, "level": "strict"}).status_code == 200
        assert [ask(), ask(), ask("Edit")] == [("allow", ()), ("block", ()), ("block", ())]
        with Redis(port=port) as sentinel:
            before = master_of(sentinel)
        with Redis(port=int(before[1]), password="pw") as redis:
            # WAIT asks about what its own connection wrote: what the replica has of that, it has of the session.
            redis.set("written-after", "the session")
            assert redis.wait(1, 60_000) == 1, "the replica knows the session"
        processes[int(before[1])].kill()
        seen = []

        def settled(wanted):
            seen.append((ask(), ask("Edit")))
            return seen[-1][0] == wanted

        until(lambda: settled(("allow", ("history",))))
        with Redis(port=port) as sentinel:
            until(lambda: master_of(sentinel) != before)
        until(lambda: settled(("block", ())))
    assert {look for look, _ in seen} <= {("allow", ("history",)), ("block", ())}, "either degraded or right"
    assert {decision for _, (decision, _) in seen} == {"block"}, "what needs no history goes on"


def test_a_sentinel_url_holds_two_logins():
    url = SentinelURL("sentinels://me:se@a,[::1]:7/mine?password=ma&db=2&ssl_ca_certs=/ca")
    assert url.sentinels == [
        "rediss://me:se@a:26379/0?ssl_ca_certs=%2Fca",
        "rediss://me:se@[::1]:7/0?ssl_ca_certs=%2Fca",
    ]
    assert url.master("10.0.0.1", 6379) == "rediss://10.0.0.1:6379?password=ma&db=2&ssl_ca_certs=%2Fca"


@every("url", ["sentinel://a:1", "sentinel:///mine", "http://x"])
def test_a_url_that_names_no_redis_is_refused(url):
    with pytest.raises(ValueError, match=r"sentinel|redis|Redis"):
        check(url)
