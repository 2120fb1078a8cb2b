"""`baton demo` on a real server: each kind of decision, people, agent, and the refusal of a used server."""

import signal
import subprocess
from datetime import UTC, datetime, timedelta

import pytest

from tests.support.command_line import clean_environment, run
from tests.support.http_calls import ok
from tests.support.server import BATON, served, until

pytestmark = pytest.mark.slow("plays the demonstration, with a runner")


@pytest.fixture
def server(tmp_path):
    with served(tmp_path / "home") as running:
        yield running


def environment(server, tmp_path):
    return clean_environment(HOME=str(tmp_path), BATON_URL=server.url, BATON_TOKEN=server.token)


def demo(server, tmp_path, *words):
    return run("demo", *words, env=environment(server, tmp_path), cwd=tmp_path)


def past(days):
    return (datetime.now(UTC) - timedelta(days=days)).isoformat()


def assert_every_token_is_revoked(admin):
    tokens = ok(admin.get("/tokens"))["items"]
    made = [one for one in tokens if one["user"].startswith("demo-") or one["role"] == "developer"]
    assert len(made) >= 5
    assert all(one.get("revoked_at") for one in made)


def test_a_fresh_server_shows_every_kind_of_decision_and_one_in_use_is_left_alone(server, tmp_path):
    done = demo(server, tmp_path)
    assert done.returncode == 0, done.stderr
    with server.client() as admin:
        for effect in ("deny", "ask", "rewrite"):
            until(lambda effect=effect: ok(admin.get("/decisions", params={"effect": effect}))["items"])
        until(lambda: ok(admin.get("/decisions", params={"rule": "demo/no-pkill"}))["items"])
        until(lambda: ok(admin.get("/decisions", params={"outcome": "ran_anyway"}))["items"])
        decisions = ok(admin.get("/decisions", params={"limit": 200}))["items"]
        assert {one["client"] for one in decisions} == {"api", "claude-code", "codex", "qwen"}, "`api` routes prompts"
        assert all(one["user"].startswith("demo-") for one in decisions)
        assert {one["team"] for one in decisions} == {"demo-web", "demo-data"}
        assert len(ok(admin.get("/reports"))["items"]) == 1
        days = ok(admin.get("/decisions/counts", params={"by": "day", "since": past(8), "until": past(2)}))["items"]
        assert sum(sum(day["counts"].values()) for day in days) > 50, (
            "of a week, which was filled from the server's machine"
        )
        made_up = ok(admin.get("/decisions", params={"until": past(1), "limit": 200}))["items"]
        assert all(one["session_id"].startswith("demo-past-") for one in made_up if one.get("session_id"))
        assert ok(admin.get("/graphs"))["items"]
        to_confirm, changed = ok(admin.get("/jobs"))["items"]
        assert (to_confirm["state"], changed["state"]) == ("pending_approval", "completed")
        files = ok(admin.get(f"/jobs/{changed['id']}/diff"))["files"]
        assert [one["path"] for one in files] == ["payments/client.py", "tests/test_client.py"]
        assert_every_token_is_revoked(admin)
    again = demo(server, tmp_path)
    assert again.returncode == 2
    assert "has decisions already" in again.stderr
    assert demo(server, tmp_path, "--anyway", "--json").returncode == 0


def test_live_demo_runs_with_a_pending_question_until_stopped(server, tmp_path):
    words, env = [BATON, "demo", "--live", "--every", "0.05"], environment(server, tmp_path)
    with subprocess.Popen(words, env=env, stderr=subprocess.PIPE, text=True) as going, server.client() as admin:
        try:
            asked = until(lambda: ok(admin.get("/approvals"))["items"])[0]
            assert asked["command"] == "cd build && rm -rf 'old bundles'"
            answer = f"/approvals/{asked['id']}"
            ok(admin.post(answer, json={"answer": "deny", "reason": "keep them"}))
            until(lambda: ok(admin.get(f"/jobs/{asked['job']}"))["state"] == "completed")
            assert "I left them where they are." in ok(admin.get(f"/jobs/{asked['job']}/output"))["output"]
            assert "until Ctrl-C" in going.stderr.readline()
            since = {"limit": 200, "since": past(0)}
            until(lambda: len(ok(admin.get("/decisions", params=since))["items"]) > 5)
            going.send_signal(signal.SIGINT)
            assert going.wait(60) == 0
            assert_every_token_is_revoked(admin)
        finally:
            going.kill()
