"""Packs over real HTTP: listed, tried on past calls, switched in a layer, reported, and cured of their noise."""

import json

import pytest

from tests.support.http_calls import ok
from tests.support.server import served, until

pytestmark = pytest.mark.slow("replays many decisions")

RESET = "git reset --hard"


def call(http, command):
    body = {"session_id": "s", "tool_name": "Bash", "tool_input": {"command": command}, "cwd": "/repo"}
    return http.post("/pre-tool-use", json=body).json()["decision"]


def switch(http, pack, state, **query):
    return http.put(f"/policies/packs/{pack}", params=query, json={"state": state})


@pytest.fixture
def server(tmp_path):
    with served(tmp_path / "home") as running:
        yield running


@pytest.fixture
def made(server):
    """Make calls before any pack is on, and again with one in shadow."""
    with server.client() as http:
        ordinary = [call(http, line) for line in (RESET, "ls", f"cd app && {RESET}")]
        assert switch(http, "discard-work", "shadow").json()["state"] == "shadow"
        ordinary += [
            call(http, line) for line in (RESET, f"cd app && {RESET}", f"{RESET}; npm ci", "git clean -fdx", "ls")
        ]
        assert set(ordinary) == {"allow"}
        until(lambda: len(http.get("/decisions").json()["items"]) == 8)


def test_all_packs_are_listed_with_their_state_and_hits(http, made):
    packs = {one["name"]: one for one in http.get("/policies/packs").json()}
    assert len(packs) == 8
    one = packs["discard-work"]
    assert (one["state"], one["calls"], one["stopped"], one["rate"], one["noisy"]) == ("shadow", 8, 4, 50.0, True)
    assert one["layers"] == [{"tier": "organisation", "name": "uploaded", "state": "shadow"}]
    assert {rule["id"]: rule["hits"] for rule in one["rules"]}["packs/discard-work/git"] == {"shadow": 4}
    assert {one["state"] for name, one in packs.items() if name != "discard-work"} == {"off"}


def test_a_pack_is_tried_on_past_calls(http, made):
    lines = [json.loads(one) for one in http.post("/policies/replay", json={"pack": "discard-work"}).text.splitlines()]
    assert (lines[-1]["summary"]["read"], lines[-1]["summary"]["changed"]) == (8, 6)
    calls = [one for line in lines for one in line.get("calls", [])]
    assert {one["after"] for one in calls} == {"ask by packs/discard-work/git"}
    assert http.post("/policies/replay", json={"pack": "discard"}).status_code == 404


def test_the_exception_of_a_noisy_shape_cures_its_calls(http, made):
    report = http.get("/policies/packs/discard-work").json()
    shape, *_ = report["shapes"]
    assert [(one["shape"], one["count"]) for one in report["shapes"]] == [
        ("git reset --hard", 3),
        ("git clean -fdx", 1),
    ]
    assert (shape["rule"], shape["cures"], len(shape["examples"])) == ("packs/discard-work/git", 3, 3)
    files = http.get("/policies/layers/organisation").json()
    put = http.put(
        "/policies/layers/organisation",
        params={"activate": True},
        json={"files": files["files"] | {shape["path"]: shape["text"]}},
        headers={"If-Match": f'"{files["version"]}"'},
    )
    assert put.status_code == 200, put.text
    switch(http, "discard-work", "on")
    assert [call(http, line) for line in (RESET, f"cd app && {RESET}", "git clean -fdx")] == ["allow", "allow", "ask"]


def test_a_switched_pack_is_a_version_of_its_layer_and_audited(http, made):
    for state in ("on", "off"):
        http.put("/policies/packs/drop-data", json={"state": state, "reason": "a try"})
    layer = http.get("/policies/layers/organisation").json()
    assert "drop-data" not in layer["files"]["config.yaml"]
    newest = http.get("/audit", params={"limit": 1}).json()["items"][0]
    assert (newest["action"], newest["reason"]) == ("policies.activate", "a try")


def test_a_narrower_layer_switches_a_pack_off_by_name(http, made):
    ok(http.put("/teams/web", json={}))
    switch(http, "secrets", "on")
    assert switch(http, "secrets", "off", tier="team", name="web").json()["state"] == "off"
    text = http.get("/policies/layers/team", params={"name": "web"}).json()["files"]["config.yaml"]
    assert "secrets: 'off'" in text
    assert [one["state"] for one in http.get("/policies/packs").json() if one["name"] == "secrets"] == ["on"]


@pytest.mark.parametrize(
    ("query", "pack", "body", "status"),
    [
        ({}, "nothing", {"state": "on"}, 404),
        ({}, "secrets", {"state": "maybe"}, 422),
        ({"tier": "planet"}, "secrets", {"state": "on"}, 422),
    ],
)
def test_a_wrong_switch_is_refused(http, query, pack, body, status):
    assert http.put(f"/policies/packs/{pack}", params=query, json=body).status_code == status
