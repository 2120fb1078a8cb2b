"""`baton demo` on a real server: each kind of decision, what the people have, and that it refuses a server in use."""

import pytest

from tests.support.command_line import clean_environment, run
from tests.support.http_calls import ok
from tests.support.server import serving, until


@pytest.fixture
def server(tmp_path):
    with serving(tmp_path / "home") as running:
        yield running


def demo(server, tmp_path, *words):
    env = clean_environment(HOME=str(tmp_path), BATON_URL=server.url, BATON_TOKEN=server.token)
    return run("demo", *words, env=env, cwd=tmp_path)


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
        assert ok(admin.get("/jobs"))["items"]
        assert ok(admin.get("/graphs"))["items"]
        tokens = ok(admin.get("/tokens"))["items"]
        assert all(one.get("revoked_at") for one in tokens if one["user"].startswith("demo-"))
    again = demo(server, tmp_path)
    assert again.returncode == 2
    assert "has decisions already" in again.stderr
    assert demo(server, tmp_path, "--anyway", "--json").returncode == 0
