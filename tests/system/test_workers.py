"""`BATON_WORKERS=2`: one socket, two processes that answer. None of their ends is felt but by whom they just served."""

import os
import signal
import threading
from contextlib import suppress

import httpx2
import psutil
import pytest

from tests.support.server import serving, until

READ = {"tool_name": "Read", "tool_input": {"file_path": "a.py"}}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("workers") / "home", BATON_WORKERS="2") as running:
        yield running


def workers_of(server):
    found = {}
    for child in psutil.Process(server.process.pid).children():
        with suppress(psutil.Error):  # one that ends while it is looked at
            if any("app.cli.worker" in word for word in child.cmdline()):
                found[child.pid] = child
    return found


def ask(server, session_id, **more):
    """Ask on a connection of its own; again when the connection breaks, as the hook does."""
    for _ in range(20):
        try:
            response = httpx2.post(
                server.url + "/pre-tool-use", json=READ | {"session_id": session_id} | more, timeout=10, trust_env=False
            )
        except httpx2.TransportError:
            continue
        assert response.status_code == 200
        return response.json()
    raise AssertionError("no worker answers")


def stored(server, session_id):
    with server.client() as http:
        return http.get("/decisions", params={"session_id": session_id, "limit": 200}).json()["items"]


def test_a_killed_worker_is_replaced_and_loses_no_record(server):
    before = workers_of(server)
    assert len(before) == 2
    made = set()
    for number in range(60):
        made.add(ask(server, "killed", tool_use_id=f"k{number}")["decision_id"])
        if number == 30:
            until(lambda: len(stored(server, "killed")) == len(made))
            next(iter(before.values())).kill()
    until(lambda: len(workers_of(server)) == 2)
    assert len(set(workers_of(server)) & set(before)) == 1
    until(lambda: {one["id"] for one in stored(server, "killed")} == made)
    assert "was killed by SIGKILL" in server.log.read_text()


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
        until(lambda: len(found := workers_of(server)) == 2 and not found.keys() & before.keys(), seconds=30)
    finally:
        done.set()
        thread.join()
    assert failed == []
    assert asked


def test_both_workers_see_one_session_and_one_mode(server):
    body = {"scope": "session", "id": "shared", "enabled": True, "level": "strict"}
    with server.client() as http:
        assert http.put("/mode", json=body).status_code == 200
    until(lambda: all(mode(server, "shared") for _ in range(10)), seconds=3)
    assert ask(server, "shared", tool_use_id="t0")["decision"] == "allow"
    assert {ask(server, "shared", tool_use_id=f"u{n}")["decision"] for n in range(8)} == {"block"}
    assert len({ask(server, "shared", tool_use_id="t0")["decision_id"] for _ in range(8)}) == 1


def mode(server, session_id):
    return httpx2.get(server.url + "/mode", params={"session_id": session_id}, trust_env=False).json()["enabled"]


def test_told_to_stop_it_stops_its_workers_and_keeps_every_record(tmp_path):
    with serving(tmp_path / "home", BATON_WORKERS="2") as server:
        made = {ask(server, "last", tool_use_id=f"s{number}")["decision_id"] for number in range(20)}
        children = psutil.Process(server.process.pid).children(recursive=True)
        assert server.stop(signal.SIGTERM) == 0
        assert not [child for child in children if child.is_running()]
        server.start()
        until(lambda: {one["id"] for one in stored(server, "last")} == made)


def test_a_server_that_is_told_to_stop_says_so_first_and_goes_on_serving(tmp_path):
    with serving(tmp_path / "home", BATON_DRAIN_S="1.5") as server:
        server.process.send_signal(signal.SIGTERM)
        until(lambda: httpx2.get(server.url + "/readyz", trust_env=False).status_code == 503, seconds=1)
        assert ask(server, "draining")["decision"] == "allow"
        assert server.process.wait(15) == -signal.SIGTERM
