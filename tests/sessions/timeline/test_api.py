"""`GET /sessions/{id}/timeline` over real HTTP, its exports and its commands."""

import json
import re

import pytest

from baton.sessions.timeline.export import shown
from tests.delegate.jobs.test_api import delegate
from tests.support.cases import every
from tests.support.server import until

EVIL = "<script>alert(1)</script>\u202egnp.x\x1b[31m & \"quotes\" 'single' <img src=x onerror=alert(1)>"
SECRET = "ghp_" + "a1B2" * 9


@pytest.fixture
def lived(server, session):
    """A session with a mode, calls, a spawn and a job."""
    with server.client(**{"Baton-User": "tilly"}) as http:
        http.post("/pre-tool-use", json=session | {"tool_name": "Bash", "tool_input": {"command": f"echo {EVIL}"}})
        http.put("/mode", json={"scope": "session", "id": session["session_id"], "enabled": True, "reason": EVIL})
        agent = {"subagent_type": "Explore", "prompt": "p", "description": "d"}
        delegate(http, session, description=EVIL)
        http.post("/pre-tool-use", json=session | {"tool_name": "Agent", "tool_input": agent})
        http.post("/pre-tool-use", json=session | {"tool_name": "Bash", "tool_input": {"command": f"echo {SECRET}"}})
        path = f"/sessions/{session['session_id']}/timeline"
        until(lambda: [one["kind"] for one in http.get(path).json().get("items", [])].count("decision") == 2)
        yield http, path


def test_a_timeline_is_paged_filtered_and_exported(lived):
    http, path = lived
    found = http.get(path).json()["items"]
    assert {"decision", "spawn", "job", "mode"} <= {one["kind"] for one in found}
    (spawn,) = [one for one in found if one["kind"] == "spawn"]
    assert (spawn["parent"], spawn["decision"]["started_agent"]) == ("main", "Explore")
    pages, cursor = [], ""
    while True:
        page = http.get(path, params={"limit": 2, "cursor": cursor}).json()
        pages += page["items"]
        if not (cursor := page.get("next_cursor")):
            break
    assert pages == found
    some = http.get(path, params={"kind": ["spawn", "mode"]}).json()["items"]
    assert some == [one for one in found if one["kind"] in {"spawn", "mode"}]
    export = http.get(f"{path}/export")
    assert export.headers["content-type"] == "application/x-ndjson"
    assert [json.loads(line) for line in export.text.splitlines()] == found
    assert SECRET not in export.text


def test_the_page_has_no_script_and_asks_for_nothing(lived):
    http, path = lived
    answer = http.get(f"{path}/export", params={"format": "html"})
    assert answer.headers["content-type"].startswith("text/html")
    assert answer.headers["content-disposition"].startswith("attachment")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    page = answer.text
    assert 'http-equiv="Content-Security-Policy"' in page
    assert not re.search(
        r"<(script|img|link|iframe|object|a)\b|\son\w+=|url\(|@import",
        page.partition("</style>")[2].replace(shown(EVIL), ""),
    )
    assert "<script" not in page
    assert "\u202e" not in page
    assert "\x1b" not in page
    assert "&lt;script&gt;" in page
    assert "\\u202egnp.x\\u001b[31m" in page
    assert page.rstrip().endswith("</html>")


@pytest.mark.parametrize(
    ("query", "field"),
    [({"kind": "party"}, "kind.0"), ({"cursor": "%%"}, "cursor"), ({"cursor": "WyJ4IiwiMSIsIngiLCIwIl0="}, "cursor"),
     ({"limit": 0}, "limit")],
)  # fmt: skip
def test_a_wrong_question_names_its_field(lived, query, field):
    http, path = lived
    answer = http.get(path, params=query)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == field


def test_a_timeline_is_hidden_from_other_developers(lived, server):
    _, path = lived
    with server.client(**{"Baton-User": "mallory"}) as mallory:
        for asked in (path, f"{path}/export?format=html", f"{path}?user=tilly"):
            assert mallory.get(asked).status_code == 404


@every(
    ("text", "expected"),
    [("a<b>&'\"", "a&lt;b&gt;&amp;&#x27;&quot;"), ("a\nb\tc", "a\nb\tc"), ("\x00\u2066\ufeff", "\\u0000\\u2066\\ufeff"),
     ("ünï", "ünï")],
)  # fmt: skip
def test_a_text_is_shown_unchanged(text, expected):
    assert shown(text) == expected
