"""`GET /audit` over real HTTP, and cursors and pages refused by every list."""

import csv
import io
import json

import pytest

from tests.support.cases import every
from tests.support.http_calls import ok, refused, strict


def test_a_change_is_in_the_audit_log_with_who_and_what(http, dora, session):
    strict(dora, session)
    (entry,) = ok(http.get("/audit", params={"kind": "mode", "object": f"session dora {session['session_id']}"}))[
        "items"
    ]
    assert (entry["actor"], entry["role"], entry["before"]) == ("dora", "developer", {})
    assert entry["after"]["level"] == "strict"
    assert None not in entry["after"].values()


@pytest.mark.parametrize("how", ["DELETE", "PUT"])
def test_why_a_mode_was_removed_is_in_the_audit_log(http, dora, session, how):
    strict(dora, session)
    if how == "DELETE":
        where = {"scope": "session", "id": session["session_id"], "reason": "done"}
        ok(dora.delete("/mode", params=where), 204)
    else:
        ok(dora.put("/mode", json={"scope": "user", "enabled": False, "reason": "done"}))
    query = {"kind": "mode", "object": f"session dora {session['session_id']}"}
    removed, _ = ok(http.get("/audit", params=query))["items"]
    assert (removed["action"], removed["before"]["level"], removed["reason"]) == ("mode.remove", "strict", "done")


def test_the_audit_log_is_paged_without_loss(http, dora, session):
    for level in ("strict", "guidance", "strict"):
        body = {"scope": "session", "id": session["session_id"], "enabled": True, "level": level}
        ok(dora.put("/mode", json=body))
    query = {"object": f"session dora {session['session_id']}", "limit": 2}
    first = ok(http.get("/audit", params=query))
    rest = ok(http.get("/audit", params=query | {"cursor": first["next_cursor"]}))
    assert [item["after"]["level"] for item in first["items"] + rest["items"]] == ["strict", "guidance", "strict"]
    assert "next_cursor" not in rest


def test_an_export_of_the_audit_log_has_what_the_list_has(http, dora, session):
    for level in ("strict", "guidance"):
        body = {"scope": "session", "id": session["session_id"], "enabled": True, "level": level, "reason": "=1+1"}
        ok(dora.put("/mode", json=body))
    query = {"object": f"session dora {session['session_id']}"}
    found = ok(http.get("/audit", params=query))["items"]
    lines = http.get("/audit/export", params=query)
    assert lines.headers["content-type"] == "application/x-ndjson"
    assert [json.loads(line) for line in lines.text.splitlines()] == found
    table = http.get("/audit/export", params=query | {"format": "csv"})
    assert table.headers["content-disposition"] == 'attachment; filename="audit.csv"'
    rows = list(csv.DictReader(io.StringIO(table.text)))
    assert [row["id"] for row in rows] == [one["id"] for one in found]
    assert json.loads(rows[0]["after"]) == found[0]["after"]
    assert rows[0]["reason"] == "'=1+1"


@pytest.mark.parametrize("path", ["/audit", "/audit/export"])
def test_developers_do_not_read_the_audit_log(dora, path):
    refused(dora.get(path), 403, "forbidden", "`audit.read`")


def test_no_route_changes_the_audit_log(http):
    paths = ok(http.get("/openapi.json"))["paths"]
    assert {path: sorted(set(paths[path]) - {"parameters"}) for path in paths if "audit" in path} == {
        "/audit": ["get"],
        "/audit/export": ["get"],
    }
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        assert http.request(method, "/audit").status_code == 405


@every("path", ["/audit", "/modes", "/reports", "/exceptions", "/sessions", "/analytics/delegation"])
def test_a_foreign_cursor_and_a_huge_page_are_refused(http, path):
    refused(http.get(path, params={"cursor": "AAAA"}), 422, "validation", "`cursor`")
    refused(http.get(path, params={"limit": 201}), 422, "validation", "`limit`")
