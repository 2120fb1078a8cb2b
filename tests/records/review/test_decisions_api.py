"""`GET /decisions` over real HTTP: filters, paging, and visibility."""

import csv
import io
import json

import pytest

from baton.kernel.http.paging import exported
from baton.records.review.bodies import DecisionModel
from baton.records.review.decisions_api import COLUMNS
from baton.rules.call.verdict import RuleHit
from tests.records.pipeline.test_store import record
from tests.support.cases import every
from tests.support.server import until

SECRET = "ghp_" + "a1B2" * 9


@pytest.fixture
def made(server, session):
    """Five decisions of one developer in one session."""
    with server.client(**{"Baton-User": "dora"}) as dora:
        dora.put("/mode", json={"scope": "session", "id": session["session_id"], "enabled": True, "level": "strict"})
        for tool, given in (
            ("Read", {"file_path": "a.py"}),
            ("Edit", {"file_path": "a.py", "old_string": "secret content", "new_string": "more"}),
            ("Bash", {"command": f"curl -H 'Authorization: token {SECRET}' https://api.github.com"}),
            ("Bash", {"command": "pytest -q"}),
            ("Agent", {"subagent_type": "Explore", "prompt": "p", "description": "d"}),
        ):
            dora.post("/pre-tool-use", json=session | {"tool_name": tool, "tool_input": given})
        yield dora


def listed(who, session, **query):
    response = who.get("/decisions", params={"session_id": session["session_id"]} | query)
    assert response.status_code == 200, response.text
    return response.json()


def all_of(client, session):
    return until(lambda: (page := listed(client, session)["items"]) and len(page) == 5 and page)


FILTERS = [
    ({}, ["Agent", "Bash", "Bash", "Edit", "Read"]),
    ({"tool": "Bash"}, ["Bash", "Bash"]),
    ({"effect": "deny"}, ["Bash", "Edit"]),
    ({"decision": "block"}, ["Bash", "Edit"]),
    ({"rule": "orchestrator/direct-edit"}, ["Edit"]),
    ({"rule": "models/inject"}, ["Agent"]),
    ({"user": "dora"}, ["Agent", "Bash", "Bash", "Edit", "Read"]),
    ({"user": "eve"}, []),
    ({"client": "codex"}, []),
    ({"since": "2100-01-01T00:00:00Z"}, []),
]


@pytest.mark.parametrize(("query", "tools"), FILTERS, ids=[str(row[0]) for row in FILTERS])
def test_decisions_are_found_by(made, session, query, tools):
    all_of(made, session)
    assert [item["tool"] for item in listed(made, session, **query)["items"]] == tools


def test_pages_follow_each_other_without_loss_or_doubling(made, session):
    whole = [item["id"] for item in all_of(made, session)]
    found, cursor = [], ""
    while True:
        page = listed(made, session, limit=2, cursor=cursor)
        found += [item["id"] for item in page["items"]]
        if "next_cursor" not in page:
            break
        cursor = page["next_cursor"]
    assert found == whole


def test_secrets_are_masked_and_marked_and_contents_are_never_kept(made, session):
    all_of(made, session)
    text = made.get("/decisions", params={"session_id": session["session_id"]}).text
    assert SECRET not in text
    assert "[masked:" in text
    assert "secret content" not in text


def test_another_developer_s_decisions_are_not_there(made, server, session):
    first = all_of(made, session)[0]["id"]
    with server.client(**{"Baton-User": "eve"}) as eve:
        assert listed(eve, session)["items"] == []
        assert eve.get(f"/decisions/{first}").status_code == 404
    assert made.get(f"/decisions/{first}").json()["id"] == first


@every(
    ("query", "field"),
    [({"limit": 0}, "limit"), ({"limit": "x"}, "limit"), ({"cursor": "%%"}, "cursor"), ({"effect": "maybe"}, "effect"),
     ({"since": "yesterday"}, "since")],
)  # fmt: skip
def test_bad_filters_get_a_problem_that_names_them(http, query, field):
    response = http.get("/decisions", params=query)
    assert response.status_code == 422
    assert response.json()["errors"][0]["field"] == field


def test_an_export_has_what_the_list_has(made, session):
    found = all_of(made, session)
    query = {"session_id": session["session_id"]}
    answer = made.get("/decisions/export", params=query)
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert [json.loads(line) for line in answer.text.splitlines()] == found
    answer = made.get("/decisions/export", params=query | {"format": "csv", "tool": "Bash"})
    assert answer.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [row["id"] for row in rows] == [one["id"] for one in found if one["tool"] == "Bash"]
    assert SECRET not in answer.text
    assert rows[0]["overridden"] == "false"


def test_an_export_shows_nobody_another_s_decisions(made, server, session):
    all_of(made, session)
    with server.client(**{"Baton-User": "mallory"}) as mallory:
        answer = mallory.get("/decisions/export", params={"session_id": session["session_id"]})
    assert (answer.status_code, answer.text) == (200, "")


@every("query", [{"format": "xlsx"}, {"effect": "gone"}, {"since": "yesterday"}])
def test_an_export_names_what_it_does_not_understand(http, query):
    answer = http.get("/decisions/export", params=query)
    assert answer.status_code == 422
    assert next(iter(query)) in answer.text


TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.mark.parametrize(
    ("header", "kept"),
    [(TRACE, TRACE), (TRACE.upper(), None), ("00-" + "0" * 32 + "-b7ad6b7169203331-01", None), ("x" * 5_000, None),
     (f"{TRACE}-more", None), (TRACE[:-2] + "\u06601", None)],
)  # fmt: skip
def test_a_decision_knows_its_trace_and_the_agent_that_the_call_starts(server, session, header, kept):
    agent = {"tool_name": "Agent", "tool_input": {"subagent_type": "Explore", "prompt": "p", "description": "d"}}
    with server.client(**{"Baton-User": "dora"}) as dora:
        sent = {"traceparent": header.encode()}
        made = dora.post("/pre-tool-use", json=session | agent, headers=sent).json()["decision_id"]
        other = dora.post("/pre-tool-use", json=session | {"tool_name": "Read", "tool_input": {}}).json()["decision_id"]
        found = until(lambda: (answer := dora.get(f"/decisions/{made}")).status_code == 200 and answer.json())
        assert (found["started_agent"], found.get("traceparent")) == ("Explore", kept)
        found = until(lambda: (answer := dora.get(f"/decisions/{other}")).status_code == 200 and answer.json())
        assert "started_agent" not in found
        assert "traceparent" not in found


async def pages(*many):
    for page in many:
        yield [DecisionModel.build(one) for one in page]


@every(
    ("command", "cell"),
    [
        ("ls -la", "ls -la"),
        ("=HYPERLINK(1)", "'=HYPERLINK(1)"),
        ("+1", "'+1"),
        ("-x", "'-x"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\tx", "'\tx"),
        ('a "quoted", text\nand a line', 'a "quoted", text\nand a line'),
    ],
)
async def test_a_cell_is_a_text_and_never_a_formula(command, cell):
    made = record(command=command, rules=(RuleHit("x/y", "deny"),), paths=("=a", "b"))
    answer = exported("decisions", "csv", COLUMNS, pages([made]))
    text = b"".join([part async for part in answer.body_iterator]).decode()
    [row] = csv.DictReader(io.StringIO(text, newline=""))
    assert (row["command"], row["rules"], row["paths"]) == (cell, "x/y:deny", "'=a b")
    assert "prompt" not in row
