"""The real server with killed, hung or locked dependencies: each call still gets a decision."""

import contextlib
import os
import signal
import sqlite3
import subprocess
import threading

import httpx2
import pytest

from tests.support.processes import children, is_gone
from tests.support.server import BATON, served, serving, until

READ = {"tool_name": "Read", "tool_input": {"file_path": "a.py"}}


def valkey_of(server):
    return until(lambda: children(server.process.pid, called="valkey-server"))[0]


def drain_of(server):
    """Return the process that brings records into SQL, as soon as there is one."""
    return until(lambda: children(server.process.pid, called="drain_main"))[0]


def ask(http, session_id, call=READ, **more):
    response = http.post("/pre-tool-use", json={"session_id": session_id} | call | more)
    assert response.status_code == 200, response.text
    return response.json()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The server of all tests that leave it running and count nothing."""
    with served(tmp_path_factory.mktemp("faults") / "home") as running:
        yield running


@pytest.fixture
def own(tmp_path):
    with served(tmp_path / "home") as running:
        yield running


@contextlib.contextmanager
def strict(server):
    with server.client() as client:
        client.put("/mode", json={"scope": "organisation", "enabled": True, "level": "strict"})
        yield client


@pytest.fixture
def http(server):
    with strict(server) as client:
        yield client


@pytest.fixture
def own_http(own):
    with strict(own) as client:
        yield client


def recovered(http, probe):
    return until(lambda: ask(http, f"{probe}-{os.urandom(4).hex()}")["degraded"] == [])


def test_a_killed_valkey_degrades_the_history_and_recovers_it(server, http):
    ask(http, "s1")
    child = valkey_of(server)
    child.kill()
    answers = [ask(http, "s1", tool_use_id=f"t{n}") for n in range(20)]
    assert all(answer["decision"] in {"allow", "block"} for answer in answers)
    recovered(http, "probe")
    assert valkey_of(server).pid != child.pid
    assert ask(http, "s1")["decision"] == "block", "the append-only file holds the first look-up"
    until(lambda: http.get("/status").json()["redis"] == "up")


def test_a_hung_valkey_times_out_once_and_is_reported(server, http):
    child = valkey_of(server)
    child.suspend()
    try:
        answers = [ask(http, f"h{n}", tool_use_id="t") for n in range(5)]
        assert {tuple(answer["degraded"]) for answer in answers} == {("history",)}
        edit = {"tool_name": "Edit", "tool_input": {"file_path": "a.py"}}
        assert ask(http, "h0", edit)["decision"] == "block", "rules that need no history go on"
        again = ask(http, "h0", tool_use_id="t")
        assert again["decision_id"] == answers[0]["decision_id"], "a retry is answered from memory"
        assert http.get("/healthz").status_code == 200
        assert http.get("/readyz").json()["redis"] == "down"
        assert http.get("/status").json()["degraded"]["history"] >= 5
    finally:
        child.resume()
    recovered(http, "probe")
    found = until(lambda: http.get("/decisions", params={"session_id": "h4"}).json()["items"])
    assert found[0]["degraded"] == ["history"], "what was decided without Redis is recorded when it is back"


def test_a_locked_database_delays_no_answer_and_refuses_a_change_clearly(server, http):
    ask(http, "before")
    lock = sqlite3.connect(server.home / "baton.db", isolation_level=None)
    lock.execute("BEGIN EXCLUSIVE")
    try:
        assert ask(http, "locked")["degraded"] == []
        response = http.put("/mode", json={"scope": "session", "id": "x", "enabled": True})
        assert (response.status_code, response.json()["code"]) == (503, "store_unavailable")
    finally:
        lock.execute("ROLLBACK")
        lock.close()
    until(lambda: http.get("/decisions", params={"session_id": "locked"}).json()["items"])
    assert not http.get("/mode", params={"session_id": "x"}).json()["chain"][1:]


@pytest.mark.slow("waits for locks to time out")
def test_a_session_starts_within_its_budget_while_the_database_is_locked(own):
    lock = sqlite3.connect(own.home / "baton.db", isolation_level=None)
    lock.execute("BEGIN EXCLUSIVE")
    try:
        with own.client() as client:
            answer = client.post("/session-start", json={"session_id": "w", "project": "p", "work_items": 2}).json()
        assert answer["degraded"] == ["mode"]
    finally:
        lock.execute("ROLLBACK")
        lock.close()


def test_a_killed_server_leaves_no_child_and_loses_nothing_that_it_answered(own, own_http):
    total = 300
    for number in range(total):
        ask(own_http, f"k{number % 7}", {"tool_name": "Bash", "tool_input": {"command": f"echo {number}"}})
    left, call = (valkey_of(own), drain_of(own)), {"session_id": "end", "tool_use_id": "t"} | READ
    for event in ("PreToolUse", "PostToolUse"):
        body = call | {"hook_event_name": event, "tool_response": {}}
        assert own_http.post(f"/hooks/claude-code?event={event}", json=body).status_code == 200
    own.process.kill()
    own.process.wait()
    until(lambda: all(map(is_gone, left)))
    own.start()
    with own.client() as again:
        until(lambda: sum(again.get("/status").json()["decisions"].values()) == total + 1)
        until(lambda: again.get("/decisions", params={"session_id": "end", "outcome": "ran"}).json()["items"])
        (event,) = again.get("/events/topics/tool-executed").json()["events"]
        assert event["data"]["session_id"] == "end"
        assert again.get("/mode", params={"session_id": "k1"}).json()["enabled"], "the mode survives, too"
    assert "was killed; what it had answered is kept" in own.log.read_text()


@pytest.mark.slow("starts several drains")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_drain_is_started_again_and_loses_and_repeats_nothing(own, own_http, how):
    killed = set()
    for number in range(300):
        ask(own_http, f"q{number % 7}", {"tool_name": "Bash", "tool_input": {"command": f"echo {number}"}})
        if number % 100 == 50:
            until(lambda: sum(own_http.get("/status").json()["decisions"].values()) > 0)
            child = drain_of(own)
            child.send_signal(how)
            until(lambda child=child: is_gone(child))
            killed.add(child.pid)
    until(
        lambda: sum(own_http.get("/status").json()["decisions"].values()) == 300,
        about=lambda: own_http.get("/status").text + own.log.read_text(),
    )
    until(lambda: own_http.get("/status").json()["records"]["waiting"] == 0)
    assert len(killed) == 3


@pytest.mark.slow("waits for the end of a stop's patience")
def test_a_stop_does_not_wait_for_a_hung_drain_and_the_next_server_stores_the_rest(own, own_http):
    until(lambda: own_http.get("/status").json()["records"]["waiting"] == 0)
    child = drain_of(own)
    child.suspend()
    told = [ask(own_http, "hung", {"tool_name": "Bash", "tool_input": {"command": f"echo {n}"}}) for n in range(20)]
    assert own.stop() == 0
    until(lambda: is_gone(child))
    own.start()
    with own.client() as again:
        found = until(
            lambda: len(items := again.get("/decisions", params={"session_id": "hung"}).json()["items"]) == 20 and items
        )
    assert {one["id"] for one in found} == {answer["decision_id"] for answer in told}


@pytest.mark.slow("starts a server for each signal")
@pytest.mark.parametrize(("how", "again"), [(signal.SIGINT, False), (signal.SIGINT, True), (signal.SIGTERM, False)])
def test_a_stopping_server_finishes_its_requests(tmp_path, how, again):
    with serving(tmp_path / "home") as server:
        left = valkey_of(server), drain_of(server)
        answered = []

        def post():
            with server.client() as client:
                while True:
                    try:
                        body = {
                            "session_id": "d",
                            "tool_name": "Bash",
                            "tool_input": {"command": f"echo {len(answered)}"},
                        }
                        answered.append(client.post("/pre-tool-use", json=body).json()["decision_id"])
                    except httpx2.HTTPError:
                        return

        thread = threading.Thread(target=post)
        thread.start()
        until(lambda: len(answered) > 100)
        server.process.send_signal(how)
        thread.join()
        if again:
            server.process.send_signal(how)
        server.process.wait(60)
        assert "Traceback" not in server.log.read_text()
        until(lambda: all(map(is_gone, left)))
        with sqlite3.connect(server.home / "baton.db") as database:
            kept = {row[0] for row in database.execute("SELECT id FROM decisions")}
        assert set(answered) <= kept


@pytest.mark.slow("waits until a second server gives up")
def test_a_second_server_on_the_same_folder_is_refused_in_words(server, tmp_path):
    found = subprocess.run([BATON, "serve"], env=server.env, capture_output=True, text=True, timeout=120, check=False)
    assert found.returncode == 3
    assert str(server.home) in found.stderr
    assert "listens" not in found.stdout
    assert (server.home / "server.json").exists(), "the running server's note is its own"
    assert "Traceback" not in found.stderr


@pytest.mark.slow
def test_policies_are_reloaded_whole_and_the_last_good_set_stays(server, http):
    first = http.get("/policies").json()["revision"]
    team, written = server.home / "policies", server.home / "written"

    def configured(text):
        """At once, as an editor does: half a file is a policy as well."""
        written.write_text(text)
        written.replace(team / "config.yaml")

    configured("rules:\n  options/pkill: 'on'\n")
    second = until(lambda: (now := http.get("/policies").json()["revision"]) != first and now)
    configured("rulez: {}\n")
    problems = until(lambda: http.get("/policies").json()["problems"])
    assert "rulez" in problems[0]["text"]
    assert http.get("/policies").json()["revision"] == second
    assert "policies" in ask(http, "reload")["degraded"]
    (team / "config.yaml").unlink()
    until(lambda: http.get("/policies").json()["revision"] == first)
    # The set is active in memory before SQL knows of it.
    until(lambda: [one["revision"] for one in http.get("/policies/revisions").json()][:2] == [first, second])
