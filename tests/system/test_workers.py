"""`BATON_WORKERS=2`: one socket, two answering processes. Only the just served client notices an end."""

import os
import re
import signal
import sqlite3
import threading
from contextlib import closing

import httpx2
import pytest

from tests.support.processes import children, descendants, is_gone
from tests.support.server import NO_CERTIFICATES, served, serving, until, until_lasting

READ = {"tool_name": "Read", "tool_input": {"file_path": "a.py"}}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with served(tmp_path_factory.mktemp("workers") / "home", BATON_WORKERS="2") as running:
        yield running


def workers_of(server):
    return {child.pid: child for child in children(server.process.pid, called="serve.worker")}


def ask(server, session_id, **more):
    """Ask on a connection of its own; again when the connection breaks, as the hook does."""
    for _ in range(20):
        try:
            response = httpx2.post(
                server.url + "/pre-tool-use",
                json=READ | {"session_id": session_id} | more,
                timeout=60,
                trust_env=False,
                verify=NO_CERTIFICATES,
            )
        except httpx2.TransportError:
            continue
        assert response.status_code == 200
        return response.json()
    raise AssertionError("no worker answers")


def stored(server, session_id):
    with server.client() as http:
        return http.get("/decisions", params={"session_id": session_id, "limit": 200}).json()["items"]


@pytest.mark.slow("waits for a worker to be replaced")
def test_a_killed_worker_is_replaced_and_loses_no_record(server):
    before = until(lambda: len(found := workers_of(server)) == 2 and found)
    made = set()
    for number in range(60):
        made.add(ask(server, "killed", tool_use_id=f"k{number}")["decision_id"])
        if number == 30:
            next(iter(before.values())).kill()
    after = until(lambda: len(found := workers_of(server)) == 2 and found.keys() != before.keys() and found)
    assert len(after.keys() & before.keys()) == 1
    until(lambda: {one["id"] for one in stored(server, "killed")} == made)
    assert "was killed by SIGKILL" in server.log.read_text()


@pytest.mark.slow("replaces each worker in turn, under calls")
def test_workers_are_replaced_one_by_one_while_every_call_is_answered(server):
    before = until(lambda: len(found := workers_of(server)) == 2 and found)
    done, asked, failed = threading.Event(), [], []

    def agent():
        while not done.is_set():
            try:
                asked.append(ask(server, "rolled", tool_use_id=os.urandom(4).hex())["decision_id"])
            except (AssertionError, ValueError) as error:
                failed.append(error)

    thread = threading.Thread(target=agent)
    thread.start()
    try:
        server.process.send_signal(signal.SIGHUP)
        until(lambda: len(found := workers_of(server)) == 2 and not found.keys() & before.keys())
    finally:
        done.set()
        thread.join()
    assert failed == []
    assert asked


@pytest.mark.slow("starts two workers")
def test_both_workers_see_one_session_and_one_mode(server):
    body = {"scope": "session", "id": "shared", "enabled": True, "level": "strict"}
    with server.client() as http:
        assert http.put("/mode", json=body).status_code == 200
    until_lasting(lambda: mode(server, "shared"))
    assert ask(server, "shared", tool_use_id="t0")["decision"] == "allow"
    assert {ask(server, "shared", tool_use_id=f"u{n}")["decision"] for n in range(8)} == {"block"}
    assert len({ask(server, "shared", tool_use_id="t0")["decision_id"] for _ in range(8)}) == 1


def mode(server, session_id):
    with server.client() as http:
        return http.get("/mode", params={"session_id": session_id}).json()["enabled"]


def counted(server):
    """Ask on a connection of its own how many calls the rule has denied."""
    with server.client() as http:
        text = http.get("/metrics").text
    found = re.search(
        r'^baton_decisions_total\{effect="deny",.*rule="guardrails/remove-root"\} (\d+)', text, re.MULTILINE
    )
    return int(found[1]) if found else 0


@pytest.mark.slow("starts several workers of its own")
def test_each_worker_shows_the_decisions_of_all(server):
    removal = {"tool_name": "Bash", "tool_input": {"command": "rm -rf /"}}
    for number in range(20):  # a connection each, so that both workers get some
        assert ask(server, "counted", tool_use_id=f"m{number}", **removal)["decision"] == "block"
    until(lambda: counted(server) == 20)
    assert {counted(server) for _ in range(8)} == {20}
    assert len(list((server.home / "metrics").glob("counter_*.db"))) >= 2


@pytest.mark.slow("starts several workers of its own")
def test_a_stopping_server_announces_it_and_keeps_serving(tmp_path):
    with serving(tmp_path / "home", BATON_DRAIN_S="300") as server:
        server.process.send_signal(signal.SIGTERM)
        until(
            lambda: (
                httpx2.get(server.url + "/readyz", timeout=60, trust_env=False, verify=NO_CERTIFICATES).status_code
                == 503
            )
        )
        assert ask(server, "draining")["decision"] == "allow"
        assert server.stop(signal.SIGTERM) == -signal.SIGTERM, "told again, it leaves at once"


@pytest.mark.slow("starts and stops several workers twice")
def test_a_stop_ends_the_workers_and_keeps_every_record(tmp_path):
    with serving(tmp_path / "home", BATON_WORKERS="2") as server:
        made = {ask(server, "last", tool_use_id=f"s{number}")["decision_id"] for number in range(20)}
        left = descendants(server.process.pid)
        assert server.stop(signal.SIGTERM) == 0
    until(lambda: all(map(is_gone, left)))
    with closing(sqlite3.connect(server.home / "baton.db")) as database:
        kept = {row[0] for row in database.execute("SELECT id FROM decisions WHERE session_id = 'last'")}
    assert kept == made


@pytest.mark.slow("starts several workers of its own")
def test_a_killed_supervisor_takes_its_workers_along(tmp_path):
    with serving(tmp_path / "home", BATON_WORKERS="2", BATON_DRAIN_S="300") as server:
        left = descendants(server.process.pid)
        server.stop(signal.SIGKILL)
        until(lambda: all(map(is_gone, left)))
