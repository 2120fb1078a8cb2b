"""Feedback on routes, and the weights that a lead puts in force for the team, over real HTTP."""

import pytest

from tests.support.people import signed_in
from tests.support.server import until

ROSTER = [
    {"name": "alpha", "description": "Tends the greenhouse: tomatoes, watering, seedlings."},
    {"name": "beta", "description": "Repairs bicycles: chains, brakes, wheels."},
]


@pytest.fixture(scope="module")
def people(guarded):
    with signed_in(guarded, ("liz", "lead", "red"), ("dirk", "developer", "red"), ("ben", "lead", "blue")) as clients:
        yield clients


def routed(http, prompt="water the tomatoes"):
    return http.post("/route", json={"prompt": prompt, "roster": ROSTER}).json()


def say(http, route, agent):
    return http.post(f"/route/{route['id']}/feedback", json={"agent": agent})


def test_feedback_is_kept_by_route_without_the_prompt_and_can_be_changed(people):
    route = routed(people["dirk"])
    given = say(people["dirk"], route, "beta")
    assert (given.status_code, given.json()["agent"], given.json()["selected_agent"]) == (200, "beta", "alpha")
    assert [say(people["dirk"], route, none).json()["agent"] for none in ("", None)] == ["", ""]
    kept = people["dirk"].get("/users/dirk/export").json()["kept"]["route_feedback"]
    assert [one["right_agent"] for one in kept if one["route_id"] == route["id"]] == [""]
    assert "tomatoes" not in str(kept)
    assert people["dirk"].delete("/users/dirk/data").status_code == 200
    assert people["dirk"].get("/users/dirk/export").json()["kept"]["route_feedback"] == []


def test_another_s_route_is_not_there_but_their_lead_may_judge_it(people):
    route = routed(people["dirk"])
    assert say(people["ben"], route, "").status_code == 404
    assert say(people["liz"], route, "alpha").status_code == 200
    assert say(people["dirk"], {"id": "none"}, "alpha").status_code == 404
    assert people["dirk"].post(f"/route/{route['id']}/feedback", json={"agent": "a", "prompt": "b"}).status_code == 422


def test_a_team_s_weights_are_fitted_reported_activated_and_taken_back_by_its_lead(people):
    assert people["liz"].post("/routing/fits").status_code == 409
    for number in range(12):
        say(people["dirk"], routed(people["dirk"], f"water the tomatoes in row {number}"), "alpha")
        say(people["dirk"], routed(people["dirk"], f"what is the capital of country {number}"), "")
    fitted = people["liz"].post("/routing/fits")
    assert fitted.status_code == 200, fitted.text
    fit = fitted.json()
    assert (fit["active"], fit["version"]) == (False, 1)
    assert fit["samples"] >= 24
    assert set(fit["before"]) == set(fit["after"]) == {"top_1", "false_routes", "log_loss"}
    assert fit["after"]["log_loss"] < fit["before"]["log_loss"]

    before = routed(people["dirk"])["confidence"]
    assert people["dirk"].post("/routing/fits/1/activate", json={}).status_code == 403
    assert people["ben"].post("/routing/fits/1/activate?team=red", json={}).status_code == 404
    assert people["ben"].get("/routing/fits?team=red").status_code == 404
    assert people["liz"].post("/routing/fits/9/activate", json={}).status_code == 404
    listed = people["liz"].post("/routing/fits/1/activate", json={"reason": "better"}).json()["items"]
    assert [one["active"] for one in listed] == [True]
    assert routed(people["dirk"])["confidence"] > before
    assert routed(people["ben"])["confidence"] == before

    audit = people["admin"].get("/audit", params={"kind": "routing"}).json()["items"]
    assert (audit[0]["object"], audit[0]["after"], audit[0]["reason"]) == ("red", {"active": 1}, "better")
    assert (audit[-1]["action"], audit[-1]["after"]["version"]) == ("routing.fit", 1)
    people["liz"].post("/routing/fits/0/activate", json={})
    assert until(lambda: routed(people["dirk"])["confidence"] == before)
