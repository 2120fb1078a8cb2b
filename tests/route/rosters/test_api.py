"""Rosters pushed by teams, over real HTTP: versions, owners, routing, definitions."""

import pytest

from tests.support.cases import every
from tests.support.people import signed_in

ONE = {"agents": [{"name": "alpha", "description": "Tends the greenhouse: tomatoes, watering, seedlings."}]}
TWO = {"agents": [*ONE["agents"], {"name": "beta", "description": "Repairs bicycles: chains, brakes, wheels."}]}
FILE = "---\nname: gamma\ndescription: Bakes bread: dough, oven, crust.\n---\nKnead it well."


@pytest.fixture(scope="module")
def people(guarded):
    with signed_in(
        guarded,
        ("lea", "lead", "garden"),
        ("dan", "developer", "garden"),
        ("bo", "lead", "bikes"),
        ("ina", "lead", "orchard"),
        ("oto", "developer", "orchard"),
    ) as clients:
        yield clients


def best(http, prompt, **more):
    return http.post("/route", json={"prompt": prompt} | more).json()["candidates"][0]["name"]


def test_a_lead_pushes_versions_and_the_team_s_prompts_are_routed_over_the_active_one(people):
    first = people["ina"].put("/rosters/beds", json=ONE | {"description": "ours"})
    assert (first.status_code, first.json()["version"], first.headers["ETag"]) == (200, 1, '"1"')
    assert best(people["oto"], "repair the brakes of the bicycle") == "alpha"

    assert people["ina"].put("/rosters/beds", json=TWO, headers={"If-Match": '"7"'}).status_code == 412
    second = people["ina"].put("/rosters/beds", json=TWO, headers={"If-Match": '"1"'})
    assert second.headers["ETag"] == '"2"'
    assert best(people["oto"], "repair the brakes of the bicycle") == "beta"
    assert best(people["oto"], "repair the brakes of the bicycle", roster="beds") == "beta"
    assert people["ina"].put("/rosters/beds", json=TWO).json()["version"] == 2

    audit = people["admin"].get("/audit", params={"kind": "roster"}).json()["items"]
    assert [(one["action"], one["object"], one["after"]) for one in audit[:2]] == [
        ("roster.push", "team/orchard/beds", {"version": 2, "agents": 2}),
        ("roster.push", "team/orchard/beds", {"version": 1, "agents": 1}),
    ]


def test_files_are_taken_as_they_are_and_a_definition_is_served(people):
    stored = people["lea"].put("/rosters/kitchen", json={"files": {"bread/gamma.md": FILE}})
    assert stored.json()["agents"] == 1
    found = people["dan"].get("/routing/rosters/kitchen/agents/gamma").json()
    assert (found["body"], found["source"]) == ("Knead it well.", "team")
    assert found["description"] == "Bakes bread: dough, oven, crust."
    answer = people["dan"].post("/route", json={"prompt": "the dough of my bread and its crust in the oven"}).json()
    assert answer["selected_agent"] == "gamma"
    assert "baton roster show kitchen gamma" in answer["additional_context"]
    people["lea"].put("/rosters/stalls", json={"agents": [{"name": "market/eggs", "description": "Sells eggs."}]})
    assert people["dan"].get("/routing/rosters/stalls/agents/market%2Feggs").json()["description"] == "Sells eggs."
    assert people["lea"].delete("/rosters/stalls").status_code == 204
    shown = people["dan"].get("/routing/rosters/kitchen").json()
    assert (shown["rows"], shown["agents"], shown["source"], shown["version"]) == (
        [{"name": "gamma", "description": "Bakes bread: dough, oven, crust.", "triggers": []}],
        1,
        "team",
        1,
    )
    assert {"kitchen", "ultrapower"} <= {one["name"] for one in people["dan"].get("/routing/rosters").json()}
    assert people["lea"].delete("/rosters/kitchen").status_code == 204, (
        "the other tests route over rosters of their own"
    )
    policies = people["dan"].get("/routing/rosters/ultrapower/agents/explore").json()
    assert policies["source"] == "policies"
    assert people["dan"].get("/routing/rosters/ultrapower/agents/nobody").status_code == 404
    assert people["dan"].get("/routing/rosters/nothing/agents/nobody").status_code == 404


def test_a_pushed_roster_is_read_with_its_etag(people):
    put = people["lea"].put("/rosters/sheds", json=ONE | {"description": "ours", "reason": "spring"})
    got = people["dan"].get("/rosters/sheds")
    assert got.json() == put.json()
    assert got.headers["ETag"] == put.headers["ETag"] == '"1"'
    assert {(one["name"], one["team"]) for one in people["dan"].get("/rosters").json()} >= {("sheds", "garden")}
    assert people["dan"].get("/rosters/ultrapower").status_code == 404
    assert people["dan"].get("/rosters/sheds?tier=organisation").status_code == 404
    assert people["admin"].get("/rosters/sheds?team=garden").json() == put.json()
    again = people["lea"].put("/rosters/sheds", json=TWO, headers={"If-Match": got.headers["ETag"]})
    assert again.headers["ETag"] == people["dan"].get("/rosters/sheds").headers["ETag"] == '"2"'
    assert people["lea"].delete("/rosters/sheds", headers={"If-Match": '"1"'}).status_code == 412
    assert people["lea"].delete("/rosters/sheds", headers={"If-Match": '"2"'}).status_code == 204
    assert people["dan"].get("/rosters/sheds").status_code == 404


def test_another_team_s_rosters_are_not_found(people):
    assert people["lea"].put("/rosters/plants", json=TWO, headers={"If-Match": "*"}).status_code == 200
    for path in (
        "/rosters/plants",
        "/rosters/plants?team=garden",
        "/routing/rosters/plants",
        "/routing/rosters/plants/agents/alpha",
    ):
        assert people["bo"].get(path).status_code == 404
    assert people["bo"].post("/route", json={"prompt": "x", "roster": "plants"}).status_code == 404
    assert people["bo"].put("/rosters/plants?team=garden", json=ONE).status_code == 404
    assert people["bo"].delete("/rosters/plants?team=garden").status_code == 404
    for path in ("/rosters", "/routing/rosters"):
        assert "plants" not in {one["name"] for one in people["bo"].get(path).json()}
    assert "plants" in {one["name"] for one in people["admin"].get("/rosters").json()}
    assert people["dan"].put("/rosters/plants", json=ONE).status_code == 403
    assert people["lea"].put("/rosters/all?tier=organisation", json=ONE).status_code == 403


def test_the_organisation_s_roster_holds_where_a_team_has_none_of_that_name(people):
    assert people["admin"].put("/rosters/shared?tier=organisation", json=TWO).status_code == 200
    assert best(people["bo"], "water the tomatoes in the greenhouse") == "alpha"
    assert people["bo"].get("/routing/rosters/shared").json()["source"] == "organisation"
    assert people["bo"].get("/rosters/shared?tier=organisation").json()["tier"] == "organisation"
    assert "shared" in {one["name"] for one in people["bo"].get("/rosters").json()}
    assert people["admin"].delete("/rosters/shared?tier=organisation").status_code == 204
    assert people["bo"].get("/routing/rosters/shared").status_code == 404
    assert people["bo"].post("/route", json={"prompt": "water the tomatoes"}).json()["candidates"] == []


@every(
    ("body", "told"),
    [
        ({}, "exactly one"),
        (ONE | {"files": {"a.md": FILE}}, "exactly one"),
        ({"files": {"a.md": "no front matter"}}, "front matter"),
        ({"files": {"a.md": FILE, "b.md": FILE}}, "names its agent `gamma`"),
        ({"files": {"x/a.md": "---\ntriggers: /(/\n---"}}, "`files.x/a.md.triggers` `/(/` is not a regular expression"),
        ({"agents": [{"name": "a", "triggers": ["/(/"]}]}, "`agents[0].triggers` `/(/` is not a regular expression"),
        (
            {"agents": [{"name": "a"}, {"name": "a\nb"}]},
            "`agents[1].name` is blank, or holds characters that cannot be shown",
        ),
        (
            {"agents": [{"name": "a"}, {"name": "b"}, {"name": "a"}]},
            "`agents[2].name` is `a`, the same as that of agents[0]",
        ),
    ],
)
def test_a_roster_that_cannot_be_is_refused(people, body, told):
    answer = people["lea"].put("/rosters/bad", json=body)
    assert (answer.status_code, told in answer.text) == (422, True), answer.text
    assert people["lea"].get("/rosters/bad").status_code == 404


def test_a_thousand_agents_with_long_prompts_are_one_push(people):
    agents = [
        {"name": f"agent-{n}", "description": f"Does thing {n}.", "body": f"word{n} " * 400} for n in range(1_000)
    ]
    assert people["lea"].put("/rosters/big", json={"agents": agents}).json()["agents"] == 1_000
    assert best(people["dan"], "word512", roster="big") == "agent-512"
    assert people["lea"].delete("/rosters/big").status_code == 204
