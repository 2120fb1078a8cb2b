"""`/mode` over real HTTP. How scopes resolve is tested in `tests/modes/test_service.py`."""

import pytest

from tests.support.cases import every
from tests.support.http_calls import introduce


def test_nothing_set_is_off(http):
    mode = http.get("/mode", params={"session_id": "none", "project": "none", "user": "none"}).json()
    assert mode == {"enabled": False, "level": "guidance", "scope": "default", "auto_activated": False, "chain": []}


def test_a_setting_is_put_shown_and_removed(server, http):
    introduce(server, projects=["p"], users=["ann"])
    body = {"scope": "user_project", "user": "ann", "project": "p", "enabled": True, "level": "strict", "reason": "r"}
    setting = http.put("/mode", json=body).json()
    assert {name: setting[name] for name in body} == body
    mode = http.get("/mode", params={"user": "ann", "project": "p"}).json()
    assert (mode["enabled"], mode["level"], mode["scope"]) == (True, "strict", "user_project")
    assert mode["activated_at"]
    assert [one["scope"] for one in mode["chain"]] == ["user_project"]
    for _ in range(2):
        where = {"scope": "user_project", "user": "ann", "project": "p"}
        assert http.delete("/mode", params=where).status_code == 204
    assert not http.get("/mode", params={"user": "ann", "project": "p"}).json()["enabled"]


def test_a_missing_level_means_guidance_and_the_seed_s_name_is_taken(http):
    body = {"scope": "session", "id": "lvl", "enabled": True}
    assert http.put("/mode", json=body).json()["level"] == "guidance"
    assert http.put("/mode", json=body | {"enforcement_level": "strict"}).json()["level"] == "strict"


BAD = [
    ({}, "scope", []),
    ({"scope": "planet", "enabled": True}, "scope", ["organisation", "session"]),
    ({"scope": "team", "id": "t"}, "enabled", []),
    ({"scope": "team", "id": "t", "enabled": "often"}, "enabled", []),
    ({"scope": "team", "id": "t", "enabled": True, "level": "harsh"}, "level", ["strict", "guidance"]),
    ({"scope": "session", "enabled": True}, "id", []),
    ({"scope": "project", "enabled": True}, "id", []),
    ({"scope": "user_project", "enabled": True}, "project", []),
    ({"scope": "organisation", "id": "x", "enabled": True}, "id", []),
    ({"scope": "team", "id": "t", "user": "u", "enabled": True}, "user", []),
    ({"scope": "team", "id": "t", "enabled": True, "levle": "strict"}, "levle", []),
    ({"scope": "team", "id": "t", "enabled": True, "expires_at": "soon"}, "expires_at", []),
    ({"scope": "team", "id": "t", "enabled": True, "expires_at": "2030-01-01T00:00:00"}, "expires_at", []),
    ({"scope": "team", "id": "demo-wbe", "enabled": True}, "id", []),
    ({"scope": "team", "id": "t" * 5_000, "enabled": True}, "id", []),
]


@every(("body", "field", "allowed"), BAD, ids=[f"{i}-{row[1]}" for i, row in enumerate(BAD)])
def test_bad_settings_get_a_problem_that_names_the_field(http, body, field, allowed):
    response = http.put("/mode", json=body)
    assert response.status_code == 422
    error = response.json()["errors"][0]
    assert error["field"] == field
    assert set(allowed) <= set(error.get("allowed", []))
    assert field in response.json()["detail"]


def test_one_developer_neither_sees_nor_sets_another_s(server, http):
    with server.client(**{"Baton-User": "eve"}) as eve:
        assert eve.get("/mode", params={"user": "ann"}).status_code == 404
        body = {"scope": "user_project", "user": "ann", "project": "p", "enabled": False}
        assert eve.put("/mode", json=body).status_code == 404
        shared = {"scope": "organisation", "enabled": False}
        assert eve.put("/mode", json=shared).status_code == 403
        eve.put("/mode", json={"scope": "session", "id": "shared-id", "enabled": True, "level": "strict"})
    assert not http.get("/mode", params={"session_id": "shared-id", "user": "ann"}).json()["enabled"]


def test_an_oversized_body_is_refused(http):
    response = http.put("/mode", content=b"x" * (2 << 20))
    assert (response.status_code, response.json()["code"]) == (413, "body_too_large")


def test_only_the_organisations_setting_is_locked(http):
    body = {"scope": "team", "id": "t", "enabled": True, "locked": True}
    refused = http.put("/mode", json=body)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "locked")


@pytest.mark.parametrize(("length", "status"), [(1_000, 204), (1_001, 422)])
def test_the_reason_of_a_removal_has_at_most_1000_characters(http, length, status):
    query = {"scope": "user", "id": "ann", "reason": "r" * length}
    assert http.delete("/mode", params=query).status_code == status


def test_the_etag_of_the_mode_in_force_is_that_of_the_setting_that_decides(server, http):
    introduce(server, projects=["etags"], users=["ann"])
    wide = http.put("/mode", json={"scope": "project", "id": "etags", "enabled": True})
    where = {"user": "ann", "project": "etags"}
    assert http.get("/mode", params=where).headers["ETag"] == wide.headers["ETag"]
    narrow = http.put("/mode", json={"scope": "user_project", "enabled": True, "level": "strict"} | where)
    assert http.get("/mode", params=where).headers["ETag"] == narrow.headers["ETag"] != wide.headers["ETag"]


def test_settings_are_listed_in_pages_without_loss(server, http):
    introduce(server, users=["pat"])
    names = {f"page-{number}" for number in range(5)}
    for name in names:
        assert http.put("/mode", json={"scope": "session", "id": name, "user": "pat", "enabled": True}).is_success
    found, cursor = [], ""
    while True:
        shown = http.get("/modes", params={"user": "pat", "limit": 2, "cursor": cursor}).json()
        found += [item["id"] for item in shown["items"]]
        cursor = shown.get("next_cursor")
        if not cursor:
            break
    assert (len(found), set(found)) == (5, names)


MISSPELT = [
    ("/mode", {"scope": "user", "id": "cleoo", "enabled": True}, "id", "cleo"),
    ("/mode", {"scope": "session", "id": "s", "user": "cleoo", "enabled": True}, "user", "cleo"),
    ("/mode", {"scope": "project", "id": "github.com/acme/shpo", "enabled": True}, "id", "github.com/acme/shop"),
    (
        "/mode",
        {"scope": "user_project", "project": "github.com/acme/shpo", "enabled": True},
        "project",
        "github.com/acme/shop",
    ),
    ("/mode", {"scope": "team", "id": "paymets", "enabled": True}, "id", "payments"),
    ("/policies/layers/user?name=cleoo", {"files": {}}, "name", "cleo"),
    ("/policies/layers/team?name=paymets", {"files": {}}, "name", "payments"),
    ("/policies/layers/project?name=github.com/acme/shpo", {"files": {}}, "name", "github.com/acme/shop"),
    ("/policies/layers/team/agents/claude-code/Explore?name=paymets", {"model": "opus"}, "name", "payments"),
    ("/rosters/ours?team=paymets", {"agents": [{"name": "a", "description": "b"}]}, "team", "payments"),
    (
        "/policies/unlocks",
        {"rule": "guardrails/fork-bomb", "user": "cleoo", "reason": "r", "until": "2030-01-01T00:00:00Z"},
        "user",
        "cleo",
    ),
]


@every(("path", "body", "field", "near"), MISSPELT)
def test_a_misspelt_name_is_refused_with_the_nearest_one(server, http, path, body, field, near):
    introduce(server, teams=["payments"], projects=["github.com/acme/shop"], users=["cleo"])
    response = http.request("POST" if "unlocks" in path else "PUT", path, json=body)
    assert response.status_code == 422, response.text
    assert response.json()["errors"][0]["field"] == field
    assert f"did you mean `{near}`?" in response.json()["detail"]


def test_an_unknown_name_is_refused_with_the_way_to_add_it(http):
    refused = http.put("/mode", json={"scope": "project", "id": "zzzzzz", "enabled": True}).json()["detail"]
    assert refused == "`id` is `zzzzzz`, an unknown project; an admin adds it with `baton team project set`"
