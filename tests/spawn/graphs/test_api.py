"""Task graphs over real HTTP: made, started wave by wave, ended, opened again, reported on."""

import json
from urllib.parse import quote

import pytest

from tests.support.server import until

TASKS = {
    "task_a": {"description": "Find callers", "agent_type": "explore", "depends_on": []},
    "task_b": {"description": "Find documents", "agent_type": "dewey", "depends_on": []},
    "task_c": {"description": "Build the page", "agent_type": "frontend", "depends_on": ["task_a", "task_b"]},
}
HOUR_MS = 600_000
LEAD = {
    "spawning_agent": "stravinsky", "delegation_reason": "cheaper", "expected_outcome": "a list",
    "required_tools": ["Read"],
}  # fmt: skip


@pytest.fixture
def make(http, session):
    def make(tasks=TASKS, **more):
        body = {"session_id": session["session_id"], "tasks": tasks, "roster": "stravinsky", "window_ms": HOUR_MS}
        answer = http.post("/graphs", json=body | more)
        assert answer.status_code == 201, answer.text
        return answer.json()

    return make


@pytest.fixture
def post(http):
    return lambda graph, path, body=None, **query: http.post(
        f"/graphs/{graph['id']}/{path}", json=body or {}, params=query
    )


@pytest.fixture
def look(http):
    return lambda graph: http.get(f"/graphs/{graph['id']}").json()


def states(graph):
    return {name: task["state"] for name, task in graph["tasks"].items()}


def test_the_example_dictionary_makes_two_waves(http, session):
    answer = http.post("/graphs", json={"session_id": session["session_id"], "tasks": TASKS, "roster": "stravinsky"})
    graph = answer.json()
    assert graph["waves"] == [["task_a", "task_b"], ["task_c"]]
    assert states(graph) == {"task_a": "pending", "task_b": "pending", "task_c": "blocked"}
    rules = {name: graph[name] for name in ("level", "window_ms", "barrier", "on_window_close", "execute", "state")}
    assert rules == {
        "level": "strict", "window_ms": 500, "barrier": "wave", "on_window_close": "refuse", "execute": "plan",
        "state": "pending",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("more", "field", "said"),
    [
        ({"tasks": {"a": {"agent_type": "explore", "depends_on": ["b"]}, "b": {"agent_type": "explore", "depends_on": ["a"]}}}, "tasks", "has a cycle: `a` → `b` → `a`"),
        ({"tasks": {"a": {"agent_type": "explore", "depends_on": ["a"]}}}, "tasks.a.depends_on", "names `a` itself"),
        ({"tasks": {"a": {"agent_type": "explore", "depends_on": ["z"]}}}, "tasks.a.depends_on", "names `z`"),
        ({"tasks": {"a": {"agent_type": "nobody"}}}, "tasks.a.agent_type", "agent `nobody`"),
        ({"tasks": {}}, "tasks", ""),
        ({"tasks": {"a/b": {"agent_type": "explore"}}}, "tasks.a/b.[key]", ""),
        ({"level": "strict", "strict": False}, "body", "contradict"),
        ({"window_ms": 0}, "window_ms", ""),
        ({"roster": "none"}, "roster", "`none`"),
        ({"session_id": ""}, "session_id", ""),
    ],
)  # fmt: skip
def test_a_graph_that_is_wrong_is_refused_whole(http, session, more, field, said):
    body = {"session_id": session["session_id"], "tasks": TASKS, "roster": "stravinsky"} | more
    answer = http.post("/graphs", json=body)
    assert answer.status_code == 422, answer.text
    assert [one for one in answer.json()["errors"] if one["field"] == field and said in one["message"]], answer.text
    assert http.get("/graphs", params={"session_id": session["session_id"]}).json()["items"] == []


def test_two_tasks_of_one_name_are_refused(http, session):
    task = '{"agent_type": "explore"}'
    text = f'{{"session_id": {json.dumps(session["session_id"])}, "tasks": {{"a": {task}, "a": {task}}}}}'
    answer = http.post("/graphs", content=text, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["detail"]) == (422, "`tasks` has more than one `a`")


def test_tasks_start_in_their_waves_once(make, post, look):
    graph = make()
    early = post(graph, "spawn", LEAD | {"task": "task_c"}).json()
    assert (early["title"], early["code"], early["status"]) == ("ParallelExecutionError", "wrong_wave", 409)
    assert early["allowed"] == ["task_a", "task_b"]
    plan = post(graph, "spawn", LEAD | {"task": "task_a", "graph_id": graph["id"]}).json()
    assert (plan["agent_type"], plan["stdin"], plan["task"]) == ("explore", "Find callers", "task_a")
    again = post(graph, "spawn", LEAD | {"task": "task_a"})
    assert (again.status_code, again.json()["code"]) == (409, "already_spawned")
    assert post(graph, "spawn", LEAD | {"task": "task_b", "prompt": "Look it up"}).json()["stdin"] == "Look it up"
    assert post(graph, "tasks/task_a/complete").json()["tasks"]["task_a"]["state"] == "completed"
    assert states(post(graph, "tasks/task_b/complete").json())["task_c"] == "pending"
    assert post(graph, "tasks/task_b/complete").status_code == 200
    assert post(graph, "tasks/task_b/fail").status_code == 409
    assert post(graph, "tasks/task_c/complete").status_code == 409
    kept = look(graph)["tasks"]["task_a"]
    assert (kept["plan"]["task_id"], kept["task_id"]) == (plan["task_id"], plan["task_id"])


def test_a_task_may_be_named_in_any_script(make, post, look):
    name = "größe? 測る #1"
    graph = make({name: TASKS["task_a"], "b": {"agent_type": "explore", "depends_on": [name]}})
    assert post(graph, "spawn", LEAD | {"task": name}).json()["task"] == name
    assert post(graph, f"tasks/{quote(name, safe='')}/complete").status_code == 200
    assert states(look(graph)) == {name: "completed", "b": "pending"}


def test_a_spawn_with_a_graph_and_a_task_is_the_same(http, make, look):
    graph = make()
    body = LEAD | {"agent_type": "explore", "prompt": "p", "task_graph_id": graph["id"], "task": "task_a"}
    assert http.post("/spawn", json=body).json()["graph_id"] == graph["id"]
    assert states(look(graph))["task_a"] == "running"


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"task": "task_a", "spawning_agent": "stravinsky"}, 422, "missing_metadata"),
        (LEAD | {"task": "task_c", "required_tools": ["NoSuch"]}, 403, "tool_not_allowed"),
        ({"task": "task_c", "spawning_agent": "dewey"}, 403, "hierarchy"),
        ({"task": "task_x"}, 422, "validation"),
        ({"task": "task_a", "agent_type": "dewey"}, 422, "validation"),
        ({"task": "task_a", "session_id": "another"}, 404, "not_found"),
        ({"task": "task_a", "execute": "run"}, 422, "validation"),
        ({"task": "task_a", "graph_id": "graph_x"}, 422, "validation"),
    ],
)
def test_a_task_is_judged_before_its_wave_and_a_refusal_changes_nothing(make, post, look, body, status, code):
    graph = make()
    answer = post(graph, "spawn", body)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert states(look(graph)) == states(graph)


def test_a_wave_starts_whole_or_not_at_all(http, make, post, look):
    graph = make()
    bad = post(graph, "spawn:batch", LEAD | {"tasks": {"task_a": {}, "task_b": {"required_tools": ["Edit"]}}})
    assert (bad.status_code, bad.json()["code"]) == (403, "tool_not_allowed")
    assert post(graph, "spawn:batch", LEAD | {"tasks": {"task_a": {}, "task_c": {}}}).json()["code"] == "wrong_wave"
    assert states(look(graph)) == states(graph)
    done = post(graph, "spawn:batch", LEAD).json()
    assert [one["task"] for one in done["spawned"]] == ["task_a", "task_b"]
    assert states(done["graph"]) == {"task_a": "running", "task_b": "running", "task_c": "blocked"}
    first = http.get(f"/graphs/{graph['id']}/compliance").json()["waves"][0]
    assert (first["spread_ms"], first["spawned"], first["compliant"]) == (0, 2, True)
    assert post(graph, "spawn:batch", LEAD).status_code == 409


def test_a_late_start_is_refused_and_the_wave_can_be_opened_again(http, make, post):
    graph = make(window_ms=1)
    post(graph, "spawn", LEAD | {"task": "task_a"})
    late = until(lambda: (found := post(graph, "waves/1/reopen")).status_code == 200 and found.json())
    assert states(late)["task_b"] == "pending"
    assert post(graph, "spawn", LEAD | {"task": "task_b"}).status_code == 200
    report = http.get(f"/graphs/{graph['id']}/compliance").json()
    assert (report["compliant"], report["violations"]) == (False, {"reopened": 1})
    assert report["log"][0]["detail"] == "wave 1 was opened again for `task_b`"
    assert post(graph, "waves/9/reopen").status_code == 404
    whole = http.get(f"/sessions/{graph['session_id']}/compliance").json()
    assert (whole["violations"], len(whole["graphs"]), whole["compliant"]) == ({"reopened": 1}, 1, False)
    assert whole["widest_spread_ms"] > 1


def test_a_late_start_names_the_expected_tasks(make, post):
    graph = make(window_ms=1)
    post(graph, "spawn", LEAD | {"task": "task_a"})
    problem = until(lambda: (a := post(graph, "spawn", LEAD | {"task": "task_b"})).status_code == 409 and a.json())
    assert (problem["code"], problem["title"]) == ("parallel_window", "ParallelExecutionError")
    assert (
        "expected: `task_a`, `task_b` within 1 ms of each other; open it again by `waves/1/reopen`" in problem["detail"]
    )
    assert problem["given"]["window_ms"] == 1


def test_the_report_lists_refused_and_unstarted_tasks(http, make, post):
    graph = make(window_ms=1)
    assert post(graph, "spawn", LEAD | {"task": "task_c"}).json()["code"] == "wrong_wave"
    assert post(graph, "spawn", LEAD | {"task": "task_a"}).status_code == 200
    again = [post(graph, "spawn", LEAD | {"task": "task_a"}).json()["code"] for _ in range(2)]
    until(lambda: post(graph, "spawn", LEAD | {"task": "task_b"}).json()["code"] == "parallel_window")
    post(graph, "tasks/task_a/complete")
    report = http.get(f"/graphs/{graph['id']}/compliance").json()
    assert again == ["already_spawned"] * 2
    assert (report["compliant"], report["state"]) == (False, "running")
    assert report["violations"] == {"wrong_wave": 1, "parallel_window": 1}
    assert [(one["kind"], one["task"], one["wave"], one["refused"]) for one in report["log"]] == [
        ("wrong_wave", "task_c", 2, True),
        ("parallel_window", "task_b", 1, True),
    ]
    assert [wave["compliant"] for wave in report["waves"]] == [False, False]
    assert [wave["never_started"] for wave in report["waves"]] == [["task_b"], []]
    whole = http.get(f"/sessions/{graph['session_id']}/compliance").json()
    assert (whole["compliant"], whole["violations"]) == (False, report["violations"])


def test_the_session_s_report_lists_unstarted_tasks(http, make, post):
    graph = make(window_ms=1, strict=False)
    post(graph, "spawn", LEAD | {"task": "task_a"})
    path = f"/sessions/{graph['session_id']}/compliance"
    whole = until(lambda: (found := http.get(path).json())["compliant"] is False and found)
    assert (whole["violations"], whole["graphs"][0]["waves"][0]["never_started"]) == ({}, ["task_b"])


def test_a_batch_that_is_refused_starts_nothing_and_each_of_its_tasks_is_counted(http, make, post, look):
    graph = make(
        {
            "a": TASKS["task_a"],
            "b": TASKS["task_b"] | {"depends_on": ["a"]},
            "c": TASKS["task_c"] | {"depends_on": ["a"]},
        }
    )
    for _ in range(2):
        answer = post(graph, "spawn:batch", LEAD | {"tasks": {"a": {}, "b": {}, "c": {}}})
        assert (answer.status_code, answer.json()["code"]) == (409, "wrong_wave")
    assert set(states(look(graph)).values()) == {"pending", "blocked"}
    assert http.get(f"/graphs/{graph['id']}/compliance").json()["violations"] == {"wrong_wave": 4}


def test_a_graph_without_a_roster_takes_starts_that_name_one(http, make, post):
    graph = make(roster="", tasks=TASKS)
    assert post(graph, "spawn", LEAD | {"task": "task_a", "roster": "stravinsky"}).json()["roster"] == "stravinsky"
    batch = LEAD | {"tasks": {"task_b": {"roster": "stravinsky", "workspace": "w", "project": "p"}}}
    assert post(graph, "spawn:batch", batch).json()["spawned"][0]["roster"] == "stravinsky"
    assert post(graph, "spawn", LEAD | {"task": "task_c", "roster": "none"}).status_code == 422
    named = make()
    assert post(named, "spawn", LEAD | {"task": "task_a", "roster": "ultrapower"}).status_code == 422


def test_guidance_allows_and_counts_the_refusals_of_strict(http, make, post):
    graph = make(window_ms=1, strict=False)
    assert graph["level"] == "guidance"
    post(graph, "spawn", LEAD | {"task": "task_a"})
    out_of_order = post(graph, "spawn", LEAD | {"task": "task_c"}).json()
    assert "waits for `task_a`, `task_b`" in out_of_order["violation"]
    report = http.get(f"/graphs/{graph['id']}/compliance").json()
    assert report["violations"] == {"wrong_wave": 1}


def test_the_server_starts_remaining_tasks_after_the_window(http, make, post, look):
    graph = make(window_ms=1, on_window_close="auto_spawn")
    post(graph, "spawn", LEAD | {"task": "task_a"})
    task = until(lambda: (found := look(graph)["tasks"]["task_b"])["state"] == "running" and found)
    assert task["plan"]["agent"] == "dewey"
    assert task["auto_spawned"]
    report = http.get(f"/graphs/{graph['id']}/compliance").json()
    assert (report["compliant"], report["waves"][0]["auto_spawned"]) == (True, ["task_b"])


def test_dependents_of_an_abandoned_task_are_skipped(make, post):
    graph = make()
    failed = post(graph, "tasks/task_a/fail", detail="no access").json()
    assert states(failed) == {"task_a": "failed", "task_b": "pending", "task_c": "skipped"}
    assert (failed["tasks"]["task_a"]["detail"], failed["tasks"]["task_c"]["detail"]) == (
        "no access",
        "`task_a` failed",
    )
    assert post(graph, "spawn", LEAD | {"task": "task_c"}).json()["code"] == "conflict"
    assert post(graph, "tasks/task_b/fail").json()["state"] == "failed"
    assert post(graph, "tasks/none/fail").status_code == 404


def test_a_task_of_a_job_ends_with_it(http, make, post, look):
    graph = make(execute="run")
    assert graph["on_window_close"] == "auto_spawn"
    done = post(graph, "spawn:batch", LEAD).json()
    a, b = (one["job"]["id"] for one in done["spawned"])
    assert [one["job"]["waiting"]["reason"] for one in done["spawned"]] == ["no_runner", "no_runner"]
    assert post(graph, "tasks/task_a/complete").json()["code"] == "conflict"
    assert http.post(f"/jobs/{a}/cancel").status_code == 200
    assert states(look(graph)) == {"task_a": "cancelled", "task_b": "running", "task_c": "skipped"}
    jobs = http.get("/jobs", params={"graph": graph["id"]}).json()["items"]
    assert sorted(job["id"] for job in jobs) == sorted([a, b])
    assert http.post(f"/jobs/{b}/cancel").status_code == 200
    assert look(graph)["state"] == "failed"


def test_graphs_are_listed_by_the_time_they_were_made(http, make, session):
    first, second = make(), make()
    mine = {"session_id": session["session_id"]}
    for bounds, found in (
        ({"since": first["created_at"]}, [second["id"], first["id"]]),
        ({"until": first["created_at"]}, []),
        ({"since": second["created_at"], "until": "2100-01-01T00:00:00Z"}, [second["id"]]),
        ({"since": first["created_at"], "until": second["created_at"]}, [first["id"]]),
    ):
        items = http.get("/graphs", params=mine | bounds).json()["items"]
        assert [one["id"] for one in items] == found, bounds


def test_another_user_finds_nothing_and_lists_are_paged(server, http, make, session):
    graphs = [make()["id"] for _ in range(3)]
    mine = {"session_id": session["session_id"], "limit": 2}
    first = http.get("/graphs", params=mine).json()
    rest = http.get("/graphs", params=mine | {"cursor": first["next_cursor"]}).json()
    assert [one["id"] for one in first["items"] + rest["items"]] == graphs[::-1]
    with server.client(**{"Baton-User": "mallory"}) as other:
        assert other.get("/graphs", params=mine).json()["items"] == []
        assert other.get(f"/graphs/{graphs[0]}").status_code == 404
        assert other.get(f"/graphs/{graphs[0]}/compliance").status_code == 404
        body = LEAD | {"task": "task_a"}
        assert other.post(f"/graphs/{graphs[0]}/spawn", json=body).status_code == 404
        assert other.post(f"/graphs/{graphs[0]}/tasks/task_a/fail").status_code == 404
        assert other.get(f"/sessions/{session['session_id']}/compliance").json()["graphs"] == []
