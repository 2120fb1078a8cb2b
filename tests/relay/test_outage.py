"""The relay decides while the server is away, as the server would, and delivers what it decided."""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from bench.soak import away as soak
from tests.hooks.shim import run_shim
from tests.support.relay import LINES, Relay, ready
from tests.support.server import Server, free_port, served, until

pytestmark = pytest.mark.slow("stops and starts servers")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with served(tmp_path / "home", PORT=str(free_port()), BATON_SHUTDOWN_S="1") as started:
        yield started


@pytest.fixture
def relay(tmp_path: Path, server: Server) -> Iterator[Relay]:
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


def test_decides_as_the_server_and_delivers_each_decision_once(server: Server, relay: Relay) -> None:
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


def test_every_call_of_a_load_is_decided_and_recorded_once(tmp_path: Path) -> None:
    result = soak.run(tmp_path, [(soak.killed, 0.5), (soak.hung, 2), (soak.restarted, 0.5)], settle_s=0.5)
    assert result.without > 0
    assert (result.wrong, result.lost, result.doubled) == ([], 0, 0)


@pytest.mark.parametrize("kind", ["whole", "changed", "old"])
def test_restarted_relay_uses_the_stored_rules_if_they_are_whole(
    server: Server, relay: Relay, kind: str, tmp_path: Path
) -> None:
    ready(relay)
    until(lambda: "BATON_BUNDLE=" in (relay.config).read_text())
    relay.stop()
    server.stop()
    config = relay.config
    (stored,) = relay.folder.glob("relay-*.json")
    if kind == "changed":
        stored.write_text(stored.read_text().replace("rm", "xx"))
    if kind == "old":
        digest, _, *rest = config.read_text().partition("BATON_BUNDLE=")[2].split()
        config.write_text(f"BATON_BUNDLE={digest} {time.time() - 200_000:.0f} {' '.join(rest)}\n")
    relay.start()
    found = until(lambda: (one := relay.line("rm -rf ~")) and (one if kind == "changed" or one.status == 200 else None))
    assert (found.status, found.word) == ((599, "") if kind == "changed" else (200, "deny"))
    if kind == "changed":
        until(lambda: relay.state()["rules_changed"])
        env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
        config.write_text(config.read_text() + f"BATON_RELAY={relay.socket} /bin/true\n")
        ran = run_shim(["sh"], env, tmp_path, "claude-code", "SessionStart", str(config), body=b'{"session_id":"s"}')
        assert b"another program has changed the rules" in ran.out
    if kind == "old":
        assert "only guardrails" in relay.hook("SessionStart", source="startup").told


@pytest.mark.parametrize("is_fresh", [True, False])
def test_hung_server_costs_no_hook_its_decision(server: Server, relay: Relay, is_fresh: bool, tmp_path: Path) -> None:
    ready(relay)
    until(lambda: "BATON_BUNDLE=" in relay.config.read_text())
    assert relay.state()["server_answers"]
    server.process.send_signal(signal.SIGSTOP)
    try:
        relay.stop()
        relay.start() if is_fresh else None
        relay.config.write_text(f"{relay.config.read_text()}BATON_RELAY={relay.socket} {sys.executable}\n")
        body = b'{"session_id":"s","cwd":"/","tool_name":"Bash","tool_input":{"command":"rm -rf ~"}}'
        env, words = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}, ("claude-code", "PreToolUse", str(relay.config))
        assert b'"deny"' in run_shim(["sh"], env, tmp_path, *words, body=body).out
        assert relay.hook("SessionStart", source="startup").told
        assert relay.hook("UserPromptSubmit", prompt="go on").status == 200
        assert not relay.state()["server_answers"]
        relay.ask("DELETE", "/relay")
    finally:
        server.process.send_signal(signal.SIGCONT)


class _Portal(BaseHTTPRequestHandler):
    page = b""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "application/problem+json")
        self.end_headers()
        self.wfile.write(self.page)

    def log_message(self, *args: object) -> None:
        pass


@pytest.mark.parametrize("page", [b"<html>Sign in to this network", b"{}", b'{"message": "no Route matched"}'])
def test_page_of_another_networks_portal_is_no_answer(server: Server, relay: Relay, page: bytes) -> None:
    ready(relay)
    _Portal.page = page
    server.stop()
    with HTTPServer(("127.0.0.1", int(server.url.rpartition(":")[2])), _Portal) as portal:
        threading.Thread(target=portal.serve_forever, daemon=True).start()
        assert relay.line("rm -rf ~").word == "deny"
        portal.shutdown()


def test_call_that_cannot_be_read_is_asked_about_or_refused_as_by_the_server(server: Server, relay: Relay) -> None:
    ready(relay)

    def asked(client: str, on_failure: str) -> tuple[int, str]:
        body = b'{"session_id":"s","tool_name":"Bash","tool_input":' + b"[" * 100_000
        more = {"Authorization": f"Bearer {relay.token}", "Baton-On-Failure": on_failure}
        found = relay.ask("POST", f"/hooks/{client}?event=PreToolUse", body, **more)
        return found.status, found.word or ("told" if found.told else "")

    rows = [(client, how) for client in ("claude-code", "codex") for how in ("allow", "block")]
    with_server = [asked(*row) for row in rows]
    server.stop()
    assert [asked(*row) for row in rows] == with_server
    assert with_server == [(200, "ask"), (200, "deny"), (200, "told"), (200, "deny")]


def test_call_answered_by_both_is_recorded_once(server: Server, relay: Relay) -> None:
    ready(relay)
    first = relay.line("git status").headers["baton-decision-id"]
    with server.agent(Authorization=f"Bearer {relay.token}") as agent:
        again = {"records": [{"id": first, "tool": "Bash", "client": "claude-code", "command": "git status"}]}
        assert agent.post("/bundle/records", json=again).status_code == 204
    relay.line("git log")
    assert [one["id"] for one in decisions(server, 2)].count(first) == 1
