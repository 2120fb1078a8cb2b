"""`/patterns` and `baton patterns`, over real HTTP, by people of two teams."""

import pytest

from tests.support.cases import every
from tests.support.people import signed_in

NEW = {"signature": "Give every HTTP call a timeout", "text": "Else it hangs.", "confidence": 0.9}


@pytest.fixture(scope="module")
def people(guarded):
    with signed_in(
        guarded, ("pia", "lead", "patterns-a"), ("pat", "developer", "patterns-a"), ("quinn", "lead", "patterns-b")
    ) as clients:
        yield clients


def test_a_proposal_becomes_a_pattern_with_etags_and_an_audit(people):
    made = people["pat"].post("/patterns", json=NEW | {"check": {"forbidden": "eval\\("}})
    assert (made.status_code, made.headers["ETag"], made.json()["status"]) == (201, '"1"', "proposed")
    path = f"/patterns/{made.json()['id']}"
    assert people["pat"].post(f"{path}/approve", json={}, headers={"If-Match": '"1"'}).status_code == 403
    assert people["pia"].post(f"{path}/approve", json={}).status_code == 412
    assert people["quinn"].post(f"{path}/approve", json={}, headers={"If-Match": "*"}).status_code == 404
    approved = people["pia"].post(f"{path}/approve", json={"reason": "agreed"}, headers={"If-Match": '"1"'})
    assert (approved.status_code, approved.headers["ETag"], approved.json()["in_force"]) == (200, '"2"', True)
    assert people["pat"].get(path).json() == approved.json()
    assert people["quinn"].get(path).status_code == 404

    found = people["pat"].get("/patterns/search", params={"text": "a timeout for http calls"}).json()
    assert (found["items"][0]["pattern"]["id"], found["index"], found["degraded"]) == (
        made.json()["id"],
        "built-in",
        [],
    )
    assert people["quinn"].get("/patterns/search", params={"text": "a timeout for http calls"}).json()["items"] == []
    audit = people["admin"].get("/audit", params={"kind": "pattern"}).json()["items"]
    assert [(one["action"], one["reason"]) for one in audit[:2]] == [
        ("pattern.approve", "agreed"),
        ("pattern.propose", ""),
    ]
    assert people["pat"].post("/patterns", json=NEW).status_code == 409


def test_pages_follow_each_other(people):
    for number in range(3):
        people["quinn"].post("/patterns", json={"signature": f"rule {number}"})
    first = people["quinn"].get("/patterns", params={"limit": 2}).json()
    second = people["quinn"].get("/patterns", params={"limit": 2, "cursor": first["next_cursor"]}).json()
    assert [one["signature"] for one in first["items"] + second["items"]] == ["rule 2", "rule 1", "rule 0"]
    assert "next_cursor" not in second


@every(
    ("body", "named"),
    [
        ({}, "signature"),
        ({"signature": "x" * 201}, "signature"),
        ({"signature": "x", "confidence": 1.1}, "confidence"),
        ({"signature": "x", "text": "x" * 1_001}, "text"),
        ({"signature": "x", "globs": ["a"] * 21}, "globs"),
        ({"signature": "x", "check": {"forbid": "x"}}, "check.forbid"),
        ({"signature": "x", "check": {"forbidden": "("}}, "check.forbidden"),
        ({"signature": "x", "status": "validated"}, "status"),
    ],
)
def test_a_wrong_field_is_named(people, body, named):
    answer = people["pat"].post("/patterns", json=body)
    assert answer.status_code == 422
    assert named in {one["field"] for one in answer.json()["errors"]}, answer.text
