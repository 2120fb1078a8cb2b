"""Feedback on routes, over real HTTP."""

import pytest

from tests.support.people import signed_in

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
