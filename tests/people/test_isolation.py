"""Every endpoint by role, and by own and foreign object. An endpoint missing in the matrix fails the suite.

`test_objects.py` covers real objects of two teams, requested by every role of both.

One row per operation id. `path` may contain `{decision}`, `{job}`, `{approval}`: objects of bob, of team data.
"""

import json
from pathlib import Path

import pytest

from baton.people.users import ROLES
from tests.support.cases import every
from tests.support.server import served, until

CALL = {"session_id": "b1", "tool_name": "Bash", "tool_input": {"command": "git status"}}
OPEN, ALL, HOOK = "open", "all", "hook"
"""Who is served: anybody; everybody with a token, each shown what is theirs; a hook, which is never refused."""
FOREIGN = "foreign"
"""Bob's: not found for developers, runners and the lead of another team."""
SIGN_IN = "sign-in"
"""The way to a token for those who have none: the request itself is judged."""
EMPTY = "empty"
"""Bob's: as if he had none."""
ADMINS = frozenset({"admin"})
READERS = frozenset({"admin", "auditor"})
LEADS = frozenset({"lead", "admin"})
CALLERS = frozenset(ROLES) - {"auditor", "observer"}
INSTALLERS = frozenset({"developer", "lead", "admin", "hook"})
"""Of another's team they find nothing; `tests/route/rosters/test_api.py` and `tests/route/feedback/test_api.py` prove it."""


def row(who, path, body=None):
    return who, path, body


MODE = {"scope": "user", "id": "bob", "enabled": True}
LEASE = {"attempt": 1, "token": "t"}
POLL = {"boot_id": "b", "slots": 0, "wait_s": 0, "providers": [], "workspaces": []}
MATRIX = {
    "activate_policy_layer": row(FOREIGN, "/policies/layers/user/versions/1/activate?name=bob"),
    "approve_pattern": row(LEADS, "/patterns/{pattern}/approve", {}),
    "apply_job": row(FOREIGN, "/jobs/{job}/apply"),
    "branch_job": row(FOREIGN, "/jobs/{job}/branch", {"branch": "b"}),
    "discard_job": row(FOREIGN, "/jobs/{job}/discard"),
    "open_job_request": row(FOREIGN, "/jobs/{job}/pr"),
    "list_job_actions": row(FOREIGN, "/jobs/{job}/actions"),
    "get_job_action": row(FOREIGN, "/jobs/{job}/actions/none"),
    "post_job_action": row(FOREIGN, "/runners/r/jobs/{job}/actions/none", {"state": "done"}),
    "approve_job": row(FOREIGN, "/jobs/{job}/approve"),
    "ask_job_permission": row(FOREIGN, "/runners/r/jobs/{job}/permissions", LEASE | {"request": {"tool_name": "Bash"}}),
    "cancel_job": row(FOREIGN, "/jobs/{job}/cancel"),
    "answer_report": row(ALL, "/reports/none", {"state": "open"}),
    "classify_prompt": row(ALL, "/delegation/classify", {"prompt": "write docs"}),
    "client_hook": row(HOOK, "/hooks/claude-code", CALL | {"hook_event_name": "PreToolUse"}),
    "close_breaker": row(ADMINS, "/breakers/none/close", {}),
    "complete_task": row(FOREIGN, "/graphs/{graph}/tasks/a/complete"),
    "create_hook_token": row(LEADS | {"developer"}, "/tokens/hook", {"machine": "laptop"}),
    "create_sign_in_link": row(LEADS | {"developer", "auditor"}, "/session/links"),
    "list_browsers": row(ALL, "/session/browsers"),
    "sign_browser_out": row(FOREIGN, "/session/browsers/none"),
    "get_servers": row(READERS, "/status/servers"),
    "get_settings": row(READERS, "/status/settings"),
    "create_token": row(ADMINS, "/tokens", {"user": "new"}),
    "delegate": row(ALL, "/delegate", {}),
    "delete_mode": row(FOREIGN, "/mode?scope=user&id=bob"),
    "delete_policy_layer": row(FOREIGN, "/policies/layers/user?name=bob"),
    "delete_roster": row(LEADS, "/rosters/datas?team=data"),
    "delete_agent_override": row(FOREIGN, "/policies/layers/user/agents/none/none?name=bob"),
    "delete_user": row(ADMINS, "/users/nobody"),
    "delete_user_data": row(FOREIGN, "/users/bob/data"),
    "diff_policy_layer": row(EMPTY, "/policies/layers/user/diff?name=bob"),
    "create_event_webhook": row(ADMINS, "/events/webhooks", {"url": "https://8.8.8.8/", "topics": ["jobs"]}),
    "delete_event_webhook": row(ADMINS, "/events/webhooks/none"),
    "list_event_webhooks": row(ADMINS, "/events/webhooks"),
    "get_event_schema": row(ALL, "/events/schemas/jobs"),
    "list_event_schemas": row(ALL, "/events/schemas"),
    "list_event_topics": row(ALL, "/events/topics"),
    "read_events": row(frozenset({"observer"}), "/events/topics/claude-hook-event"),
    "list_approvals": row(ALL, "/approvals"),
    "answer_approval": row(FOREIGN, "/approvals/{approval}", {"answer": "deny"}),
    "get_approval": row(FOREIGN, "/approvals/{approval}"),
    "end_freeze": row(FOREIGN, "/freezes?scope=user&id=bob"),
    "revoke_exception": row(ALL, "/exceptions/none"),
    "grant_exception": row(ALL, "/exceptions/none/grant", {}),
    "propose_rule_changes": row(READERS | LEADS, "/exceptions/proposals"),
    "end_policy_unlock": row(ADMINS, "/policies/unlocks/none"),
    "explain_decision": row(FOREIGN, "/decisions/{decision}/explanation"),
    "make_rule_test": row(FOREIGN, "/decisions/{decision}/rule-test"),
    "get_policy_schema": row(ALL, "/policies/schema"),
    "test_policies": row(ALL, "/policies/test", {"files": {}}),
    "evaluate_policies": row(ALL, "/policies/evaluate", CALL),
    "explain_route": row(ALL, "/route/explain", {"prompt": "look"}),
    "export_user": row(FOREIGN, "/users/bob/export"),
    "get_agent_mode": row(FOREIGN, "/sessions/b1/agent-mode?user=bob"),
    "get_decision": row(FOREIGN, "/decisions/{decision}"),
    "get_cost": row(ALL, "/analytics/cost"),
    "get_latency": row(ALL, "/analytics/latency"),
    "get_route_quality": row(ALL, "/analytics/routing"),
    "get_delegation": row(ALL, "/analytics/delegation"),
    "fail_task": row(FOREIGN, "/graphs/{graph}/tasks/a/fail"),
    "get_graph": row(FOREIGN, "/graphs/{graph}"),
    "get_graph_compliance": row(FOREIGN, "/graphs/{graph}/compliance"),
    "get_healthz": row(OPEN, "/healthz"),
    "get_job": row(FOREIGN, "/jobs/{job}"),
    "get_job_analytics": row(ALL, "/analytics/jobs"),
    "get_job_output": row(FOREIGN, "/jobs/{job}/output"),
    "get_job_diff": row(FOREIGN, "/jobs/{job}/diff"),
    "read_job_diff": row(FOREIGN, "/jobs/{job}/diff/pages"),
    "get_metrics": row(READERS, "/metrics"),
    "get_me": row(ALL, "/me"),
    "get_mode": row(FOREIGN, "/mode?user=bob"),
    "get_policies": row(ALL, "/policies"),
    "get_policy_layer": row(FOREIGN, "/policies/layers/user?name=bob"),
    "get_policy_layer_version": row(FOREIGN, "/policies/layers/user/versions/1?name=bob"),
    "get_policy_revision": row(ALL, "/policies/revisions/none"),
    "get_pattern": row(FOREIGN, "/patterns/{pattern}"),
    "get_readyz": row(OPEN, "/readyz"),
    "get_report": row(ALL, "/reports/none"),
    "get_retention": row(READERS, "/retention"),
    "get_agent_override": row(FOREIGN, "/policies/layers/user/agents/none/none?name=bob"),
    "get_agent_table": row(ALL, "/policies/agents/none"),
    "get_roster": row(ALL, "/rosters/none?team=web"),
    "get_routing_agent": row(ALL, "/routing/rosters/none/agents/none"),
    "get_routing_roster": row(ALL, "/routing/rosters/none"),
    "give_route_feedback": row(FOREIGN, "/route/{route}/feedback", {"agent": ""}),
    "get_session": row(FOREIGN, "/sessions/b1?user=bob"),
    "get_session_timeline": row(FOREIGN, "/sessions/b1/timeline?user=bob"),
    "export_session_timeline": row(FOREIGN, "/sessions/b1/timeline/export?user=bob&format=html"),
    "get_session_compliance": row(FOREIGN, "/sessions/b1/compliance?user=bob"),
    "get_status": row(ALL, "/status"),
    "get_team": row(ALL, "/teams/web"),
    "get_user": row(FOREIGN, "/users/bob"),
    "judge_answer": row(ALL, "/delegation/quality-gate", {"intent": "test", "answer": "assert x"}),
    "list_audit": row(READERS, "/audit"),
    "export_audit": row(READERS, "/audit/export"),
    "list_breakers": row(ALL, "/breakers"),
    "list_decisions": row(ALL, "/decisions"),
    "count_decisions": row(ALL, "/decisions/counts?group=user"),
    "stream_decisions": row(ALL, "/decisions/stream?cursor=none"),  # a stream would not end
    "export_decisions": row(ALL, "/decisions/export"),
    "list_inventories": row(ALL, "/inventory"),
    "list_code_maps": row(ALL, "/codemap"),
    "put_code_map": row(ALL, "/codemap?project=p", {"files": {}}),
    "put_code_map_files": row(ALL, "/codemap/files?project=p", {}),
    "delete_code_map": row(ALL, "/codemap?project=none"),
    "put_client_hooks": row(INSTALLERS, "/clients/claude-code/hooks"),
    "delete_client_hooks": row(INSTALLERS, "/clients/claude-code/hooks"),
    "put_inventory": row(ALL, "/inventory/claude-code?checksum=1-1", {}),
    "list_graphs": row(ALL, "/graphs"),
    "list_jobs": row(ALL, "/jobs"),
    "get_bundle": row(CALLERS, "/bundle"),
    "deliver_records": row(CALLERS, "/bundle/records", {"records": []}),
    "list_freezes": row(ALL, "/freezes"),
    "list_modes": row(ALL, "/modes"),
    "list_exceptions": row(ALL, "/exceptions"),
    "list_policy_layer_versions": row(EMPTY, "/policies/layers/user/versions?name=bob"),
    "list_policy_layers": row(ALL, "/policies/layers"),
    "list_policy_unlocks": row(ALL, "/policies/unlocks"),
    "list_policy_revisions": row(ALL, "/policies/revisions"),
    "list_patterns": row(ALL, "/patterns"),
    "list_projects": row(ALL, "/projects"),
    "list_reports": row(ALL, "/reports"),
    "list_agent_tables": row(ALL, "/policies/agents"),
    "list_rosters": row(ALL, "/rosters"),
    "list_routing_rosters": row(ALL, "/routing/rosters"),
    "list_rule_counts": row(ALL, "/policies/rules"),
    "list_packs": row(ALL, "/policies/packs"),
    "report_pack": row(ALL, "/policies/packs/secrets"),
    "switch_pack": row(FOREIGN, "/policies/packs/secrets?tier=user&name=bob", {"state": "on"}),
    "list_runners": row(ALL, "/runners"),
    "list_sessions": row(ALL, "/sessions"),
    "list_teams": row(ALL, "/teams"),
    "list_tokens": row(ALL, "/tokens"),
    "list_users": row(ALL, "/users"),
    "make_graph": row(ALL, "/graphs", {}),
    "request_exception": row(ALL, "/exceptions", {}),
    "make_report": row(ALL, "/reports", {}),
    "merge_pattern": row(LEADS, "/patterns/{pattern}/merge", {"into": "none"}),
    "open_breaker": row(ADMINS, "/breakers/none/open", {}),
    "poll_runner": row(ALL, "/runners/r/poll", POLL),
    "post_job_events": row(FOREIGN, "/runners/r/jobs/{job}/events", LEASE),
    "post_tool_use": row(ALL, "/post-tool-use", CALL),
    "pre_tool_use": row(ALL, "/pre-tool-use", CALL),
    "propose_from_records": row(LEADS, "/patterns/proposals", {}),
    "propose_pattern": row(ALL, "/patterns", {"signature": "a new one"}),
    "put_freeze": row(FOREIGN, "/freezes", {"scope": "user", "id": "bob", "reason": "r", "read_only": True}),
    "put_mode": row(FOREIGN, "/mode", MODE),
    "put_policy_layer": row(FOREIGN, "/policies/layers/user?name=bob", {"files": {}}),
    "put_project_alias": row(ADMINS, "/projects/aliases", {"name": "q", "project": "p"}),
    "delete_project_alias": row(ADMINS, "/projects/aliases?name=none"),
    "put_project": row(ADMINS, "/projects", {"name": "p", "team": "web"}),
    "put_retention": row(ALL, "/retention", {}),
    "put_roster": row(LEADS, "/rosters/datas?team=data", {"agents": [{"name": "mine"}]}),
    "put_agent_override": row(FOREIGN, "/policies/layers/user/agents/none/none?name=bob", {}),
    "put_team": row(ADMINS, "/teams/web", {}),
    "put_team_settings": row(LEADS, "/teams/web/settings", {"keep_prompts": False}),
    "put_user": row(ADMINS, "/users/someone", {}),
    "replay_policies": row(ALL, "/policies/replay", {}),
    "report_compliance": row(
        ADMINS | {"observer"}, "/compliance/results", {"correlation_id": "none", "violations": []}
    ),
    "reset_breaker": row(ADMINS, "/breakers/none/reset", {}),
    "reopen_wave": row(FOREIGN, "/graphs/{graph}/waves/1/reopen"),
    "reset_session": row(FOREIGN, "/sessions/b1/reset?user=bob"),
    "retire_pattern": row(LEADS, "/patterns/{pattern}/retire", {}),
    "reply_job": row(FOREIGN, "/jobs/{job}/reply", {"message": "go on"}),
    "retry_job": row(FOREIGN, "/jobs/{job}/retry"),
    "revoke_token": row(FOREIGN, "/tokens/{token}"),
    "route_prompt": row(ALL, "/route", {"prompt": "look"}),
    "roll_back_policy_layer": row(FOREIGN, "/policies/layers/user/rollback?name=bob"),
    "search_patterns": row(ALL, "/patterns/search?text=look"),
    "session_end": row(ALL, "/session-end", CALL),
    "session_start": row(ALL, "/session-start", CALL),
    "stream_live": row(ALL, "/stream?cursor=none"),  # a stream would not end
    "stream_job_events": row(FOREIGN, "/jobs/{job}/events"),
    "stream_session_events": row(FOREIGN, "/sessions/b1/events?user=bob"),
    "sign_in": row(SIGN_IN, "/session", {}),
    "begin_account_sign_in": row(SIGN_IN, "/session/provider/attempts", {"return_to": "elsewhere"}),
    "sign_in_with_account": row(SIGN_IN, "/session/provider", {}),
    "list_sign_in_providers": row(OPEN, "/session/providers"),
    "sign_out": row(ALL, "/session"),
    "spawn": row(ALL, "/spawn", {}),
    "spawn_task": row(FOREIGN, "/graphs/{graph}/spawn", {"task": "a"}),
    "spawn_tasks": row(FOREIGN, "/graphs/{graph}/spawn:batch", {}),
    "unlock_policies": row(
        ADMINS, "/policies/unlocks", {"rule": "none", "reason": "r", "until": "2030-01-01T00:00:00Z"}
    ),
    "validate_policies": row(ALL, "/policies/validate", {"files": {}}),
}


OPENAPI = Path(__file__).parents[2] / "openapi" / "openapi.json"


def operations():
    document = json.loads(OPENAPI.read_text())
    return {
        operation["operationId"]: method.upper()
        for methods in document["paths"].values()
        for method, operation in methods.items()
    }


OPERATIONS = operations()


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with served(tmp_path_factory.mktemp("isolation") / "home", BATON_AUTH="on") as server:
        root = (server.home / "admin-token").read_text().strip()
        with server.client(Authorization=f"Bearer {root}") as admin:

            def token(user, role, team):
                admin.put(f"/teams/{team}", json={})
                made = admin.post("/tokens", json={"user": user, "role": role, "team": team}).json()
                return made["text"], made["token"]["id"]

            texts = {role: token(f"the-{role}", role, "web")[0] for role in ROLES}
            bob, bobs_token = token("bob", "developer", "data")
            with server.client(Authorization=f"Bearer {bob}") as http:
                decision = http.post("/pre-tool-use", json=CALL).json()["decision_id"]
                route = http.post("/route", json={"prompt": "look for the cause"}).json()["id"]
                until(lambda: http.get(f"/decisions/{decision}").status_code == 200)
                asked = CALL | {
                    "hook_event_name": "PreToolUse",
                    "tool_input": {"command": "docker run -v /:/h git status"},
                }
                http.post("/hooks/codex", json=asked).raise_for_status()
                (approval,) = http.get("/approvals").json()["items"]
                task = {"user_prompt": "git status", "session_id": "b1"}
                job = http.post("/delegate", json=task).json()["job"]["id"]
                assert http.post("/runners/bobs/poll", json=POLL).status_code == 200
                tasks = {"a": {"agent_type": "Explore", "description": "git status"}}
                graph = http.post("/graphs", json={"session_id": "b1", "tasks": tasks}).json()["id"]
                layer = {"files": {"config.yaml": "rules: {}\n"}}
                assert http.put("/policies/layers/user", json=layer).status_code in {200, 201}
                pattern = http.post("/patterns", json={"signature": "Bobs rule"}).json()["id"]
            found = {
                "pattern": pattern,
                "decision": decision,
                "token": bobs_token,
                "route": route,
                "job": job,
                "approval": approval["id"],
                "graph": graph,
            }

        def ask(operation, role):
            _, path, body = MATRIX[operation]
            for name, value in found.items():
                path = path.replace("{" + name + "}", value)
            headers = {"Authorization": f"Bearer {texts[role]}"} if role else {}
            with server.client(**headers) as http:
                return http.request(OPERATIONS[operation], path, json=body)

        yield ask


def test_the_matrix_has_every_endpoint_and_no_other():
    assert set(MATRIX) == set(OPERATIONS), "put a row for the new endpoint into MATRIX"


@every("operation", sorted(MATRIX))
def test_requests_without_a_token_are_refused(world, operation):
    answer = world(operation, "")
    match MATRIX[operation][0]:
        case "open":
            assert answer.status_code == 200
        case "sign-in":
            assert answer.status_code == 422
        case "hook":
            assert (answer.status_code, answer.headers["baton-degraded"]) == (200, "token")
        case _:
            assert answer.status_code == 401, answer.text


@every("operation", sorted(name for name, (who, *_) in MATRIX.items() if who == FOREIGN))
@every("role", ["developer", "runner", "lead"])
def test_another_person_s_object_is_not_found(world, operation, role):
    answer = world(operation, role)
    assert answer.status_code in ({403, 404} if role == "runner" else {404}), answer.text
    assert "git status" not in answer.text
    assert "config.yaml" not in answer.text


@every("operation", sorted(name for name, (who, *_) in MATRIX.items() if who == EMPTY))
@every("role", ["developer", "runner", "lead"])
def test_another_person_s_data_is_an_empty_answer(world, operation, role):
    answer = world(operation, role)
    assert not any(answer.json().get(name) for name in ("items", "rules", "text", "before", "after")), answer.text
    assert answer.json() != world(operation, "admin").json()


@every("operation", sorted(name for name, (who, *_) in MATRIX.items() if isinstance(who, frozenset)))
@every("role", ROLES)
def test_a_forbidden_role_is_refused_with_the_reason(world, operation, role):
    answer = world(operation, role)
    assert (answer.status_code == 403) == (role not in MATRIX[operation][0]), answer.text


@every(
    "operation",
    [
        "count_decisions",
        "list_decisions",
        "list_graphs",
        "list_jobs",
        "list_patterns",
        "list_approvals",
        "list_runners",
        "list_sessions",
        "list_users",
        "list_tokens",
        "get_status",
    ],
)
@every("role", ["developer", "runner", "lead"])
def test_lists_leave_out_other_users_rows(world, operation, role):
    answer = world(operation, role)
    assert answer.status_code == 200
    assert '"bob"' not in answer.text
    assert '"bob"' in world(operation, "auditor").text or operation == "get_status"


@every("operation", sorted(name for name, (who, *_) in MATRIX.items() if who == ALL))
def test_an_admin_is_served_everywhere(world, operation):
    assert world(operation, "admin").status_code not in {401, 403, 500}
