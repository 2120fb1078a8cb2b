"""Each place of the API that takes a user, a team, a project or a rule refuses a misspelt one and names the near one."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.support.cases import every
from tests.support.http_calls import introduce, ok
from tests.support.server import served

KNOWN = {"user": "annabel", "team": "platform", "project": "github.com/acme/shop", "rule": "guardrails/force-push"}
WRONG = {"user": "anabel", "team": "platfrom", "project": "github.com/acme/shpo", "rule": "guardrails/force-psuh"}
LISTS = """
/analytics/cost user team project
/analytics/delegation user team project
/analytics/jobs user
/analytics/latency user team
/analytics/routing user team
/decisions user rule project
/decisions/counts user rule project
/decisions/export user rule project
/decisions/stream user rule project
/graphs user
/jobs user
/modes user project
/exceptions user
/patterns team project
/reports user rule
/sessions user team project
/tokens user
/users team
"""
FILTERS = [("GET", path, kind) for path, *kinds in map(str.split, LISTS.strip().splitlines()) for kind in kinds]
SOON = {"reason": "a test of it", "until": (datetime.now(UTC) + timedelta(days=1)).isoformat()}
ON = {"enabled": True, "level": "strict"}
WRITES = [
    *((method, "/mode", kind, ON | {"scope": kind, "id": WRONG[kind]}) for method in ("PUT",) for kind in ("user", "team", "project")),
    ("PUT", "/mode", "user", ON | {"scope": "user_project", "user": WRONG["user"], "project": KNOWN["project"]}),
    ("PUT", "/mode", "project", ON | {"scope": "user_project", "user": KNOWN["user"], "project": WRONG["project"]}),
    *(("PUT", "/freezes", kind, {"scope": kind, "id": WRONG[kind], "reason": "an incident"}) for kind in ("user", "team", "project")),
    *(("PUT", f"/policies/layers/{kind}?name={WRONG[kind]}", kind, {"files": {}}) for kind in ("user", "team", "project")),
    *(("PUT", f"/policies/packs/secrets?tier={kind}&name={WRONG[kind]}", kind, {"state": "on"}) for kind in ("user", "team", "project")),
    ("PUT", f"/rosters/own?tier=team&team={WRONG['team']}", "team", {"agents": [{"name": "a", "description": "Does it."}]}),
    ("PUT", "/users/bob", "team", {"team": WRONG["team"]}),
    ("PUT", "/projects", "team", {"name": "github.com/acme/new", "team": WRONG["team"]}),
    ("PUT", "/projects/aliases", "project", {"name": "mirror/shop", "project": WRONG["project"]}),
    ("POST", "/patterns", "team", {"signature": "s", "text": "Do it so.", "team": WRONG["team"]}),
    ("POST", "/patterns", "project", {"signature": "s", "text": "Do it so.", "project": WRONG["project"]}),
    ("POST", f"/patterns/proposals?team={WRONG['team']}", "team", {}),
    ("POST", "/policies/unlocks", "user", SOON | {"rule": KNOWN["rule"], "user": WRONG["user"]}),
    ("POST", "/policies/unlocks", "team", SOON | {"rule": KNOWN["rule"], "team": WRONG["team"]}),
    ("POST", "/policies/unlocks", "rule", SOON | {"rule": WRONG["rule"], "team": KNOWN["team"]}),
]  # fmt: skip
ELSEWHERE = """
/tokens: adds its user
/users/{name} /teams/{name} /teams/{name}/settings /projects: they add or show the one they name
/pre-tool-use /post-tool-use /session-start /session-end /spawn /graphs /graphs/{graph_id}/spawn: calls make names known
/graphs/{graph_id}/spawn:batch /route /route/explain /codemap /codemap/files: so do these
/mode /patterns/search /policies /policies/agents /policies/agents/{table} /policies/rules: for a call to come
/policies/evaluate /routing/rosters /routing/rosters/{name} /routing/rosters/{name}/agents/{agent}: likewise
/sessions/{session_id} /sessions/{session_id}/agent-mode /sessions/{session_id}/compliance: their session is of that
/sessions/{session_id}/events /sessions/{session_id}/reset /sessions/{session_id}/timeline: user, or not found
/sessions/{session_id}/timeline/export /rosters/{name}: likewise
/projects/aliases: a removed one may be unknown
"""
NAMED = {"user", "team", "project", "rule"}
OPENAPI = json.loads((Path(__file__).parents[2] / "openapi" / "openapi.json").read_text())


@pytest.fixture(scope="module")
def admin(tmp_path_factory):
    with served(tmp_path_factory.mktemp("names") / "home") as server, server.client() as admin:
        introduce(server, teams=[KNOWN["team"]], projects=[KNOWN["project"]])
        ok(admin.put(f"/users/{KNOWN['user']}", json={"team": KNOWN["team"]}))
        yield admin


@every(("method", "path", "kind"), FILTERS)
def test_a_list_refuses_a_misspelt_filter_and_takes_the_right_one(admin, method, path, kind):
    answer = admin.request(method, path, params={kind: WRONG[kind]}, timeout=10)
    assert (answer.status_code, f"did you mean `{KNOWN[kind]}`?" in answer.text) == (422, True), answer.text
    if not path.endswith("/stream"):
        ok(admin.request(method, path, params={kind: KNOWN[kind]}))


@every(("method", "path", "kind", "body"), WRITES)
def test_a_write_refuses_a_misspelt_name(admin, method, path, kind, body):
    answer = admin.request(method, path, json=body)
    assert (answer.status_code, f"did you mean `{KNOWN[kind]}`?" in answer.text) == (422, True), answer.text


def test_every_place_of_the_api_that_takes_a_name_is_in_a_table():
    told = {path.partition("?")[0] for _, path, *_ in (*FILTERS, *WRITES)} | set(ELSEWHERE.replace(":\n", " ").split())
    told |= {one.rstrip(":") for one in told}
    missing = []
    for path, operations in OPENAPI["paths"].items():
        for operation in operations.values():
            names = {one["name"] for one in operation.get("parameters", []) if one["in"] == "query"}
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            model = OPENAPI["components"]["schemas"].get(body.get("$ref", "").rpartition("/")[2], {})
            if (names | set(model.get("properties", ()))) & NAMED and not any(_is(path, one) for one in told):
                missing.append(path)
    assert missing == []


def _is(path, told):
    if path == told:
        return True
    mine, theirs = path.split("/"), told.split("/")
    return (
        "{" not in told
        and len(mine) == len(theirs)
        and all(a == b or a[:1] == "{" for a, b in zip(mine, theirs, strict=True))
    )
