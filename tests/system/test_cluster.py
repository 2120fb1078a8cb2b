"""Three masters and a replica of Baton's, with `cluster-enabled`: history, a moved slot, and a killed master."""

import contextlib
import sqlite3
import subprocess

import pytest
from redis import Redis
from redis.exceptions import RedisError

from baton.kernel.redis.bundled import program
from baton.kernel.redis.connection import check
from tests.support.server import free_port, serving, until

HALF = 8_192


def says(port, *command):
    with Redis(port=port, password="pw", protocol=2) as redis:
        return redis.execute_command(*command)


def sees(port, *command, text):
    with contextlib.suppress(RedisError):
        return text in str(says(port, *command))
    return False


@pytest.fixture
def cluster(tmp_path):
    """Return the ports of a dead node, two masters, the master with Baton's slot and its replica; and the processes."""
    dead, *live = (free_port() for _ in range(5))
    *others, owner, replica = live
    buses = {port: free_port() for port in live}
    config = tmp_path / "node.conf"
    config.write_text(
        'bind 127.0.0.1\nsave ""\nrequirepass pw\nmasterauth pw\nrepl-diskless-sync-delay 0\n'
        "cluster-enabled yes\ncluster-node-timeout 2000\n"
    )
    processes = {}
    try:
        for port in live:
            (tmp_path / str(port)).mkdir()
            own = ("--port", str(port), "--cluster-port", str(buses[port]), "--dir", str(tmp_path / str(port)))
            command = [str(program()), str(config), *own]
            processes[port] = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for port in live:
            until(lambda port=port: sees(port, "PING", text="True"))
        ours = says(owner, "CLUSTER", "KEYSLOT", "{baton}:log")
        kept = (ours, ours - 1)  # a master that gives its last slot away becomes a replica
        says(owner, "CLUSTER", "ADDSLOTS", *kept)
        for port, slots in zip(others, (range(HALF), range(HALF, 2 * HALF)), strict=True):
            says(port, "CLUSTER", "ADDSLOTS", *(slot for slot in slots if slot not in kept))
        for port in live[1:]:
            says(port, "CLUSTER", "MEET", "127.0.0.1", live[0], buses[live[0]])
        until(lambda: sees(replica, "CLUSTER", "REPLICATE", says(owner, "CLUSTER", "MYID"), text="OK"))
        for port in live:
            until(lambda port=port: sees(port, "CLUSTER", "INFO", text="cluster_state:ok"))
            until(lambda port=port: sees(port, "CLUSTER", "NODES", text="slave"))
        until(lambda: sees(owner, "INFO", "replication", text="'state': 'online'"))
        yield dead, *live, processes
    finally:
        for process in processes.values():
            process.kill()
            process.wait()


def migrate(source, target):
    """Move Baton's slot while it is used, key by key: the source answers ASK, then MOVED."""
    slot = says(source, "CLUSTER", "KEYSLOT", "{baton}:log")
    ids = {port: says(port, "CLUSTER", "MYID") for port in (source, target)}
    says(target, "CLUSTER", "SETSLOT", slot, "IMPORTING", ids[source])
    says(source, "CLUSTER", "SETSLOT", slot, "MIGRATING", ids[target])
    while keys := says(source, "CLUSTER", "GETKEYSINSLOT", slot, 1):
        says(source, "MIGRATE", "127.0.0.1", target, "", 0, 5_000, "AUTH", "pw", "KEYS", *keys)
        yield
    for port in (target, source):
        says(port, "CLUSTER", "SETSLOT", slot, "NODE", ids[target])


@pytest.mark.slow("waits until a cluster gives a master up")
def test_a_cluster_keeps_the_history_and_outlives_the_master_with_batons_keys(tmp_path, cluster):
    dead, first, second, owner, replica, processes = cluster
    url = f"cluster://:pw@127.0.0.1:{dead},127.0.0.1:{first},127.0.0.1:{second}"
    with serving(tmp_path / "home", BATON_REDIS_URL=url) as server, server.client() as http:
        asked = []

        def ask(tool="Read"):
            call = {"session_id": "s", "tool_name": tool, "tool_input": {"file_path": "a.py"}}
            response = http.post("/pre-tool-use", json=call)
            assert response.status_code == 200
            asked.append(response.json()["decision_id"])
            return response.json()["decision"], tuple(response.json()["degraded"])

        def stored():
            with contextlib.closing(sqlite3.connect(server.home / "baton.db")) as database:
                return {row[0] for row in database.execute("SELECT id FROM decisions")} == set(asked)

        assert http.put("/mode", json={"scope": "organisation", "enabled": True, "level": "strict"}).status_code == 200
        assert [ask(), ask(), ask("Edit")] == [("allow", ()), ("block", ()), ("block", ())]
        until(stored)
        for source, target in ((owner, first), (first, owner)):
            moving = {(ask(), ask("Edit"))[0] for _ in migrate(source, target)}
            assert moving <= {("allow", ("history",)), ("block", ())}, "either degraded or right"
            until(lambda: ask("Edit") and ask() == ("block", ()))
            until(stored)
        with Redis(port=owner, password="pw") as redis:
            assert {key[:8] for key in redis.scan_iter()} == {b"{baton}:"}
            redis.set("{baton}:written-after", "the session")
            assert redis.wait(1, 60_000) == 1, "the replica knows the session"
        processes[owner].kill()
        seen = []

        def settled(wanted):
            seen.append((ask(), ask("Edit")))
            return seen[-1][0] == wanted

        until(lambda: settled(("allow", ("history",))))
        until(lambda: sees(replica, "ROLE", text="master"))
        until(lambda: settled(("block", ())))
        until(stored)
    assert {look for look, _ in seen} <= {("allow", ("history",)), ("block", ())}, "either degraded or right"
    assert {decision for _, (decision, _) in seen} == {"block"}, "what needs no history goes on"


@pytest.mark.parametrize("url", ["cluster://:pw@a:1,[::1]:2", "clusters://a?ssl_ca_certs=/ca"])
def test_a_cluster_url_names_its_nodes(url):
    check(url)


def test_a_cluster_url_with_a_bad_port_is_refused():
    with pytest.raises(ValueError, match="Port"):
        check("cluster://a:1,b:x")
