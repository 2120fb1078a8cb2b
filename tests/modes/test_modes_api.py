"""`/modes` over real HTTP: visibility, pages, and versions."""

from tests.support.http_calls import ok, refused, strict


def test_modes_are_listed_as_far_as_one_may_see(http, dora, eve, session):
    strict(dora, session)
    query = {"scope": "session", "id": session["session_id"]}
    (mine,) = ok(dora.get("/modes", params=query))["items"]
    assert (mine["user"], mine["level"]) == ("dora", "strict")
    assert ok(http.get("/modes", params=query))["items"] == [mine]
    assert ok(eve.get("/modes", params=query))["items"] == []


def test_modes_are_paged_without_loss(dora, session):
    for number in range(3):
        strict(dora, {"session_id": f"{session['session_id']}-{number}"})
    found, cursor = [], ""
    while True:
        page = ok(dora.get("/modes", params={"user": "dora", "scope": "session", "limit": 2, "cursor": cursor}))
        found += [item["id"] for item in page["items"]]
        cursor = page.get("next_cursor")
        if not cursor:
            break
    assert len(found) == len(set(found))
    assert {f"{session['session_id']}-{number}" for number in range(3)} <= set(found)


def test_a_mode_is_not_set_over_somebodys_newer_one(dora, session):
    strict(dora, session)
    body = {"scope": "session", "id": session["session_id"], "enabled": True, "level": "guidance"}
    (mine,) = ok(dora.get("/modes", params={"id": session["session_id"]}))["items"]
    changed = dora.put("/mode", json=body, headers={"If-Match": mine["etag"]})
    ok(changed)
    stale = dora.put("/mode", json=body, headers={"If-Match": mine["etag"]})
    refused(stale, 412, "precondition_failed", changed.headers["etag"])
