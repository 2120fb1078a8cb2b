"""`GET /stream` over real HTTP: one stream of everything, with the access rights of the lists."""

import signal

import pytest

from tests.support.server import serving, until
from tests.support.streams import readers

POLL = {"boot_id": "b", "slots": 1, "wait_s": 0, "providers": ["codex"], "workspaces": []}
READ = {"tool_name": "Read", "tool_input": {"file_path": "a.py"}}


@pytest.fixture
def follow():
    """Open readers of `/stream`, which are closed after the test."""
    with readers() as make:
        yield lambda *arguments, **named: make(*arguments, path="/stream", **named)


def ask(server, user, session="s"):
    with server.client(**{"Baton-User": user}) as http:
        return http.post("/pre-tool-use", json={"session_id": session} | READ).json()["decision_id"]


def question(server, user, runner):
    """Let a delegated agent of a user ask for permission; return its job's and the question's id."""
    with server.client(**{"Baton-User": user}) as http:
        assert http.post(f"/runners/{runner}/poll", json=POLL).status_code == 200
        made = http.post("/delegate", json={"user_prompt": "tidy up", "session_id": f"s-{user}"})
        assert made.status_code < 300, made.text
        job = made.json()["job"]["id"]

        def leased():
            jobs = http.post(f"/runners/{runner}/poll", json=POLL).json()["jobs"]
            return next((one for one in jobs if one["job"] == job), None)

        lease = until(leased)
        asked = {"tool_name": "Bash", "tool_input": {"command": "make all"}}
        answer = http.post(
            f"/runners/{runner}/jobs/{job}/permissions",
            json={"attempt": lease["attempt"], "token": lease["token"], "request": asked},
        )
        assert answer.json()["answer"] == "pending", answer.text
        return job, answer.json()["permission"]


def test_everything_comes_in_one_stream_and_each_hears_their_own(follow, server):
    dora, eve, admin = follow(server, "dora-l"), follow(server, "eve-l"), follow(server)
    made = {"dora-l": ask(server, "dora-l"), "eve-l": ask(server, "eve-l")}
    jobs = {user: question(server, user, f"r-{user}") for user in made}
    with server.client(**{"Baton-User": "dora-l"}) as http:
        start = {"session_id": "d1", "hook_event_name": "SessionStart", "cwd": "/x", "source": "startup"}
        assert http.post("/hooks/claude-code", json=start).status_code == 200
        assert http.put("/mode", json={"scope": "user", "enabled": True, "level": "strict"}).status_code == 200
        job, asked = jobs["dora-l"]
        http.post(f"/approvals/{asked}", json={"answer": "deny", "reason": "no"}).raise_for_status()
        http.post(f"/jobs/{job}/cancel")
    with server.client(**{"Baton-User": "eve-l"}) as http:
        http.post(f"/jobs/{jobs['eve-l'][0]}/cancel").raise_for_status()
    until(lambda: {"dora-l", "eve-l"} <= {one["user"] for one in admin.named("question.opened")})
    until(lambda: dora.named("question.answered") and dora.named("mode.changed") and dora.named("session.update"))
    until(lambda: made["dora-l"] in dora.ids and made["eve-l"] in eve.ids)
    until(lambda: eve.named("job.state"))
    (opened,) = dora.named("question.opened")
    assert (opened["question_id"], opened["job_id"], opened["tool_name"]) == (asked, job, "Bash")
    (answered,) = dora.named("question.answered")
    assert (answered["answer"], answered["answered_by"]) == ("deny", "dora-l")
    assert {one["state"] for one in dora.named("job.state")} >= {"queued", "leased", "running", "awaiting_permission"}
    assert [one["session_id"] for one in dora.named("session.update")] == ["d1"]
    for reader, user in ((dora, "dora-l"), (eve, "eve-l")):
        for _, kind, data in reader.events:
            assert {one["user"] for one in data["items"]} == {user} if kind == "decisions" else data["user"] == user
    heard = str([data for _, kind, data in admin.events if kind != "decisions"])
    assert "make all" not in heard
    assert "tidy up" not in heard


def test_a_reader_follows_what_it_names_and_goes_on_where_it_was(follow, server):
    jobs, calls = follow(server, "fred", topics="jobs,questions"), follow(server, "fred", topics="decisions")
    made = ask(server, "fred", "first")
    question(server, "fred", "r-fred")
    until(lambda: made in calls.ids and jobs.named("question.opened"))
    assert {kind for _, kind, _ in calls.events} == {"decisions"}
    assert {kind for _, kind, _ in jobs.events} == {"job.state", "question.opened"}
    place = next(place for place, kind, _ in jobs.events if kind == "job.state")
    again = follow(server, "fred", after=place, topics="jobs,questions")
    until(lambda: again.named("question.opened"))
    assert again.events[: len(jobs.events) - 1] == jobs.events[1:]


@pytest.mark.parametrize(("query", "field"), [({"topics": "decisions,x"}, "topics"), ({"cursor": "x"}, "cursor")])
def test_a_wrong_parameter_is_named(server, query, field):
    with server.client() as http:
        answer = http.get("/stream", params=query)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field)


def test_who_may_follow_nothing_is_told_so_and_a_revoked_token_ends_its_stream(follow, guarded):
    token = (guarded.home / "admin-token").read_text().strip()
    with guarded.agent(Authorization=f"Bearer {token}") as admin:
        made = {
            role: admin.post("/tokens", json={"user": f"{role}-live", "role": role}).json()
            for role in ("developer", "observer")
        }
        observer = follow(guarded, headers={"Authorization": f"Bearer {made['observer']['text']}"})
        assert observer.status == 403
        reader = follow(guarded, headers={"Authorization": f"Bearer {made['developer']['text']}"})
        assert reader.status == 200
        admin.delete(f"/tokens/{made['developer']['token']['id']}")
    until(reader.ended)


def test_a_place_that_nobody_knows_is_a_gap(follow, server):
    reader = follow(server, "gail", after="5-5")
    until(lambda: reader.named("gap"))
    made = ask(server, "gail")
    until(lambda: made in reader.ids)


@pytest.mark.slow("kills a server and starts it again, with two workers")
def test_nothing_is_lost_or_doubled_when_the_server_is_killed(follow, tmp_path):
    with serving(tmp_path / "home", BATON_WORKERS="2") as server:
        reader = follow(server, "dora")
        made = [ask(server, "dora") for _ in range(10)]
        question(server, "dora", "r1")
        until(lambda: len(reader.ids) >= 10 and reader.named("question.opened"))
        server.process.send_signal(signal.SIGKILL)
        server.process.wait(60)
        until(reader.ended)
        server.start()
        made += [ask(server, "dora") for _ in range(10)]
        again = follow(server, "dora", after=reader.last)
        until(lambda: set(made) <= {*reader.ids, *again.ids})
        assert len(reader.ids + again.ids) == len({*reader.ids, *again.ids})
        assert again.named("gap") == []
