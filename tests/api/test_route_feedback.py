"""Feedback on routes, and the weights that a lead puts in force for the team, over real HTTP."""

import pytest

from tests.support.server import serving, until

ROSTER = [
    {"name": "alpha", "description": "Tends the greenhouse: tomatoes, watering, seedlings."},
    {"name": "beta", "description": "Repairs bicycles: chains, brakes, wheels."},
]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("feedback") / "home", BATON_AUTH="on") as running:
        yield running


@pytest.fixture(scope="module")
def people(server):
    root = (server.home / "admin-token").read_text().strip()
    clients = {"admin": server.client(Authorization=f"Bearer {root}")}
    for user, role, team in (("lea", "lead", "red"), ("dan", "developer", "red"), ("bo", "lead", "blue")):
        made = clients["admin"].post("/tokens", json={"user": user, "role": role, "team": team}).json()
        clients[user] = server.client(Authorization=f"Bearer {made['text']}")
    yield clients
    for client in clients.values():
        client.close()


def routed(http, prompt="water the tomatoes"):
    return http.post("/route", json={"prompt": prompt, "roster": ROSTER}).json()


def say(http, route, agent):
    return http.post(f"/route/{route['id']}/feedback", json={"agent": agent})


def test_feedback_is_kept_by_route_without_the_prompt_and_can_be_changed(people):
    route = routed(people["dan"])
    given = say(people["dan"], route, "beta")
    assert (given.status_code, given.json()["agent"], given.json()["selected_agent"]) == (200, "beta", "alpha")
    assert say(people["dan"], route, "").json()["agent"] == ""
    kept = people["dan"].get("/users/dan/export").json()["kept"]["route_feedback"]
    assert [(one["route_id"], one["right_agent"]) for one in kept] == [(route["id"], "")]
    assert "tomatoes" not in str(kept)
    assert people["dan"].delete("/users/dan/data").status_code in {200, 204}
    assert people["dan"].get("/users/dan/export").json()["kept"]["route_feedback"] == []


def test_another_s_route_is_not_there_but_their_lead_may_judge_it(people):
    route = routed(people["dan"])
    assert say(people["bo"], route, "").status_code == 404
    assert say(people["lea"], route, "alpha").status_code == 200
    assert say(people["dan"], {"id": "none"}, "alpha").status_code == 404
    assert people["dan"].post(f"/route/{route['id']}/feedback", json={"agent": "a", "prompt": "b"}).status_code == 422


def test_a_team_s_weights_are_fitted_reported_activated_and_taken_back_by_its_lead(people):
    assert people["lea"].post("/routing/fits").status_code == 409
    for number in range(12):
        say(people["dan"], routed(people["dan"], f"water the tomatoes in row {number}"), "alpha")
        say(people["dan"], routed(people["dan"], f"what is the capital of country {number}"), "")
    fitted = people["lea"].post("/routing/fits")
    assert fitted.status_code == 200, fitted.text
    fit = fitted.json()
    assert (fit["active"], fit["version"]) == (False, 1)
    assert fit["samples"] >= 24
    assert set(fit["before"]) == set(fit["after"]) == {"top_1", "false_routes", "log_loss"}
    assert fit["after"]["log_loss"] < fit["before"]["log_loss"]

    before = routed(people["dan"])["confidence"]
    assert people["dan"].post("/routing/fits/1/activate", json={}).status_code == 403
    assert people["bo"].post("/routing/fits/1/activate?team=red", json={}).status_code == 404
    assert people["bo"].get("/routing/fits?team=red").status_code == 404
    assert people["lea"].post("/routing/fits/9/activate", json={}).status_code == 404
    listed = people["lea"].post("/routing/fits/1/activate", json={"reason": "better"}).json()["items"]
    assert [one["active"] for one in listed] == [True]
    assert routed(people["dan"])["confidence"] > before
    assert routed(people["bo"])["confidence"] == before

    audit = people["admin"].get("/audit", params={"kind": "routing"}).json()["items"]
    assert (audit[0]["object"], audit[0]["after"], audit[0]["reason"]) == ("red", {"active": 1}, "better")
    people["lea"].post("/routing/fits/0/activate", json={})
    assert until(lambda: routed(people["dan"])["confidence"] == before)
