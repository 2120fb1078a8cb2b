"""`POST /policies/evaluate` about rules not in force, and about another user's calls."""

from contextlib import ExitStack

import pytest

from tests.policies.test_layers_api import rule
from tests.support.server import served, until

CALL = {"tool_name": "Bash", "tool_input": {"command": "deployer now"}}
FILES = {"team/no-deploy.yaml": rule()}


PEOPLE = {"ann": ("developer", "web"), "lee": ("lead", "web"), "bob": ("developer", "data"), "ada": ("admin", "web")}


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """A client of each person, by name."""
    with served(tmp_path_factory.mktemp("dry-run") / "home", BATON_AUTH="on") as server, ExitStack() as clients:
        root = (server.home / "admin-token").read_text().strip()
        found = {}
        with server.client(Authorization=f"Bearer {root}") as admin:
            for user, (role, team) in PEOPLE.items():
                assert admin.put(f"/teams/{team}", json={}).status_code == 200
                made = admin.post("/tokens", json={"user": user, "role": role, "team": team}).json()
                found[user] = clients.enter_context(server.client(Authorization=f"Bearer {made['text']}"))
        yield found


@pytest.fixture
def ask(people):
    def ask(who, **more):
        return people[who].post("/policies/evaluate", json=CALL | more)

    return ask


def rules(answer):
    assert answer.status_code == 200, answer.text
    return [hit["id"] for hit in answer.json()["rules"]]


def test_a_draft_is_judged_by_as_if_it_were_in_force(ask):
    assert rules(ask("ann")) == []
    for tier in ("organisation", "team", "user"):
        assert rules(ask("ann", draft={"tier": tier, "files": FILES})) == ["team/no-deploy"]
    assert rules(ask("ann")) == []


def test_a_draft_for_another_team_changes_no_own_calls(ask):
    assert rules(ask("ann", draft={"tier": "team", "name": "data", "files": FILES})) == []


def test_a_draft_that_is_not_accepted_is_refused_by_file_and_line(ask):
    answer = ask("ann", draft={"files": {"team/x.yaml": "id: y\n"}})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"].endswith("team/x.yaml:1")


def test_a_dry_run_uses_the_given_revision(people, ask):
    bob = people["bob"]
    before = bob.get("/policies").json()["revision"]
    where = "/policies/layers/user?activate=true"
    assert bob.put(where, json={"files": FILES}).status_code == 200
    assert rules(bob.post("/policies/evaluate", json=CALL)) == ["team/no-deploy"]
    own = bob.post("/policies/evaluate", json=CALL).json()["policy_revision"]
    assert rules(bob.post("/policies/evaluate", json=CALL | {"revision": before})) == []
    until(lambda: bob.get(f"/policies/revisions/{own}").status_code == 200)
    assert rules(bob.post("/policies/evaluate", json=CALL | {"revision": own})) == ["team/no-deploy"]
    assert rules(ask("ada", principal={"user": "bob"})) == ["team/no-deploy"]
    assert bob.delete("/policies/layers/user", headers={"If-Match": "*"}).status_code == 204
    assert ask("ann", revision=own).status_code == 404  # it has a layer of bob's
    assert ask("ann", revision="none").status_code == 404


def test_an_admin_asks_about_anybody_and_a_lead_about_their_team(ask):
    about = {"tier": "user", "name": "ann", "files": FILES}
    assert rules(ask("ada", principal={"user": "ann"}, draft=about)) == ["team/no-deploy"]
    assert rules(ask("ada", principal={"user": "bob"}, draft=about)) == []
    assert rules(ask("lee", principal={"user": "ann"}, draft={"tier": "team", "files": FILES})) == ["team/no-deploy"]
    assert ask("lee", principal={"user": "bob"}).status_code == 404
    assert ask("lee", principal={"user": "nobody"}).status_code == 404
    assert ask("ann", principal={"user": "lee"}).status_code == 403
    assert ask("ann", principal={"role": "lead"}).status_code == 403


def test_a_lead_is_not_shown_a_developers_own_layer(people, ask):
    ann = people["ann"]
    assert ann.put("/policies/layers/user?activate=true", json={"files": FILES}).status_code == 200
    assert rules(ann.post("/policies/evaluate", json=CALL)) == ["team/no-deploy"]
    answer = ask("lee", principal={"user": "ann"})
    assert rules(answer) == []
    assert not [one for one in answer.json()["trace"] if one["id"] == "team/no-deploy"]
    assert rules(ask("ada", principal={"user": "ann"})) == ["team/no-deploy"]
    assert ann.delete("/policies/layers/user", headers={"If-Match": "*"}).status_code == 204


def test_rules_see_the_role_that_is_asked_about(ask):
    text = rule().replace("decision:", "when: principal.role != 'lead'\ndecision:")
    draft = {"tier": "team", "files": {"team/no-deploy.yaml": text}}
    assert rules(ask("ada", principal={"user": "ann"}, draft=draft | {"name": "web"})) == ["team/no-deploy"]
    assert rules(ask("ada", principal={"user": "ann", "role": "lead"}, draft=draft | {"name": "web"})) == []


WRONG = [
    ({"draft": {"files": FILES}, "revision": "a"}, "draft"),
    ({"draft": {"files": []}}, "draft.files"),
    ({"draft": {"files": {"a": 1}}}, "draft.files"),
    ({"draft": {"files": {f"{n}.yaml": "" for n in range(501)}}}, "draft.files"),
    ({"draft": {"tier": "shipped", "files": {}}}, "tier"),
    ({"draft": 7}, "draft"),
    ({"principal": "ann"}, "principal"),
    ({"principal": {"role": "king"}}, "principal.role"),
    ({"principal": {"user": 7}}, "user"),
]


@pytest.mark.parametrize(("body", "field"), WRONG, ids=[str(row[0])[:40] for row in WRONG])
def test_an_invalid_field_is_named(ask, body, field):
    answer = ask("ada", **body)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field)


def test_a_lead_stays_in_their_team(ask):
    answer = ask("lee", principal={"user": "ann", "team": "data"})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "principal.team")
