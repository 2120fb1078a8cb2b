"""What a relay keeps, decides and delivers, with a server that the test plays."""

import json
import time
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest

from baton.local.config import BUNDLE
from baton.local.hook.main import read_config
from baton.relay.bundle import Bundles, RecordSpool
from baton.relay.outage import PROBE_S, Outage
from baton.relay.process import _is_of_server
from baton.relay.request import hook_of
from baton.relay.wire import WireAnswer
from baton.rules.call.call import Principal
from baton.rules.call.modes import Freeze, ModeSetting
from baton.rules.policy.rules.files import Layer
from baton.shared.bundle import Bundle
from baton.shared.record_ids import moment_of
from tests.support.cases import every
from tests.support.shipped import shipped_layer

RULE = "id: acme/{0}\ndescription: A rule of {0}.\nmatch: {1}\ndecision: {2}\nreason: Not now.\ntests: {{match: {3}, not_match: [make]}}\n"
RULES = {
    "background": ("{background_running_at_least: 1}", "deny", "[{tool: Bash, input: {command: s, run_in_background: true}, background_running: 1}]"),
    "edited": ("{edited_by_other: true}", "deny", "[{tool: Edit, input: {file_path: a.py}, other_editor: s}]"),
    "leads": ("{shell: {program: migrate}}", "ask\napprovers: [lead]", "[migrate up]"),
    "self": ("{shell: {program: publish}}", "ask", "[publish now]"),
}  # fmt: skip
BASH, READ = {"tool_name": "Bash"}, {"tool_name": "Read", "tool_input": {"file_path": "/home/ada/shop/a.py"}}


class Machine:
    """A relay's state, its server, and the hooks of one session."""

    def __init__(self, folder: Path) -> None:
        self.config, self.number, self.is_up = folder / "config", 0, True
        self.ahead, self.given, self.records = timedelta(), Bundle(principal=Principal(user="ada"), layers=[]), []
        self.status = 204
        files = {f"acme/{name}.yaml": RULE.format(name, *row) for name, row in RULES.items()}
        layers = [shipped_layer(), msgspec.convert({"tier": "organisation", "name": "", "files": files}, Layer)]
        self.given = msgspec.structs.replace(self.given, layers=layers)
        self.start()

    def start(self) -> None:
        """Start the relay, again with what it has stored."""
        self.bundles = Bundles(self.config, "http://corp", self.send)
        self.outage = Outage(self.bundles)
        self.outage.begin()
        self.outage._loaded.wait()

    def send(self, method: str, target: str, body: bytes, headers: object, seconds: float) -> WireAnswer:
        if not self.is_up:
            raise ConnectionRefusedError
        if method == "POST":
            try:
                found = json.loads(body)["records"]
            except ValueError:
                return WireAnswer(422, [], b"")
            self.records += found if self.status == 204 else []
            return WireAnswer(self.status, [], b"")
        content = msgspec.json.encode(self.given)
        date = f"{datetime.now(UTC) + self.ahead:%a, %d %b %Y %H:%M:%S} GMT"
        return WireAnswer(200, [("ETag", f'"{sha256(content).hexdigest()}"'), ("Date", date)], content)

    def hook(self, event: str = "PreToolUse", token: str = "", client: str = "claude-code", **more: Any) -> Any:
        self.number += 1
        body = {"session_id": "s", "hook_event_name": event, "cwd": "/home/ada/shop", "tool_use_id": f"{self.number}"}
        target, headers = (
            f"/hooks/{client}?event={event}",
            [("Authorization", token or "one"), ("Baton-Project", "shop")],
        )
        return hook_of(target, json.dumps(body | more).encode(), headers, self.outage.now())

    def decide(self, line: str = "ls", **more: Any) -> Any:
        """Return the answer without the server, None without one."""
        found = self.outage.decide(self.hook(**BASH | {"tool_input": {"command": line}} | more))
        return found and json.loads(found.body)

    def word(self, line: str = "ls", **more: Any) -> str:
        return str(self.decide(line, **more).get("hookSpecificOutput", {}).get("permissionDecision", ""))

    def fetch(self, **more: Any) -> None:
        self.outage.fetch(self.hook(**more))


@pytest.fixture
def machine(tmp_path):
    made = Machine(tmp_path)
    made.fetch()
    return made


SERVER_ONLY = [
    # A rule that only the server's facts fulfil does not match.
    ({"tool_input": {"command": "sleep 9", "run_in_background": True}}, ""),
    ({"tool_name": "Edit", "tool_input": {"file_path": "a.py", "old_string": "a", "new_string": "b"}}, ""),
    # The window of a task graph's wave.
    ({"tool_name": "Agent", "tool_input": {"subagent_type": "Explore", "prompt": "[wave 9] x", "description": "x"}}, ""),
    # An approval: for others, or of a client that asks nobody. A question to the person stays one.
    ({"line": "migrate up"}, "deny"),
    ({"line": "publish now"}, "ask"),
    ({"line": "publish now", "client": "codex"}, "deny"),
    # No answer, but no failure either.
    ({"event": "UserPromptSubmit", "prompt": "go on"}, ""),
    ({"event": "PostToolUse", "tool_response": {}}, ""),
    ({"event": "Stop"}, ""),
    # What needs no server.
    ({"line": "rm -rf ~"}, "deny"),
]  # fmt: skip


@every(("call", "word"), SERVER_ONLY)
def test_what_only_the_server_knows_has_a_fixed_answer(machine, call, word):
    assert machine.word(**call) == word


def test_rate_is_not_limited_and_each_call_is_recorded(machine):
    assert {machine.word() for _ in range(300)} == {""}
    assert len({json.loads(line)["id"] for line in machine.bundles.spool.first(999)}) == 300


def test_freeze_and_mode_with_the_sessions_history_hold(machine):
    mode = ModeSetting(scope="user", id="ada", enabled=True, level="strict", set_by="ada", reason="test")
    machine.given = msgspec.structs.replace(machine.given, modes=[mode])
    machine.fetch()
    machine.outage.answered(machine.hook("SessionStart", source="startup"), b"{}")
    assert machine.word(**READ) == ""
    assert machine.word(**READ) == "deny"  # the second look in a row
    assert machine.word(**READ, session_id="unseen") == ""
    frozen = Freeze(scope="user", id="ada", reason="incident", set_by="ada", set_at=datetime.now(UTC))
    machine.given = msgspec.structs.replace(machine.given, freezes=[frozen])
    machine.fetch()
    assert machine.word() == "deny"


def test_records_outlast_the_token_they_were_made_with_and_its_rules_do_not(machine):
    machine.is_up = False
    assert machine.decide(token="rotated") is None
    assert machine.word() == ""
    machine.start()
    machine.is_up = True
    machine.fetch(token="rotated")
    assert len(machine.records) == 1
    assert not machine.bundles.spool.path.exists()


@every("ahead_s", [0, 1_000, -1_000])
def test_records_have_the_servers_time(tmp_path, ahead_s):
    machine = Machine(tmp_path)
    machine.ahead = timedelta(seconds=ahead_s)
    machine.fetch()
    for _ in range(2):  # with the second a restarted relay
        machine.word()
        made = moment_of(json.loads(machine.bundles.spool.first(9)[-1])["id"])
        assert abs(made - datetime.now(UTC) - machine.ahead) < timedelta(seconds=60)
        machine.start()


def test_refused_records_are_counted_and_hold_up_no_others(machine):
    machine.word()
    path = machine.bundles.spool.path
    path.write_bytes(path.read_bytes() + b'{"id": "torn')
    machine.word()
    machine.fetch()
    assert (len(machine.records), path.exists()) == (2, False)
    machine.word()
    machine.status = 422
    machine.fetch()
    state = machine.outage.state()
    assert (state["records_refused"], state["records_waiting"], state["records_lost"]) == (2, 0, 0)


@every(("kept", "lost"), [(None, 3), (0, 3), (1, 2)])
def test_records_that_another_program_removes_are_counted(machine, kept, lost):
    before, given = machine.outage.unstored, len(machine.records)
    for _ in range(3):
        machine.word()
    path = machine.bundles.spool.path
    lines = path.read_bytes().splitlines(keepends=True)
    path.unlink() if kept is None else path.write_bytes(b"".join(lines[:kept]))
    machine.fetch()
    assert (machine.outage.unstored - before, len(machine.records) - given) == (lost, kept or 0)
    assert not path.exists()


def test_each_session_hears_once_of_loss_and_return_whatever_relay_runs(machine):
    def told(found: Any) -> str:
        return str(found.get("systemMessage", ""))

    assert "does not answer" in told(machine.decide())
    assert told(machine.decide()) == ""
    machine.start()
    assert told(machine.decide()) == ""
    assert "does not answer" in told(machine.decide(session_id="another"))
    assert "is back" in told(json.loads(machine.outage.answered(machine.hook(**BASH, tool_input={}), b"{}")))
    machine.start()
    assert machine.outage.answered(machine.hook(**BASH, tool_input={}), b"{}") == b"{}"


def test_server_that_sends_rules_but_answers_no_hook_is_asked_ever_less(machine, monkeypatch):
    now, looks = [0.0], []
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(machine.outage, "_beside", lambda _: looks.append(now[0]))
    for number in range(3):
        machine.outage.lost()
        while len(looks) == number:
            now[0] += PROBE_S / 4
            machine.outage.probe(machine.hook())
        machine.outage.is_lost = False  # the rules have come
    waited = [round(later - before) for before, later in zip([0.0, *looks], looks, strict=False)]
    assert waited == [1, 2, 4]
    machine.outage.answered(machine.hook(), b"{}")
    machine.outage.lost()
    assert machine.outage._pause == PROBE_S


@every("kind", ["whole", "changed", "removed", "1700000000", "-1e300"])
def test_stored_rules_that_another_program_touched_are_not_used(tmp_path, kind):
    machine = Machine(tmp_path)
    machine.fetch()
    digest, _, *more = read_config(str(machine.config))[BUNDLE].split()
    (stored,) = tmp_path.glob("relay-*.json")
    touch = {"whole": str, "changed": lambda: stored.write_text("{}"), "removed": stored.unlink}
    line = f"{BUNDLE}={digest} {kind} {' '.join(more)}\n"
    touch.get(kind, lambda: machine.config.write_text(line))()
    machine.start()
    found, is_touched = machine.decide("publish now"), kind in {"changed", "removed", "-1e300"}
    assert (machine.outage.is_changed, found is None) == (is_touched, is_touched)
    assert ("only guardrails" in str(found)) is (is_old := kind == "1700000000")
    assert is_touched or machine.word("publish now") == ("" if is_old else "ask")
    (tmp_path / "config").unlink()
    next(tmp_path.glob("*.told"), stored).unlink(missing_ok=True)


@every(("client", "how", "word"), [("claude-code", "allow", "ask"), ("codex", "block", "deny")])
def test_call_that_cannot_be_read_is_asked_about_or_refused(machine, client, how, word):
    hook = machine.hook(client=client)
    hook = hook._replace(body=b"{" + b"[" * 100_000, headers=[*hook.headers, ("Baton-On-Failure", how)])
    assert json.loads(machine.outage.decide(hook).body)["hookSpecificOutput"]["permissionDecision"] == word


PAGES = [
    (422, 1, b"{}"),
    (502, 1, b"{}"),
    (200, 0, b"{}"),
    (200, 0, b'{"message": "no Route"}'),
    (200, 1, b"<html>Sign in"),
]


@every(("status", "marked", "body"), PAGES)
def test_page_of_a_proxy_or_portal_is_no_answer_of_the_server(status, marked, body):
    fields = [("Content-Type", "application/problem+json"), *[("Baton-Protocol", "1")] * marked]
    assert _is_of_server(WireAnswer(status, fields, body)) is (status == 422)


def test_spool_keeps_the_records_behind_those_delivered(tmp_path):
    spool = RecordSpool(tmp_path / "spool")
    for number in range(5):
        spool.add(b"%d" % number)
    spool.drop(spool.first(3))
    assert (spool.first(9), len(spool), spool.path.stat().st_mode & 0o077) == ([b"3", b"4"], 2, 0)
