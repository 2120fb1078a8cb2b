"""The relay decides while the server is away, as the server would, and delivers what it decided."""

import os
import signal
from typing import Any

import pytest

from bench.soak import away as soak
from tests.hooks.shim import run_shim
from tests.support.relay import LINES, Relay, ready
from tests.support.server import Server, free_port, served, until

pytestmark = pytest.mark.slow("stops and starts servers")


@pytest.fixture
def server(tmp_path):
    with served(tmp_path / "home", PORT=str(free_port()), BATON_SHUTDOWN_S="1") as started:
        yield started


@pytest.fixture
def relay(tmp_path, server):
    made = Relay(tmp_path / "person", server, server.token_of("ada"))
    yield made
    made.stop()


def decisions(server: Server, count: int) -> list[dict[str, Any]]:
    with server.client() as admin:
        return until(
            lambda: (
                (found := admin.get("/decisions?limit=200&event=PreToolUse").json()["items"])
                and len(found) >= count
                and found
            )
        )


def test_decides_as_the_server_and_delivers_each_decision_once(server, relay):
    ready(relay)
    with_server = [relay.line(line) for line in LINES]
    assert all("baton-degraded" not in one.headers for one in with_server)
    server.stop()
    without = [relay.line(line) for line in LINES]
    assert [one.word for one in without] == [one.word for one in with_server]
    assert {one.headers["baton-degraded"].split(",")[0] for one in without} == {"server"}
    assert relay.state()["records_waiting"] == len(LINES)
    server.start()
    until(lambda: relay.line("git log").headers.get("baton-degraded") is None)
    until(lambda: relay.state()["records_waiting"] == 0)
    found = decisions(server, 2 * len(LINES) + 1)
    mine = {one["id"]: one for one in found}
    assert len(mine) == len(found)
    delivered = [mine[one.headers["baton-decision-id"]] for one in without]
    assert [one["command"] for one in delivered] == LINES
    for late, before in zip(delivered, (mine[one.headers["baton-decision-id"]] for one in with_server), strict=True):
        assert late["degraded"][0] == "server"
        same = ("effect", "decision", "rules", "user", "project", "client", "revision")
        assert {name: late[name] for name in same} == {name: before[name] for name in same}


def test_every_call_of_a_load_is_decided_and_recorded_once(tmp_path):
    result = soak.run(tmp_path, [(soak.killed, 0.5), (soak.hung, 2), (soak.restarted, 0.5)], settle_s=0.5)
    assert result.without > 0
    assert (result.wrong, result.lost, result.doubled) == ([], 0, 0)


def test_session_hears_of_changed_rules(server, relay, tmp_path):
    ready(relay)
    until(lambda: "BATON_BUNDLE=" in relay.config.read_text())
    relay.stop()
    server.stop()
    (stored,) = relay.folder.glob("relay-*.json")
    stored.write_text(stored.read_text().replace("rm", "xx"))
    relay.start()
    assert until(lambda: relay.line("rm -rf ~")).status == 599
    until(lambda: relay.state()["rules_changed"])
    relay.config.write_text(relay.config.read_text() + f"BATON_RELAY={relay.socket} /bin/true\n")
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    ran = run_shim(["sh"], env, tmp_path, "claude-code", "SessionStart", str(relay.config), body=b'{"session_id":"s"}')
    assert b"another program has changed the rules" in ran.out


@pytest.mark.parametrize("is_fresh", [False, True])
def test_hung_server_costs_no_hook_its_decision(server, relay, is_fresh):
    ready(relay)
    until(lambda: "BATON_BUNDLE=" in relay.config.read_text())
    assert relay.state()["server_answers"]
    server.process.send_signal(signal.SIGSTOP)
    try:
        if is_fresh:
            relay.stop()
            relay.start()
        assert relay.line("rm -rf ~").word == "deny"
        assert "does not answer" in relay.hook("SessionStart", source="startup").told
        assert relay.hook("UserPromptSubmit", prompt="go on").status == 200
        assert not relay.state()["server_answers"]
    finally:
        server.process.send_signal(signal.SIGCONT)
