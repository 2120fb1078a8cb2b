"""`baton report`, `policy reports`, `request`, `exceptions`, `session`, `audit`, `stats` against a real server."""

import json

from tests.support.server import until

EDIT = {"tool_name": "Edit", "tool_input": {"file_path": "a.py", "old_string": "a", "new_string": "b"}}
SESSION = {"session_id": "c1", "cwd": "/home/dev/shop"}


def edits(alice, session="c1"):
    return alice.post("/pre-tool-use", json=SESSION | EDIT | {"session_id": session}).json()["decision"]


def test_a_wrong_block_is_reported_answered_and_lifted(baton, alice, user):
    own = f"c-{user}"  # no other test has this session
    body = {"scope": "session", "id": own, "enabled": True, "level": "strict"}
    assert alice.put("/mode", json=body).status_code == 200
    assert edits(alice, own) == "block"
    decision = until(lambda: alice.get("/decisions", params={"decision": "block"}).json()["items"])[0]

    assert "orchestrator/direct-edit" in baton("report", decision["id"], "--comment", "a one-line fix")
    assert "already" in baton("report", decision["id"], refused=True)
    (report,) = json.loads(baton("policy", "reports", "--json"))
    assert "accepted" in baton(
        "policy", "reports", "answer", report["id"], "accepted", "--answer", "spared from now on"
    )
    assert "spared from now on" in baton("policy", "reports", "--state", "accepted")

    assert "for `Edit a.py`" in baton("request", decision["id"], "--reason", "release")
    asked = json.loads(baton("exceptions", "list", "--state", "requested", "--json"))[0]
    said = baton("exceptions", "grant", asked["id"], "--scope", "session", "--for", "5m")
    assert f"`Edit a.py` of {user} (session) until" in said
    assert edits(alice, own) == "allow"
    assert "exception granted until" in baton("session", "show", own)
    assert "has ended" in baton("exceptions", "revoke", asked["id"])
    assert edits(alice, own) == "block"
    assert "No shape" in baton("exceptions", "proposals")

    assert [own, user, "api"] in [line.split()[:3] for line in baton("session", "list").splitlines()]
    assert "are reset" in baton("session", "reset", own, "--reason", "stuck")
    log = baton("audit")
    for action in (
        "mode.set",
        "report.resolve",
        "exception.request",
        "exception.grant",
        "exception.revoke",
        "session.reset",
    ):
        assert action in log
    assert "state: open → accepted" in baton("audit", "--kind", "report")
    exported = baton("audit", "export", "--kind", "report", "--since", "7d").splitlines()
    assert {json.loads(line)["kind"] for line in exported} == {"report"}
    assert baton("audit", "export", "--format", "csv").startswith("id,at,actor,role,action,kind,object,")
    assert f"{own} ({user})" in baton("stats", "delegation", "--by", "session")
    assert json.loads(baton("stats", "delegation", "--by", "user", "--json"))["items"][0]["blocked"] >= 1


def test_a_list_is_not_cut_where_the_api_s_first_page_ends(baton, alice):
    for number in range(55):
        alice.post("/pre-tool-use", json=EDIT | {"session_id": f"many-{number}"})
    assert until(lambda: baton("session", "list").count("many-") == 55)


def test_a_session_is_read_and_exported(baton, alice, tmp_path):
    session = {"session_id": "t1", "cwd": "/home/dev/shop"}
    agent = {"subagent_type": "Explore", "prompt": "p", "description": "d"}
    alice.post("/pre-tool-use", json=session | {"tool_name": "Agent", "tool_input": agent})
    alice.put("/mode", json={"scope": "session", "id": "t1", "enabled": True, "level": "strict"})
    alice.post("/pre-tool-use", json=session | {"tool_name": "Bash", "tool_input": {"command": "ls \x1b[31m"}})
    until(lambda: len(alice.get("/sessions/t1/timeline").json().get("items", [])) == 3)
    found = json.loads(baton("session", "timeline", "t1", "--json"))
    assert [one["kind"] for one in found] == ["spawn", "mode", "decision"]
    lines = baton("session", "timeline", "t1", "--kind", "spawn", "--kind", "mode").splitlines()
    assert ["Explore" in lines[1], "on, strict" in lines[2], len(lines)] == [True, True, 3]
    assert "\x1b" not in baton("session", "timeline", "t1")
    page = tmp_path / "t1.html"
    assert str(page) in baton("session", "export", "t1", "--output", page)
    assert page.read_text().startswith("<!doctype html>")
    missing = tmp_path / "none.html"
    assert "there is no session" in baton("session", "export", "none", "--output", missing, refused=True)
    assert not missing.exists()


def test_costs_are_shown_by_group(baton, alice):
    event = {
        "session_id": "m1", "tool_name": "Agent", "tool_use_id": "t1",
        "tool_input": {"subagent_type": "Explore", "prompt": "p", "description": "d"},
    }  # fmt: skip
    used = {"resolvedModel": "claude-haiku-4-5", "usage": {"input_tokens": 1_000_000, "output_tokens": 1}}
    alice.post("/hooks/claude-code", json=event | {"hook_event_name": "PreToolUse"})
    alice.post("/hooks/claude-code", json=event | {"hook_event_name": "PostToolUse", "tool_response": used})

    def explored():
        rows = [line.split() for line in baton("stats", "cost", "--by", "agent").splitlines()]
        return next((row for row in rows if row[0] == "Explore"), None)

    assert until(explored) == ["Explore", "1", "0", "1000000", "0", "1", "1.00", "0"]


def test_times_of_decisions_and_the_accuracy_of_routes_are_shown(baton, alice):
    alice.post("/hooks/claude-code", json={"hook_event_name": "PreToolUse", "session_id": "l1", "tool_name": "Bash",
                                           "tool_input": {"command": "ls"}})  # fmt: skip
    alice.post("/route", json={"prompt": "write docs for the loader"}).raise_for_status()

    def whole(*words):
        return [line.split() for line in baton(*words).splitlines() if line.startswith("all")]

    rows = until(lambda: whole("stats", "latency"))
    assert "PreToolUse" in [row[1] for row in rows]
    assert all(row[4] == "ms" for row in rows)
    (row,) = until(lambda: whole("stats", "routing"))
    assert (int(row[1]) > 0, row[-1]) == (True, "-"), "nobody has judged them"
    assert '"p99_ms"' in baton("stats", "latency", "--by", "day", "--json")


def test_the_status_and_the_filters_speak_an_operators_words(baton, alice):
    edits(alice)
    shown = until(lambda: (text := baton("status")) and " written, " in text and text)
    assert not {"shed", "spool_mb", "set_aside", "appended"} & set(shown.replace(",", " ").replace(":", " ").split())
    until(lambda: json.loads(baton("decisions", "--effect", "no-rule", "--json")))


def test_a_filter_by_a_misspelt_name_is_refused_with_the_nearest_one(baton, alice, user):
    edits(alice)
    until(lambda: json.loads(baton("decisions", "--user", user, "--json")))
    refused = baton("decisions", "--user", f"{user}x", refused=True)
    assert f"`user` is `{user}x`, an unknown user; did you mean `{user}`?" in refused
    rule = "guardrails/force-psuh"
    for words in (("decisions",), ("decisions", "export")):
        assert "did you mean `guardrails/force-push`?" in baton(*words, "--rule", rule, refused=True)


def test_lists_match_the_console_and_mine_filters_them(baton, server):
    """A server without tokens. Another project's name is corrected."""
    headers = {"Baton-User": "someone-else", "Baton-Project": "github.com/acme/seen"}
    with server.client(**headers) as other:
        other.post("/pre-tool-use", json=SESSION | EDIT | {"session_id": "seen", "project": "github.com/acme/seen"})
    until(lambda: "someone-else" in baton("decisions", "--session", "seen"))
    assert "someone-else" in baton("session", "list")
    assert "someone-else" not in baton("decisions", "--mine", "--session", "seen")
    assert "did you mean" in baton("decisions", "--project", "github.com/acme/sen", refused=True)
