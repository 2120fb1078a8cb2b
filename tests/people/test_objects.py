"""Real objects of two teams, requested over HTTP by every role of both: one's own, one's team's, another team's.

A row lists the callers served with a teammate's objects. Another team's are not found, except by those who see
everything; a role that may never do this is refused, whoever owns the object.
"""

from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest

from baton.people.users import ROLES
from tests.support.server import serving, until

pytestmark = pytest.mark.slow("asks for each object in each role")

EACH_ROLE = pytest.mark.slow("asks for each object as each role")
TEAMS = ("web", "data")
OWNERS = {"web": "wilma", "data": "dorian"}
"""The developer of each team, whose objects are asked for."""
NUMBERS = count()
GRANT = {"scope": "session", "until": (datetime.now(UTC) + timedelta(days=1)).isoformat()}
EDIT = {"tool_name": "Edit", "tool_input": {"file_path": "a.py", "old_string": "a", "new_string": "b"}}
NO_DEPLOY = """
id: team/no-deploy-{owner}
description: A rule of {owner}.
match: {{shell: {{program: deployer}}}}
decision: deny
reason: no
tests: {{match: ["deployer now"], not_match: ["ls"]}}
"""
READERS, OWN_READERS = "developer lead admin auditor", "developer admin auditor"
WRITERS, OWN_WRITERS, LEADS = "developer lead admin", "developer admin", "lead admin"
NEVER, NO_WRITE, NO_LEAD = "", "auditor runner", "developer auditor runner"


def case(method, path, served, never, body=None):
    return method, path, served.split(), never.split(), body


LAYER, TEAM_LAYER = "/policies/layers/user{0}?name={{owner}}", "/policies/layers/team{0}?name={{team}}"
ROW = "/policies/layers/{tier}/agents/ultrapower/explore?name={{{name}}}"
CASES = {
    "get_decision": case("GET", "/decisions/{decision}", READERS, NEVER),
    "get_session": case("GET", "/sessions/{session}?user={owner}", READERS, NEVER),
    "reset_session": case("POST", "/sessions/{session}/reset?user={owner}", WRITERS, NO_WRITE),
    "get_user": case("GET", "/users/{owner}", READERS, NEVER),
    "export_user": case("GET", "/users/{owner}/export", OWN_READERS, "runner"),
    "get_mode": case("GET", "/mode?user={owner}", READERS, NEVER),
    "put_mode": case("PUT", "/mode", WRITERS, NO_WRITE, {"scope": "user", "id": "{owner}", "enabled": True}),
    "put_mode of a team": case("PUT", "/mode", LEADS, NO_LEAD, {"scope": "team", "id": "{team}", "enabled": False}),
    "delete_mode": case("DELETE", "/mode?scope=user&id={owner}", WRITERS, NO_WRITE),
    "get_report": case("GET", "/reports/{report}", READERS, NEVER),
    "answer_report": case("PUT", "/reports/{report}", LEADS, NO_LEAD, {"state": "accepted", "answer": "yes"}),
    "make_report": case("POST", "/reports", WRITERS, NO_WRITE, {"decision_id": "{decision}", "comment": "c"}),
    "request_exception": case("POST", "/exceptions", WRITERS, NO_WRITE, {"decision_id": "{decision}", "reason": "r"}),
    "grant_exception": case("POST", "/exceptions/{exception}/grant", LEADS, NO_WRITE, GRANT),
    "revoke_exception": case("DELETE", "/exceptions/{exception}", WRITERS, NO_WRITE),
    "revoke_token": case("DELETE", "/tokens/{token}", OWN_WRITERS, "auditor"),
    "put_team_settings": case("PUT", "/teams/{team}/settings", LEADS, NO_LEAD, {"keep_prompts": True}),
    "get_policy_layer": case("GET", LAYER.format(""), OWN_READERS, NEVER),
    "get_policy_layer_version": case("GET", LAYER.format("/versions/1"), OWN_READERS, NEVER),
    "get_policy_layer of a team": case("GET", TEAM_LAYER.format(""), "developer lead admin auditor runner", NEVER),
    "put_policy_layer": case("PUT", LAYER.format(""), OWN_WRITERS, NO_WRITE, {"files": {}}),
    "put_policy_layer of a team": case("PUT", TEAM_LAYER.format(""), LEADS, NO_WRITE, {"files": {}}),
    "activate_policy_layer": case("POST", LAYER.format("/versions/1/activate"), OWN_WRITERS, NO_WRITE),
    "roll_back_policy_layer": case("POST", LAYER.format("/rollback"), OWN_WRITERS, NO_WRITE),
    "get_agent_override": case("GET", ROW.format(tier="user", name="owner"), OWN_READERS, NEVER),
    "put_agent_override": case("PUT", ROW.format(tier="user", name="owner"), OWN_WRITERS, NO_WRITE, {"role": "mine"}),
    "put_agent_override of a team": case("PUT", ROW.format(tier="team", name="team"), LEADS, NO_WRITE, {"role": "ours"}),
    "delete_agent_override": case("DELETE", ROW.format(tier="user", name="owner"), OWN_WRITERS, NO_WRITE),
    "delete_policy_layer": case("DELETE", LAYER.format(""), OWN_WRITERS, NO_WRITE),
    "get_policy_revision": case("GET", "/policies/revisions/{revision}", OWN_READERS, NEVER),
}  # fmt: skip
FORBIDDEN_AT_HOME = {
    ("put_policy_layer of a team", "developer"), ("put_agent_override of a team", "developer"),
    ("grant_exception", "developer"),
}  # fmt: skip
"""A developer sees the team's layer, and their own request, so is told that they may not change or grant it."""


OF_LAYER = {
    "activate_policy_layer", "roll_back_policy_layer", "get_agent_override", "delete_agent_override",
    "delete_policy_layer", "get_policy_layer", "get_policy_layer_version",
}  # fmt: skip
"""What needs a user's own layer as `World.layer` makes it, whatever was asked before."""


class World:
    """A server with two teams, each with somebody of every role, and what belongs to their developers."""

    def __init__(self, server):
        self.server = server
        self.admin = server.client(Authorization=f"Bearer {(server.home / 'admin-token').read_text().strip()}")
        self.clients, self.there = {}, set()
        for team in TEAMS:
            for role in ROLES:
                user = OWNERS[team] if role == "developer" else f"{team}-{role}"
                text = self.token(user, role, team)["text"]
                self.clients[team, role] = server.client(Authorization=f"Bearer {text}")
        self.found = {team: self.belongings(team) for team in TEAMS}

    def token(self, user, role, team):
        self.admin.put(f"/teams/{team}", json={})
        return self.admin.post("/tokens", json={"user": user, "role": role, "team": team}).json()

    def belongings(self, team):
        owner = OWNERS[team]
        their = self.clients[team, "developer"]
        session = f"session-of-{owner}"
        files = {f"team/no-deploy-{owner}.yaml": NO_DEPLOY.format(owner=owner)}
        row = {"role": f"role-of-{owner}"}
        assert self.admin.put(f"/policies/layers/team?name={team}&activate=true", json={"files": {}}).status_code == 200
        self.layer(owner, files, row)
        edit = EDIT | {"session_id": session}
        decided = until(lambda: (made := their.post("/pre-tool-use", json=edit).json())["degraded"] == [] and made)
        decision = decided["decision_id"]
        until(lambda: their.get(f"/decisions/{decision}").status_code == 200)
        until(lambda: their.get(f"/policies/revisions/{decided['policy_revision']}").status_code == 200)
        report = their.post("/reports", json={"decision_id": decision, "comment": f"comment-of-{owner}"})
        return {
            "owner": owner,
            "team": team,
            "session": session,
            "decision": decision,
            "revision": decided["policy_revision"],
            "report": report.json()["id"],
        }

    def layer(self, owner, files, row):
        """Two versions of a user's own layer, the second active: it overrides a row."""
        layer = f"/policies/layers/user?name={owner}&activate=true"
        any_version = {"If-Match": "*"}
        assert self.admin.put(layer, json={"files": files}, headers=any_version).status_code == 200
        put = self.admin.put(ROW.format(tier="user", name="owner").format(owner=owner), json=row, headers=any_version)
        assert put.status_code == 200, put.text

    def again(self, name, team):
        """Make anew what asking once has taken away."""
        found = self.found[team]
        made = ("layer" if name in OF_LAYER else name, team)
        if made in self.there and "exception" not in name:  # a granted one frees the call that the next one needs
            return found
        self.there.add(made)
        owner = found["owner"]
        match name:
            case "request_exception" | "grant_exception" | "revoke_exception":
                their = self.clients[team, "developer"]
                self.admin.delete(f"/exceptions/{found.get('exception')}")  # few of one user may wait
                session = f"session-{next(NUMBERS)}-of-{owner}"
                mode = {"scope": "session", "id": session, "user": owner, "enabled": True, "level": "strict"}
                assert their.put("/mode", json=mode).status_code == 200
                decision = their.post("/pre-tool-use", json=EDIT | {"session_id": session}).json()
                until(lambda: their.get(f"/decisions/{decision['decision_id']}").status_code == 200)
                found["decision"] = decision["decision_id"]
                body = {"decision_id": found["decision"], "reason": f"reason-of-{owner}"}
                found["exception"] = their.post("/exceptions", json=body).json()["id"]
            case "revoke_token":
                found["token"] = self.token(owner, "developer", team)["token"]["id"]
            case "make_report":
                their = self.clients[team, "developer"]
                decision = their.post("/pre-tool-use", json=EDIT | {"session_id": found["session"]}).json()
                until(lambda: their.get(f"/decisions/{decision['decision_id']}").status_code == 200)
                found["decision"] = decision["decision_id"]
            case _ if name in OF_LAYER:
                files = {f"team/no-deploy-{owner}.yaml": NO_DEPLOY.format(owner=owner)}
                self.layer(owner, files, {"role": f"role-of-{owner}"})
        return found

    def ask(self, name, asker, role, team):
        """Ask as somebody of a team for what belongs to the developer of a team."""
        method, path, _, _, body = CASES[name]
        found = self.again(name, team)
        given = body and {key: one.format(**found) if isinstance(one, str) else one for key, one in body.items()}
        headers = {"If-Match": "*"} if method in {"PUT", "POST", "DELETE"} else {}
        answer = self.clients[asker, role].request(method, path.format(**found), json=given, headers=headers)
        if answer.is_success:
            self.there.discard((name, team))
        if answer.is_success and method != "GET" and "/policies/layers/user" in path:
            self.there.discard(("layer", team))
        return answer


@contextmanager
def inhabited(home):
    with serving(home, BATON_AUTH="on") as server:
        made = World(server)
        yield made
        for client in (made.admin, *made.clients.values()):
            client.close()


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with inhabited(tmp_path_factory.mktemp("objects") / "home") as made:
        yield made


@pytest.fixture
def doomed(tmp_path):
    """A world of one test's own, which leaves nothing of wilma and dorian."""
    with inhabited(tmp_path / "home") as made:
        yield made


UNSEEN_BY_OBSERVERS = {
    "get_decision", "get_user", "get_mode", "get_policy_layer", "get_policy_layer of a team", "get_policy_layer_version",
    "get_agent_override", "get_policy_revision",
}  # fmt: skip
"""Where an observer is told that there is nothing, rather than that they may not look."""

FOR_PEOPLE = {
    name
    for name, (method, *_) in CASES.items()
    if method != "GET" and name not in {"put_mode", "delete_mode", "make_report", "request_exception"}
} | {"export_user"}
"""What the credential of an agent never does. The agent asked with here works for somebody who owns nothing."""


def expected(name, role, *, own):
    _, _, served, never, _ = CASES[name]
    if role == "observer":  # it reads events, and of all else what everybody of its team may
        if name == "get_policy_layer of a team" and own:
            return "served"
        return "404" if name in UNSEEN_BY_OBSERVERS else "403"
    if role == "hook":
        if name in FOR_PEOPLE:
            return "403"
        return "served" if own and "runner" in served else "404"
    if role in never:
        return "403"
    if own:
        return "served" if role in served else "403" if (name, role) in FORBIDDEN_AT_HOME else "404"
    return "served" if role in served and role in {"admin", "auditor"} else "404"


@pytest.mark.parametrize(
    "role", ["developer", *(pytest.param(role, marks=EACH_ROLE) for role in ROLES if role != "developer")]
)
@pytest.mark.parametrize("name", CASES)
def test_an_object_is_served_to_its_owner_and_readers(world, name, role):
    for asker in TEAMS:
        for team in TEAMS:
            answer = world.ask(name, asker, role, team)
            told = "served" if answer.is_success else str(answer.status_code)
            assert told == expected(name, role, own=asker == team), (asker, team, answer.text)
            if told != "served":
                assert f"role-of-{OWNERS[team]}" not in answer.text
                assert f"comment-of-{OWNERS[team]}" not in answer.text


LISTS = [
    "/decisions", "/sessions", "/users", "/tokens", "/reports", "/exceptions", "/modes", "/policies/layers",
    "/analytics/delegation", "/policies/rules", "/status", "/policies/agents/ultrapower", "/rosters", "/routing/rosters",
    "/policies/revisions",
]  # fmt: skip


@pytest.mark.parametrize("path", LISTS)
@pytest.mark.parametrize("role", ["developer", "lead", "runner"])
def test_lists_hold_nothing_of_another_team(world, path, role):
    for team in TEAMS:
        world.again("revoke_exception", team)
        world.admin.put("/mode", json={"scope": "user", "id": OWNERS[team], "enabled": False})
    for asker, other in (TEAMS, TEAMS[::-1]):
        answer = world.clients[asker, role].get(path)
        assert answer.status_code == 200
        assert OWNERS[other] not in answer.text


@pytest.mark.parametrize("path", ["/decisions", "/sessions", "/users", "/tokens", "/reports", "/exceptions", "/modes"])
def test_lists_have_a_person_s_visible_rows(world, path):
    for team in TEAMS:
        world.again("revoke_exception", team)
        world.admin.put("/mode", json={"scope": "user", "id": OWNERS[team], "enabled": False})
    assert '"wilma"' in world.clients["web", "developer"].get(path).text
    assert ('"wilma"' in world.clients["web", "lead"].get(path).text) == (path != "/tokens")
    for role in ("admin", "auditor"):
        assert all(f'"{owner}"' in world.clients["data", role].get(path).text for owner in OWNERS.values())


def test_a_person_s_data_is_deleted_by_them_and_admins_only(doomed):
    for role, status in (("runner", 403), ("auditor", 403), ("lead", 404)):
        assert doomed.clients["web", role].delete("/users/wilma/data").status_code == status
    assert doomed.clients["web", "developer"].delete("/users/dorian/data").status_code == 404
    assert doomed.clients["web", "developer"].delete("/users/wilma/data").status_code == 200
    assert doomed.admin.delete("/users/dorian/data").status_code == 200
