"""Every example request of the document, accepted by a real server."""

import json
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest

from tests.support.cases import every
from tests.support.server import served, until

OPENAPI = json.loads((Path(__file__).parents[3] / "openapi/openapi.json").read_text())
COMPONENTS = OPENAPI["components"]["schemas"]
REQUESTS = {
    operation["operationId"]: (method.upper(), path, content)
    for path, operations in OPENAPI["paths"].items()
    for method, operation in operations.items()
    for content in [operation.get("requestBody", {}).get("content", {}).get("application/json")]
    if content
}


_numbers = count(100)


def examples(operation):
    """Return the examples that stand beside the model; those that the document builds from a schema do not count."""
    schema = REQUESTS[operation][2]["schema"]
    schema = next((one for one in schema.get("anyOf", ()) if "$ref" in one), schema)  # a body that may be left out
    if "$ref" in schema:
        schema = COMPONENTS[schema["$ref"].rpartition("/")[2]]
    return schema.get("examples", [])


@pytest.fixture(scope="module")
def http(tmp_path_factory):
    with (
        served(
            tmp_path_factory.mktemp("examples") / "home",
            BATON_MODEL_URL="http://127.0.0.1:9/v1",
            BATON_MODEL_NAME="small",
            USE_LLM_ROUTING="true",
            ENABLE_LOCAL_INFERENCE_PIPELINE="true",
        ) as server,
        server.client(**{"Baton-Project": "github.com/acme/shop"}) as client,
    ):
        yield client


class Objects:
    """Makes what an example speaks of: gives what its path names, and the ids that only the server can give."""

    def __init__(self, http):
        self.http = http

    def link(self):
        """Make a link to sign in with, and return its code."""
        return self.http.post("/session/links").json()["path"].partition("#")[2]

    def sent(self, operation, path=None, body=None):
        """Send the first example of another operation."""
        method, template, _ = REQUESTS[operation]
        answer = self.http.request(method, path or template, json=examples(operation)[0] | (body or {}))
        assert answer.status_code < 300, answer.text
        return answer.json()

    def team(self):
        self.sent("put_team", "/teams/shop")
        return {"name": "shop"}, {}

    def decision(self):
        made = self.sent("pre_tool_use", body={"tool_use_id": f"toolu_{next(_numbers)}"})["decision_id"]
        until(lambda: self.http.get(f"/decisions/{made}").status_code == 200)
        return made

    def approval(self):
        for one in self.http.get("/freezes").json()["items"]:  # it would refuse the call instead
            self.http.delete("/freezes", params={"scope": one["scope"], "id": one["id"]})
        call = {"session_id": f"a{next(_numbers)}", "hook_event_name": "PreToolUse", "tool_name": "Bash"}
        call |= {"tool_input": {"command": "docker run -v /:/host alpine touch /host/x"}}
        mode = {"scope": "session", "id": call["session_id"], "enabled": False}  # or strict mode would refuse it
        assert self.http.put("/mode", json=mode).status_code == 200
        self.http.post("/hooks/codex", json=call)
        return self.http.get("/approvals").json()["items"][-1]["id"]

    def stopped(self):
        call = {"session_id": f"e{next(_numbers)}", "tool_name": "Edit", "tool_input": {"file_path": "a.py"}}
        for one in self.http.get("/freezes").json()["items"]:
            self.http.delete("/freezes", params={"scope": one["scope"], "id": one["id"]})
        mode = {"scope": "session", "id": call["session_id"], "enabled": True, "level": "strict"}
        assert self.http.put("/mode", json=mode).status_code == 200
        made = self.http.post("/pre-tool-use", json=call).json()["decision_id"]
        until(lambda: self.http.get(f"/decisions/{made}").status_code == 200)
        return made

    def report(self):
        return self.sent("make_report", body={"decision_id": self.decision()})["id"]

    def route(self):
        self.sent("put_roster", "/rosters/shop")
        return self.sent("route_prompt")["id"]

    def graph(self):
        return self.sent("make_graph")["id"]

    def pattern(self):
        signature = f"rule {next(_numbers)}"
        return self.sent("propose_pattern", body={"signature": signature})["id"]

    def lease(self):
        self.sent("poll_runner", "/runners/ada-laptop/poll")
        job = self.sent("delegate")["job"]["id"]

        def leased():
            found = self.sent("poll_runner", "/runners/ada-laptop/poll")["jobs"]
            return next((one for one in found if one["job"] == job), None)

        lease = until(leased)
        return {"runner_id": "ada-laptop", "job_id": job}, {"attempt": lease["attempt"], "token": lease["token"]}

    def running(self):
        """Return a job that has no result yet."""
        return {"job_id": self.lease()[0]["job_id"]}, {}


RUNNER = {"runner_id": "ada-laptop"}
HOUR = timedelta(hours=1)
PREPARED = {
    "answer_approval": lambda make: ({"approval_id": make.approval()}, {}),
    "answer_report": lambda make: ({"report_id": make.report()}, {}),
    "approve_pattern": lambda make: ({"pattern_id": make.pattern()}, {}),
    "apply_job": Objects.running,
    "ask_job_permission": Objects.lease,
    "branch_job": Objects.running,
    "client_hook": lambda _: ({"client": "claude-code"}, {}),
    "close_breaker": lambda _: ({"name": "model"}, {}),
    "create_token": Objects.team,
    "discard_job": Objects.running,
    "give_route_feedback": lambda make: ({"route_id": make.route()}, {}),
    "request_exception": lambda make: ({}, {"decision_id": make.stopped()}),
    "grant_exception": lambda make: (
        {"exception_id": make.sent("request_exception", body={"decision_id": make.stopped()})["id"]},
        {"until": (datetime.now(UTC) + HOUR).isoformat()},
    ),
    "make_report": lambda make: ({}, {"decision_id": make.decision()}),
    "merge_pattern": lambda make: ({"pattern_id": make.pattern()}, {"into": make.pattern()}),
    "open_job_request": Objects.running,
    "open_breaker": lambda _: ({"name": "model"}, {}),
    "poll_runner": lambda _: (RUNNER, {}),
    "post_job_action": lambda make: (make.running()[0] | {"runner_id": "ada-laptop", "action_id": "none"}, {}),
    "post_job_events": Objects.lease,
    "put_agent_override": lambda _: ({"tier": "organisation", "table": "stravinsky", "agent": "explore"}, {}),
    "put_policy_layer": lambda _: ({"tier": "organisation"}, {}),
    "put_project": Objects.team,
    "put_roster": lambda _: ({"name": "shop"}, {}),
    "put_team": lambda _: ({"name": "web"}, {}),
    "put_team_settings": Objects.team,
    "put_user": lambda make: ({"name": "ada"}, make.team()[1]),
    "reply_job": Objects.running,
    "reset_breaker": lambda _: ({"name": "model"}, {}),
    "retire_pattern": lambda make: ({"pattern_id": make.pattern()}, {}),
    "sign_in": lambda make: ({}, {"code": make.link()}),
    "spawn_task": lambda make: ({"graph_id": make.graph()}, {}),
    "spawn_tasks": lambda make: ({"graph_id": make.graph()}, {}),
    "switch_pack": lambda _: ({"pack": "secrets"}, {}),
    "unlock_policies": lambda _: ({}, {"team": "", "until": (datetime.now(UTC) + HOUR).isoformat()}),
}
"""Makes what an operation speaks of; gives the parameters of its path, and the fields that only the server knows."""


NEED_A_RESULT = {"apply_job", "branch_job", "discard_job", "open_job_request", "post_job_action", "reply_job"}
"""Operations whose body is accepted, and that are then refused: no agent has run here, so that no job has a result."""
NEED_A_PROVIDER = {"begin_account_sign_in", "sign_in_with_account"}
"""Operations whose body is accepted, and that are then refused: this server has no OpenID provider."""


@every("operation", REQUESTS)
def test_each_request_body_has_an_example_beside_its_model(operation):
    assert examples(operation)
    documented = REQUESTS[operation][2]
    assert documented.get("example") in examples(operation)


@pytest.mark.matrix(2)
@pytest.mark.parametrize("operation", sorted(REQUESTS))
def test_each_example_is_accepted(http, operation):
    method, template, _ = REQUESTS[operation]
    places, ids = PREPARED.get(operation, lambda _: ({}, {}))(Objects(http))
    for example in examples(operation):
        answer = http.request(method, template.format(**places), json=example | ids, headers={"If-Match": "*"})
        if operation in NEED_A_RESULT | NEED_A_PROVIDER:
            assert answer.status_code in {404, 409}, f"{answer.status_code} {answer.text}"
            continue
        assert 200 <= answer.status_code < 300, f"{answer.status_code} {answer.text}"
        if operation == "replay_policies":
            assert "problem" not in answer.text
