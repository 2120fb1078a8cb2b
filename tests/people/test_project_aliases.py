"""One project under several names, over real HTTP: mode, policies and audit, with and without aliases."""

import itertools

import pytest

from tests.support.cases import every
from tests.support.http_calls import introduce
from tests.support.server import served, until

SHOP = "github.com/acme/shop"
EDIT = {"tool_name": "Edit", "tool_input": {"file_path": "/repo/a.py"}}
RULE = (
    "id: team/no-deploy\ndescription: Nobody deploys by hand.\nmatch:\n  shell: {program: deployer}\n"
    "decision: deny\nreason: no\ntests:\n  match: [deployer now]\n  not_match: [ls]\n"
)
number = itertools.count()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with served(tmp_path_factory.mktemp("aliases") / "home") as running, running.client() as admin:
        introduce(running, projects=[SHOP], users=["zoe"])
        mode = {"scope": "project", "id": "git@GitHub.com:Acme/Shop.git", "enabled": True, "level": "strict"}
        assert admin.put("/mode", json=mode).status_code == 200
        layer = admin.put(
            "/policies/layers/project",
            params={"name": f"{SHOP}/", "activate": True},
            json={"files": {"team/no-deploy.yaml": RULE}},
        )
        assert layer.status_code in {200, 201}, layer.text
        yield running


def decided(server, project, call, *, body=False):
    headers = {"Baton-User": "ada", "Baton-Root": "/repo"} | ({} if body else {"Baton-Project": project})
    payload = {"session_id": f"s{next(number)}", "cwd": "/repo", **call} | ({"project": project} if body else {})
    with server.agent(**headers) as agent:
        return agent.post("/pre-tool-use", json=payload).json()["decision"]


@every(
    "project",
    [
        SHOP,
        "github.com/Acme/Shop",
        "github.com:22/acme/shop",
        "ssh.github.com:443/acme/shop",
        "github.com/acme/shop.git/",
    ],
)
@every("body", [False, True], ids=["header", "body"])
def test_the_mode_and_policies_of_a_project_apply_under_each_spelling(server, project, body):
    assert decided(server, project, EDIT, body=body) == "block"
    deploy = {"tool_name": "Bash", "tool_input": {"command": "deployer now"}}
    until(lambda: decided(server, project, deploy, body=body) == "block")


def test_other_projects_are_left_alone(server):
    for project in ("github.com/acme/other", "github.com:8443/acme/shop", "gitlab.com/acme/shop", "shop"):
        assert decided(server, project, EDIT) == "allow"


def test_an_admin_s_alias_applies_also_to_sessions_that_run_and_is_audited(server):
    mirror = "mirror.acme.example/shop"
    ids = {"session_id": "running", "cwd": "/repo"}
    with server.client() as admin, server.agent(**{"Baton-User": "ada", "Baton-Project": mirror}) as agent:
        assert agent.post("/pre-tool-use", json=ids | EDIT).json()["decision"] == "allow"
        made = admin.put("/projects/aliases", json={"name": f"https://{mirror}.git", "project": "github.com/Acme/Shop"})
        assert made.json() == {"name": mirror, "project": SHOP}
        assert agent.post("/pre-tool-use", json=ids | EDIT).json()["decision"] == "block"
        assert decided(server, mirror, EDIT, body=True) == "block"
        assert admin.get("/projects").json()["aliases"] == [made.json()]
        refused = [
            admin.put("/projects/aliases", json={"name": SHOP, "project": SHOP}),
            admin.put("/projects/aliases", json={"name": SHOP, "project": "github.com/acme/other"}),
            admin.put("/projects/aliases", json={"name": "x", "project": mirror}),
            admin.delete("/projects/aliases", params={"name": "nothing"}),
            agent.put("/projects/aliases", json={"name": "x", "project": SHOP}),
        ]
        assert [one.status_code for one in refused] == [422, 422, 422, 404, 403]
        assert admin.delete("/projects/aliases", params={"name": mirror, "reason": "gone"}).status_code == 204
        assert decided(server, mirror, EDIT) == "allow"
        actions = [
            (one["action"], one["object"]) for one in admin.get("/audit", params={"kind": "alias"}).json()["items"]
        ]
        assert actions == [("alias.remove", mirror), ("alias.put", mirror)]


def test_a_sibling_worktree_belongs_to_the_project(server):
    trees = "/home/dev/shop/.git|/home/dev/wt1/.git|/home/dev/shop/.git/worktrees/x/../../../../wt2/.git"
    shop = {"Baton-User": "ada", "Baton-Project": SHOP, "Baton-Root": "/home/dev/shop"}
    lines = {
        "cd ../wt1 && sed -i s/a/b/ src/app.py": "block",
        "sed -i s/a/b/ /home/dev/wt2/src/app.py": "block",
        "sed -i s/a/b/ /home/dev/wt10/src/app.py": "allow",
        "sed -i s/a/b/ /tmp/notes.txt": "allow",
    }

    def decisions(agent, session):
        ids = {"session_id": session, "cwd": "/home/dev/shop"}
        calls = (ids | {"tool_name": "Bash", "tool_input": {"command": line}} for line in lines)
        return [agent.post("/pre-tool-use", json=call).json()["decision"] for call in calls]

    with server.agent(**shop) as without, server.agent(**shop, **{"Baton-Worktrees": trees}) as shim:
        assert decisions(without, "unknown")[:2] == ["allow", "allow"]
        assert decisions(shim, "by call") == list(lines.values())
        # A hook over http sends no such header: what the session's start reported counts.
        start = {
            "session_id": "by start",
            "cwd": "/home/dev/shop",
            "hook_event_name": "SessionStart",
            "source": "startup",
        }
        shim.post("/hooks/claude-code", json=start)
        assert decisions(without, "by start") == list(lines.values())


def test_a_worktree_below_tmp_is_no_scratch(server):
    shop = {
        "Baton-User": "ada",
        "Baton-Project": SHOP,
        "Baton-Root": "/tmp/wt",
        "Baton-Worktrees": "/home/dev/shop/.git|/tmp/wt2/.git",
    }
    with server.agent(**shop) as agent:
        for line, right in {"touch /tmp/wt2/x": "block", "touch /tmp/other": "allow"}.items():
            call = {"session_id": "scratch", "cwd": "/tmp/wt", "tool_name": "Bash", "tool_input": {"command": line}}
            assert agent.post("/pre-tool-use", json=call).json()["decision"] == right


def test_a_person_s_layer_decides_where_aliases_are_set(server):
    start = {"cwd": "/repo", "hook_event_name": "SessionStart", "source": "startup", "model": "glm-5"}
    call = {"cwd": "/repo", "hook_event_name": "PreToolUse", "tool_name": "Agent"}
    call |= {"tool_input": {"subagent_type": "Explore", "prompt": "p", "description": "d"}}

    def model(session):
        with server.agent(**{"Baton-User": "zoe"}) as agent:
            agent.post("/hooks/claude-code", json=start | {"session_id": session})
            answer = agent.post("/hooks/claude-code", json=call | {"session_id": session}).json()
        return answer.get("hookSpecificOutput", {}).get("updatedInput", {}).get("model")

    assert model("before") is None
    files = {"config.yaml": "model_aliases: always\n"}
    with server.client() as admin:
        assert admin.put(
            "/policies/layers/user", params={"name": "zoe", "activate": True}, json={"files": files}
        ).status_code in {200, 201}
    until(lambda: model(f"after {next(number)}") == "haiku")
