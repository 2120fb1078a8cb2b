"""Delegation with a server ending while a task streams: nothing lost, nothing twice, nothing left hanging."""

import os
import signal
import subprocess
import threading
import time

import pytest

from tests.delegate.jobs.test_api import delegate, events, leased, tell
from tests.support.server import BATON, Server, free_port, serving, until

SESSION = {"session_id": "s"}


def follower(server, folder, *command):
    env = {name: value for name, value in os.environ.items() if not name.startswith("BATON_")}
    env |= {"BATON_URL": server.url, "BATON_USER": "s", "HOME": str(folder), "PYTHONUNBUFFERED": "1"}
    out = folder / "out"
    with out.open("wb") as file:
        process = subprocess.Popen([BATON, *command], env=env, stdout=file, stderr=subprocess.STDOUT, cwd=folder)
    return process, out


@pytest.mark.slow("kills a server in the middle and starts it again")
def test_a_server_that_is_killed_while_a_task_streams_loses_and_doubles_nothing(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    server = Server(home, {"PORT": str(free_port())})
    try:
        with server.client() as http:
            job, lease = leased(http, SESSION)
            process, out = follower(server, tmp_path, "jobs", "show", job, "--follow")
            tell(http, job, lease, "one.", "two.")
            until(lambda: "two." in out.read_text())
        server.stop(signal.SIGKILL)
        server.start()
        with server.client(**{"Baton-User": "s"}) as http:
            assert tell(http, job, lease, "one.", "two.", "three.").json()["accepted"] == 3
            tell(http, job, lease, "four.", first=4, state="completed")
            assert process.wait(60) == 0
            mode = http.get("/sessions/s/agent-mode").json()["agent_mode"]
    finally:
        if server.process.poll() is None:
            server.stop()
    shown = out.read_text()
    assert mode == "default_mode"
    assert "✓ Delegated to codex. Task: list files\n┌ → Codex\n│ one.two.three.four.\n└\ncompleted\n" in shown, shown
    assert [shown.count(word) for word in ("✓", "one.", "four.", "completed")] == [1, 1, 1, 1]


@pytest.mark.slow("leaves a follower without a server for longer than a restart takes")
def test_a_follower_of_a_job_that_waits_outlasts_the_absence_of_the_server(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    server = Server(home, {"PORT": str(free_port())})
    try:
        process, out = follower(server, tmp_path, "delegate", "list files", "--session", "s", "--follow")
        until(lambda: "(waiting since" in out.read_text())
        server.stop(signal.SIGKILL)
        until(lambda: "Trying again for 10 minutes." in out.read_text())
        time.sleep(15)
        assert process.poll() is None
        server.start()
        with server.client(**{"Baton-User": "s"}) as http:
            (job,) = http.get("/jobs").json()["items"]
            assert (job["state"], job["waiting"]["reason"]) == ("queued", "no_runner")
            poll = {"boot_id": "b", "slots": 1, "wait_s": 0, "providers": ["codex"], "workspaces": []}
            (lease,) = http.post("/runners/r/poll", json=poll).json()["jobs"]
            proof = {"attempt": lease["attempt"], "token": lease["token"]}
            tell(http, job["id"], proof, "done.", state="completed")
            assert process.wait(60) == 0, out.read_text()
    finally:
        if server.process.poll() is None:
            server.stop()
    shown = out.read_text()
    assert [shown.count(word) for word in ("(waiting since", "answers again", "│ done.")] == [1, 1, 1], shown


@pytest.mark.slow("waits for the sweeper")
def test_an_untaken_job_expires_and_its_followers_are_notified(tmp_path):
    with serving(tmp_path / "home") as server, server.client(**{"Baton-User": "s"}) as http:
        words = ("delegate", "list files", "--session", "s", "--queue-expiry", "2s", "--follow")
        process, out = follower(server, tmp_path, *words)
        assert process.wait(60) == 1, out.read_text()
        assert "no suitable runner is known" in out.read_text()
        assert "(queue_expired)" in out.read_text()
        (job,) = http.get("/jobs").json()["items"]
        assert (job["state"], job["error"]["code"], job.get("waiting")) == ("failed", "queue_expired", None)
        again = http.post(f"/jobs/{job['id']}/retry").json()
        assert (again["state"], again["waiting"]["reason"]) == ("queued", "no_runner")


@pytest.mark.slow("starts a server of its own")
def test_ctrl_c_cancels_and_watches_until_the_agent_has_ended(tmp_path):
    with serving(tmp_path / "home") as server, server.client(**{"Baton-User": "s"}) as http:
        process, out = follower(server, tmp_path, "delegate", "list files", "--session", "s", "--follow")
        (one,) = until(lambda: http.get("/jobs").json()["items"])
        poll = {"boot_id": "b", "slots": 1, "wait_s": 0, "providers": ["codex"], "workspaces": []}
        (lease,) = http.post("/runners/r/poll", json=poll).json()["jobs"]
        lease = {"attempt": lease["attempt"], "token": lease["token"]}
        tell(http, one["id"], lease, "at work")
        until(lambda: "at work" in out.read_text())
        process.send_signal(signal.SIGINT)
        news = http.post("/runners/r/poll", json=poll | {"active": [{"job": one["id"], **lease}]}).json()
        until(lambda: http.get(f"/jobs/{one['id']}").json()["cancel_requested"])
        assert process.poll() is None
        tell(http, one["id"], lease, first=2, state="cancelled")
        assert process.wait(60) == 130, out.read_text()
        assert "cancelled" in out.read_text()
        assert news["lost"] == []


@pytest.mark.slow("waits for a long poll")
def test_a_poll_that_waits_keeps_no_server_from_leaving(tmp_path):
    with serving(tmp_path / "home") as server, server.client() as http:
        answers = []
        body = {"boot_id": "b", "slots": 1, "wait_s": 20, "providers": ["codex"], "workspaces": []}
        polling = threading.Thread(target=lambda: answers.append(http.post("/runners/r/poll", json=body)))
        polling.start()
        with server.client() as other:
            until(lambda: other.get("/runners").json()["items"])
        assert server.stop() in {0, -signal.SIGINT}
        polling.join(60)
        assert answers[0].json()["jobs"] == []


@pytest.mark.slow("runs a hundred jobs")
def test_a_hundred_jobs_run_once_each_on_four_runners_of_two_servers(tmp_path, postgres_url, valkey_url):
    shared = {"BATON_DATABASE_URL": postgres_url, "BATON_REDIS_URL": valkey_url}
    with serving(tmp_path / "one", **shared) as one, serving(tmp_path / "two", **shared) as two:
        token = {"Authorization": f"Bearer {(one.home / 'admin-token').read_text().strip()}"}
        ran, streamed = [], []

        def run(server, name):
            poll = {"boot_id": name, "slots": 3, "wait_s": 1, "providers": ["codex"], "workspaces": []}
            with server.client(**token) as http:
                while leases := http.post(f"/runners/{name}/poll", json=poll).json()["jobs"]:
                    for lease in leases:
                        ran.append(lease["job"])
                        proof = {"attempt": lease["attempt"], "token": lease["token"]}
                        tell(http, lease["job"], proof, lease["prompt"], runner=name, state="completed")

        def follow(server, job):
            with server.client(**token) as http:
                streamed.append([data for *_, data in events(http, f"/jobs/{job}/events")])

        with one.client(**token) as http:
            jobs = [delegate(http, SESSION, user_prompt=f"task {n}").json()["job"]["id"] for n in range(100)]
        work = [threading.Thread(target=follow, args=(two, job)) for job in jobs[::25]]
        work += [threading.Thread(target=run, args=(server, f"r{n}")) for n, server in enumerate((one, two, one, two))]
        for thread in work:
            thread.start()
        for thread in work:
            thread.join(240)
        assert sorted(ran) == sorted(jobs)
        for found in streamed:
            assert [data["no"] for data in found] == list(range(1, len(found) + 1))
            assert found[-1]["state"] == "completed"
        assert len(streamed) == 4
        with two.client(**token) as http:
            assert http.get("/sessions/s/agent-mode").json()["agent_mode"] == "default_mode"


@pytest.mark.slow("starts a server for each signal")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_stream_ends_whole_when_the_server_leaves(tmp_path, how):
    with serving(tmp_path / "home", BATON_DRAIN_S="0.5") as server, server.client() as http:
        delegate(http, SESSION)
        found, failed = [], []

        def read():
            try:
                events(http, "/sessions/s/events", into=found)
            except Exception as error:  # noqa: BLE001 - whatever it is, the stream was cut
                failed.append(error)

        reading = threading.Thread(target=read)
        reading.start()
        until(lambda: len(found) == 2)
        assert server.stop(how) in {0, -how, 128 + how}
        reading.join(60)
        assert not reading.is_alive()
        assert not failed
        assert len(found) == 2
