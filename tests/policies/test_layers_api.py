"""Policies of teams, over real HTTP: uploads, refusals, and the decided calls."""

import pytest

from tests.support.cases import every
from tests.support.http_calls import introduce
from tests.support.people import token
from tests.support.server import served, until


def rule(rule_id="team/no-deploy", program="deployer", decision="deny"):
    return (
        f"id: {rule_id}\ndescription: Nobody deploys by hand.\nmatch:\n  shell: {{program: {program}}}\n"
        f"decision: {decision}\nreason: Deploying is the pipeline's.\n"
        f"tests:\n  match: [{program} now]\n  not_match: [ls]\n"
    )


FILES = {"team/no-deploy.yaml": rule()}
BOMBS = {"org/no-bombs.yaml": rule("org/no-bombs", "bomber")}
SWITCHED_OFF = {"config.yaml": "rules:\n  org/no-bombs: off\n"}
LOCKED = BOMBS | {"config.yaml": "locked: [org/no-bombs]\n"}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with served(tmp_path_factory.mktemp("layers") / "home") as running:
        teams = ["payments", "search", *(f"t{number}" for number in range(1, 22))]
        introduce(running, teams=teams, projects=["github.com/acme/shop"], users=["bob", "flo"])
        yield running


@pytest.fixture
def http(server):
    with server.client() as client:
        yield client
        for layer in client.get("/policies/layers").json():
            where = f"/policies/layers/{layer['tier']}"
            headers = {"If-Match": f'"{layer["version"]}"'}
            assert client.delete(where, params={"name": layer["name"]}, headers=headers).status_code == 204


def put(http, tier, files, *, name="", active=True, if_match=None, reason="r"):
    headers = {"If-Match": if_match} if if_match else {}
    body = {"files": files, "reason": reason}
    return http.put(f"/policies/layers/{tier}", params={"name": name, "activate": active}, json=body, headers=headers)


def prepared(http, command, *, degraded=()):
    """Ask until the set of the caller's own layers is built, for which a call waits only so long."""
    # A session stays in the project that it began in.
    session = f"in {http.headers.get('Baton-Project', 'none')}"
    body = {"session_id": session, "tool_name": "Bash", "tool_input": {"command": command}}
    return until(lambda: (answer := http.post("/pre-tool-use", json=body).json())["degraded"] == [*degraded] and answer)


def ask(server, command, *, degraded=(), **headers):
    with server.client(**{f"Baton-{name.title()}": value for name, value in headers.items()}) as http:
        return prepared(http, command, degraded=degraded)["decision"]


def test_two_developers_of_two_teams_get_different_sets(server, http):
    assert put(http, "team", FILES, name="payments").status_code == 200
    assert put(http, "user", {"own/no-ls.yaml": rule("own/no-ls", "lister")}, name="bob").status_code == 200
    got = {
        (user, command): ask(server, command, user=user, team=team)
        for user, team in (("ann", "payments"), ("bob", "payments"), ("cy", "search"))
        for command in ("deployer now", "lister now")
    }
    assert got == {
        ("ann", "deployer now"): "block",
        ("ann", "lister now"): "allow",
        ("bob", "deployer now"): "block",
        ("bob", "lister now"): "block",
        ("cy", "deployer now"): "allow",
        ("cy", "lister now"): "allow",
    }


def test_a_project_s_layer_applies_in_that_project_only(server, http):
    assert put(http, "project", FILES, name="github.com/acme/shop").status_code == 200
    assert ask(server, "deployer now", project="github.com/acme/shop") == "block"
    assert ask(server, "deployer now", project="github.com/acme/other") == "allow"


def test_an_organisation_s_layer_holds_for_all_and_its_end_is_felt_at_once(server, http):
    stored = put(http, "organisation", FILES)
    assert ask(server, "deployer now", user="ann", team="payments") == "block"
    assert http.delete("/policies/layers/organisation", headers={"If-Match": stored.headers["ETag"]}).is_success
    assert ask(server, "deployer now", user="ann", team="payments") == "allow"


def test_a_draft_decides_nothing_until_it_is_activated(server, http):
    draft = put(http, "team", FILES, name="t1", active=False)
    assert (draft.json()["state"], "ETag" in draft.headers) == ("draft", False)
    assert ask(server, "deployer now", team="t1") == "allow"
    where = f"/policies/layers/team/versions/{draft.json()['version']}/activate"
    assert http.post(where, params={"name": "t1"}).json()["state"] == "active"
    assert ask(server, "deployer now", team="t1") == "block"


def test_a_refused_layer_names_every_problem_by_file_and_line_and_is_not_stored(http):
    files = {"team/a.yaml": rule("team/b"), "config.yaml": "rules:\n  no/such: on\n"}
    response = put(http, "team", files, name="t2")
    assert response.status_code == 422
    assert [error["field"] for error in response.json()["errors"]] == ["team/t2:config.yaml:2", "team/t2:team/a.yaml:1"]
    assert http.get("/policies/layers/team/versions", params={"name": "t2"}).json()["items"] == []
    checked = http.post("/policies/validate", json={"tier": "team", "name": "t2", "files": files})
    assert checked.json()["errors"] == response.json()["errors"]


def test_validating_stores_nothing(http):
    checked = http.post("/policies/validate", json={"tier": "team", "name": "t3", "files": FILES}).json()
    assert checked["rules"] == len(http.get("/policies").json()["rules"]) + 1
    assert http.get("/policies/layers").json() == []


@every("path", ["../x.yaml", "/etc/x.yaml", "a b.yaml", "", "x" * 300])
def test_a_path_that_is_none_is_refused(http, path):
    assert put(http, "team", {path: "x"}).status_code == 422


def test_a_replacement_names_the_active_version(http):
    first = put(http, "team", FILES, name="t4").headers["ETag"]
    other = {"team/no-deploy.yaml": rule(decision="ask")}
    for wrong in (None, '"77"', '"x"'):
        refused = put(http, "team", other, name="t4", if_match=wrong)
        assert refused.status_code == 412
        assert first in refused.json()["detail"]
    second = put(http, "team", other, name="t4", if_match=first)
    assert second.status_code == 200
    assert second.headers["ETag"] == '"2"'
    assert put(http, "team", FILES, name="t4", if_match=first).status_code == 412
    assert put(http, "team", FILES, name="t4", if_match="*").headers["ETag"] == '"3"'
    assert len(http.get("/policies/layers/team/versions", params={"name": "t4"}).json()["items"]) == 3


def test_a_rollback_goes_one_version_back(server, http):
    where = {"name": "t5"}
    tag = put(http, "team", FILES, **where).headers["ETag"]
    tag = put(http, "team", {"team/no-deploy.yaml": rule(decision="ask")}, if_match=tag, **where).headers["ETag"]
    assert ask(server, "deployer now", team="t5") == "ask"
    back = http.post("/policies/layers/team/rollback", params=where, headers={"If-Match": tag})
    assert back.json()["version"] == 1
    assert ask(server, "deployer now", team="t5") == "block"
    again = http.post("/policies/layers/team/rollback", params=where, headers={"If-Match": back.headers["ETag"]})
    assert again.status_code == 409


def test_history_pages_and_differences(http):
    tag = None
    for decision in ("deny", "ask", "allow"):
        stored = put(http, "team", {"team/no-deploy.yaml": rule(decision=decision)}, name="t6", if_match=tag)
        tag = stored.headers["ETag"]
    page = http.get("/policies/layers/team/versions", params={"name": "t6", "limit": 2}).json()
    rest = http.get(
        "/policies/layers/team/versions", params={"name": "t6", "limit": 2, "cursor": page["next_cursor"]}
    ).json()
    assert [one["version"] for one in page["items"] + rest["items"]] == [3, 2, 1]
    assert "next_cursor" not in rest
    found = http.get("/policies/layers/team/diff", params={"name": "t6", "from": 1, "to": 3}).json()
    assert found["rules"] == [{"kind": "changed", "id": "team/no-deploy", "what": "decision"}]
    assert "-decision: deny\n+decision: allow" in found["text"]["team/no-deploy.yaml"]


RIGHTS = [
    ("developer", "user", "dev", 200),
    ("developer", "user", "other", 404),
    ("developer", "team", "payments", 403),
    ("developer", "team", "search", 404),
    ("developer", "project", "p", 403),
    ("developer", "organisation", "-", 403),
]


@every(("role", "tier", "name", "status"), RIGHTS, ids=[str(row[:3]) for row in RIGHTS])
def test_a_developer_sets_their_own_layer_only(server, http, role, tier, name, status):
    text, _ = token(http, "dev", role, "payments")
    with server.agent(Authorization=f"Bearer {text}") as dev:
        assert put(dev, tier, FILES, name=name).status_code == status


def test_another_s_layer_is_not_found(server, http):
    assert put(http, "user", FILES, name="bob").status_code == 200
    assert put(http, "organisation", {"org/no-b.yaml": rule("org/no-b", "b")}).status_code == 200
    with server.client(**{"Baton-User": "eve"}) as eve:
        assert eve.get("/policies/layers/user", params={"name": "bob"}).status_code == 404
        assert eve.get("/policies/layers/user/versions", params={"name": "bob"}).json()["items"] == []
        assert [one["tier"] for one in eve.get("/policies/layers").json()] == ["organisation"]


def test_a_locked_rule_stays_and_a_layer_that_no_longer_fits_is_owned_up_to(server, http):
    assert put(http, "organisation", BOMBS).status_code == 200
    assert put(http, "team", SWITCHED_OFF, name="t7").status_code == 200
    bomb = "bomber now"
    assert ask(server, bomb, team="t7") == "allow"
    locked = put(http, "organisation", LOCKED, if_match="*")
    assert locked.status_code == 200
    assert ask(server, bomb, team="t7", degraded=["policies"]) == "block"
    refused = put(http, "team", SWITCHED_OFF, name="t8")
    assert (refused.status_code, "locked" in refused.json()["errors"][0]["message"]) == (422, True)
    problems = http.get("/status").json()["policy_problems"]
    assert [one["file"] for one in problems] == ["team/t7:config.yaml"]
    assert ask(server, "ls", team="t9") == "allow"


def test_an_unfitting_layer_affects_no_other(server, http):
    assert put(http, "organisation", BOMBS).status_code == 200
    assert put(http, "team", SWITCHED_OFF | FILES, name="t13").status_code == 200
    assert put(http, "user", {"own/no-ls.yaml": rule("own/no-ls", "lister")}, name="flo").status_code == 200
    of_flo = {"user": "flo", "team": "t13"}
    assert (ask(server, "bomber now", **of_flo), ask(server, "lister now", **of_flo)) == ("allow", "block")
    assert put(http, "organisation", LOCKED, if_match="*").status_code == 200
    commands = ("bomber now", "lister now", "deployer now")
    fits_no_more = of_flo | {"degraded": ["policies"]}
    until(lambda: [ask(server, command, **fits_no_more) for command in commands] == ["block"] * 3)
    with server.client(**{"Baton-User": "flo", "Baton-Team": "t13"}) as flo:
        revision = flo.get("/policies").json()["revision"]
        texts = until(lambda: (found := flo.get(f"/policies/revisions/{revision}")).is_success and found.json())
    assert {"team/t13:team/no-deploy.yaml", "user/flo:own/no-ls.yaml"} <= set(texts)
    assert "team/t13:config.yaml" not in texts


def test_another_teams_problems_are_its_own(server, http):
    assert put(http, "organisation", BOMBS).status_code == 200
    assert put(http, "team", SWITCHED_OFF, name="t14").status_code == 200
    assert put(http, "organisation", LOCKED, if_match="*").status_code == 200

    def shown(**headers):
        with server.client(**headers) as client:
            status, policies, ready = (client.get(path).json() for path in ("/status", "/policies", "/readyz"))
        return [len(found) for found in (status["policy_problems"], policies["problems"], ready["policy_problems"])]

    assert shown() == [1, 1, 0]
    assert shown(**{"Baton-User": "ann", "Baton-Team": "t14"}) == [1, 1, 0]
    assert shown(**{"Baton-User": "eve", "Baton-Team": "t15"}) == [0, 0, 0]


def test_the_texts_of_a_combination_can_be_read_later(server, http):
    assert put(http, "team", FILES, name="t10").status_code == 200
    with server.client(**{"Baton-Team": "t10"}) as concerned:
        revision = concerned.get("/policies").json()["revision"]
    texts = until(lambda: (r := http.get(f"/policies/revisions/{revision}")).is_success and r.json())
    assert texts["team/t10:team/no-deploy.yaml"] == FILES["team/no-deploy.yaml"]
    for team, status in (("t10", 200), ("t11", 404)):
        with server.client(**{"Baton-User": "eve", "Baton-Team": team}) as eve:
            assert eve.get(f"/policies/revisions/{revision}").status_code == status


def test_every_change_is_audited_with_its_reason(http):
    stored = put(http, "team", FILES, name="t12", reason="because")
    http.delete("/policies/layers/team", params={"name": "t12", "reason": "over"}, headers={"If-Match": '"1"'})
    assert stored.status_code == 200
    found = http.get("/audit", params={"object": "team/t12"}).json()["items"]
    assert [(one["action"], one["before"], one["after"], one["reason"]) for one in found] == [
        ("policies.deactivate", {"active": 1}, {"active": 0}, "over"),
        ("policies.activate", {"active": 0}, {"version": 1, "active": 1}, "because"),
    ]


def test_a_draft_that_no_longer_fits_is_not_activated(http):
    assert put(http, "organisation", BOMBS).status_code == 200
    draft = put(http, "team", SWITCHED_OFF, name="t21", active=False).json()["version"]
    assert put(http, "organisation", LOCKED, if_match="*").status_code == 200
    refused = http.post(f"/policies/layers/team/versions/{draft}/activate", params={"name": "t21"})
    assert (refused.status_code, "locked" in refused.json()["errors"][0]["message"]) == (422, True)
    states = [
        one["state"] for one in http.get("/policies/layers/team/versions", params={"name": "t21"}).json()["items"]
    ]
    assert states == ["draft"]
